#include "autograd/grad_fn.h"

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

}  // namespace

GradFn::GradFn(std::string_view name, VertexKind kind, std::vector<Edge> next, std::uint32_t slot_count)
    : name_(name), kind_(kind), slot_count_(slot_count), mark_(take_creation_mark()), next_(std::move(next)) {}

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
