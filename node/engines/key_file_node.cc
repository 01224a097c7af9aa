#include "node/engines/key_file_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "node/engines/engine_network.h"
#include "node/keys/key_files.h"
#include "node/launch/node_variables.h"
#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamesShown = 8;

[[noreturn]] void no_such(const ClusterConfig& config, std::string_view what, std::string_view given,
                          const std::function<std::string(const RoleConfig&, int)>& name_of) {
  std::vector<std::string> names;
  for (const RoleConfig& role : config.roles) {
    for (int i = 0; i < role.count; ++i) names.push_back(name_of(role, i));
  }
  const bool is_long = names.size() > kNamesShown;
  if (is_long) names.resize(kNamesShown);
  throw ConfigError({fmt::format("{} has no {} \"{}\"; it has {}{}", config.file, what, given, fmt::join(names, ", "),
                                 is_long ? ", ..." : "")});
}

std::string pod_name(const RoleConfig& role, int index) { return fmt::format("{}-{}", role.name, index); }

NodePlace find_place(const ClusterConfig& config, std::string_view what, std::string_view given,
                     const std::function<std::string(const RoleConfig&, int)>& name_of) {
  std::size_t rank = 0;
  for (const RoleConfig& role : config.roles) {
    for (int index = 0; index < role.count; ++index, ++rank) {
      if (name_of(role, index) == given) return {rank, &role, index};
    }
  }
  no_such(config, what, given, name_of);
}

std::string name_in(const NodePlace& place) { return node_name(*place.role, place.index); }

NodePlace place_of(const ClusterConfig& config, const KeyFileOptions& options) {
  if (!options.pod.empty() && !options.name.empty()) {
    throw std::invalid_argument("--name and --pod both say which node this is");
  }
  if (!options.pod.empty()) return place_of_pod(config, options.pod);
  if (!options.name.empty()) return place_of_name(config, options.name);
  const auto file = NodeKeyFile::load(options.keys);
  if (!file.ok()) throw RemoteError(file.error());
  return place_of_name(config, file.value().name);
}

/// Returns "HOST" without the brackets that an address of IPv6 may have.
std::string bare(std::string host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') return host.substr(1, host.size() - 2);
  return host;
}

/// Returns where the first node listens: where the file says; the seed's address if that is a number; this machine's
/// only interface; else whatever the seed's name stands for.
std::string first_address(const ClusterConfig& config, const std::string& seed) {
  const std::string port = fmt::format("{}", config.port);
  if (!config.node.address.empty()) return TcpPlace{config.node.address, port}.text();
  const bool is_number =
      seed.find_first_not_of("0123456789.") == std::string::npos || seed.find(':') != std::string::npos;
  const std::string only = is_number ? "" : only_address();
  return TcpPlace{only.empty() ? seed : only, port}.text();
}

}  // namespace

NodePlace place_of_rank(const ClusterConfig& config, std::size_t rank) {
  std::size_t left = rank;
  for (const RoleConfig& role : config.roles) {
    const auto count = static_cast<std::size_t>(role.count);
    if (left < count) return {rank, &role, static_cast<int>(left)};
    left -= count;
  }
  throw std::logic_error("[troupe node] a rank beyond all roles");
}

NodePlace place_of_name(const ClusterConfig& config, std::string_view name) {
  return find_place(config, "node", name, &node_name);
}

NodePlace place_of_pod(const ClusterConfig& config, std::string_view pod) {
  return find_place(config, "pod", pod, &pod_name);
}

void check_key_file_config(ClusterConfig& config, std::string_view seed_setting) {
  std::vector<std::string> problems;
  if (config.transport_origin.layer != Origin::Layer::built_in && config.transport == Transport::ipc) {
    problems.push_back(fmt::format("{}: cluster.transport: nodes with key files reach each other by \"tcp\" only",
                                   config.transport_origin.text()));
  }
  if (config.node.network != "auto" && config.node.network != "keys") {
    problems.push_back(fmt::format("{}: cluster.network: \"{}\" does not use keys", config.network_origin.text(),
                                   config.node.network));
  }
  if (config.seed.empty()) {
    problems.push_back(fmt::format("{}: {} is missing: the host of {}, as all others reach it", config.file,
                                   seed_setting, node_names(config).front()));
  }
  if (config.port == 0) {
    problems.push_back(fmt::format("{}: cluster.port is missing: the port of {}, the same for all", config.file,
                                   node_names(config).front()));
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
  config.transport = Transport::tcp;
  config.node.network = "keys";
}

KeyFileNode key_files_of(const ClusterConfig& config, const NodePlace& place, const KeyFileOptions& options) {
  std::error_code ignored;
  const bool is_directory = fs::is_directory(options.keys, ignored);
  KeyFileNode node;
  node.place = place;
  const std::string name = name_in(place);
  const fs::path key = is_directory ? fs::path(options.keys) / (name + ".key") : fs::path(options.keys);
  node.key_file = fs::absolute(key).string();
  node.members_file = options.members.empty() ? (fs::absolute(key).parent_path() / "cluster.members").string()
                                              : fs::absolute(options.members).string();
  const NodeKeys keys = NodeKeys::load(node.key_file, node.members_file, std::chrono::system_clock::now()).value();
  if (keys.ring.own_name() != name) {
    throw std::invalid_argument(
        fmt::format("{} is the key of {}, and this node is {}", node.key_file, keys.ring.own_name(), name));
  }
  for (const std::string& each : node_names(config)) {
    if (keys.ring.key_of(each)) continue;
    throw std::invalid_argument(fmt::format(
        "{} has no key of {}: if it was revoked, take it out of {}, else `troupe keys new-node {}` makes one",
        node.members_file, each, config.file, each));
  }
  node.cluster_id = keys.cluster_id;
  const std::string seed = bare(config.seed);
  node.seed = TcpPlace{seed, fmt::format("{}", config.port)}.text();
  if (place.rank == 0) {
    node.address = first_address(config, seed);
  } else if (!config.node.address.empty()) {
    node.address = TcpPlace{config.node.address, "*"}.text();
  }
  return node;
}

Variables variables_of(const ClusterConfig& config, const KeyFileNode& node) {
  Variables variables = place_variables(config, node.cluster_id, node_names(config),
                                        {node.place.rank, node.place.role->name, node.place.index});
  variables["TROUPE_SEED"] = node.seed;
  if (!node.address.empty()) variables["TROUPE_ADDRESS"] = node.address;
  variables["TROUPE_KEY_FILE"] = node.key_file;
  variables["TROUPE_MEMBERS_FILE"] = node.members_file;
  return variables;
}

KeyFileNode key_file_node(ClusterConfig& config, const KeyFileOptions& options) {
  if (options.keys.empty()) {
    throw std::invalid_argument("--keys is missing: this node's key file, or a directory that has it");
  }
  std::error_code ignored;
  if (fs::is_directory(options.keys, ignored) && options.name.empty() && options.pod.empty()) {
    throw std::invalid_argument(
        fmt::format("--keys {} is a directory: --name or --pod says which node this is", options.keys));
  }
  const NodePlace place = place_of(config, options);
  if (!config.hosts.empty()) {
    throw ConfigError(
        {fmt::format("{}: host.{}: [[host]] is for `troupe up`; with key files, `troupe up --host` "
                     "starts the nodes of one host",
                     config.hosts.front().name_origin.text(), config.hosts.front().name)});
  }
  check_key_file_config(config);
  return key_files_of(config, place, options);
}

}  // namespace troupe::detail
