#include "autograd/grad_fn.h"

#include <utility>

namespace troupe {
namespace {

/// The edges that the release under way on this thread still has to let go; null if none is under way.
thread_local std::vector<Edge>* releasing = nullptr;

/// Lets go of `edges` and of all that only they hold. A destructor that runs inside only adds to the list, so the depth
/// of a graph never becomes depth of the stack.
void release(std::vector<Edge> edges) noexcept {
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
  if (!next_.empty()) release(std::move(next_));
}

}  // namespace troupe
