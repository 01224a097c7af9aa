#include "node/links/streams/in_stream.h"

#include <sys/socket.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

namespace troupe::detail {

std::optional<InStream::Happened> InStream::read() {
  while (true) {
    switch (fill(part())) {
      case Filled::not_yet: return std::nullopt;
      case Filled::never: return Closed{.why = failure_};
      case Filled::yes: break;
    }
    filled_ = 0;
    if (auto happened = advance()) return happened;
  }
}

InStream::Filled InStream::fill(std::span<std::byte> part) {
  while (filled_ < part.size()) {
    const std::span<std::byte> rest = part.subspan(filled_);
    const ssize_t got = ::recv(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (got > 0) {
      filled_ += static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return Filled::not_yet;
    } else {
      if (got < 0) failure_ = std::generic_category().message(errno);
      return Filled::never;
    }
  }
  return Filled::yes;
}

std::span<std::byte> InStream::part() {
  switch (stage_) {
    case Stage::preamble: return preamble_;
    case Stage::head: return head_;
    case Stage::content: return content_bytes_;
    case Stage::tag: return std::span(tag_).first(cipher_->tag_bytes());
  }
  return {};
}

std::optional<InStream::Happened> InStream::advance() {
  switch (stage_) {
    case Stage::preamble: stage_ = Stage::head; return Claimed{preamble_};
    case Stage::head: {
      if (!cipher_) return refuse("records before a proof");
      const std::optional<std::size_t> size = content_bytes(head_);
      if (!size) return refuse("the head of a record is impossible");
      try {
        content_ = Storage::allocate(*size);
        content_bytes_ = {content_.mutable_data(), *size};
      } catch (const std::exception&) {  // out of memory, also in the form of the tensor allocator's own exception
        return Closed{.why = "no memory for a record"};
      }
      stage_ = Stage::content;
      return std::nullopt;
    }
    case Stage::content: stage_ = Stage::tag; return std::nullopt;
    case Stage::tag: stage_ = Stage::head; return finish_record();
  }
  return std::nullopt;
}

InStream::Happened InStream::finish_record() {
  if (cipher_->cipher() != Cipher::none && !cipher_->open(head_, content_bytes_, tag_))
    return refuse("a record is not the next one of its stream");
  content_bytes_ = {};
  const FrozenBytes bytes = std::exchange(content_, {}).freeze();
  std::optional<Frames> packet = frames_of({bytes.bytes(), bytes.owner()});
  if (!packet) return refuse("a record describes other bytes than it has");
  return Arrived{*std::move(packet)};
}

}  // namespace troupe::detail
