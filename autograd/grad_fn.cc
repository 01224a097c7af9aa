#include "autograd/grad_fn.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "autograd/vertex_notes.h"

namespace troupe {
namespace {

/// The edges that the running release of this thread still has to drop; null if none runs.
thread_local std::vector<Edge>* releasing = nullptr;

/// Drops `edges` and every vertex that only they hold. A destructor that runs inside appends to the list, so the depth
/// of the graph does not become depth of the stack.
void let_go_of(std::vector<Edge> edges) noexcept {
  if (releasing != nullptr) {
    for (Edge& edge : edges) releasing->push_back(std::move(edge));
    return;
  }
  releasing = &edges;
  while (!edges.empty()) {
    Edge last = std::move(edges.back());
    edges.pop_back();
    last.fn.reset();
  }
  releasing = nullptr;
}

using Received = std::shared_ptr<const ReceivedSet>;

Received merged(const Received& a, const Received& b) {
  if (a->too_many || b->too_many) return a->too_many ? a : b;
  if (std::ranges::includes(a->recvs, b->recvs)) return a;
  if (std::ranges::includes(b->recvs, a->recvs)) return b;
  ReceivedSet both;
  std::ranges::set_union(a->recvs, b->recvs, std::back_inserter(both.recvs));
  if (both.recvs.size() > ReceivedSet::kMax) both = {{}, true};
  return std::make_shared<const ReceivedSet>(std::move(both));
}

/// Most vertices share the set of their inputs.
Received received_through(const std::vector<Edge>& edges) {
  Received all;
  for (const Edge& edge : edges) {
    const Received more = edge ? edge.fn->received() : nullptr;
    if (more && more != all) all = all ? merged(all, more) : more;
  }
  return all;
}

std::uint32_t work_behind(const std::vector<Edge>& edges) {
  std::uint64_t work = 1;
  for (const Edge& edge : edges) work += std::uint64_t{edge.elements} + (edge ? edge.fn->work() : 0);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(work, GradFn::kAnyWork));
}

}  // namespace

GradFn::GradFn(std::string_view name, VertexKind kind, std::vector<Edge> next, std::uint32_t slot_count, Work work)
    : name_(name),
      kind_(kind),
      slot_count_(slot_count),
      work_(work == Work::of_inputs ? work_behind(next) : kAnyWork),
      mark_(take_creation_mark()),
      next_(std::move(next)) {
  if (kind == VertexKind::recv) {
    received_ = std::make_shared<const ReceivedSet>(ReceivedSet{{this}, false});
  } else {
    received_ = received_through(next_);
  }
}

GradFn::~GradFn() {
  std::unique_ptr<detail::VertexNotes>(notes_.load(std::memory_order_acquire)).reset();
  if (!next_.empty()) let_go_of(std::move(next_));
}

void GradFn::let_go(Edge edge) noexcept {
  if (edge.fn.use_count() != 1) return;  // not the last handle, or an empty one
  std::vector<Edge> edges;
  edges.push_back(std::move(edge));
  let_go_of(std::move(edges));
}

std::vector<Tensor> GradFn::apply_to(std::vector<Tensor> gradients, std::span<const Edge>) const {
  return apply(std::move(gradients));
}

void GradFn::release() const noexcept {
  if (use_.fetch_or(kReleased, std::memory_order_acq_rel) == 0) drop_saved();
}

GradFn::Use::Use(const GradFn& fn) : fn_(fn) {
  std::uint32_t use = fn.use_.load(std::memory_order_relaxed);
  do {
    if ((use & kReleased) != 0) throw std::logic_error("an earlier backward pass released its graph");
  } while (!fn.use_.compare_exchange_weak(use, use + 1, std::memory_order_acquire, std::memory_order_relaxed));
}

GradFn::Use::~Use() {
  // No new Use can enter a released vertex, so exactly one is the last to leave.
  if (fn_.use_.fetch_sub(1, std::memory_order_acq_rel) == (kReleased | 1U)) fn_.drop_saved();
}

detail::VertexNotes& GradFn::notes() const {
  detail::VertexNotes* there = notes_.load(std::memory_order_acquire);
  if (there != nullptr) return *there;
  auto fresh = std::make_unique<detail::VertexNotes>();
  if (!notes_.compare_exchange_strong(there, fresh.get(), std::memory_order_acq_rel)) return *there;
  return *fresh.release();
}

}  // namespace troupe
