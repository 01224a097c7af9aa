#include "autograd/frame_guards.h"

#include <utility>

#include "autograd/reads.h"
#include "autograd/variable.h"
#include "autograd/watch.h"
#include "tensor/compute_watcher.h"
#include "tensor/math_threads.h"

namespace troupe::detail {
namespace {

/// Lets other guards act on this thread during its life.
class InsteadOfGuardsHere {
 public:
  InsteadOfGuardsHere(Recording recording, const AnomalyGuard* anomaly, const LabelGuard* label, int math_threads,
                      std::shared_ptr<ComputeWatcher> watcher) noexcept
      : recording_(exchange_recording_here(recording)),
        anomaly_(exchange_anomaly_guard_here(anomaly)),
        label_(exchange_label_guard_here(label)),
        math_threads_(math_threads == 0 ? MathThreads::current() : math_threads),
        watcher_(watcher != nullptr ? std::move(watcher) : ComputeWatcher::shared_here()) {}
  ~InsteadOfGuardsHere() {
    exchange_recording_here(recording_);
    exchange_anomaly_guard_here(anomaly_);
    exchange_label_guard_here(label_);
  }
  InsteadOfGuardsHere(const InsteadOfGuardsHere&) = delete;
  InsteadOfGuardsHere& operator=(const InsteadOfGuardsHere&) = delete;

 private:
  const Recording recording_;
  const AnomalyGuard* const anomaly_;
  const LabelGuard* const label_;
  const MathThreads math_threads_;
  const ComputeWatcher::Guard watcher_;
};

}  // namespace

FrameGuards::FrameGuards() noexcept : recording_(recording_here()), watcher_at_part_(ComputeWatcher::here()) {}
FrameGuards::FrameGuards(const FrameGuards&) = default;
FrameGuards& FrameGuards::operator=(const FrameGuards&) = default;
FrameGuards::~FrameGuards() = default;

void FrameGuards::resume(std::coroutine_handle<> frame) {
  const InsteadOfGuardsHere here(recording_, anomaly_, label_, math_threads_, watcher_);
  math_threads_at_part_ = MathThreads::current();
  watcher_at_part_ = ComputeWatcher::here();
  frame.resume();
}

void FrameGuards::destroy(std::coroutine_handle<> frame) {
  const InsteadOfGuardsHere here(recording_, anomaly_, label_, math_threads_, watcher_);
  frame.destroy();
}

void FrameGuards::keep() noexcept {
  recording_ = recording_here();
  anomaly_ = anomaly_guard_here();
  label_ = label_guard_here();
  // A number that no guard of the frame has set is that of the thread: a pool's threads have one each.
  if (MathThreads::current() != math_threads_at_part_) math_threads_ = MathThreads::current();
  else if (math_threads_ != math_threads_at_part_) math_threads_ = 0;  // of a guard that has ended
  // As for the threads.
  if (ComputeWatcher::here() != watcher_at_part_) watcher_ = ComputeWatcher::shared_here();
  else if (watcher_.get() != watcher_at_part_) watcher_.reset();
}

}  // namespace troupe::detail
