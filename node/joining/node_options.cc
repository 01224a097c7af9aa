// The settings of a node, as its environment or its key files give them.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "node/environment.h"
#include "node/joining/inherited_descriptor.h"
#include "node/joining/rendezvous_file.h"
#include "node/keys/key_files.h"
#include "node/links/tcp_place.h"
#include "node/log.h"
#include "node/node.h"

namespace troupe {
namespace {

ClusterSecret secret_from(const NodeEnvironment& environment) {
  const SecretSource& source = environment.secret;
  switch (source.kind) {
    case SecretSource::Kind::descriptor:
      return detail::inherited_secret({source.descriptor, environment.cluster_id, environment.name}).value();
    case SecretSource::Kind::file: return ClusterSecret::from_file(source.file).value();
    case SecretSource::Kind::none: break;
  }
  return ClusterSecret::random();
}

Network network_of(std::string_view setting) {
  if (setting == "keys") return Network::keys;
  if (setting == "trusted") return Network::trusted;
  return setting == "loopback" ? Network::loopback : Network::automatic;
}

/// Returns another port of the host of `address`, which `variable` has given. Throws RemoteError if it has none.
std::string at_port(std::string_view variable, const std::string& address, int port) {
  if (const std::optional<TcpPlace> place = TcpPlace::parse(address))
    return TcpPlace{place->host, fmt::format("{}", port)}.text();
  throw RemoteError(Error{
      .code = ErrorCode::bad_argument,
      .message = fmt::format("cluster.join_port is {}, but {}=\"{}\" is not tcp://HOST:PORT", port, variable, address),
      .operation = "join",
      .execution = Execution::never});
}

}  // namespace

NodeOptions NodeOptions::from_environment() {
  const NodeEnvironment environment = read_environment();
  if (environment.cluster.empty()) {
    keep_log_off_stdout(environment.settings.log_level);
    spdlog::info(
        "[{}] neither TROUPE_SEED nor MASTER_ADDR is in the environment: this is a world of one; "
        "`troupe up FILE` starts a cluster",
        environment.name);
  }
  NodeOptions options;
  options.name = environment.name;
  if (!environment.cluster_id.empty()) options.cluster_id = environment.cluster_id;
  if (!environment.bind_address.empty()) options.bind = environment.bind_address;
  if (environment.rank != 0 || environment.seed_address.starts_with(kRendezvousFile))
    options.seed = environment.seed_address;
  options.world_size = static_cast<std::uint32_t>(environment.world_size);
  options.rank = static_cast<std::uint32_t>(environment.rank);
  options.role = environment.role;
  options.secret = secret_from(environment);
  options.pool.threads = environment.settings.pool_threads;
  options.pool.threads_max = environment.settings.pool_threads_max;
  options.join_deadline = environment.settings.join_timeout;
  options.liveness = {environment.settings.heartbeat, environment.settings.suspicion, environment.settings.lease,
                      environment.settings.debug};
  options.stall_limit = environment.settings.stall_limit;
  options.shared_memory_max = environment.settings.shared_memory_max;
  options.rings = environment.settings.rings;
  options.spins = environment.settings.spin;
  options.confined = environment.settings.confined;
  options.peer_limits = environment.settings.peer;
  options.call_grants = environment.call_grants;
  options.network = network_of(environment.settings.network);
  if (!environment.key_file.empty()) options.use_key_files(environment.key_file, environment.members_file);
  if (const std::optional<int> number = environment.keys_descriptor)
    options.keys = detail::inherited_keys({*number, environment.cluster_id, environment.name}).value();
  if (!environment.world.empty()) options.seed_name = environment.world.front();
  options.grows = environment.settings.grows;
  if (const int port = environment.settings.join_port; port != 0 && options.member_file) {
    // A node without a certificate is in the list of the first node, which the file's author knows.
    if (options.seed.empty()) {
      options.join_endpoint = at_port("TROUPE_ADDRESS", options.bind, port);
    } else if (options.member_file->has_certificate()) {
      options.introduce_at = at_port("TROUPE_SEED", options.seed, port);
    }
  }
  const std::string& where = options.bind.empty() ? options.seed : options.bind;
  if (where.empty() || scheme_of(where) == "tcp" ||
      where.starts_with(kRendezvousFile)) {  // empty: tcp, unless the program says
    const NodeSettings& settings = environment.settings;
    if (!settings.advertise.empty()) {
      const std::string address = fmt::format("tcp://{}", settings.advertise);
      options.link_options["advertise"] = TcpPlace::parse(address) ? address : address + ":*";
    }
    if (!settings.ports.empty()) options.link_options["ports"] = settings.ports;
    if (!settings.stream_ports.empty()) options.link_options["stream_ports"] = settings.stream_ports;
    if (!settings.streams) options.link_options["streams"] = "off";
  }
  options.log_level = environment.settings.log_level;
  if (const std::string& directory = environment.settings.audit_log; !directory.empty())
    options.audit_log = fmt::format("{}/{}.audit", directory, options.name);
  if (!environment.cluster.empty()) options.control = Control::on;
  options.leaks = environment.settings.leaks == "fail" ? Leaks::fail : Leaks::warn;
  return options;
}

void NodeOptions::use_key_files(const std::string& key_file, const std::string& members) {
  NodeKeys files = NodeKeys::load(key_file, members, std::chrono::system_clock::now()).value();
  if (!name.empty() && name != files.ring.own_name()) {
    throw RemoteError(
        Error{.code = ErrorCode::bad_argument,
              .message = fmt::format("{} is the key of {}, and this node is {}", key_file, files.ring.own_name(), name),
              .operation = "join",
              .execution = Execution::never});
  }
  name = files.ring.own_name();
  cluster_id = std::move(files.cluster_id);
  secret = ClusterSecret::from_bytes(std::span<const std::byte, ClusterSecret::kBytes>(files.secret->bytes()));
  keys = std::move(files.ring);
  member_file = std::move(files.members);
}

}  // namespace troupe
