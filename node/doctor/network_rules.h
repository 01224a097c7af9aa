// What the ways between hosts say about firewalls, addresses and address translation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "node/doctor/doctor_messages.h"
#include "node/doctor/finding.h"

namespace troupe::detail {

/// One way: a host has tried to reach the listener of another.
struct TriedWay {
  std::string from;         ///< name of the host that tried
  std::string to;           ///< name of the host that listened
  ReachPlace where;         ///< of `to`
  HostWay way;              ///< as `from` saw it
  bool back_works = false;  ///< tcp from `to` to `from`
  std::string ports;        ///< cluster.ports; empty: any
};

/// Judges the ways of one host, whose name is `from` in all: a finding for those that are well together, and one for
/// each that is not, with both addresses.
[[nodiscard]] std::vector<Finding> judge_ways(std::span<const TriedWay> ways);

}  // namespace troupe::detail
