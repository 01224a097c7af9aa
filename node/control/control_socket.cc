#include "node/control/control_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "node/node_name.h"
#include "node/unmapped_user.h"

namespace troupe {
namespace {

constexpr std::string_view kPrefix = "troupe-control/";
constexpr int kBacklog = 16;

struct Address {
  sockaddr_un bytes{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

/// Throws std::invalid_argument.
Address address_of(const ControlName& name) {
  const std::string text = name.text();
  Address address;
  if (!parse_control_name(text) || text.size() + 1 > sizeof address.bytes.sun_path) {
    throw std::invalid_argument(fmt::format("\"{}\" cannot be the name of a socket", text));
  }
  address.bytes.sun_family = AF_UNIX;
  std::memcpy(address.bytes.sun_path + 1, text.data(), text.size());  // a leading zero: the abstract namespace
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

/// If the result is not open, errno has the reason.
detail::FileDescriptor make_socket() {
  return detail::FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

std::string ControlName::text() const {
  return node.empty() ? fmt::format("{}{}", kPrefix, cluster_id) : fmt::format("{}{}/{}", kPrefix, cluster_id, node);
}

std::optional<ControlName> parse_control_name(std::string_view text) {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const std::size_t slash = text.find('/');
  ControlName name{std::string(text.substr(0, slash)), {}};
  if (slash != std::string_view::npos) name.node = text.substr(slash + 1);
  const std::string_view spelled = std::string_view(name.node).substr(name.node.starts_with('@') ? 1 : 0);
  const bool is_whole = is_valid_configured_name(name.cluster_id) &&
                        (slash == std::string_view::npos || is_valid_configured_name(spelled));
  return is_whole ? std::optional(std::move(name)) : std::nullopt;
}

namespace detail {

bool may_ask(uid_t asker, uid_t answerer) {
  constexpr uid_t kUnknown = ControlPeer{}.user;
  return asker != kUnknown && answerer != kUnknown && (asker == answerer || asker == 0);
}

FileDescriptor listen_at(const ControlName& name) {
  const Address address = address_of(name);
  FileDescriptor listening = make_socket();
  if (!listening.is_open() || bind(listening.get(), address.get(), address.size) != 0 ||
      listen(listening.get(), kBacklog) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot listen at @" + name.text());
  }
  return listening;
}

FileDescriptor connect_to(const ControlName& name) {
  const Address address = address_of(name);
  FileDescriptor connection = make_socket();
  if (!connection.is_open() || connect(connection.get(), address.get(), address.size) == 0) return connection;
  const int why = errno;
  connection.close();
  errno = why;
  return connection;
}

ControlPeer peer_of(const FileDescriptor& socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  if (may_be_several(credentials.uid)) return {.pid = credentials.pid};
  return {credentials.pid, credentials.uid};
}

// A line is "address: references protocol flags type state inode path"; bit 16 of the flags says that it listens, and
// the leading zero of an abstract name is shown as '@'.
std::vector<ControlName> control_names(const std::string& sockets) {
  constexpr unsigned long kListens = 1UL << 16;
  std::vector<ControlName> names;
  std::istringstream lines(sockets);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, references, protocol, flags, type, state, inode, path;
    words >> address >> references >> protocol >> flags >> type >> state >> inode >> path;
    if (!path.starts_with('@') || (std::strtoul(flags.c_str(), nullptr, 16) & kListens) == 0) continue;
    if (auto name = parse_control_name(std::string_view(path).substr(1))) names.push_back(*std::move(name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<ControlName> control_names() {
  std::ifstream file("/proc/net/unix");
  return control_names(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace detail

}  // namespace troupe
