#include "node/links/datagram_socket.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kUdp = "udp://";
constexpr std::string_view kUnix = "unix://";

Error failure(ErrorCode code, const std::string& address, std::string_view why) {
  return Error{.code = code,
               .message = fmt::format("no socket for heartbeats beside {}: {}", address, why),
               .endpoint = address,
               .operation = "listen",
               .execution = Execution::never};
}

detail::FileDescriptor open_socket(int family) {
  return detail::FileDescriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool bind(const detail::FileDescriptor& socket, const SocketAddress& address) {
  return ::bind(socket.get(), address.get(), address.size) == 0;
}

/// Returns the address that makes bind choose a free abstract name.
SocketAddress any_name() {
  SocketAddress any;
  any.bytes.ss_family = AF_UNIX;
  any.size = sizeof any.bytes.ss_family;
  return any;
}

SocketAddress name_of(const detail::FileDescriptor& socket) {
  SocketAddress bound;
  bound.size = sizeof bound.bytes;
  (void)::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size);
  return bound;
}

std::string abstract_name_of(const detail::FileDescriptor& socket) {
  const SocketAddress bound = name_of(socket);
  const auto* text = reinterpret_cast<const char*>(&bound.bytes) + offsetof(sockaddr_un, sun_path) + 1;  // after a zero
  return std::string("@").append(text, bound.size - offsetof(sockaddr_un, sun_path) - 1);
}

in_port_t& port_of(SocketAddress& address) {
  return address.family() == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address.bytes)->sin6_port
                                      : reinterpret_cast<sockaddr_in*>(&address.bytes)->sin_port;
}

/// Binds to a free port of `ports`, or to any free one.
bool bind_to_any(const detail::FileDescriptor& socket, SocketAddress host, const std::optional<PortRange>& ports) {
  const PortRange range = ports.value_or(PortRange{0, 0});
  for (int port = range.low; port <= range.high; ++port) {
    port_of(host) = htons(static_cast<in_port_t>(port));
    if (troupe::bind(socket, host)) return true;
  }
  return false;
}

/// Requests priority over bulk data in hosts and switches that respect the class.
void ask_for_precedence(const detail::FileDescriptor& socket, int family) {
  const int kind = IPTOS_CLASS_CS6;
  if (family == AF_INET6) {
    (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_TCLASS, &kind, sizeof kind);
  } else {
    (void)::setsockopt(socket.get(), IPPROTO_IP, IP_TOS, &kind, sizeof kind);
  }
}

/// Room for one descriptor beside a datagram.
struct OneDescriptor {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes{};
};

detail::FileDescriptor descriptor_in(msghdr& received) {
  const cmsghdr* const control = CMSG_FIRSTHDR(&received);
  if (control == nullptr || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) return {};
  if (control->cmsg_len < CMSG_LEN(sizeof(int))) return {};
  int number = -1;
  std::memcpy(&number, CMSG_DATA(control), sizeof number);
  return detail::FileDescriptor(number);
}

std::string file_of_one(const std::string& file, std::string_view number) { return fmt::format("{}.{}", file, number); }

/// Removes the files of sockets for one sender that a killed life left beside `file`.
void remove_left_behind(const std::filesystem::path& file) {
  const std::string start = file_of_one(file.filename().string(), "");
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(file.parent_path().empty() ? "." : file.parent_path(), ignored), end;
       !ignored && entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(start) || name.find_first_not_of("0123456789", start.size()) != std::string::npos) continue;
    (void)::unlink(entry->path().c_str());
  }
}

}  // namespace

std::optional<DatagramSocket> DatagramSocket::open_unix(std::string file) {
  detail::FileDescriptor socket = open_socket(AF_UNIX);
  if (!socket.is_open()) return std::nullopt;
  const auto named = file.empty() || file.front() == '@' ? std::nullopt : unix_address(file);
  if (!named) file.clear();
  if (named) (void)::unlink(file.c_str());  // left by a killed life: the link now holds this node's path
  if (!troupe::bind(socket, named.value_or(any_name()))) return std::nullopt;
  std::string place = named ? file : abstract_name_of(socket);
  return DatagramSocket(AF_UNIX, std::move(socket), std::move(place), std::move(file));
}

std::optional<DatagramSocket> DatagramSocket::open_for_one(std::uint32_t number) const {
  if (family_ != AF_UNIX) return std::nullopt;
  auto socket = open_unix(file_.empty() ? std::string{} : file_of_one(file_, std::to_string(number)));
  if (socket && admitted_) socket->admit_only(*admitted_);
  return socket;
}

Result<DatagramSocket> DatagramSocket::open_beside(const std::string& address, std::optional<PortRange> ports) {
  if (address.starts_with(kIpc)) {
    std::optional<DatagramSocket> socket = open_unix(address.substr(kIpc.size()) + ".pulse");
    if (!socket) return failure(ErrorCode::resource_exhausted, address, std::strerror(errno));
    if (!socket->file_.empty()) remove_left_behind(socket->file_);
    return *std::move(socket);
  }
  auto host = address.starts_with(kTcp) ? host_address(std::string_view(address).substr(kTcp.size())) : std::nullopt;
  if (!host) return failure(ErrorCode::bad_argument, address, "it is neither tcp nor ipc");
  detail::FileDescriptor socket = open_socket(host->family());
  if (!socket.is_open()) return failure(ErrorCode::resource_exhausted, address, std::strerror(errno));
  if (!troupe::bind(socket, *host) && !bind_to_any(socket, *host, ports)) {
    return failure(ErrorCode::resource_exhausted, address,
                   ports ? fmt::format("no udp port of {} is free", ports->text()) : std::strerror(errno));
  }
  ask_for_precedence(socket, host->family());
  SocketAddress bound = name_of(socket);
  return DatagramSocket(host->family(), std::move(socket), std::to_string(ntohs(port_of(bound))), {});
}

DatagramSocket::~DatagramSocket() {
  if (!file_.empty()) (void)::unlink(file_.c_str());
}

std::string DatagramSocket::address_beside(std::string_view advertised) const {
  if (!advertised.starts_with(kTcp)) return fmt::format("{}{}", kUnix, place_);
  const std::string_view host = advertised.substr(kTcp.size(), advertised.rfind(':') - kTcp.size());
  return fmt::format("{}{}:{}", kUdp, host, place_);
}

std::optional<SocketAddress> DatagramSocket::parse(std::string_view address) {
  if (address.starts_with(kUdp)) return host_address(address.substr(kUdp.size()));
  if (address.starts_with(kUnix)) return unix_address(address.substr(kUnix.size()));
  return std::nullopt;
}

std::optional<SocketAddress> DatagramSocket::look_up(std::string_view address) {
  return address.starts_with(kUdp) ? host_address(address.substr(kUdp.size()), HostNames::look_up) : parse(address);
}

int DatagramSocket::sender(int family) {
  if (family == family_) return descriptor_.get();
  detail::FileDescriptor& other = senders_[family];
  if (!other.is_open()) {
    other = open_socket(family);
    ask_for_precedence(other, family);
  }
  return other.get();
}

void DatagramSocket::send_all(std::span<const Letter> letters) {
  while (!letters.empty()) {
    std::array<iovec, kBatch> contents{};
    std::array<mmsghdr, kBatch> headers{};
    const int family = letters.front().to->family();
    std::size_t count = 0;
    for (; count < std::min(kBatch, letters.size()) && letters[count].to->family() == family; ++count) {
      const Letter& letter = letters[count];
      // sendmmsg only reads them.
      contents[count] = {.iov_base = const_cast<std::byte*>(letter.bytes.data()), .iov_len = letter.bytes.size()};
      headers[count].msg_hdr.msg_name = const_cast<sockaddr*>(letter.to->get());
      headers[count].msg_hdr.msg_namelen = letter.to->size;
      headers[count].msg_hdr.msg_iov = &contents[count];
      headers[count].msg_hdr.msg_iovlen = 1;
    }
    const int sent = ::sendmmsg(sender(family), headers.data(), static_cast<unsigned>(count), MSG_NOSIGNAL);
    letters =
        letters.subspan(static_cast<std::size_t>(std::max(sent, 1)));  // the first of those that failed is dropped
  }
}

void DatagramSocket::send(const SocketAddress& to, std::span<const std::byte> bytes, int file) {
  if (file < 0) {
    (void)::sendto(sender(to.family()), bytes.data(), bytes.size(), MSG_NOSIGNAL, to.get(), to.size);
    return;
  }
  SocketAddress address = to;
  iovec content{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};  // sendmsg only reads it
  OneDescriptor room{};
  msghdr header{.msg_name = &address.bytes,
                .msg_namelen = address.size,
                .msg_iov = &content,
                .msg_iovlen = 1,
                .msg_control = room.bytes.data(),
                .msg_controllen = room.bytes.size(),
                .msg_flags = 0};
  cmsghdr* const control = CMSG_FIRSTHDR(&header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(control), &file, sizeof file);
  (void)::sendmsg(sender(to.family()), &header, MSG_NOSIGNAL);
}

void DatagramSocket::admit_only(const Beginning& beginning) {
  const auto word = [&](std::size_t at) {  // the filter loads words as the network has them
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, beginning.data() + at, sizeof bytes);
    return ntohl(bytes);
  };
  const std::uint32_t content = family_ == AF_UNIX ? 0 : sizeof(udphdr);
  std::array<sock_filter, 6> program{{{BPF_LD | BPF_W | BPF_ABS, 0, 0, content},
                                      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, word(0)},
                                      {BPF_LD | BPF_W | BPF_ABS, 0, 0, content + 4},
                                      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, word(4)},
                                      {BPF_RET | BPF_K, 0, 0, 0xFFFF},
                                      {BPF_RET | BPF_K, 0, 0, 0}}};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  (void)::setsockopt(descriptor_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
  admitted_ = beginning;
}

std::size_t DatagramSocket::receive(Batch& into) const {
  std::array<iovec, kBatch> places{};
  std::array<mmsghdr, kBatch> headers{};
  std::array<OneDescriptor, kBatch> rooms{};
  for (std::size_t i = 0; i < kBatch; ++i) {
    places[i] = {.iov_base = into[i].bytes.data(), .iov_len = into[i].bytes.size()};
    headers[i].msg_hdr.msg_iov = &places[i];
    headers[i].msg_hdr.msg_iovlen = 1;
    if (family_ != AF_UNIX) continue;
    headers[i].msg_hdr.msg_control = rooms[i].bytes.data();
    headers[i].msg_hdr.msg_controllen = CMSG_LEN(sizeof(int));  // padding would have room for a second one
  }
  while (true) {
    const int count = ::recvmmsg(descriptor_.get(), headers.data(), kBatch, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, nullptr);
    if (count < 0 && (errno == EINTR || errno == ECONNREFUSED)) continue;  // the latter reports an earlier send
    for (int i = 0; i < count; ++i) {
      into[i].size = headers[i].msg_len;
      into[i].file = descriptor_in(headers[i].msg_hdr);
    }
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }
}

}  // namespace troupe
