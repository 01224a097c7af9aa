#include "node/launch/output_queue.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace troupe::detail {
namespace {

// A pipe that poll(2) reports writable accepts at least PIPE_BUF bytes without blocking.
constexpr std::size_t kWriteMax = 4096;

}  // namespace

void OutputQueue::push(std::vector<ShownText> texts) {
  for (ShownText& text : texts) {
    if (closed_[static_cast<std::size_t>(text.stream)] || text.text.empty()) continue;
    size_ += text.text.size();
    texts_.push_back(std::move(text));
  }
}

int OutputQueue::descriptor() const { return texts_.front().stream == Output::out ? STDOUT_FILENO : STDERR_FILENO; }

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
