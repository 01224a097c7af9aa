// What the nodes of conformance tests serve for groups and membership.
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

/// The same, but on other nodes it waits until its caller gave up.
NodeName fail_or_wait(Scope& scope, const NodeName& failing);

/// Returns its name on node `ready`; elsewhere waits until its caller gave up.
NodeName wait_unless(Scope& scope, const NodeName& ready);

double sum_of(const Tensor& tensor);
std::string join_with_plus(std::string a, std::string b);

/// What node `rank` is called, and the rank of node `name`, here.
WorkerInfo info_of_name(Scope& scope, const NodeName& name);
WorkerInfo info_of_rank(Scope& scope, std::int64_t rank);
std::vector<WorkerInfo> infos_here(Scope& scope);
std::vector<WorkerInfo> echo_infos(const std::vector<WorkerInfo>& infos);

/// All_gathers its own name and rank among `members` and returns what came.
std::map<NodeName, WorkerInfo> gather_infos(Scope& scope, const std::vector<NodeName>& members);

/// Gathers its rank at `to` and returns what it got.
std::map<NodeName, std::int64_t> gather_ranks_at(Scope& scope, const std::vector<NodeName>& members,
                                                 const NodeName& to);

/// All_gathers a text where the test gathers a number.
void gather_text(Scope& scope, const std::vector<NodeName>& members);

/// Gathers for at most `ms`; returns the error's text without the code, or "" if all came.
std::string gather_within(Scope& scope, const std::vector<NodeName>& members, std::int32_t ms);

/// `rounds` times: counts itself at `counter`, passes the barrier of `members`, and notes how many had counted by then.
std::vector<std::int64_t> pass_barriers(Scope& scope, const std::vector<NodeName>& members,
                                        const RRef<Counter>& counter, std::int32_t rounds);

/// Waits at the barrier of `members`. Returns who was left out, "p2: peer_down" each; of a group that fails fast, the
/// failed member likewise.
std::string wait_at_barrier(Scope& scope, const std::vector<NodeName>& members, bool partial);

/// Barriers that are open at this node.
std::int64_t meetings_here(Scope& scope);

[[nodiscard]] FunctionRegistry with_group_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
