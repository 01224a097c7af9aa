// What one node records for a profiler. Plain rules: no CAF.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "actors/clock.h"
#include "actors/profile/profile.h"
#include "messages/ids.h"

namespace troupe::detail {

struct ScopeState;

/// What a profiler asks of each node.
struct RecordingOptions {
  std::uint64_t trace = 0;       ///< the id of the calls that are recorded
  bool everything = false;       ///< also what belongs to no such call
  bool inputs = false;           ///< what kernels read
  std::uint64_t events_max = 0;  ///< later ones are counted only
  template <class Archive>
  void serialize(Archive& ar) {
    ar(trace, everything, inputs, events_max);
  }
};

/// The most bytes of an event's name, which may be a user's span.
inline constexpr std::size_t kNameMax = 256;

/// An event as its node recorded it.
struct RecordedEvent {
  EventKind kind = EventKind::span;
  std::string name = {};
  NodeName caller = {};                  ///< of the function in whose scope it happened; empty: none
  NodeName to = {};                      ///< of a call
  std::string inputs = {};               ///< of a kernel
  std::string context = {};              ///< the text of the autograd context's id, or empty
  std::vector<std::uint32_t> path = {};  ///< of a call: its own; otherwise of the call in which it happened
  std::uint32_t thread = 0;
  std::int64_t begin = 0;  ///< nanoseconds on the node's clock
  std::int64_t end = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(kind, name, caller, to, inputs, context, path, thread, begin, end);
  }
};

/// Returns the memory that the event takes.
[[nodiscard]] std::uint64_t bytes_of(const RecordedEvent& event);

/// Thread rule: any thread may call any member.
class NodeRecording {
 public:
  explicit NodeRecording(const RecordingOptions& options) : options_(options) {}

  [[nodiscard]] const RecordingOptions& options() const { return options_; }

  /// Returns whether what happens in `scope` is recorded. The passes of its context belong to it, too, from now on.
  [[nodiscard]] bool wants(const ScopeState& scope);
  [[nodiscard]] bool wants(const ContextId& context) const;

  /// Adds an event of the calling thread, which has ended, with at most kNameMax bytes of its name. Counts it only if
  /// there are too many, or no memory for it.
  void add(RecordedEvent event) noexcept;

  /// Counts an event that got no memory.
  void lose() noexcept;

  /// From now on nothing is added or counted. Returns how many events were only counted.
  std::uint64_t end() noexcept;  // NOLINT(modernize-use-nodiscard)

  /// Ends the recording, and forgets its events. Whoever still records it keeps it alive, but nothing more.
  void forget() noexcept;

  /// Returns whether events are no longer added: nobody need make them. One load.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(std::memory_order_relaxed); }

  /// Returns the next events in the order of their ends, at most `count` and some megabytes, and forgets them.
  [[nodiscard]] std::vector<RecordedEvent> take(std::size_t count);

  /// The most bytes that events take, whatever their limit.
  static constexpr std::size_t kBytesMax = std::size_t{256} << 20U;

 private:
  static constexpr std::size_t kContextsMax = 10'000;
  static constexpr std::size_t kBytesOfOneAnswer = std::size_t{4} << 20U;

  const RecordingOptions options_;
  mutable std::mutex mutex_;
  std::set<ContextId> contexts_;                      // guarded by mutex_, as all that follows
  std::map<std::thread::id, std::uint32_t> threads_;  // numbered as they first recorded something
  std::vector<RecordedEvent> events_;
  std::size_t taken_ = 0;  // of events_
  std::uint64_t added_ = 0;
  std::uint64_t bytes_ = 0;  // of events_
  std::uint64_t lost_ = 0;
  std::atomic<bool> has_ended_{false};  // set under mutex_
};

using RecordingList = std::vector<std::shared_ptr<NodeRecording>>;

/// The recordings of one node. Thread rule: any thread may call any member.
class Recordings {
 public:
  /// Returns whether there is any: one load.
  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }

  /// Throws std::runtime_error `[Profiler] 16 profiles are being recorded on this node`.
  void add(std::shared_ptr<NodeRecording> recording);
  void remove(const NodeRecording& recording) noexcept;

  /// An event got no memory: all count it, as nobody knows whose it was.
  void lose() const noexcept;

  /// Returns those that want what happens in the scope or in a pass of the context. Empty without memory.
  [[nodiscard]] RecordingList of(const ScopeState& scope) const noexcept;
  [[nodiscard]] RecordingList of(const ContextId& context) const noexcept;

 private:
  template <class Place>
  RecordingList wanting(const Place& place) const noexcept;

  static constexpr std::size_t kRecordingsMax = 16;

  mutable std::mutex mutex_;
  RecordingList all_;  // guarded by mutex_
  std::atomic<std::size_t> count_{0};
};

}  // namespace troupe::detail
