#include "node/links/streams/out_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

namespace troupe::detail {
namespace {

constexpr std::size_t kPartsPerWrite = 16;

Error system_failure(ErrorCode code, int number) { return make_error(code, std::generic_category().message(number)); }

}  // namespace

OutStream::OutStream(FileDescriptor socket, const StreamId& id, const StreamKey& key, Cipher cipher)
    : socket_(std::move(socket)), cipher_(key, cipher) {
  const Preamble preamble = preamble_of(id, key);
  add(make_frame({preamble.begin(), preamble.end()}));
}

Result<OutStream> OutStream::connect(const SocketAddress& to, const StreamId& id, const StreamKey& key, Cipher cipher,
                                     Duration silence_max) {
  FileDescriptor socket(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket.is_open()) return system_failure(ErrorCode::resource_exhausted, errno);
  const int on = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto silence =
      static_cast<unsigned>(std::chrono::duration_cast<std::chrono::milliseconds>(silence_max).count());
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence);
  if (::connect(socket.get(), to.get(), to.size) != 0 && errno != EINPROGRESS)
    return system_failure(ErrorCode::peer_unreachable, errno);
  return OutStream(std::move(socket), id, key, cipher);
}

Result<Unit> OutStream::connected() {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return system_failure(ErrorCode::peer_unreachable, error);
  return Unit{};
}

void OutStream::put(const Frames& packet) {
  for (Frame& part : record_of(packet, cipher_)) add(std::move(part));
  ++records_;
}

void OutStream::add(Frame part) {
  pending_bytes_ += part.bytes.size();
  bytes_ += part.bytes.size();
  if (!part.bytes.empty()) parts_.push_back(std::move(part));
}

Result<Unit> OutStream::write() {
  while (!parts_.empty()) {
    std::array<iovec, kPartsPerWrite> vectors{};
    std::size_t count = 0;
    for (; count < std::min(parts_.size(), vectors.size()); ++count) {
      const std::span<const std::byte> rest = parts_[count].bytes.subspan(count == 0 ? written_ : 0);
      vectors[count] = {const_cast<std::byte*>(rest.data()), rest.size()};  // sendmsg does not write there
    }
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) return Unit{};
    if (sent < 0) return system_failure(ErrorCode::peer_down, errno);
    pending_bytes_ -= static_cast<std::size_t>(sent);
    written_ += static_cast<std::size_t>(sent);
    while (!parts_.empty() && written_ >= parts_.front().bytes.size()) {
      written_ -= parts_.front().bytes.size();
      parts_.pop_front();
    }
  }
  return Unit{};
}

}  // namespace troupe::detail
