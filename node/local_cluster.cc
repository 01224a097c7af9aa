#include "node/local_cluster.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "node/log.h"
#include "node/node_name.h"
#include "node/system_clock.h"

namespace troupe {
namespace {

constexpr std::chrono::seconds kStartLimit{10};

void check_names(const std::vector<NodeName>& names) {
  std::set<std::string_view> seen;
  for (const NodeName& name : names) {
    if (!is_valid_node_name(name))
      throw std::invalid_argument(fmt::format("[LocalCluster] \"{}\" is not {}", name, kNodeNameRule));
    if (!seen.insert(name).second)
      throw std::invalid_argument(fmt::format("[LocalCluster] the name \"{}\" is given twice", name));
  }
}

}  // namespace

LocalCluster::LocalCluster(std::vector<NodeName> names, const FunctionRegistry& functions)
    : LocalCluster(std::move(names), functions, {}) {}

LocalCluster::LocalCluster(std::vector<NodeName> names, const FunctionRegistry& functions,
                           LocalClusterOptions options) {
  keep_log_off_stdout(options.log_level);
  if (sodium_init() < 0) throw std::runtime_error("[LocalCluster] libsodium cannot start");
  check_names(names);
  std::uint32_t rank = 0;
  for (const NodeName& name : names) {
    Incarnation incarnation;
    randombytes_buf(&incarnation, sizeof incarnation);
    std::unique_ptr<Link> link = std::make_unique<MemoryLink>(hub_, name, incarnation);
    if (options.wrap_link) link = options.wrap_link(std::move(link));
    const auto own = options.functions.find(name);
    const auto grants = options.call_grants.find(name);
    nodes_.push_back(
        std::make_unique<Node>(detail::NodeParts{name,
                                                 incarnation,
                                                 rank++,
                                                 (own == options.functions.end() ? functions : own->second).table(),
                                                 make_system_clock(),
                                                 std::make_shared<ElasticPool>(options.pool),
                                                 std::move(link),
                                                 detail::make_inline_host,
                                                 options.leaks,
                                                 {},
                                                 options.peer_limits,
                                                 grants == options.call_grants.end() ? CallGrants{} : grants->second}));
    for (const auto& other : nodes_) {
      if (other != nodes_.back()) nodes_.back()->core().link().connect(other->address());
    }
  }
  for (const auto& node : nodes_) {
    const TimePoint due = node->core().clock().now() + kStartLimit;
    if (const auto error = node->core().membership().wait_for_members(names.size(), due)) throw RemoteError(*error);
  }
}

LocalCluster::~LocalCluster() {
  for (const auto& node : nodes_) node->core().expect_departures();
}

Node& LocalCluster::node(std::string_view name) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) { return node->name() == name; });
  if (found == nodes_.end()) throw std::out_of_range(fmt::format("[LocalCluster] no node \"{}\"", name));
  return **found;
}

void LocalCluster::kill(std::string_view name) {
  Node& victim = node(name);
  victim.core().link().stop();  // first, so that it cannot send a farewell
  victim.stop();
}

}  // namespace troupe
