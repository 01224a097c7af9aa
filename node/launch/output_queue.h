// Text on its way to the launcher's own standard output and error, written only as fast as these take it.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

#include "node/launch/log_view.h"

namespace troupe::detail {

/// Keeps the order over both streams. Never blocks: write when poll(2) says that descriptor() is writable.
class OutputQueue {
 public:
  void push(std::vector<ShownText> texts);

  [[nodiscard]] bool empty() const { return texts_.empty(); }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The descriptor that takes the next text.
  [[nodiscard]] int descriptor() const;

  /// Writes some of the next text. What goes to a stream that nobody reads any more is dropped.
  void write_some();

  /// Forgets what was not written.
  void drop();

  /// A stream was found closed; true at the first call after that.
  [[nodiscard]] bool take_closed();

 private:
  void pop_front();

  std::deque<ShownText> texts_;
  std::size_t written_ = 0;  ///< of the front
  std::size_t size_ = 0;
  std::array<bool, 2> closed_{};
  bool news_ = false;
};

}  // namespace troupe::detail
