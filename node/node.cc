#include "node/node.h"

#include <sodium.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "actors/caf.h"
#include "actors/membership.h"
#include "node/environment.h"
#include "node/system_clock.h"
#include "node/zmq_link.h"
#include "tensor/math_threads.h"

namespace troupe {
namespace {

constexpr std::chrono::seconds kDestructorLimit{2};

Incarnation draw_incarnation() {
  Incarnation drawn;
  randombytes_buf(&drawn, sizeof drawn);
  return drawn;
}

std::shared_ptr<detail::ScopeState> scope_of(std::shared_ptr<detail::NodeCore> core) {
  auto state = std::make_shared<detail::ScopeState>();
  state->node = std::move(core);
  return state;
}

ClusterSecret secret_from(const SecretSource& source) {
  switch (source.kind) {
    case SecretSource::Kind::descriptor: return ClusterSecret::from_descriptor(source.descriptor).value();
    case SecretSource::Kind::file: return ClusterSecret::from_file(source.file).value();
    case SecretSource::Kind::none: break;
  }
  return ClusterSecret::random();
}

}  // namespace

NodeOptions NodeOptions::from_environment() {
  const NodeEnvironment environment = read_environment();
  NodeOptions options;
  options.name = environment.name;
  if (!environment.cluster_id.empty()) options.cluster_id = environment.cluster_id;
  if (!environment.bind_address.empty()) options.bind = environment.bind_address;
  if (environment.rank != 0) options.seed = environment.seed_address;
  options.world_size = static_cast<std::uint32_t>(environment.world_size);
  options.rank = static_cast<std::uint32_t>(environment.rank);
  options.secret = secret_from(environment.secret);
  options.pool.threads = environment.settings.pool_threads;
  options.pool.threads_max = environment.settings.pool_threads_max;
  options.join_deadline = environment.settings.join_timeout;
  return options;
}

Node Node::join(NodeOptions options, FunctionRegistry functions) {
  if (sodium_init() < 0) throw std::runtime_error("[Node] libsodium cannot start");
  const Incarnation incarnation = draw_incarnation();
  ZmqLinkOptions link;
  link.name = options.name;
  link.incarnation = incarnation;
  link.cluster_id = options.cluster_id;
  link.secret = options.secret;
  link.bind = options.bind;
  link.log = [name = options.name](std::string_view line) { spdlog::warn("[{}] {}", name, line); };
  auto opened = ZmqLink::open(std::move(link));
  if (!opened) throw RemoteError(opened.error());

  Node node(detail::NodeParts{options.name, incarnation, options.rank, std::move(functions), make_system_clock(),
                              std::make_shared<ElasticPool>(options.pool), std::move(opened).value(),
                              detail::make_inline_host});
  detail::Membership& membership = node.core().membership();
  if (options.seed.empty()) {
    membership.found(options.world_size);
  } else {
    membership.join(options.seed, options.world_size);
  }
  const auto limit = options.join_deadline.after();
  const auto due = limit ? std::optional(node.core().clock().now() + *limit) : std::nullopt;
  const std::size_t count = std::max<std::size_t>(options.world_size, options.seed.empty() ? 1 : 2);
  if (const auto error = membership.wait_for_members(count, due)) throw RemoteError(*error);
  return node;
}

Node::Node(detail::NodeParts parts) : Scope(scope_of(detail::NodeCore::start(std::move(parts)))) {}

Node::Node(Node&& other) noexcept = default;

Node::~Node() {
  if (!shared_state()) return;  // moved from
  const TimePoint due = core().clock().now() + kDestructorLimit;
  for (const std::string& line : core().stop(due)) spdlog::warn("shutdown did not wait for {}", line);
}

std::vector<Peer> Node::members() const { return core().membership().members(); }

void Node::on_down(std::function<void(const Peer&, const Error&)> handler) {
  core().membership().on_down(std::move(handler));
}

void Node::serve() {
  if (const auto error = core().membership().wait_for_agreement(std::nullopt)) throw RemoteError(*error);
}

ShutdownReport Node::shutdown(Deadline deadline) {
  ShutdownReport report;
  if (core().stopped()) return report;
  const auto limit = deadline.after();
  const auto due = limit ? std::optional(core().clock().now() + *limit) : std::nullopt;
  if (const auto error = core().membership().wait_for_agreement(due)) {
    report.waited_for.push_back(error->message);
    for (std::string& line : core().oldest_requests()) report.waited_for.push_back(std::move(line));
  }
  for (std::string& line : core().stop(due.value_or(core().clock().now() + kDestructorLimit))) {
    report.waited_for.push_back(std::move(line));
  }
  return report;
}

ShutdownReport Node::stop() { return {core().stop(core().clock().now() + kDestructorLimit)}; }

}  // namespace troupe
