// Bytes for a non-blocking pipe, written as fast as its reader takes them.
#pragma once

#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::detail {

/// REQUIRES: SIGPIPE is ignored.
class PipeWriter {
 public:
  void push(std::string_view bytes) { bytes_.append(bytes); }

  /// Returns the number of bytes that are not written yet.
  [[nodiscard]] std::size_t size() const { return bytes_.size() - written_; }

  enum class Outcome { open, closed };
  /// Writes what `descriptor` accepts now. Returns closed if nobody will read it.
  Outcome write_some(int descriptor) {
    while (size() > 0) {
      const ssize_t count = ::write(descriptor, bytes_.data() + written_, size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno == EAGAIN ? Outcome::open : Outcome::closed;
      written_ += static_cast<std::size_t>(count);
      if (written_ * 2 < bytes_.size()) continue;
      explicit_bzero(bytes_.data(), written_);  // a secret, maybe
      bytes_.erase(0, written_);
      written_ = 0;
    }
    return Outcome::open;
  }

 private:
  std::string bytes_;
  std::size_t written_ = 0;  ///< bytes of the front
};

}  // namespace troupe::detail
