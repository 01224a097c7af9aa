#include "actors/contexts/graph_work.h"

#include <new>
#include <utility>

#include "tensor/error.h"

namespace troupe::detail {
namespace {

class StepTaker {
 public:
  explicit StepTaker(GraphWork& work) : work_(work) {}

  void operator()(MarkGraph& step) {
    std::vector<std::shared_ptr<const RecvFn>>& reached = work_.reached.emplace_back();
    const auto add = [&reached](std::vector<std::shared_ptr<const RecvFn>> more) {
      reached.insert(reached.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    };
    for (const Variable& root : step.roots) {
      static_cast<void>(initial_gradient(root));  // a root that cannot start is refused before anything runs
      add(work_.task.mark(root));
    }
    for (const auto& send : step.sends) add(work_.task.mark(send));
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
  error.message = exception.what();
  return error;
}

}  // namespace

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
  } catch (const TensorError& exception) {
    failure = failure_of(ErrorCode::bad_argument, exception);
  } catch (const std::bad_alloc& exception) {
    failure = failure_of(ErrorCode::resource_exhausted, exception);
  } catch (const std::exception& exception) {
    failure = failure_of(ErrorCode::internal, exception);
  }
  steps.clear();
}

}  // namespace troupe::detail
