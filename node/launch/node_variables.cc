#include "node/launch/node_variables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <system_error>
#include <vector>

namespace troupe::detail {

int math_threads_of(int configured, int cores, int processes) {
  return configured > 0 ? configured : std::max(1, cores / std::max(1, processes));
}

Variables inherited_variables(Variables host, int math_threads) {
  std::erase_if(host, [](const auto& variable) { return variable.first.starts_with("TROUPE__"); });
  for (const char* stale : {"TROUPE_ADDRESS", "TROUPE_SECRET_FD", "TROUPE_SECRET_FILE", "TROUPE_KEYS_FD",
                            "TROUPE_KEY_FILE", "TROUPE_MEMBERS_FILE", "TROUPE_CALLS"})
    host.erase(stale);
  const std::string threads = fmt::format("{}", math_threads);
  // A user's setting for the math libraries has priority.
  host.emplace("OMP_NUM_THREADS", threads);
  host.emplace("OMP_WAIT_POLICY", "passive");
  host.emplace("OPENBLAS_NUM_THREADS", threads);
  host.emplace("OPENBLAS_THREAD_TIMEOUT", "4");  // idle threads sleep after 2^4 cycles instead of spinning on
  host["TROUPE_MATH_THREADS"] = threads;
  return host;
}

CallGrants call_grants_of(const ClusterConfig& config, const RoleConfig& role) {
  CallGrants grants;
  for (auto [peer, words] : role.calls.value_or(StringTable{})) {
    std::ranges::replace(words, ',', ' ');
    std::istringstream in(words);
    const std::vector<std::string> functions{std::istream_iterator<std::string>(in), {}};
    const auto of_role = std::ranges::find(config.roles, peer, &RoleConfig::name);
    if (of_role == config.roles.end()) {
      grants.allow(peer, functions);
      continue;
    }
    for (int i = 0; i < of_role->count; ++i) grants.allow(node_name(*of_role, i), functions);
  }
  return grants;
}

Variables place_variables(const ClusterConfig& config, const std::string& cluster_id,
                          std::span<const std::string> names, const NodeOfRole& node) {
  Variables result = as_variables(config.node);
  result["TROUPE_CLUSTER"] = config.name;
  result["TROUPE_CLUSTER_ID"] = cluster_id;
  result["TROUPE_WORLD"] = fmt::format("{}", fmt::join(names, ","));
  result["TROUPE_NODE"] = names[node.rank];
  result["TROUPE_ROLE"] = node.role;
  result["TROUPE_INDEX"] = fmt::format("{}", node.index);
  result["TROUPE_RANK"] = fmt::format("{}", node.rank);
  const auto role = std::ranges::find(config.roles, node.role, &RoleConfig::name);
  if (role != config.roles.end() && role->calls) result["TROUPE_CALLS"] = call_grants_of(config, *role).text();
  return result;
}

std::string random_cluster_id() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return fmt::format("{:016x}", bits);
}

}  // namespace troupe::detail
