#include "autograd/pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/describe.h"
#include "autograd/leaf_fn.h"
#include "autograd/vertex_notes.h"
#include "tensor/compute_watcher.h"

namespace troupe::detail {
namespace {

bool any_defined(std::span<const Tensor> gradients) {
  return std::any_of(gradients.begin(), gradients.end(), [](const Tensor& g) { return g.defined(); });
}

bool is_own(const Tensor& x) { return x.is_contiguous() && x.storage().handle_count() <= 1; }

bool has_hooks_in(GraphTask::Hooks which, VertexKind kind) {
  return which == GraphTask::Hooks::as_registered ||
         (which == GraphTask::Hooks::of_operations && kind != VertexKind::leaf);
}

bool fits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && a.device() == b.device();
}

/// Tells the thread's ComputeWatcher, if there is one, of what runs until its end.
class TimedBackward {
 public:
  explicit TimedBackward(std::string_view operation)
      : operation_(operation), begin_(watcher_ != nullptr ? watcher_->now() : ComputeWatcher::Time()) {}
  ~TimedBackward() {
    if (watcher_ != nullptr) watcher_->went_back(operation_, begin_);
  }
  TimedBackward(const TimedBackward&) = delete;
  TimedBackward& operator=(const TimedBackward&) = delete;

 private:
  ComputeWatcher* const watcher_ = ComputeWatcher::here();
  const std::string_view operation_;
  const ComputeWatcher::Time begin_;
};

}  // namespace

Tensor owned(Tensor gradient) {
  if (is_own(gradient)) return gradient;
  return gradient.clone();
}

SparseTensor owned(const SparseTensor& rows) {
  const Tensor& indices = rows.indices();
  const Tensor& values = rows.values();
  if (is_own(indices) && is_own(values)) return rows;
  const SparseTensor own(is_own(indices) ? indices : indices.clone(), is_own(values) ? values : values.clone(),
                         rows.shape());
  return rows.is_coalesced() ? own.as_coalesced() : own;
}

void Pass::fail(std::string_view where, std::string_view what) {
  failure_ = fmt::format("[backward] {}: {}", where, what);
  throw_failure();
}

void Pass::throw_failure() const {
  if (is_device_full_) throw DeviceMemoryError(*failure_);
  throw BackwardError(*failure_);
}

template <class Action>
auto Pass::guarded(std::string_view where, Action action) {
  try {
    return action();
  } catch (const DeviceMemoryError& e) {
    is_device_full_ = true;
    fail(where, e.what());
  } catch (const std::exception& e) {
    const char* const text = e.what();  // an exception of the user's
    fail(where, text != nullptr ? text : "");
  } catch (...) {
    fail(where, "threw something that is no std::exception");
  }
}

void Pass::end_at(std::span<const Edge> ends) {
  for (const Edge& end : ends) ends_.insert(end.fn.get());
}

Pass::Recvs Pass::mark(const Edge& root, GraphTask::Hooks hooks) {
  if (ran_count_ > 0) throw std::logic_error("[backward] a root was marked after the pass began to run");
  awaited_roots_[{root.fn.get(), root.slot}].push_back(root_count_++);
  return close_over(root.fn, hooks);
}

Pass::Recvs Pass::mark(const std::shared_ptr<const SendFn>& send, GraphTask::Hooks hooks) {
  if (!sends_.try_emplace(send.get(), Fed::no).second) return {};
  if (ran_count_ > 0) throw std::logic_error("[backward] a SendFn was marked after the pass began to run");
  in_order_ = false;  // the peer's gradients arrive at any time
  return close_over(send, hooks);
}

/// Marks every vertex reachable from `start`, which awaits one more arrival.
Pass::Recvs Pass::close_over(const std::shared_ptr<const GradFn>& start, GraphTask::Hooks hooks) {
  Recvs reached;
  std::vector<const GradFn*> to_visit;
  const auto expect_one = [&](const std::shared_ptr<const GradFn>& fn) {
    auto [place, is_new] = vertices_.try_emplace(fn.get());
    Vertex& vertex = place->second;
    ++vertex.awaited;
    if (!is_new) return;
    if (fn->released())
      throw TensorError(fmt::format("[backward] {}: an earlier backward pass released its graph", fn->name()));
    vertex.fn = fn;
    if (ends_.contains(fn.get())) {
      vertex.takes = true;
      vertex.goes_on = false;
      return;
    }
    const VertexNotes* notes = has_hooks_in(hooks, fn->kind()) ? fn->notes_if_any() : nullptr;
    if (notes != nullptr) vertex.hooks = notes->hooks.snapshot();
    to_visit.push_back(fn.get());
    if (fn->kind() == VertexKind::recv) reached.push_back(std::static_pointer_cast<const RecvFn>(fn));
  };
  expect_one(start);
  while (!to_visit.empty()) {
    const GradFn* fn = to_visit.back();
    to_visit.pop_back();
    for (const Edge& edge : fn->next()) {
      if (!edge) continue;
      in_order_ = in_order_ && runs_before(*fn, *edge.fn);
      expect_one(edge.fn);
    }
  }
  return reached;
}

/// Returns whether the edge leads to an older vertex and stays in the call of the first vertex. If this holds for every
/// edge, the newest ready vertex is always newer than every vertex that becomes ready later.
bool Pass::runs_before(const GradFn& from, const GradFn& to) {
  const bool contributes = to.kind() == VertexKind::operation && !ends_.contains(&to);
  if (contributes && to.mark().serial >= from.mark().serial) return false;
  if (!call_) call_ = &from.mark();
  return call_->call == from.mark().call || call_->path() == from.mark().path();
}

void Pass::restrict_to(std::span<const Edge> inputs) {
  std::vector<const GradFn*> ends;
  for (const Edge& input : inputs) {
    const auto found = vertices_.find(input.fn.get());
    if (found == vertices_.end()) continue;
    found->second.takes = true;
    ends.push_back(input.fn.get());
  }
  prune(std::move(ends));
}

void Pass::keep_only(std::span<const Input> inputs) {
  std::vector<const GradFn*> ends;
  std::vector<Vertex*> go_on;
  for (auto& [fn, vertex] : vertices_) {
    if (fn->kind() != VertexKind::recv) continue;
    ends.push_back(fn);
    go_on.push_back(&vertex);
  }
  std::unordered_set<const void*> seen;
  for (const auto& [variable, edge] : inputs) {
    const auto found = vertices_.find(edge.fn.get());
    if (found == vertices_.end() || !seen.insert(variable.id()).second) continue;
    ends.push_back(edge.fn.get());
    if (edge.fn->kind() == VertexKind::leaf) {
      go_on.push_back(&found->second);
    } else {
      found->second.inputs.emplace_back(edge.slot, variable);
    }
  }
  prune(std::move(ends));
  for (Vertex* vertex : go_on) vertex->goes_on = true;
}

void Pass::prune(std::vector<const GradFn*> ends) {
  std::unordered_map<const GradFn*, std::vector<Vertex*>> users;
  for (auto& [fn, vertex] : vertices_) {
    vertex.goes_on = false;
    vertex.awaited = 0;
    for (const Edge& edge : fn->next()) {
      if (edge) users[edge.fn.get()].push_back(&vertex);
    }
  }
  std::unordered_set<const GradFn*> needed(ends.begin(), ends.end());
  for (std::vector<const GradFn*> to_visit = std::move(ends); !to_visit.empty();) {
    const GradFn* fn = to_visit.back();
    to_visit.pop_back();
    for (Vertex* user : users[fn]) {
      user->goes_on = true;
      if (needed.insert(user->fn.get()).second) to_visit.push_back(user->fn.get());
    }
  }
  for (const auto& [send, fed] : sends_) needed.insert(send);  // their gradients arrive in any case
  std::erase_if(awaited_roots_, [&](const auto& root) { return !needed.contains(root.first.first); });
  std::erase_if(vertices_, [&](const auto& vertex) { return !needed.contains(vertex.first); });
  for (const auto& [root, feeds] : awaited_roots_) vertices_.at(root.first).awaited += feeds.size();
  for (const auto& [send, fed] : sends_) ++vertices_.at(send).awaited;
  for (auto& [fn, vertex] : vertices_) {
    if (!vertex.goes_on) continue;
    bool all = true;
    for (const Edge& edge : fn->next()) {
      const bool takes_part = edge && needed.contains(edge.fn.get());
      all = all && (takes_part || !edge);
      if (takes_part) ++vertices_.at(edge.fn.get()).awaited;
    }
    if (all) continue;
    vertex.needed.assign(fn->next().begin(), fn->next().end());
    for (Edge& edge : vertex.needed) {
      if (edge && !needed.contains(edge.fn.get())) edge = {};
    }
  }
}

void Pass::release_operations() noexcept {
  for (const auto& operation : operations_) operation->release();
  operations_.clear();
}

bool Pass::awaits(const Edge& root) const { return awaited_roots_.contains({root.fn.get(), root.slot}); }

void Pass::feed(const Edge& root, Tensor gradient) {
  auto awaited = awaited_roots_.find({root.fn.get(), root.slot});
  if (awaited == awaited_roots_.end()) {
    throw TensorError("[backward] a gradient came for a root that waits for none");
  }
  const std::uint32_t order = awaited->second.front();
  awaited->second.erase(awaited->second.begin());
  if (awaited->second.empty()) awaited_roots_.erase(awaited);
  Vertex& vertex = vertices_.at(root.fn.get());
  if (gradient.defined()) vertex.arrived.push_back({root.slot, nullptr, order, std::move(gradient)});
  count_down(vertex);
}

void Pass::feed(const SendFn& send, std::vector<Tensor> gradients) {
  const TimedBackward timed(send.name());
  send.check(gradients);
  auto marked = sends_.find(&send);
  if (marked == sends_.end() || marked->second == Fed::yes) {
    throw TensorError("[backward] gradients came for a SendFn that waits for none");
  }
  marked->second = Fed::yes;
  Vertex& vertex = vertices_.at(&send);
  for (std::uint32_t slot = 0; slot < gradients.size(); ++slot) {
    if (gradients[slot].defined()) vertex.arrived.push_back({slot, nullptr, 0, std::move(gradients[slot])});
  }
  count_down(vertex);
}

void Pass::run(GradientSink& sink) {
  if (failure_) throw_failure();
  guard_ = anomaly_guard_here();
  if (ran_count_ == 0 && !awaited_roots_.empty()) in_order_ = false;
  while (Vertex* vertex = take_ready()) {
    ++ran_count_;
    vertex->mark = vertex->fn->mark();
    Rows rows = vertex->fn->kind() == VertexKind::leaf ? take_rows(vertex->arrived) : nullptr;
    std::vector<Tensor> gradients = sum_by_slot(std::move(vertex->arrived), vertex->fn->slot_count());
    // Beside dense gradients the rows are dense, too: the sink hears of a leaf once.
    if (rows && (vertex->hooks || vertex->takes || gradients.front().defined())) {
      add_to(gradients.front(), rows->to_dense());
      rows.reset();
    }
    if (vertex->hooks) run_gradient_hooks(*vertex, gradients);
    if (vertex->takes) vertex->taken = gradients;
    for (const auto& [slot, variable] : vertex->inputs) {
      if (gradients[slot].defined()) gradients_.add(variable, gradients[slot].clone());
    }
    const bool is_used = vertex->goes_on && vertex->fn->kind() == VertexKind::operation;
    if (vertex->goes_on) {
      switch (vertex->fn->kind()) {
        case VertexKind::recv: {
          const TimedBackward timed(vertex->fn->name());
          sink.deliver(std::static_pointer_cast<const RecvFn>(vertex->fn), std::move(gradients));
          break;
        }
        case VertexKind::leaf: keep(*vertex, std::move(gradients.front()), rows, sink); break;
        case VertexKind::send:
        case VertexKind::operation: pass_on(*vertex, std::move(gradients)); break;
      }
    }
    if (remembers_ && is_used) operations_.push_back(vertex->fn);
    vertex->fn.reset();
  }
}

Tensor Pass::taken(const Edge& edge) const {
  auto found = vertices_.find(edge.fn.get());
  return found == vertices_.end() || found->second.taken.empty() ? Tensor() : found->second.taken[edge.slot];
}

void Pass::arrive(const Edge& edge, const Vertex& from, std::uint32_t index, Tensor gradient, Rows rows) {
  Vertex& vertex = vertices_.at(edge.fn.get());
  if (gradient.defined() || rows) {
    Contribution contribution{edge.slot, &from.mark, index, std::move(gradient), std::move(rows)};
    if (in_order_) {
      add_in_order(vertex.arrived, vertex.places, vertex.fn->slot_count(), std::move(contribution));
    } else {
      vertex.arrived.push_back(std::move(contribution));
    }
  }
  count_down(vertex);
}

bool Pass::older(const Vertex* a, const Vertex* b) { return a->fn->mark().serial < b->fn->mark().serial; }

void Pass::count_down(Vertex& vertex) {
  if (--vertex.awaited > 0) return;
  // Other nodes wait for gradients that leave this node, so RecvFns run first.
  if (vertex.fn->kind() == VertexKind::recv) {
    ready_recvs_.push_back(&vertex);
  } else {
    ready_.push_back(&vertex);
    std::push_heap(ready_.begin(), ready_.end(), older);
  }
}

Pass::Vertex* Pass::take_ready() {
  std::vector<Vertex*>& from = ready_recvs_.empty() ? ready_ : ready_recvs_;
  if (from.empty()) return nullptr;
  if (&from == &ready_) std::pop_heap(from.begin(), from.end(), older);
  Vertex* vertex = from.back();
  from.pop_back();
  return vertex;
}

void Pass::run_gradient_hooks(const Vertex& vertex, std::vector<Tensor>& gradients) {
  const std::string where = fmt::format("hook on {}", vertex.fn->name());
  for (const Hook& hook : *vertex.hooks) {
    Tensor& gradient = gradients[hook.slot];
    if (!hook.on_gradient || !gradient.defined()) continue;
    Tensor other = guarded(where, [&] { return hook.on_gradient(gradient); });
    if (!other.defined()) continue;
    if (!fits(other, gradient))
      fail(where, fmt::format("gave {} for a gradient of {}", describe(other), describe(gradient)));
    const std::optional<Anomaly> what = watched(*vertex.fn);
    const auto complaint = what ? complaint_about(other, *what) : std::nullopt;
    if (complaint) fail(where, fmt::format("gave a gradient: {}{}", *complaint, made_as(*vertex.fn)));
    gradient = std::move(other);
  }
}

void Pass::keep(const Vertex& vertex, Tensor gradient, const Rows& rows, GradientSink& sink) {
  const Variable variable = static_cast<const LeafFn&>(*vertex.fn).variable();
  if (rows && variable.defined()) {
    const SparseTensor kept = owned(*rows);
    gradients_.add(variable, kept);
    return sink.found(variable, {}, kept);
  }
  if (!gradient.defined() || !variable.defined()) return;
  gradient = owned(std::move(gradient));
  gradients_.add(variable, gradient);
  if (vertex.hooks) {
    for (const Hook& hook : *vertex.hooks) {
      if (hook.on_leaf) guarded("hook on leaf", [&] { hook.on_leaf(variable, gradient); });
    }
  }
  sink.found(variable, gradient, {});
}

void Pass::pass_on(const Vertex& vertex, std::vector<Tensor> gradients) {
  const std::span<const Edge> needed = vertex.needed.empty() ? vertex.fn->next() : std::span<const Edge>(vertex.needed);
  RowsFn::Applied results = apply(*vertex.fn, needed, std::move(gradients));
  for (std::uint32_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) arrive(needed[i], vertex, i, std::move(results.gradients[i]), i == 0 ? results.rows : nullptr);
  }
}

RowsFn::Applied Pass::apply(const GradFn& fn, std::span<const Edge> needed, std::vector<Tensor> gradients) {
  RowsFn::Applied results{nullptr, std::vector<Tensor>(needed.size())};
  if (any_defined(gradients)) {
    const std::optional<Anomaly> what = watched(fn);
    const TimedBackward timed(fn.name());
    const std::vector<Tensor> got = what ? gradients : std::vector<Tensor>();
    results = guarded(fn.name(), [&] {
      const GradFn::Use use(fn);
      const RowsFn* by_rows = fn.as_rows();
      if (by_rows && needed.front() && needed.front().fn->kind() == VertexKind::leaf) {
        return by_rows->apply_rows(gradients.front(), needed);
      }
      return RowsFn::Applied{nullptr, fn.apply_to(std::move(gradients), needed)};
    });
    if (results.gradients.size() != needed.size()) {
      fail(fn.name(), fmt::format("gave {} gradients for {} inputs", results.gradients.size(), needed.size()));
    }
    if (what) check(fn, *what, got, results.gradients);
    if (what && results.rows) check(fn, *what, got, std::span(&results.rows->values(), 1));
  }
  if (graph_ == Graph::release && fn.kind() == VertexKind::operation) fn.release();
  return results;
}

std::optional<Anomaly> Pass::watched(const GradFn& fn) const {
  if (guard_ != nullptr) return guard_->what();
  const VertexNotes* notes = fn.notes_if_any();
  return notes != nullptr && notes->watched ? std::optional(notes->watched->what) : std::nullopt;
}

void Pass::check(const GradFn& fn, Anomaly what, std::span<const Tensor> got, std::span<const Tensor> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto complaint = complaint_about(results[i], what);
    if (!complaint) continue;
    for (const Tensor& gradient : got) {
      const auto earlier = complaint_about(gradient, what);
      if (earlier) fail(fn.name(), fmt::format("got a gradient: {}{}", *earlier, made_as(fn)));
    }
    fail(fn.name(), fmt::format("gradient of input {}: {}{}", i, *complaint, made_as(fn)));
  }
}

}  // namespace troupe::detail
