// How a process becomes a node of a cluster: listens, finds the others through a seed, proves the cluster's secret.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "actors/core/caf.h"
#include "actors/core/guarded.h"
#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "actors/membership/roster.h"
#include "messages/did_you_mean.h"
#include "node/audit/audit_log.h"
#include "node/config/settings.h"
#include "node/confinement.h"
#include "node/control/node_control.h"
#include "node/idle_memory.h"
#include "node/joining/host_names.h"
#include "node/joining/introduce.h"
#include "node/joining/join_endpoint.h"
#include "node/joining/listening.h"
#include "node/joining/member_watch.h"
#include "node/joining/rendezvous_file.h"
#include "node/joining/seed_watch.h"
#include "node/joining/silence.h"
#include "node/keys/dump_guard.h"
#include "node/keys/word_lines.h"
#include "node/links/tcp_place.h"
#include "node/log.h"
#include "node/node.h"
#include "node/optional_parts.h"
#include "node/system_clock.h"
#include "node/watchdog.h"

namespace troupe {
namespace {

Incarnation draw_incarnation() {
  Incarnation drawn;
  randombytes_buf(&drawn, sizeof drawn);
  return drawn;
}

/// Settles `network`, and the seed's name with keys. Throws RemoteError for what contradicts itself: keys that would
/// not be used, no keys where they are needed.
void settle_keys(NodeOptions& options) {
  const auto refuse = [](std::string message, std::string hint) {
    throw RemoteError(Error{.code = ErrorCode::bad_argument,
                            .message = std::move(message),
                            .operation = "join",
                            .execution = Execution::never,
                            .hint = std::move(hint)});
  };
  if (options.network == Network::automatic) options.network = options.keys ? Network::keys : Network::loopback;
  if (options.network == Network::keys && !options.keys) {
    refuse("network = \"keys\", but this node has no keys",
           "`troupe up` makes them with transport = \"tcp\"; a program sets NodeOptions::keys");
  }
  if (options.network != Network::keys && options.keys) {
    refuse(fmt::format("this node has keys, but network = \"{}\" does not use them",
                       options.network == Network::trusted ? "trusted" : "loopback"),
           "network = \"keys\", or no keys");
  }
  if (options.keys && options.seed_name.empty()) options.seed_name = options.keys->members().front().name;
}

constexpr Duration kIdleMemory = std::chrono::seconds{5};
constexpr Duration kMemberWatch = std::chrono::seconds{1};
constexpr Duration kSeedWatch = std::chrono::seconds{1};
// Linux repeats a lost SYN after 1 s and again by 3 s: who does not answer three is not there. A refusal comes at once.
constexpr Duration kProbePatience = std::chrono::milliseconds{3500};
constexpr Duration kSeedPatience = std::chrono::seconds{1};  // then twice as long each time

std::optional<RendezvousFile> file_of(const NodeOptions& options) {
  if (!options.seed.starts_with(kRendezvousFile)) return std::nullopt;
  return RendezvousFile(options.seed.substr(kRendezvousFile.size()), options.cluster_id,
                        [](const std::vector<std::string>& addresses, std::optional<TimePoint> due) {
                          return may_listen(addresses, kProbePatience, due);
                        });
}

/// Returns this machine's address from which the seed, or one of its addresses, is reached over TCP.
std::optional<std::string> own_address_toward_seed(const NodeOptions& options, std::optional<TimePoint> due) {
  const auto addresses = addresses_of(options.seed, due);
  if (!addresses) throw RemoteError(addresses.error());
  for (const std::string& address : addresses.value()) {
    const std::optional<TcpPlace> place = TcpPlace::parse(address);
    const std::optional<std::string> own = place ? own_address_toward(place->host) : std::nullopt;
    if (own) return own;
  }
  return std::nullopt;
}

/// Gives the listening address in `options` numbers for a name: that of a pod has some only a while after it started.
void wait_for_own_name(NodeOptions& options, std::optional<TimePoint> due) {
  const std::optional<TcpPlace> place = TcpPlace::parse(options.bind);
  if (!place) return;
  const Result<std::string> numbers = own_numbers_of(place->host, due);
  if (!numbers) {
    Error error = numbers.error();
    error.endpoint = options.bind;
    error.hint = "it is where this node is to listen: cluster.address names an interface or a number instead";
    throw RemoteError(std::move(error));
  }
  options.bind = TcpPlace{numbers.value(), place->port}.text();
}

/// Completes the listening and the advertised address in `options` from the route to the seed.
void choose_place(NodeOptions& options, std::optional<TimePoint> due) {
  const std::string_view scheme = scheme_of(options.seed);
  const bool toward_seed = scheme == "tcp" && options.network != Network::loopback;
  if (options.bind.empty()) {
    options.bind = scheme.empty() ? "tcp://" : fmt::format("{}://", scheme);
    const auto own = toward_seed ? own_address_toward_seed(options, due) : std::nullopt;
    if (own) options.bind = TcpPlace{*own, "*"}.text();
    return;
  }
  const std::optional<TcpPlace> place = TcpPlace::parse(options.bind);
  if (!toward_seed || !place || !is_any_address(place->host) || options.link_options.contains("advertise")) return;
  if (const auto own = own_address_toward_seed(options, due))
    options.link_options["advertise"] = TcpPlace{*own, "*"}.text();
}

void warn_of_exposure(const NodeOptions& options, const std::string& address) {
  const std::optional<TcpPlace> place = TcpPlace::parse(address);
  if (options.network != Network::trusted || !place || is_loopback(place->host)) return;
  spdlog::warn(
      "[{}] the network is trusted: what this node says and hears at {} is not encrypted, and whoever "
      "reaches that port can fill this node's memory and use up its descriptors",
      options.name, address);
}

/// Returns null if none is wanted. Throws RemoteError.
std::shared_ptr<AuditLog> open_audit(const NodeOptions& options) {
  if (options.audit_log.empty()) return nullptr;
  const auto warn = [name = options.name](std::string_view line) { spdlog::warn("[{}] {}", name, line); };
  return AuditLog::open({.path = options.audit_log, .node = options.name, .warn = warn}).value();
}

/// Returns what the list of members grants them; empty without such a list.
detail::ListedGrants listed_grants(const NodeOptions& options) {
  if (!options.keys || !options.member_file) return {};
  return detail::grants_of(options.member_file->members(std::chrono::system_clock::now()));
}

AuditSink sink_of(const std::shared_ptr<AuditLog>& log) {
  if (!log) return {};
  return [log](const AuditEntry& entry) { log->add(entry); };
}

/// From now on the node tells peers of the last line of `log`, and writes down what they tell of theirs.
void exchange_heads(const std::shared_ptr<detail::NodeCore>& node, const std::shared_ptr<AuditLog>& log) {
  if (!log) return;
  node->membership().keep_heads([log](const NodeName& peer, const msg::AuditHead& head) {
    log->add({.event = AuditEvent::head, .peer = peer, .line = head.line, .hash = detail::hex_of(head.hash)});
  });
  log->tell_head([weak = std::weak_ptr(node)](std::uint64_t line, const AuditHash& hash) {
    if (const auto core = weak.lock()) core->membership().head_changed({line, hash});
  });
}

/// Returns what keeps calls that this node refuses in `audit`.
std::function<void(const NodeName&, const Error&)> refused_calls_to(const AuditSink& audit) {
  if (!audit) return {};
  return [audit](const NodeName& caller, const Error& why) {
    const auto event = why.code == ErrorCode::resource_exhausted ? AuditEvent::limit : AuditEvent::denied;
    audit({.event = event, .reason = fmt::format("{}: {}", name_of(why.code), why.message), .peer = caller});
  };
}

std::unique_ptr<Link> open_link(const NodeOptions& options, Incarnation incarnation, AuditSink audit) {
  LinkRequest request;
  request.name = options.name;
  request.incarnation = incarnation;
  request.cluster_id = options.cluster_id;
  request.secret = options.secret;
  request.network = options.network;
  request.keys = options.keys;
  request.listen = options.bind;
  request.options = options.link_options;
  request.first = options.seed;
  request.silence = detail::silence_of(options);
  request.shared_memory_max = options.shared_memory_max;
  request.rings = options.rings;
  request.spins = options.spins;
  request.log = [name = options.name](std::string_view line) { spdlog::warn("[{}] {}", name, line); };
  request.audit = std::move(audit);
  auto opened = options.transports.open(std::move(request));
  if (!opened) throw RemoteError(opened.error());
  return std::move(opened).value();
}

/// A grant of a function that does not exist is a mistake in its name.
void check_grants(const CallGrants& grants, const detail::FunctionTable& functions) {
  const std::vector<std::string> known = functions.names();
  for (const std::string& granted : grants.functions()) {
    if (granted.starts_with("troupe.") || std::ranges::find(known, granted) != known.end()) continue;
    const std::vector<std::string_view> words(known.begin(), known.end());
    throw RemoteError(Error{.code = ErrorCode::bad_argument,
                            .message = fmt::format("calls of \"{}\" are granted, but this node has no such function{}",
                                                   granted, did_you_mean(granted, words)),
                            .operation = "join",
                            .execution = Execution::never,
                            .hint = fmt::format("it serves: {}", fmt::join(known, ", "))});
  }
}

/// Checks that this node listens as the seed does: otherwise they cannot connect back to each other.
void check_transport(std::string_view seed, std::string_view listen) {
  const std::string_view scheme = scheme_of(seed);
  if (!scheme.empty() && scheme == scheme_of(listen)) return;
  throw RemoteError(
      Error{.code = ErrorCode::bad_argument,
            .message = scheme.empty() ? fmt::format("the seed \"{}\" is no address: SCHEME://PLACE or file:PATH", seed)
                                      : fmt::format("the seed \"{}\" is reached by {}, but this node listens at \"{}\"",
                                                    seed, scheme, listen),
            .endpoint = std::string(seed),
            .operation = "join",
            .execution = Execution::never});
}

/// Refuses seeds on other machines for a node that those cannot reach: they could not connect back.
void check_reach(const std::vector<detail::Seed>& seeds, Network network) {
  const auto is_elsewhere = [](const detail::Seed& seed) {
    const std::optional<TcpPlace> place = TcpPlace::parse(seed.address);
    return place && !is_loopback(place->host);
  };
  if (network != Network::loopback || seeds.empty() || !std::ranges::all_of(seeds, is_elsewhere)) return;
  throw RemoteError(Error{.code = ErrorCode::not_authorized,
                          .message = fmt::format("the seed {} is on another machine", seeds.front().address),
                          .endpoint = seeds.front().address,
                          .operation = "join",
                          .execution = Execution::never,
                          .hint = std::string(kTrustHint)});
}

/// Returns the nodes to join through; empty: this node is the first.
std::vector<detail::Seed> find_seeds(const NodeOptions& options, const Peer& self, std::optional<TimePoint> due) {
  std::vector<detail::Seed> seeds;
  if (const auto file = file_of(options)) {
    const auto nodes = file->join_or_found(self, due);
    if (!nodes) throw RemoteError(nodes.error());
    for (const Peer& node : nodes.value()) seeds.push_back({node.address, node.incarnation, node.name});
  } else if (!options.seed.empty()) {
    const auto addresses = addresses_of(options.seed, due);
    if (!addresses) throw RemoteError(addresses.error());
    for (const std::string& address : addresses.value()) seeds.push_back({address, std::nullopt, options.seed_name});
  }
  for (const detail::Seed& seed : seeds) check_transport(seed.address, self.address);
  check_reach(seeds, options.network);
  return seeds;
}

/// Returns whether each node of `seeds` is in `tried`.
bool are_all_in(const std::vector<detail::Seed>& seeds, const std::vector<detail::Seed>& tried) {
  return std::ranges::all_of(seeds, [&tried](const detail::Seed& seed) {
    return std::ranges::any_of(
        tried, [&seed](const detail::Seed& known) { return known.address == seed.address && known.life == seed.life; });
  });
}

/// Whether the nodes that `error` is about may have ended, so that others let this node in, or nobody.
bool may_have_ended(const Error& error) {
  using enum ErrorCode;
  return error.code == timeout || error.code == peer_unreachable || error.code == peer_down ||
         error.code == peer_restarted;
}

/// Founds the cluster, or joins it through one of `seeds`, and waits until this node is in. Reads a rendezvous file
/// again if its nodes end or do not answer: by then others may stand there, or nobody, and this node founds. Returns
/// whether it joined. Throws RemoteError.
bool enter_cluster(const NodeOptions& options, detail::NodeCore& core, const Peer& self,
                   std::vector<detail::Seed> seeds, std::optional<TimePoint> due) {
  detail::Membership& membership = core.membership();
  const std::string role = options.role.empty() ? detail::role_of_name(options.name) : options.role;
  const detail::MemberPlace place{options.rank, role, options.grows ? 0 : options.world_size};
  const bool has_file = file_of(options).has_value();
  // What starts a node with a key file starts it again: its former life may have founded a cluster that lives on.
  const bool may_be_in = options.member_file && !has_file && options.world_size > 1;
  const auto enter = [&] {
    if (!seeds.empty()) return membership.join(seeds, place);
    may_be_in ? membership.found_unless_in(place, options.world_size) : membership.found(place);
  };
  std::vector<detail::Seed> tried = seeds;
  enter();
  for (Duration patience = kSeedPatience;; patience *= 2) {
    const auto nobody_is_up = [&core] { return core.lives().up().empty(); };
    std::optional<TimePoint> until = due;
    if (has_file && !seeds.empty() && nobody_is_up()) {  // no event says that they never will be
      const TimePoint again = std::chrono::steady_clock::now() + patience;
      until = due ? std::min(*due, again) : again;
    }
    const std::size_t count = std::max<std::size_t>(options.world_size, seeds.empty() ? 1 : 2);
    const auto error = membership.wait_for_members(count, until, detail::Membership::Until::we_are_in);
    if (!error) return !seeds.empty();
    const bool is_late = due && std::chrono::steady_clock::now() >= *due;
    if (!has_file || is_late || !may_have_ended(*error)) throw RemoteError(detail::with_seeds(*error, seeds));
    const bool is_timeout = error->code == ErrorCode::timeout;
    if (is_timeout && !nobody_is_up()) continue;
    std::vector<detail::Seed> listed = find_seeds(options, self, due);
    if (!listed.empty() && are_all_in(listed, tried)) {
      if (is_timeout) continue;
      throw RemoteError(*error);
    }
    seeds = std::move(listed);
    tried.insert(tried.end(), seeds.begin(), seeds.end());
    enter();
  }
}

/// Certificates are for nodes whose keys lie in files. Throws RemoteError.
void check_introductions(const NodeOptions& options) {
  if ((options.join_endpoint.empty() && options.introduce_at.empty()) || (options.keys && options.member_file)) return;
  throw RemoteError(Error{.code = ErrorCode::bad_argument,
                          .message = fmt::format("{} is set, but this node has no key file",
                                                 options.join_endpoint.empty() ? "introduce_at" : "join_endpoint"),
                          .operation = "join",
                          .execution = Execution::never,
                          .hint = "NodeOptions::use_key_files; `troupe keys` makes them"});
}

/// Shows this node's certificate to the member through which it joins. If that cannot be, the member's list may have
/// this node all the same, and joining says so. Throws RemoteError with what the member answers.
void introduce_to_seed(const NodeOptions& options, std::optional<TimePoint> due) {
  if (options.introduce_at.empty()) return;
  const auto go_on = [&options](const Error& why) {
    spdlog::warn("[{}] shows no certificate to {}, whose list must have this node: {}", options.name, options.seed_name,
                 why.text());
  };
  const Result<std::string> certificate = options.member_file->own_certificate();
  if (!certificate) return go_on(certificate.error());
  const auto key = options.keys->key_of(options.seed_name);
  if (!key) {
    throw RemoteError(Error{.code = ErrorCode::bad_argument,
                            .message = fmt::format("the list of members has no key of {}", options.seed_name),
                            .endpoint = options.introduce_at,
                            .operation = "join",
                            .execution = Execution::never});
  }
  const detail::IntroductionPlace place{options.introduce_at, options.seed_name, *key};
  const TimePoint now = std::chrono::steady_clock::now();
  if (due) due = now + (*due - now) / 2;  // the other half is for joining
  const auto let_in = detail::introduce(place, options.keys->own_keys(), certificate.value(), due);
  if (let_in) return;
  const ErrorCode code = let_in.error().code;
  if (code != ErrorCode::peer_unreachable && code != ErrorCode::auth_failed) throw RemoteError(let_in.error());
  go_on(let_in.error());
}

/// Follows the list of members, if there is one, and hears newcomers, if they are to be heard. Throws RemoteError.
std::unique_ptr<detail::JoinEndpoint> watch_who_is_in(const NodeOptions& options,
                                                      const std::shared_ptr<detail::NodeCore>& node, AuditSink audit) {
  if (!options.keys || !options.member_file) return nullptr;
  auto certify = detail::watch_members(node, options.member_file, *options.keys, kMemberWatch, std::move(audit));
  if (options.join_endpoint.empty()) return nullptr;
  const auto log = [name = options.name](std::string_view line) { spdlog::warn("[{}] {}", name, line); };
  return detail::JoinEndpoint::open({.listen = options.join_endpoint, .log = log}, *options.keys, std::move(certify))
      .value();
}

/// Throws RemoteError for a level that does not exist.
void set_log_level(const NodeOptions& options) {
  try {
    keep_log_off_stdout(options.log_level);
  } catch (const std::invalid_argument& error) {
    throw RemoteError(Error{
        .code = ErrorCode::bad_argument, .message = error.what(), .operation = "join", .execution = Execution::never});
  }
}

/// Returns null if the control socket cannot be opened: the node runs without it.
std::unique_ptr<detail::NodeControl> control_of(const NodeOptions& options,
                                                const std::shared_ptr<detail::NodeCore>& node) {
  try {
    return std::make_unique<detail::NodeControl>(ControlName{options.cluster_id, options.name}, node);
  } catch (const std::exception& error) {
    spdlog::warn("[{}] `troupe status` cannot ask this node: {}", options.name, error.what());
    return nullptr;
  }
}

}  // namespace

Node Node::join(NodeOptions options, FunctionRegistry functions) try {
  set_log_level(options);
  if (sodium_init() < 0) throw std::runtime_error("[Node] libsodium cannot start");
  detail::check_stall_limit(options);
  check_grants(options.call_grants, functions.table());
  const auto limit = options.join_deadline.after();
  const auto due = limit ? later(std::chrono::steady_clock::now(), *limit) : std::nullopt;
  settle_keys(options);
  check_introductions(options);
  if (options.keys && !options.liveness.debug) forbid_dumps();
  if (options.confined) confine_process();
  const auto file = file_of(options);
  wait_for_own_name(options, due);
  choose_place(options, due);
  if (!file && !options.seed.empty()) check_transport(options.seed, options.bind);
  const Incarnation incarnation = draw_incarnation();
  const std::shared_ptr<AuditLog> log = open_audit(options);
  const AuditSink audit = sink_of(log);
  std::unique_ptr<Link> link = open_link(options, incarnation, audit);
  const Peer self{options.name, incarnation, link->address()};
  warn_of_exposure(options, self.address);
  introduce_to_seed(options, due);
  const std::vector<detail::Seed> seeds = find_seeds(options, self, due);

  Node node(detail::NodeParts{.name = options.name,
                              .incarnation = incarnation,
                              .rank = std::nullopt,
                              .functions = functions.table(),
                              .clock = make_system_clock(),
                              .executor = std::make_shared<ElasticPool>(options.pool),
                              .link = std::move(link),
                              .make_host = detail::make_inline_host,
                              .leaks = options.leaks,
                              .call_deadline = options.call_deadline,
                              .peer_limits = options.peer_limits,
                              .call_grants = options.call_grants,
                              .listed_grants = listed_grants(options),
                              .on_refused_call = refused_calls_to(audit)});
  node.parts_->audit = log;
  exchange_heads(node.shared_state()->node, log);
  const auto set_device_maps = [&] {
    for (const auto& [peer, map] : options.device_maps) node.set_device_map(peer, map);
  };
  set_device_maps();
  if (options.stall_limit && !options.liveness.debug) {
    node.parts_->watchdog =
        std::make_unique<detail::Watchdog>(node.shared_state()->node, *options.stall_limit, detail::end_stuck_process);
  }
  detail::return_idle_memory(node.shared_state()->node, cpu_allocator(), kIdleMemory);
  node.parts_->join_endpoint = watch_who_is_in(options, node.shared_state()->node, audit);
  if (options.control == Control::on) node.parts_->control = control_of(options, node.shared_state()->node);
  if (options.world_size > 1 || !seeds.empty()) node.core().hold_calls();
  const bool joined = enter_cluster(options, node.core(), self, seeds, due);
  node.parts_->is_world_final = options.world_size > 0 && !options.grows;
  set_device_maps();  // again: only now are those for nodes that the world lacks refused
  node.core().release_calls();
  if (joined && !file && options.member_file && options.world_size > 1)
    detail::watch_seed(node.shared_state()->node, options.seed_name, options.seed, kSeedWatch);
  if (file && joined) {
    if (const auto added = file->add(self, due); !added) spdlog::warn("[{}] {}", options.name, added.error().message);
  }
  node.enter(NodePhase::up);
  return node;
} catch (const std::system_error&) {  // the system refuses a thread or a descriptor
  throw RemoteError(detail::failure_of_current_exception("join"));
}

}  // namespace troupe
