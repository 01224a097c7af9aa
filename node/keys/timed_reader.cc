#include "node/keys/timed_reader.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <stdexcept>

#include <fmt/format.h>

#include "node/system_text.h"

namespace troupe::detail {

TimedReader::TimedReader(int descriptor, std::chrono::milliseconds limit)
    : descriptor_(descriptor), limit_(limit), due_(std::chrono::steady_clock::now() + limit) {}

std::size_t TimedReader::read_up_to(std::span<std::byte> into) {
  std::size_t size = 0;
  while (size < into.size()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due_ - std::chrono::steady_clock::now()).count();
    pollfd polled{.fd = descriptor_, .events = POLLIN, .revents = 0};
    // poll does not watch a negative descriptor: the read refuses it.
    const int ready = descriptor_ < 0 ? 1 : ::poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready == 0) throw std::invalid_argument(fmt::format("has no end within {} ms", limit_.count()));
    const ssize_t got = ready < 0 ? -1 : ::read(descriptor_, into.data() + size, into.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::invalid_argument(fmt::format("cannot be read: {}", system_text(errno)));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return size;
}

}  // namespace troupe::detail
