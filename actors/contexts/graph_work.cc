#include "actors/contexts/graph_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>

#include "actors/contexts/recv_tag.h"
#include "actors/core/guarded.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

using RecvFns = std::vector<std::shared_ptr<const RecvFn>>;

/// The graph is not the one that a route tells: a node did not tell the truth about its part.
class OtherGraph : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void check_reached(const RecvFns& reached, const std::vector<BoundaryId>& wanted) {
  std::vector<BoundaryId> got;
  for (const auto& recv : reached) {
    const RecvTag* tag = tag_of(*recv);
    got.push_back(tag == nullptr ? BoundaryId{} : tag->boundary);
  }
  std::ranges::sort(got);
  std::vector<BoundaryId> differ;
  std::ranges::set_symmetric_difference(got, wanted, std::back_inserter(differ));
  if (differ.empty()) return;
  const bool is_extra = std::ranges::binary_search(got, differ.front());
  throw OtherGraph(fmt::format("[backward] the graph {} boundary {}, and the route of the pass {}",
                               is_extra ? "uses" : "does not use", differ.front().text(),
                               is_extra ? "does not have it" : "has it"));
}

class StepTaker {
 public:
  explicit StepTaker(GraphWork& work) : work_(work) {}

  void operator()(MarkGraph& step) {
    RecvFns reached;
    const auto add = [&reached](RecvFns more) {
      reached.insert(reached.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    };
    for (const Variable& root : step.roots) {
      static_cast<void>(initial_gradient(root));  // a root that cannot start is refused before anything runs
      add(work_.task.mark(root, step.hooks));
    }
    for (const auto& send : step.sends) add(work_.task.mark(send, step.hooks));
    if (step.must_reach) check_reached(reached, *step.must_reach);
    else work_.reached.push_back(std::move(reached));
  }

  void operator()(KeepOnly& step) { work_.task.keep_only(step.inputs); }

  void operator()(ReleaseGraph& /*step*/) { work_.task.release_operations(); }

  void operator()(StartRoots& step) {
    for (const Variable& root : step.roots) {
      if (work_.task.awaits(root)) work_.task.feed(root, initial_gradient(root));
    }
    any_fed_ = true;
  }

  void operator()(FeedSend& step) {
    work_.task.feed(*step.send, std::move(step.gradients));
    any_fed_ = true;
  }

  [[nodiscard]] bool any_fed() const { return any_fed_; }

 private:
  GraphWork& work_;
  bool any_fed_ = false;
};

Error failure_of(ErrorCode code, const std::exception& exception) {
  Error error;
  error.code = code;
  error.message = text_of(exception);
  return error;
}

}  // namespace

void GraphWork::add(GraphStep step) {
  std::visit([this](auto& each) { weigh(each); }, step);
  steps.push_back(std::move(step));
}

void GraphWork::weigh(MarkGraph& mark) {
  for (const Variable& root : mark.roots) {
    if (const Edge edge = root.gradient_edge()) add_mark(*edge.fn);
  }
  for (const auto& send : mark.sends) {
    add_mark(*send);
    is_safe_ = is_safe_ && send->is_on_cpu();
  }
  // A hook that another thread registers from now on is too late for this pass: it must not run on this thread.
  if (is_safe_) mark.hooks = GraphTask::Hooks::none;
  else if (std::ranges::any_of(reducers, &GradientReducer::defers_leaf_hooks))
    mark.hooks = GraphTask::Hooks::of_operations;
}

void GraphWork::weigh(const KeepOnly& /*step*/) { run_ += all_; }

void GraphWork::weigh(const StartRoots& start) {
  for (const Variable& root : start.roots) {
    if (const Edge edge = root.gradient_edge()) run_ += edge.fn->work();
  }
}

void GraphWork::weigh(const FeedSend& feed) { run_ += feed.send->work(); }
void GraphWork::weigh(const ReleaseGraph& /*step*/) { run_ += all_; }

void GraphWork::add_mark(const GradFn& start) {
  ShortWork alone;
  alone.add(start);
  is_safe_ = is_safe_ && alone.is_short();
  marked_ += start.work();
  all_ += start.work();
}

void GraphWork::run(GradientSink& sink) {
  try {
    StepTaker taker(*this);
    for (GraphStep& step : steps) std::visit(taker, step);
    if (taker.any_fed()) task.run(sink);
    finished = task.finished();
    if (finished && taker.any_fed()) gradients = task.take_gradients();
  } catch (const BackwardError& exception) {
    failure = failure_of(ErrorCode::remote_exception, exception);
    failure->exception_type = "troupe::BackwardError";
  } catch (const OtherGraph& exception) {
    failure = failure_of(ErrorCode::protocol_violation, exception);
  } catch (const DeviceMemoryError& exception) {
    failure = failure_of(ErrorCode::device_out_of_memory, exception);
    failure->exception_type = "troupe::DeviceMemoryError";
  } catch (const TensorError& exception) {
    failure = failure_of(ErrorCode::bad_argument, exception);
  } catch (const std::bad_alloc& exception) {
    failure = failure_of(ErrorCode::resource_exhausted, exception);
  } catch (const std::exception& exception) {
    failure = failure_of(ErrorCode::internal, exception);
  }
  steps.clear();
  marked_ = run_ = 0;
}

msg::BackwardGradients GraphWork::message_for(const RecvFn& recv, std::vector<Tensor> values) const {
  const RecvTag& tag = *tag_of(recv);
  msg::BackwardGradients message{tag.context, pass, tag.boundary, std::move(values)};
  if (route && !know_route.contains(tag.peer)) message.route = *route;
  return message;
}

}  // namespace troupe::detail
