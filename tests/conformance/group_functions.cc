#include "tests/conformance/group_functions.h"

#include <chrono>
#include <stdexcept>

#include "actors/core/query.h"
#include "actors/group.h"
#include "actors/membership/membership.h"
#include "tensor/ops.h"

namespace troupe::testing {

NodeName fail_on_name(Scope& scope, const NodeName& failing) {
  if (scope.node_name() == failing) throw std::runtime_error(failing + " fails");
  return scope.node_name();
}

NodeName fail_or_wait(Scope& scope, const NodeName& failing) {
  const NodeName name = fail_on_name(scope, failing);
  wait_until_stopped(scope);
  return name;
}

NodeName wait_unless(Scope& scope, const NodeName& ready) {
  if (scope.node_name() != ready) wait_until_stopped(scope);
  return scope.node_name();
}

double sum_of(const Tensor& tensor) { return sum(tensor).item(); }
std::string join_with_plus(std::string a, std::string b) { return std::move(a) + "+" + std::move(b); }

WorkerInfo info_of_name(Scope& scope, const NodeName& name) {
  return scope.state().node->membership().info(name).value();
}
WorkerInfo info_of_rank(Scope& scope, std::int64_t rank) { return scope.state().node->membership().info(rank).value(); }
std::vector<WorkerInfo> infos_here(Scope& scope) { return scope.state().node->membership().infos(); }
std::vector<WorkerInfo> echo_infos(const std::vector<WorkerInfo>& infos) { return infos; }

std::map<NodeName, WorkerInfo> gather_infos(Scope& scope, const std::vector<NodeName>& members) {
  return Group(members).all_gather(scope, info_of_name(scope, scope.node_name())).values;
}

std::map<NodeName, std::int64_t> gather_ranks_at(Scope& scope, const std::vector<NodeName>& members,
                                                 const NodeName& to) {
  const std::int64_t rank = info_of_name(scope, scope.node_name()).rank;
  return Group(members).gather(scope, to, rank).values;
}

void gather_text(Scope& scope, const std::vector<NodeName>& members) {
  static_cast<void>(Group(members).all_gather(scope, std::string("text")));
}

std::string gather_within(Scope& scope, const std::vector<NodeName>& members, std::int32_t ms) {
  try {
    static_cast<void>(Group(members).all_gather(scope.with({.deadline = std::chrono::milliseconds(ms)}), ms));
  } catch (const RemoteError& error) {
    if (error.code() != ErrorCode::timeout) throw;
    return error.error().message;
  }
  return {};
}

std::vector<std::int64_t> pass_barriers(Scope& scope, const std::vector<NodeName>& members,
                                        const RRef<Counter>& counter, std::int32_t rounds) {
  std::vector<std::int64_t> seen;
  for (std::int32_t round = 0; round < rounds; ++round) {
    counter.rpc_sync(scope, &Counter::add, 1);
    Group(members).barrier(scope);
    seen.push_back(counter.rpc_sync(scope, &Counter::value));
  }
  return seen;
}

std::string wait_at_barrier(Scope& scope, const std::vector<NodeName>& members, bool partial) {
  std::string text;
  const auto add = [&text](const NodeName& name, ErrorCode code) { text += name + ": " + std::string(name_of(code)); };
  try {
    const Group group(members, partial ? Failures::partial : Failures::fail_fast);
    for (const auto& [name, error] : group.barrier(scope)) add(name, error.code);
  } catch (const RemoteError& error) {
    add(error.error().peer, error.code());
  }
  return text;
}

std::int64_t meetings_here(Scope& scope) {
  const detail::NodeCore& node = *scope.state().node;
  detail::Query<OpenBarrier> query(node.future_home());
  node.membership().list_barriers(query.slot());
  return std::ssize(query.wait(std::chrono::seconds(5)).answers);
}

FunctionRegistry with_group_functions(const FunctionRegistry& functions) {
  return functions.with({{"fail_on_name", &fail_on_name},
                         {"fail_or_wait", &fail_or_wait},
                         {"wait_unless", &wait_unless},
                         {"sum_of", &sum_of},
                         {"info_of_name", &info_of_name},
                         {"info_of_rank", &info_of_rank},
                         {"infos_here", &infos_here},
                         {"echo_infos", &echo_infos},
                         {"gather_infos", &gather_infos},
                         {"gather_ranks_at", &gather_ranks_at},
                         {"gather_text", &gather_text},
                         {"gather_within", &gather_within},
                         {"pass_barriers", &pass_barriers},
                         {"wait_at_barrier", &wait_at_barrier},
                         {"meetings_here", &meetings_here},
                         {"where everywhere", tree_call<&where>},
                         {"sum_of everywhere", tree_call<&sum_of>},
                         {"fail_on_name everywhere", tree_call<&fail_on_name>},
                         {"wait_until_stopped everywhere", tree_call<&wait_until_stopped>},
                         {"where joined", tree_call_reduced<&where, &join_with_plus>},
                         {"fail_on_name joined", tree_call_reduced<&fail_on_name, &join_with_plus>}});
}

}  // namespace troupe::testing
