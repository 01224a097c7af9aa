#include "tensor/compute_watcher.h"

#include <utility>

namespace troupe {
namespace {
thread_local std::shared_ptr<ComputeWatcher> watcher_of_thread;  // used by scoped guards only
}  // namespace

ComputeWatcher* ComputeWatcher::here() noexcept { return watcher_of_thread.get(); }

std::shared_ptr<ComputeWatcher> ComputeWatcher::exchange_here(std::shared_ptr<ComputeWatcher> watcher) noexcept {
  return std::exchange(watcher_of_thread, std::move(watcher));
}

std::shared_ptr<ComputeWatcher> ComputeWatcher::shared_here() noexcept { return watcher_of_thread; }

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
