#include "autograd/hooks.h"

#include <algorithm>
#include <utility>

#include "autograd/vertex_notes.h"

namespace troupe {

void HookHandle::remove() const {
  const std::shared_ptr<const GradFn> fn = fn_.lock();
  if (fn) fn->notes().hooks.remove(id_);
}

namespace detail {

std::uint64_t HookList::add(Hook hook) {
  const std::scoped_lock lock(mutex_);
  auto hooks = hooks_ ? std::make_shared<std::vector<Hook>>(*hooks_) : std::make_shared<std::vector<Hook>>();
  hook.id = next_id_++;
  hooks->push_back(std::move(hook));
  hooks_ = std::move(hooks);
  return next_id_ - 1;
}

void HookList::remove(std::uint64_t id) {
  Snapshot before;  // released after the lock: destroying a removed hook may run user code
  const std::scoped_lock lock(mutex_);
  if (!hooks_) return;
  auto hooks = std::make_shared<std::vector<Hook>>(*hooks_);
  std::erase_if(*hooks, [id](const Hook& hook) { return hook.id == id; });
  before = std::exchange(hooks_, hooks->empty() ? nullptr : std::move(hooks));
}

HookList::Snapshot HookList::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return hooks_;
}

bool depends_on_hooks(const GradFn& start) {
  const VertexNotes* notes = start.notes_if_any();
  if (notes != nullptr && notes->hooks.snapshot()) return true;
  return std::ranges::any_of(start.next(), [](const Edge& edge) { return edge && depends_on_hooks(*edge.fn); });
}

}  // namespace detail
}  // namespace troupe
