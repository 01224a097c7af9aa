#include "node/links/transports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "node/config/settings.h"
#include "node/links/shared_memory/shared_link.h"
#include "node/links/streams/stream_link.h"
#include "node/links/zmq_link.h"
#include "node/port_range.h"
#include "node/unmapped_user.h"

namespace troupe {
namespace {

Error refused(const std::string& listen, std::string message) {
  return Error{.code = ErrorCode::bad_argument,
               .message = std::move(message),
               .endpoint = listen,
               .operation = "listen",
               .execution = Execution::never};
}

bool is_scheme(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

void read_duration(const LinkRequest& request, const std::string& option, Duration& into) {
  const auto found = request.options.find(option);
  if (found == request.options.end()) return;
  SettingSpec spec;
  spec.kind = SettingKind::duration;
  try {
    into = std::get<std::chrono::milliseconds>(checked(spec, Untyped{found->second}));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(
        fmt::format("option \"{}\" of transport \"{}\": {}", option, scheme_of(request.listen), error.what()));
  }
}

bool reaches_other_machines(Network network) { return network == Network::keys || network == Network::trusted; }

Result<std::unique_ptr<ZmqLink>> open_zmq_link(LinkRequest request, std::string listen) {
  ZmqLinkOptions options;
  try {
    read_duration(request, "connect_patience", options.connect_patience);
    read_duration(request, "handshake_timeout", options.handshake_timeout);
  } catch (const std::invalid_argument& error) {
    return refused(request.listen, error.what());
  }
  options.name = std::move(request.name);
  options.incarnation = request.incarnation;
  options.cluster_id = std::move(request.cluster_id);
  options.secret = request.secret;
  options.silence = request.silence;
  options.pulse_page = request.shared_memory_max > 0;
  options.bind = std::move(listen);
  options.advertise = request.options["advertise"];
  if (const auto ports = request.options.find("ports"); ports != request.options.end()) {
    options.ports = PortRange::parse(ports->second);
    if (!options.ports) {
      return refused(
          request.listen,
          fmt::format("option \"ports\" of transport \"tcp\": \"{}\" is not LOW-HIGH, two ports", ports->second));
    }
    const std::optional<TcpPlace> first = TcpPlace::parse(request.first);
    if (first && first->port != "*") options.port_of_first = static_cast<std::uint16_t>(std::stoi(first->port));
  }
  options.log = std::move(request.log);
  options.audit = std::move(request.audit);
  options.keys = std::move(request.keys);
  if (reaches_other_machines(request.network)) options.exposure = ZmqLinkOptions::Exposure::network;
  Result<std::unique_ptr<ZmqLink>> link = ZmqLink::open(std::move(options));
  if (!link) {
    Error error = link.error();
    if (error.code == ErrorCode::not_authorized) error.hint = kTrustHint;
    return error;
  }
  return link;
}

/// `address` with its host in numbers. Throws std::invalid_argument.
TcpPlace place_in_numbers(const std::string& address) {
  const std::optional<TcpPlace> place = TcpPlace::parse(address);
  if (!place) throw std::invalid_argument(fmt::format("\"{}\" is not tcp://HOST:PORT", address));
  return TcpPlace{numbers_of(place->host), place->port};
}

struct WantedStreams {
  bool wanted = true;  ///< false: large messages share the connection of small ones
  detail::StreamReceiverOptions receiver;
};

/// What `streams` and `stream_ports` ask for. Throws std::invalid_argument.
WantedStreams streams_of(const LinkRequest& request, const TcpPlace& listen) {
  const auto option = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = request.options.find(name);
    return found == request.options.end() ? std::nullopt : std::optional(found->second);
  };
  WantedStreams streams{.receiver = {.host = listen.host}};
  const std::optional<std::string> ports = option("stream_ports");
  if (ports && !(streams.receiver.ports = PortRange::parse(*ports)))
    throw std::invalid_argument(fmt::format("stream_ports = \"{}\" is not LOW-HIGH, two ports", *ports));
  const std::string wanted = option("streams").value_or("auto");
  if (wanted != "auto" && wanted != "off")
    throw std::invalid_argument(fmt::format("streams = \"{}\" is neither auto nor off", wanted));
  // A firewall lets `ports` through, and each of them may be wanted by another node; who forwards one port to this node
  // forwards no other.
  const std::optional<TcpPlace> told = TcpPlace::parse(option("advertise").value_or(""));
  const bool is_forwarded = told && told->port != "*";
  streams.wanted = wanted == "auto" && (ports || !(option("ports") || is_forwarded));
  return streams;
}

/// Returns `link` with memory that it shares with peers on this host.
Result<std::unique_ptr<Link>> with_shared_memory(std::unique_ptr<Link> link, const SharedLinkOptions& options) {
  auto sharing = SharedLink::over(std::move(link), options);
  if (!sharing) return sharing.error();
  return std::unique_ptr<Link>(std::move(sharing).value());
}

SharedLinkOptions shared_memory_of(const LinkRequest& request) {
  SharedLinkOptions shared;
  shared.shares = request.shared_memory_max > 0;
  shared.bytes_max = request.shared_memory_max;
  shared.rings = request.rings;
  shared.spins = request.spins;
  shared.log = request.log;
  shared.name = request.name;
  shared.keys = request.keys;
  return shared;
}

/// Opens a link whose large messages have connections of their own, if they are wanted; else peers are told so. With
/// keys, peers that turn out to be on this host share memory, if the kernel can tell users apart. Without, packets have
/// checksums, which would read the tensors that need not travel: then nothing is shared, nor asked for.
Result<std::unique_ptr<Link>> open_with_streams(LinkRequest request, std::string listen, WantedStreams streams) {
  StreamLinkOptions options{.name = request.name,
                            .incarnation = request.incarnation,
                            .has_streams = streams.wanted,
                            .keys = request.keys,
                            .receiver = std::move(streams.receiver),
                            .log = request.log,
                            .audit = request.audit};
  SharedLinkOptions shared = shared_memory_of(request);
  if (detail::may_be_several(::geteuid())) shared.no_inbox = "this process's user cannot be told from others";
  auto link = open_zmq_link(std::move(request), std::move(listen));
  if (!link) return link.error();
  const bool shares = link.value()->guards_bytes();
  shared.pulse = link.value()->pulse();
  auto with_streams = std::make_unique<StreamLink>(std::move(link).value(), std::move(options));
  if (!shares) return std::unique_ptr<Link>(std::move(with_streams));
  return with_shared_memory(std::move(with_streams), shared);
}

Result<std::unique_ptr<Link>> open_tcp(LinkRequest request) {
  const auto advertise = request.options.find("advertise");
  try {
    const TcpPlace listen = place_in_numbers(request.listen == "tcp://" ? "tcp://127.0.0.1:*" : request.listen);
    if (advertise != request.options.end()) {
      advertise->second = advertised_place(advertise->second).text();
    } else if (reaches_other_machines(request.network) && is_any_address(listen.host)) {
      throw std::invalid_argument(fmt::format("peers cannot connect to \"{}\": set `advertise`, too", request.listen));
    }
    WantedStreams streams = streams_of(request, listen);
    return open_with_streams(std::move(request), listen.text(), std::move(streams));
  } catch (const std::invalid_argument& error) {
    return refused(request.listen, fmt::format("cannot listen at \"{}\": {}", request.listen, error.what()));
  }
}

Result<std::unique_ptr<Link>> open_ipc(LinkRequest request) {
  std::string listen = request.listen;
  if (listen == "ipc://")
    listen += fmt::format("@troupe-{:016x}{:016x}", request.incarnation.high, request.incarnation.low);
  const SharedLinkOptions shared = shared_memory_of(request);
  auto link = open_zmq_link(std::move(request), std::move(listen));
  if (!link) return link.error();
  return with_shared_memory(std::move(link).value(), shared);
}

}  // namespace

std::string_view scheme_of(std::string_view address) {
  const std::size_t end = address.find("://");
  return end == std::string_view::npos ? std::string_view{} : address.substr(0, end);
}

Transports::Transports() {
  add("tcp", {&open_tcp, {"advertise", "connect_patience", "handshake_timeout", "ports", "stream_ports", "streams"}});
  add("ipc", {&open_ipc, {"connect_patience", "handshake_timeout"}});
}

void Transports::add(const std::string& scheme, LinkKind kind) {
  if (!is_scheme(scheme))
    throw std::invalid_argument(fmt::format("[Transports] \"{}\" is no scheme: a-z, 0-9 and -", scheme));
  if (!transports_.try_emplace(scheme, std::move(kind)).second) {
    throw std::invalid_argument(fmt::format("[Transports] there is a transport \"{}\" already", scheme));
  }
}

std::vector<std::string> Transports::schemes() const {
  std::vector<std::string> schemes;
  for (const auto& [scheme, kind] : transports_) schemes.push_back(scheme);
  return schemes;
}

Result<std::unique_ptr<Link>> Transports::open(LinkRequest request) const {
  const std::string scheme(scheme_of(request.listen));
  const auto found = transports_.find(scheme);
  if (found == transports_.end()) {
    return refused(request.listen, fmt::format("cannot listen at \"{}\": no transport \"{}\", there are {}",
                                               request.listen, scheme, fmt::join(schemes(), ", ")));
  }
  if (request.keys && scheme != "tcp") {
    return refused(request.listen, fmt::format("keys encrypt connections over tcp only, not over \"{}\"", scheme));
  }
  const std::set<std::string>& known = found->second.options;
  for (const auto& [option, value] : request.options) {
    if (known.contains(option)) continue;
    return refused(request.listen,
                   fmt::format("transport \"{}\" has no option \"{}\" (= \"{}\"), it has {}", scheme, option, value,
                               known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  return found->second.open(std::move(request));
}

}  // namespace troupe
