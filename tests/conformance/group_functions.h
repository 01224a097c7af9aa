// Functions that the nodes of conformance tests serve for groups and membership.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/rref.h"
#include "actors/scope.h"
#include "actors/worker_info.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

/// Returns its node's name, or throws "NAME fails" on the node `failing`.
NodeName fail_on_name(Scope& scope, const NodeName& failing);

/// As fail_on_name, but other nodes wait until the caller cancels.
NodeName fail_or_wait(Scope& scope, const NodeName& failing);

/// Returns its name on node `ready`. Other nodes wait until the caller cancels.
NodeName wait_unless(Scope& scope, const NodeName& ready);

double sum_of(const Tensor& tensor);
std::string join_with_plus(std::string a, std::string b);

/// Returns the name of node `rank`, and the rank of node `name`, as this node knows them.
WorkerInfo info_of_name(Scope& scope, const NodeName& name);
WorkerInfo info_of_rank(Scope& scope, std::int64_t rank);
std::vector<WorkerInfo> infos_here(Scope& scope);
std::vector<WorkerInfo> echo_infos(const std::vector<WorkerInfo>& infos);

/// All-gathers the node's name and rank among `members` and returns the result.
std::map<NodeName, WorkerInfo> gather_infos(Scope& scope, const std::vector<NodeName>& members);

/// Gathers the node's rank at `to` and returns the result.
std::map<NodeName, std::int64_t> gather_ranks_at(Scope& scope, const std::vector<NodeName>& members,
                                                 const NodeName& to);

/// All-gathers a text where the test gathers a number.
void gather_text(Scope& scope, const std::vector<NodeName>& members);

/// Gathers for at most `ms`. Returns the error's text without the code, or "" if all values arrived.
std::string gather_within(Scope& scope, const std::vector<NodeName>& members, std::int32_t ms);

/// `rounds` times: counts itself at `counter`, passes the barrier of `members`, and records the count at that time.
std::vector<std::int64_t> pass_barriers(Scope& scope, const std::vector<NodeName>& members,
                                        const RRef<Counter>& counter, std::int32_t rounds);

/// Waits at the barrier of `members`. Returns the members left out, as "p2: peer_down" each. A group that fails fast
/// returns the failed member in the same form.
std::string wait_at_barrier(Scope& scope, const std::vector<NodeName>& members, bool partial);

/// Returns the number of open barriers at this node.
std::int64_t meetings_here(Scope& scope);

[[nodiscard]] FunctionRegistry with_group_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
