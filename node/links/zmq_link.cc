#include "node/links/zmq_link.h"

#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors/core/guarded.h"
#include "node/descriptor_limit.h"
#include "node/links/datagram_socket.h"
#include "node/links/key_check.h"
#include "node/links/socket_file.h"
#include "node/links/tcp_place.h"
#include "node/links/wake_up.h"
#include "node/links/zmq_link_core.h"
#include "node/links/zmq_link_version.h"
#include "node/node_name.h"

namespace troupe {
namespace {

constexpr Duration kKeyCheckPatience = std::chrono::seconds{5};

bool reaches_other_machines(std::string_view address) {
  if (!address.starts_with("tcp://")) return false;
  const std::optional<TcpPlace> place = TcpPlace::parse(address);
  return !place || !is_loopback(place->host);
}

std::string told_to_peers(const std::string& bound, const std::string& advertise) {
  if (advertise.empty()) return bound;
  std::optional<TcpPlace> told = TcpPlace::parse(advertise);
  const std::optional<TcpPlace> here = TcpPlace::parse(bound);
  if (!told || !here || told->port != "*") return advertise;
  told->port = here->port;
  return told->text();
}

/// Returns why these options cannot be; empty if they can.
std::string contradiction_in(const ZmqLinkOptions& options) {
  if (!options.keys) return {};
  if (!options.bind.starts_with("tcp://")) return "keys encrypt connections over TCP only";
  if (options.keys->own_name() == options.name) return {};
  return fmt::format("the keys are those of {}, not of {}", options.keys->own_name(), options.name);
}

/// Starts the handler that decides whose key gets in. `stranger`: the key of the listener's own test. REQUIRES: before
/// `bind`.
Result<Unit> guard_with_keys(ZmqLinkParts& parts, ZmqSocket& router, const PublicKey& stranger) {
  const ZmqLinkOptions& with = parts.options;
  auto rule = with.key_rule;
  if (!rule) rule = [ring = *with.keys](const PublicKey& key) { return ring.name_of(key); };
  // A user is a member with one key: who has come with a former key of it is another.
  rule = [rule = std::move(rule)](const PublicKey& key) {
    const std::optional<NodeName> name = rule(key);
    return name ? std::optional(user_of({*name, key})) : std::nullopt;
  };
  auto handler =
      ZapHandler::open(parts.context, std::move(rule), {.log = with.log, .audit = with.audit, .own_test = stranger});
  if (!handler) return handler.error();
  parts.zap = std::move(handler).value();
  return router.secure_as_server(with.keys->own_keys());
}

/// Without memory for a page, all heartbeats are sent. Peers over tcp without keys cannot prove to be on this host.
std::optional<PulsePage> page_of(const ZmqLinkOptions& options) {
  if (!options.pulse_page || !(options.keys || options.bind.starts_with("ipc://"))) return std::nullopt;
  auto page = PulsePage::make();
  return page ? std::optional(std::move(page).value()) : std::nullopt;
}

/// Binds to options.bind; where that leaves the port open, to the lowest free one of options.ports.
Result<std::string> bind_of(ZmqSocket& router, const ZmqLinkOptions& options) {
  std::optional<TcpPlace> place = TcpPlace::parse(options.bind);
  if (!options.ports || !place || (place->port != "*" && place->port != "0")) return router.bind(options.bind);
  for (int port = options.ports->low; port <= options.ports->high; ++port) {
    if (port == options.port_of_first) continue;
    place->port = std::to_string(port);
    Result<std::string> bound = router.bind(place->text());
    if (bound || bound.error().code != ErrorCode::resource_exhausted) return bound;
  }
  return Error{
      .code = ErrorCode::resource_exhausted,
      .message = fmt::format("cannot listen at {}: no port of {} is free", options.bind, options.ports->text()),
      .endpoint = options.bind,
      .operation = "listen",
      .execution = Execution::never,
      .hint = "each node of a host takes one: widen cluster.ports, or option \"ports\" of the transport"};
}

TimePoint now() { return std::chrono::steady_clock::now(); }

}  // namespace

struct ZmqLink::State {
  State(ZmqLinkOptions options) : parts(std::move(options)) {
    if (const auto watched = parts.ready.add(wake_up->descriptor(), ZmqLinkCore::kCaller); !watched) {
      throw RemoteError(watched.error());
    }
    if (!parts.keys()) return;
    parts.keys()->on_change(wake_up, [sleeper = wake_up.get()] { sleeper->ring(); });
  }

  struct Orders {
    std::vector<ZmqLinkCore::Command> commands;
    bool stop = false;  ///< after the commands
  };

  void run();
  void serve();
  [[nodiscard]] Orders take_orders();
  void give(ZmqLinkCore::Command command);

  ZmqLinkParts parts;               ///< the link's thread, once it runs; counters: any
  std::optional<ZmqSocket> router;  ///< until start
  std::optional<ZmqLinkCore> core;  ///< the link's thread
  LinkSink* sink = nullptr;         ///< set by start
  const std::shared_ptr<const detail::WakeUp> wake_up = std::make_shared<detail::WakeUp>();  ///< any thread

  std::mutex mutex;
  std::vector<ZmqLinkCore::Command> commands;  ///< guarded by mutex
  bool waiting = false;                        ///< the thread sleeps or will sleep next; guarded by mutex
  bool stopped = false;                        ///< guarded by mutex

  std::thread thread;       ///< start and stop
  detail::SocketFile file;  ///< at which the router listens; open and stop
};

Result<std::unique_ptr<ZmqLink>> ZmqLink::open(ZmqLinkOptions options) {
  const auto refuse = [&options](ErrorCode code, std::string message, std::string hint = {}) {
    return Error{.code = code,
                 .message = std::move(message),
                 .endpoint = options.bind,
                 .operation = "listen",
                 .execution = Execution::never,
                 .hint = std::move(hint)};
  };
  if (!is_valid_node_name(options.name)) {
    return refuse(ErrorCode::invalid_name,
                  fmt::format("\"{}\" is not {}", options.name.substr(0, kNodeNameMax), kNodeNameRule));
  }
  if (options.exposure == ZmqLinkOptions::Exposure::loopback && reaches_other_machines(options.bind)) {
    return refuse(ErrorCode::not_authorized, fmt::format("{} can be reached from other machines", options.bind),
                  "bind 127.0.0.1, or say that the network is trusted");
  }
  if (const std::string why = contradiction_in(options); !why.empty()) return refuse(ErrorCode::bad_argument, why);
  if (const auto checked = check_zmq_version(loaded_zmq_version(), options.log); !checked) return checked.error();
  detail::raise_descriptor_limit();
  auto state = std::make_unique<State>(std::move(options));
  ZmqLinkParts& parts = state->parts;
  Result<ZmqSocket> router = ZmqSocket::open(parts.context, ZmqSocket::Kind::router, parts.limits());
  if (!router) return router.error();
  std::optional<KeyPair> stranger;
  if (parts.options.keys) {
    stranger = KeyPair::random();
    const auto guarded = guard_with_keys(parts, router.value(), stranger->public_key());
    if (!guarded) return guarded.error();
  }
  if (parts.options.bind.starts_with("ipc://")) {
    if (const auto guarded = router.value().admit_own_user_only(); !guarded) return guarded.error();
  }
  const Result<std::string> bound = bind_of(router.value(), parts.options);
  if (!bound) return bound.error();
  if (stranger) {
    const auto safe =
        check_strangers_are_refused(parts.context, parts.limits(), bound.value(),
                                    parts.options.keys->own_keys().public_key(), *stranger, kKeyCheckPatience);
    if (!safe) return safe.error();
  }
  Result<DatagramSocket> beats = DatagramSocket::open_beside(bound.value(), parts.options.ports);
  if (!beats) return beats.error();
  beats.value().admit_only(pulse_mark_of(parts.options.secret, parts.options.name, parts.options.incarnation));
  state->router = std::move(router).value();
  state->file = detail::SocketFile(bound.value());
  parts.self = {.peer = {.name = parts.options.name,
                         .incarnation = parts.options.incarnation,
                         .address = told_to_peers(bound.value(), parts.options.advertise)},
                .cluster_id = parts.options.cluster_id};
  parts.pulse = std::make_shared<PulseThread>(std::move(beats).value(), parts.options.silence, page_of(parts.options));
  parts.self.pulse = {.address = parts.pulse->address_beside(parts.self.peer.address),
                      .lease = parts.options.silence.lease};
  return std::unique_ptr<ZmqLink>(new ZmqLink(std::move(state)));
}

ZmqLink::ZmqLink(std::unique_ptr<State> state) : state_(std::move(state)) {}

ZmqLink::~ZmqLink() { stop(); }

void ZmqLink::start(LinkSink& sink) {
  if (!state_->router) throw std::logic_error("[link] start: it was started or stopped before");
  state_->core.emplace(state_->parts, *std::exchange(state_->router, std::nullopt), sink);
  state_->sink = &sink;
  state_->parts.pulse->start([state = state_.get()](const FailureDetector::Event& event) { state->give(event); },
                             [&sink](const Error& why) { sink.on_link_failed(why); });
  if (state_->parts.zap) {
    state_->parts.zap->watch([&sink](const Error& why) { sink.on_link_failed(why); });
  }
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

std::string ZmqLink::address() const { return state_->parts.self.peer.address; }

bool ZmqLink::guards_bytes() const { return state_->parts.keys() || address().starts_with("ipc://"); }

void ZmqLink::connect(std::string_view address) { connect_to({}, address); }

void ZmqLink::connect_to(const NodeName& name, std::string_view address) {
  state_->give(ZmqLinkCore::Connect{std::string(address), name});
}

void ZmqLink::stop_connecting(std::string_view address) {
  state_->give(ZmqLinkCore::StopConnecting{std::string(address)});
}

void ZmqLink::send(const NodeName& to, LinkLane lane, Frames packet) {
  state_->give(ZmqLinkCore::Send{to, lane, std::move(packet)});
}

void ZmqLink::disconnect(const NodeName& peer, const Farewell& farewell) {
  state_->give(ZmqLinkCore::Disconnect{peer, farewell});
}

void ZmqLink::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
  }
  state_->wake_up->ring();
  if (state_->thread.joinable()) state_->thread.join();
  state_->file.remove();
  state_->parts.pulse->stop();
  if (state_->parts.zap) state_->parts.zap->stop();
  state_->router.reset();
}

ZmqLinkCounts ZmqLink::counts() const {
  const ZmqLinkCounters& counters = state_->parts.counters;
  return {.refused_handshakes = counters.refused_handshakes,
          .refused_keys = state_->parts.zap ? state_->parts.zap->denied() : 0,
          .refused_messages = counters.refused_messages,
          .dropped_messages = counters.dropped_messages,
          .reconnects = counters.reconnects};
}

std::shared_ptr<PulseThread> ZmqLink::pulse() const { return state_->parts.pulse; }

void ZmqLink::State::give(ZmqLinkCore::Command command) {
  bool ring = false;
  {
    const std::lock_guard lock(mutex);
    if (stopped) return;
    commands.push_back(std::move(command));
    ring = std::exchange(waiting, false);
  }
  if (ring) wake_up->ring();
}

ZmqLink::State::Orders ZmqLink::State::take_orders() {
  const std::lock_guard lock(mutex);
  waiting = commands.empty();
  return {.commands = std::exchange(commands, {}), .stop = stopped};
}

void ZmqLink::State::run() {
  try {
    serve();
    core->close();
  } catch (...) {
    sink->on_link_failed(detail::failure_of_current_exception("the link"));
  }
  core.reset();
}

void ZmqLink::State::serve() {
  while (true) {
    const bool more = core->work(now());
    Orders orders = take_orders();
    for (ZmqLinkCore::Command& command : orders.commands) core->obey(now(), std::move(command));
    if (orders.stop) break;
    if (orders.commands.empty() && !more && core->wait(now())) wake_up->silence();
  }
}

}  // namespace troupe
