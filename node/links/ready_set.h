// Which of many descriptors are readable, or have room, at a cost independent of the number of those that are not.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/clock.h"
#include "messages/error.h"
#include "node/file_descriptor.h"

namespace troupe {

/// Thread rule: one thread at a time.
class ReadySet {
 public:
  /// Identifies a descriptor in the result of `wait`; several may share one.
  using Key = std::uint64_t;

  /// Throws std::system_error if there are no descriptors left.
  ReadySet();

  /// Watches `descriptor`. REQUIRES: `remove` is called before it is closed. Errors: resource_exhausted.
  [[nodiscard]] Result<Unit> add(int descriptor, Key key);
  void remove(int descriptor);

  enum class Room : std::uint8_t { unwatched, watched };
  /// Watches `descriptor` also until something can be written to it, or no longer. REQUIRES: it was added as `key`.
  void watch_room(int descriptor, Key key, Room room);

  /// Waits until a descriptor is readable, at most `timeout` (negative: no limit). Returns their keys as long as they
  /// stay readable, perhaps not all in one call.
  [[nodiscard]] std::vector<Key> wait(Duration timeout);

  struct Event {
    Key key = 0;
    bool is_readable = false;  ///< also if the other end has closed it, or it is broken
  };
  /// As `wait`, also for room.
  [[nodiscard]] std::vector<Event> wait_for_room(Duration timeout);

 private:
  detail::FileDescriptor epoll_;
};

}  // namespace troupe
