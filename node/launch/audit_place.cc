#include "node/launch/audit_place.h"

#include <algorithm>
#include <string>
#include <vector>

#include "node/hosts/host_plan.h"
#include "node/launch/local_addresses.h"

namespace troupe::detail {
namespace {

bool has_keys_of_the_run(const ClusterConfig& config) {
  if (!config.hosts.empty()) return network_of_hosts(config) == "keys";
  std::vector<std::string> told_by_the_plan;
  return network_here(config, told_by_the_plan).encrypts;
}

}  // namespace

AuditPlace audit_place(const ClusterConfig& config, StartOf start) {
  if (!config.node.audit_log.empty()) return AuditPlace::as_configured;
  if (start == StartOf::host_part) return AuditPlace::beside_output;
  if (!has_keys_of_the_run(config)) return AuditPlace::as_configured;
  return std::ranges::all_of(config.hosts, &HostConfig::is_here) ? AuditPlace::beside_output
                                                                 : AuditPlace::on_other_hosts;
}

}  // namespace troupe::detail
