#include "autograd/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "autograd/boundary.h"
#include "autograd/describe.h"
#include "autograd/pass.h"
#include "autograd/reads.h"
#include "autograd/record.h"
#include "autograd/vertex_notes.h"

namespace troupe {
namespace {

thread_local bool recomputing_here = false;

/// Sets recomputing() during a replay.
class RecomputingGuard {
 public:
  RecomputingGuard() : before_(std::exchange(recomputing_here, true)) {}
  ~RecomputingGuard() { recomputing_here = before_; }
  RecomputingGuard(const RecomputingGuard&) = delete;
  RecomputingGuard& operator=(const RecomputingGuard&) = delete;

 private:
  bool before_;
};

}  // namespace

bool recomputing() noexcept { return recomputing_here; }

namespace detail {
namespace {

[[noreturn]] void fail_read_other() {
  throw std::logic_error("the function read a variable that it did not read before");
}

/// The sink of a replay's pass, which ends inside the node at the variables that the function read.
class NoSink final : public GradientSink {
 public:
  void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override { fail_read_other(); }
};

/// One call of a checkpointed function: its inputs, its reads and the layouts of its results.
struct Call {
  CheckpointedFunction f;
  std::vector<Saved> inputs;
  Reads reads;
  std::vector<Layout> results;
};

/// Edges: first to the inputs, then to the variables that the function read.
class CheckpointFn final : public GradFn {
 public:
  CheckpointFn(std::vector<Edge> edges, Call call)
      : GradFn("checkpoint", VertexKind::operation, std::move(edges), static_cast<std::uint32_t>(call.results.size())),
        call_(std::move(call)) {}

  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override {
    return apply_to(std::move(gradients), next());
  }

  [[nodiscard]] std::vector<Tensor> apply_to(std::vector<Tensor> gradients,
                                             std::span<const Edge> needed) const override {
    // A replay under the AnomalyGuard of the first run finds the operation inside.
    const VertexNotes* notes = notes_if_any();
    std::optional<AnomalyGuard> guard;
    if (notes != nullptr && notes->watched) guard.emplace(notes->watched->what);
    std::vector<Variable> inputs;
    std::vector<Edge> ends;
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      inputs.emplace_back(call_.inputs[i].get(), needed[i] ? RequiresGrad::yes : RequiresGrad::no);
      ends.push_back(inputs.back().gradient_edge());
    }
    for (const Edge& read : next().subspan(inputs.size())) ends.push_back(read);
    Pass pass(Graph::keep);
    pass.end_at(ends);
    feed(pass, replay(inputs), std::move(gradients));
    NoSink sink;
    pass.run(sink);
    if (!pass.take_gradients().empty()) fail_read_other();
    std::vector<Tensor> results;
    results.reserve(ends.size());
    for (const Edge& end : ends) results.push_back(end ? pass.taken(end) : Tensor());
    return results;
  }

  /// If this thread's AnomalyGuard rejects one of `values`, the function's results, replays the function so that the
  /// operation inside it throws.
  void find_anomaly(std::span<const Tensor> values) const {
    const AnomalyGuard* guard = anomaly_guard_here();
    if (guard == nullptr) return;
    const auto wrong = [&](const Tensor& value) { return complaint_about(value, guard->what()).has_value(); };
    if (std::none_of(values.begin(), values.end(), wrong)) return;
    std::vector<Variable> inputs;
    for (const Saved& input : call_.inputs) {
      const Tensor& value = input.get();
      inputs.emplace_back(value, is_floating(value.dtype()) ? RequiresGrad::yes : RequiresGrad::no);
    }
    static_cast<void>(replay(inputs));
  }

 protected:
  void drop_saved() const noexcept override { call_ = {}; }

 private:
  [[nodiscard]] std::vector<Variable> replay(std::span<const Variable> inputs) const {
    const EnableGradGuard enable_grad;
    const RecomputingGuard recomputing;
    ReplayingReader reader(call_.reads);
    const ReaderGuard guard(reader);
    std::vector<Variable> results = call_.f(inputs);
    if (results.size() != call_.results.size()) {
      throw std::logic_error(
          fmt::format("the function gave {} results, {} before", results.size(), call_.results.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Tensor value = results[i].value();
      const Layout& before = call_.results[i];
      if (value.shape() == before.shape && value.dtype() == before.dtype) continue;
      throw std::logic_error(fmt::format("the function gave {} as result {}, {} before", describe(value), i,
                                         describe(before.shape, before.dtype)));
    }
    return results;
  }

  /// Starts `pass` at `results`. The pass is the only owner of the graph behind them: the handles end here.
  static void feed(Pass& pass, std::vector<Variable> results, std::vector<Tensor> gradients) {
    std::vector<Edge> roots;
    for (std::size_t i = 0; i < results.size(); ++i) {
      roots.push_back(gradients[i].defined() ? results[i].gradient_edge() : Edge{});
      if (roots.back() && !pass.mark(roots.back()).empty()) fail_read_other();
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (roots[i]) pass.feed(roots[i], std::move(gradients[i]));
    }
  }

  mutable Call call_;
};

/// Calls the function without recording. Stores its inputs, reads and result layouts in `call`.
std::vector<Tensor> first_run(Call& call, std::span<const Variable> inputs) {
  std::vector<Variable> constants;
  std::vector<Variable> differentiable;
  for (const Variable& input : inputs) {
    constants.push_back(input.detach());
    call.inputs.emplace_back(constants.back().value());
    if (input.requires_grad()) differentiable.push_back(constants.back());
  }
  std::vector<Tensor> values;
  NotingReader reader(call.reads, std::move(differentiable));
  const FirstRunGuard guard(reader);
  for (const Variable& result : call.f(constants)) values.push_back(result.value());
  reader.finish();
  for (const Tensor& value : values) call.results.emplace_back(value);
  return values;
}

}  // namespace

std::vector<Variable> checkpoint(CheckpointedFunction f, std::span<const Variable> inputs) {
  if (!grad_enabled()) return f(inputs);
  Call call{.f = std::move(f), .inputs = {}, .reads = {}, .results = {}};
  std::vector<Tensor> values = first_run(call, inputs);
  call.reads.drop_gone();
  std::vector<Edge> edges = edges_of(inputs);
  if (edges.empty()) edges.resize(inputs.size());
  for (Edge& read : call.reads.edges()) edges.push_back(std::move(read));
  const bool any = std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return static_cast<bool>(edge); });
  const auto fn = any ? std::make_shared<const CheckpointFn>(std::move(edges), std::move(call)) : nullptr;
  if (fn) fn->find_anomaly(values);
  std::vector<Variable> results;
  for (std::uint32_t slot = 0; slot < values.size(); ++slot) {
    const bool has_gradient = fn && is_floating(values[slot].dtype());
    results.push_back(has_gradient ? Variable::output_of({fn, slot}, std::move(values[slot]))
                                   : Variable(std::move(values[slot])));
  }
  return results;
}

}  // namespace detail
}  // namespace troupe
