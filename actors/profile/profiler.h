// Records what a program does on all its nodes: calls, the functions that serve them, what they compute, backward
// passes.
//
//   Profiler profiler(node);
//   profiler.rpc_sync("ps0", &train_step, x);       // this call, and all that it leads to
//   const Profile profile = profiler.stop();
//   fmt::print("{}", profile.table());
//   profile.save_trace("trace.json");               // for ui.perfetto.dev
//
// Calls through the profiler, a Scope, are recorded, with the calls, passes and computations of the functions that they
// run. What this thread computes itself is recorded while a ProfiledThread lives. Each node keeps its events until
// `stop`. They end with the profiler, its node or theirs. Where nobody profiles, a call costs a few loads more.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "actors/future.h"
#include "actors/profile/events.h"
#include "actors/profile/profile.h"
#include "actors/scope.h"

namespace troupe {

/// What a Profiler records.
struct ProfilerOptions {
  std::vector<NodeName> nodes = {};    ///< that record; empty: all members, as the profiler is made
  bool everything = false;             ///< also what others do there meanwhile, whoever called it
  bool inputs = false;                 ///< dtypes and shapes of what kernels read
  std::uint64_t events_max = 200'000;  ///< that one node keeps; later ones are counted only
};

/// A Scope whose calls are recorded. Profilers may be nested: each has what happened in its time. Thread rule: one
/// thread at a time may call `stop`; as a Scope, any thread.
class Profiler final : public Scope {
 public:
  /// Begins to record. Calls through it have the settings of `scope`. Waits until all nodes record; for one that cannot
  /// be reached `Profile::missing` has the reason. Throws std::invalid_argument `[Profiler] nodes names p1 twice`.
  explicit Profiler(const Scope& scope, ProfilerOptions options = {});
  /// Ends the recording.
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Ends the recording and returns what all nodes recorded. Events that have not ended by then are not part of it.
  /// Each of the calls that fetch them has the scope's deadline. Throws std::logic_error if called twice.
  [[nodiscard]] Profile stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;  // null once stopped
};

/// Records a part of a program under a name, on the node of `scope`, if that scope is recorded. May be held over a wait
/// of a task. Thread rule: one thread at a time.
class ProfileSpan {
 public:
  ProfileSpan(const Scope& scope, std::string_view name);
  ~ProfileSpan();
  ProfileSpan(const ProfileSpan&) = delete;
  ProfileSpan& operator=(const ProfileSpan&) = delete;

  /// Ends the span. Later calls, and the destructor, do nothing then.
  void end() noexcept;

  /// The span ends when `future` is done. Returns the future.
  template <class T>
  Future<T> end_with(Future<T> future) {
    end_when_done(*future.shared_state());
    return future;
  }

 private:
  void end_when_done(detail::FutureCore& future);

  struct Open;
  std::shared_ptr<Open> open_;  // null if nobody records it, or once it has ended or a future ends it
};

/// What the calling thread computes is recorded during the guard's lifetime, as part of `scope`. Functions that serve
/// recorded calls need none.
class ProfiledThread {
 public:
  explicit ProfiledThread(const Scope& scope);
  ~ProfiledThread();
  ProfiledThread(const ProfiledThread&) = delete;
  ProfiledThread& operator=(const ProfiledThread&) = delete;

 private:
  detail::RecordedThread thread_;
};

namespace detail {

// Every node serves these.

struct RecordingOptions;
struct RecordedEvent;
class NodeRecording;

/// The recording of one node, as long as the reference that the profiler has. Copies are the same recording.
class KeptRecording {
 public:
  KeptRecording(const std::shared_ptr<NodeCore>& node, const RecordingOptions& options);

  /// Returns the node's time, in nanoseconds.
  [[nodiscard]] std::int64_t now(Scope& scope) const;
  /// Ends the recording. Returns how many events it has counted only.
  [[nodiscard]] std::uint64_t end() const;
  /// Returns the next events, at most `count`, and forgets them. None: those were all.
  [[nodiscard]] std::vector<RecordedEvent> take(std::uint64_t count) const;

 private:
  std::shared_ptr<NodeRecording> recording_;  // the last copy takes it from its node
};

[[nodiscard]] KeptRecording begin_recording(Scope& scope, const RecordingOptions& options);

}  // namespace detail
}  // namespace troupe
