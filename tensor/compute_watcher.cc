#include "tensor/compute_watcher.h"

#include <utility>

namespace troupe {
namespace {
thread_local std::shared_ptr<ComputeWatcher> watcher_of_thread;  // used by scoped guards only
/// The same one. Each kernel reads it: this one has no destructor, so no read asks whether the thread has made it.
constinit thread_local ComputeWatcher* watcher_here = nullptr;
}  // namespace

ComputeWatcher* ComputeWatcher::here() noexcept { return watcher_here; }

std::shared_ptr<ComputeWatcher> ComputeWatcher::exchange_here(std::shared_ptr<ComputeWatcher> watcher) noexcept {
  watcher_here = watcher.get();
  return std::exchange(watcher_of_thread, std::move(watcher));
}

std::shared_ptr<ComputeWatcher> ComputeWatcher::shared_here() noexcept {
  return watcher_here == nullptr ? nullptr : watcher_of_thread;
}

ComputeWatcher::Guard::Guard(std::shared_ptr<ComputeWatcher> watcher) noexcept
    : outside_(exchange_here(std::move(watcher))) {}

ComputeWatcher::Guard::~Guard() { static_cast<void>(exchange_here(std::move(outside_))); }

WatchedKernel::WatchedKernel(std::string_view name, std::span<const Tensor* const> inputs) noexcept
    : watcher_(ComputeWatcher::here()),
      name_(name),
      inputs_(inputs),
      begin_(watcher_ != nullptr ? watcher_->now() : ComputeWatcher::Time()) {}

WatchedKernel::~WatchedKernel() {
  if (watcher_ != nullptr) watcher_->computed(name_, begin_, inputs_);
}

}  // namespace troupe
