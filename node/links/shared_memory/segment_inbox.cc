#include "node/links/shared_memory/segment_inbox.h"

#include <sodium.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "messages/frame.h"
#include "node/links/socket_address.h"

namespace troupe::detail {
namespace {

constexpr std::uint32_t kMagic = 0x4d505254;  // "TRPM"
// 0 magic, 4 kind, 5 zero (3), 8 token, 24 segment, 28 zero (4), 32 bytes
constexpr std::size_t kDatagramBytes = 40;
using Datagram = std::array<std::byte, kDatagramBytes>;

Datagram encode(const HandedOver& what) {
  Datagram bytes{};
  const std::span<std::byte> all(bytes);
  store_little_endian(all, kMagic);
  all[4] = static_cast<std::byte>(what.kind);
  std::ranges::copy(what.token.bytes, all.subspan(8).begin());
  store_little_endian(all.subspan(24), what.segment);
  store_little_endian(all.subspan(32), what.bytes);
  return bytes;
}

std::optional<HandedOver> decode(std::span<const std::byte> bytes) {
  if (bytes.size() != kDatagramBytes || load_little_endian<std::uint32_t>(bytes) != kMagic) return std::nullopt;
  const auto kind = static_cast<HandOver>(bytes[4]);
  if (kind < HandOver::page || kind > HandOver::pulse) return std::nullopt;
  HandedOver what;
  what.kind = kind;
  std::ranges::copy(bytes.subspan(8, what.token.bytes.size()), what.token.bytes.begin());
  what.segment = load_little_endian<std::uint32_t>(bytes.subspan(24));
  what.bytes = load_little_endian<std::uint64_t>(bytes.subspan(32));
  return what;
}

constexpr std::string_view kNamePrefix = "@troupe-memory-";
constexpr std::size_t kNameDigits = 32;

std::string random_name() {
  std::array<unsigned char, kNameDigits / 2> bytes{};
  ::randombytes_buf(bytes.data(), bytes.size());
  std::array<char, kNameDigits + 1> digits{};
  ::sodium_bin2hex(digits.data(), digits.size(), bytes.data(), bytes.size());
  return std::string(kNamePrefix) + digits.data();
}

bool is_random_name(std::string_view place) {
  return place.starts_with(kNamePrefix) && place.size() == kNamePrefix.size() + kNameDigits;
}

/// Space for the control messages of a datagram: credentials, and more descriptors than one, so that they are seen and
/// closed.
union Control {
  cmsghdr alignment;
  std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(8 * sizeof(int))> bytes;
};

Error failure(const std::string& address, std::string_view why) {
  return Error{.code = ErrorCode::resource_exhausted,
               .message = "no socket for shared memory: " + std::string(why),
               .endpoint = address,
               .operation = "listen",
               .execution = Execution::never};
}

/// Takes the credentials and the descriptor of a received message. Returns false, and closes all descriptors, if it has
/// several, or no credentials.
bool take_control(msghdr& message, HandedOver& into, uid_t& user) {
  bool known = false;
  int count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
      into.sender = sender.pid;
      user = sender.uid;
      known = true;
    }
    if (part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= part->cmsg_len; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + at, sizeof number);
      into.file = FileDescriptor(number);
      ++count;
    }
  }
  const bool has_one = count == (into.kind == HandOver::ready ? 0 : 1);
  return known && has_one && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
}

}  // namespace

bool InboxToken::matches(const InboxToken& other) const {
  return ::sodium_memcmp(bytes.data(), other.bytes.data(), bytes.size()) == 0;
}

InboxToken random_inbox_token() {
  InboxToken token{};
  ::randombytes_buf(token.bytes.data(), token.bytes.size());
  return token;
}

InboxToken shown_by(std::string_view sender, const InboxToken& token) {
  static_assert(std::tuple_size_v<decltype(token.bytes)> >= crypto_generichash_KEYBYTES_MIN);
  InboxToken shown{};
  ::crypto_generichash(reinterpret_cast<unsigned char*>(shown.bytes.data()), shown.bytes.size(),
                       reinterpret_cast<const unsigned char*>(sender.data()), sender.size(),
                       reinterpret_cast<const unsigned char*>(token.bytes.data()), token.bytes.size());
  return shown;
}

Result<SegmentInbox> SegmentInbox::open_beside(const std::string& address) {
  constexpr std::string_view kIpc = "ipc://";
  const bool is_ipc = address.starts_with(kIpc);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return failure(address, std::generic_category().message(errno));
  const int on = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  std::string file =
      is_ipc && !address.substr(kIpc.size()).starts_with('@') ? address.substr(kIpc.size()) + ".memory" : "";
  if (!unix_address(file)) file.clear();            // too long
  if (!file.empty()) (void)::unlink(file.c_str());  // left by a killed life: the link now holds this node's path
  std::string place = file.empty() ? random_name() : file;
  const SocketAddress at = unix_address(place).value();
  if (::bind(socket.get(), at.get(), at.size) != 0) return failure(address, std::generic_category().message(errno));
  return SegmentInbox(std::move(socket), std::move(place), std::move(file), is_ipc);
}

SegmentInbox SegmentInbox::none() { return {{}, random_name(), {}, false}; }

SegmentInbox::SegmentInbox(SegmentInbox&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      place_(std::move(other.place_)),
      file_(std::exchange(other.file_, {})),
      reaches_files_(other.reaches_files_),
      spare_(std::move(other.spare_)) {}

SegmentInbox::~SegmentInbox() {
  if (!file_.empty()) (void)::unlink(file_.c_str());
}

SegmentInbox::Sent SegmentInbox::send(std::string_view place, const HandedOver& what, int descriptor) const {
  const bool is_inbox = is_random_name(place) || (reaches_files_ && !place.starts_with('@'));
  const std::optional<SocketAddress> to = is_inbox ? unix_address(place) : std::nullopt;
  if (!to) {
    errno = EINVAL;
    return Sent::nobody;
  }
  Datagram bytes = encode(what);
  iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to->get());
  message.msg_namelen = to->size;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control{};
  if (descriptor >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(descriptor_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(bytes.size())) return Sent::done;
  const bool is_gone = errno == ECONNREFUSED || errno == ENOENT || errno == EACCES || errno == EPERM;
  return is_gone ? Sent::nobody : Sent::full;
}

std::optional<HandedOver> SegmentInbox::receive() {
  while (true) {
    // The kernel drops a descriptor for which none is free, and the sender cannot know. Before that of the last
    // datagram was closed, there may have been none to take back.
    spare_.take_back();
    (void)spare_.give_up();
    std::array<std::byte, kDatagramBytes + 1> bytes{};
    iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
    Control control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t size = ::recvmsg(descriptor_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      spare_.take_back();
      return std::nullopt;
    }
    std::optional<HandedOver> what = decode(std::span(bytes).first(static_cast<std::size_t>(size)));
    const bool well_formed = what.has_value();
    if (!well_formed) what.emplace();  // its descriptors must be closed all the same
    uid_t user = 0;
    if (take_control(message, *what, user) && well_formed && user == ::geteuid()) return what;
  }
}

}  // namespace troupe::detail
