// Which of many descriptors are readable, at a cost that does not grow with those that are not.
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
  /// Names a descriptor in what `wait` returns; several may share one.
  using Key = std::uint64_t;

  /// Throws std::system_error if there are no descriptors left.
  ReadySet();

  /// Watches `descriptor` until `remove`, which must come before it is closed. Errors: resource_exhausted.
  [[nodiscard]] Result<Unit> add(int descriptor, Key key);
  void remove(int descriptor);

  /// Waits until a descriptor is readable, at most `timeout`; negative: for ever. Returns their keys, perhaps not all at
  /// once, for as long as they stay readable.
  [[nodiscard]] std::vector<Key> wait(Duration timeout);

 private:
  detail::FileDescriptor epoll_;
};

}  // namespace troupe
