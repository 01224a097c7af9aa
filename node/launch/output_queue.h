// Text for the launcher's own standard output and error, written only as fast as they accept it.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "node/file_descriptor.h"
#include "node/launch/log_view.h"

namespace troupe::detail {

/// Keeps the order over both streams. Never blocks: call write_some when poll(2) reports descriptor() writable. A
/// terminal that this process may not open, as one of another user, can block it.
class OutputQueue {
 public:
  OutputQueue();

  /// A stream that cannot be written any more.
  struct Closed {
    Output stream;
    int error;  ///< of write(2): EPIPE if its reader has gone
  };

  void push(std::vector<ShownText> texts);

  [[nodiscard]] bool empty() const { return texts_.empty(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Returns the descriptor of the next text.
  [[nodiscard]] int descriptor() const;

  /// Returns whether there is text that write_some writes at once. Not before take_closed() has told of a stream that
  /// it has found closed.
  [[nodiscard]] bool is_writable() const;

  /// Writes a part of the next text. Text for a closed stream is dropped.
  void write_some();

  /// Drops the unwritten text.
  void drop();

  /// Returns the stream that write_some has found closed, once.
  [[nodiscard]] std::optional<Closed> take_closed();

 private:
  void pop_front();

  std::array<FileDescriptor, 2> terminals_;  ///< by Output: a terminal is written through these
  std::deque<ShownText> texts_;
  std::size_t written_ = 0;  ///< bytes of the front
  std::size_t size_ = 0;
  std::array<bool, 2> closed_{};
  std::optional<Closed> news_;
};

}  // namespace troupe::detail
