// How a process becomes a node of a cluster: over ZeroMQ, through a seed, with the cluster's secret.
#include <sodium.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "actors/caf.h"
#include "actors/membership.h"
#include "actors/roster.h"
#include "node/environment.h"
#include "node/log.h"
#include "node/node.h"
#include "node/system_clock.h"
#include "node/zmq_link.h"

namespace troupe {
namespace {

Incarnation draw_incarnation() {
  Incarnation drawn;
  randombytes_buf(&drawn, sizeof drawn);
  return drawn;
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
  options.role = environment.role;
  options.secret = secret_from(environment.secret);
  options.pool.threads = environment.settings.pool_threads;
  options.pool.threads_max = environment.settings.pool_threads_max;
  options.join_deadline = environment.settings.join_timeout;
  options.log_level = environment.settings.log_level;
  options.leaks = environment.settings.leaks == "fail" ? Leaks::fail : Leaks::warn;
  return options;
}

Node Node::join(NodeOptions options, FunctionRegistry functions) {
  if (!options.log_level.empty()) log_to_stderr(options.log_level);
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

  Node node(detail::NodeParts{options.name, incarnation, std::nullopt, std::move(functions), make_system_clock(),
                              std::make_shared<ElasticPool>(options.pool), std::move(opened).value(),
                              detail::make_inline_host, options.leaks});
  detail::Membership& membership = node.core().membership();
  const std::string role = options.role.empty() ? detail::role_of_name(options.name) : options.role;
  const std::size_t count = std::max<std::size_t>(options.world_size, options.seed.empty() ? 1 : 2);
  if (count > 1) node.core().hold_calls();
  const detail::MemberPlace place{options.rank, role, options.world_size};
  if (options.seed.empty()) {
    membership.found(place);
  } else {
    membership.join(options.seed, place);
  }
  if (const auto error = node.wait_for_members(count, options.join_deadline)) throw RemoteError(*error);
  node.core().release_calls();
  return node;
}

}  // namespace troupe
