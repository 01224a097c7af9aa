// Guards that a coroutine holds while it waits: they act wherever it continues, and nowhere else.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>

namespace troupe {

class AnomalyGuard;
class ComputeWatcher;
class LabelGuard;

namespace detail {

enum class Recording : std::uint8_t;

/// What NoGradGuard, EnableGradGuard, AnomalyGuard, LabelGuard, MathThreads and a watcher's guard have set in one
/// frame; part of its promise. Thread rule: used by the thread that runs the frame, or the only one that may.
class FrameGuards {
 public:
  /// Of a frame that starts on this thread: it takes over whether operations are recorded. It has no other guard, as
  /// those of its starter may end before it.
  FrameGuards() noexcept;
  FrameGuards(const FrameGuards&);
  FrameGuards& operator=(const FrameGuards&);
  ~FrameGuards();

  /// Resumes `frame` under its guards; afterwards the thread has its own again. The frame may have ended by then, or
  /// run on another thread. REQUIRES: this is part of `frame`, which calls `keep` wherever it suspends.
  void resume(std::coroutine_handle<> frame);

  /// Destroys `frame`, which is suspended, under its guards. REQUIRES: this is part of it.
  void destroy(std::coroutine_handle<> frame);

  /// Called by the running frame: saves what its guards have set, for the next `resume`, or for an awaited frame, which
  /// starts with a copy of them.
  void keep() noexcept;

 private:
  Recording recording_;
  const AnomalyGuard* anomaly_ = nullptr;
  const LabelGuard* label_ = nullptr;
  int math_threads_ = 0;                             // 0: as many as the thread has
  int math_threads_at_part_ = 0;                     // as `resume` or the starter left them
  std::shared_ptr<ComputeWatcher> watcher_;          // null: that of the thread
  const ComputeWatcher* watcher_at_part_ = nullptr;  // as math_threads_at_part_; only compared
};

}  // namespace detail
}  // namespace troupe
