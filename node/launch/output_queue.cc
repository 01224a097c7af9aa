#include "node/launch/output_queue.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace troupe::detail {
namespace {

// A pipe that poll(2) reports writable accepts at least PIPE_BUF bytes without blocking.
constexpr std::size_t kWriteMax = 4096;

int number_of(Output stream) { return stream == Output::out ? STDOUT_FILENO : STDERR_FILENO; }

/// Opens `stream` once more if it is a terminal: poll(2) reports a terminal writable when it has room for one byte, so
/// writes must not block, and the mode of the open file that the shell has, too, must stay.
FileDescriptor open_terminal(Output stream) {
  const int number = number_of(stream);
  if (isatty(number) != 1) return {};
  return FileDescriptor(
      open(fmt::format("/proc/self/fd/{}", number).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

OutputQueue::OutputQueue() : terminals_{open_terminal(Output::out), open_terminal(Output::err)} {}

void OutputQueue::push(std::vector<ShownText> texts) {
  for (ShownText& text : texts) {
    if (closed_[static_cast<std::size_t>(text.stream)] || text.text.empty()) continue;
    size_ += text.text.size();
    texts_.push_back(std::move(text));
  }
}

int OutputQueue::descriptor() const {
  const Output stream = texts_.front().stream;
  const FileDescriptor& terminal = terminals_[static_cast<std::size_t>(stream)];
  return terminal.is_open() ? terminal.get() : number_of(stream);
}

bool OutputQueue::is_writable() const {
  if (empty() || news_) return false;
  pollfd polled{descriptor(), POLLOUT, 0};
  return ::poll(&polled, 1, 0) == 1;
}

void OutputQueue::write_some() {
  const ShownText& front = texts_.front();
  const std::size_t size = std::min(front.text.size() - written_, kWriteMax);
  const ssize_t written = ::write(descriptor(), front.text.data() + written_, size);
  if (written < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (written < 0) {
    const Output closed = front.stream;
    closed_[static_cast<std::size_t>(closed)] = true;
    news_ = Closed{closed, errno};
    std::erase_if(texts_, [&](const ShownText& text) { return text.stream == closed; });
    written_ = 0;
    size_ = 0;
    for (const ShownText& text : texts_) size_ += text.text.size();
    return;
  }
  written_ += static_cast<std::size_t>(written);
  size_ -= static_cast<std::size_t>(written);
  if (written_ == front.text.size()) pop_front();
}

void OutputQueue::drop() {
  texts_.clear();
  written_ = 0;
  size_ = 0;
}

std::optional<OutputQueue::Closed> OutputQueue::take_closed() { return std::exchange(news_, std::nullopt); }

void OutputQueue::pop_front() {
  texts_.pop_front();
  written_ = 0;
}

}  // namespace troupe::detail
