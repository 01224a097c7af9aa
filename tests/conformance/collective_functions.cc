#include "tests/conformance/collective_functions.h"

#include <chrono>

#include "node/gloo_collective.h"
#include "tensor/create.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

std::vector<double> interleave(Scope& scope, const std::vector<NodeName>& members, std::int32_t rounds) {
  const auto collective = gloo_collective(scope, Group(members));
  const NodeName& next = members[(collective->rank() + 1) % members.size()];
  std::vector<double> seen;
  for (std::int32_t round = 0; round < rounds; ++round) {
    const auto async = scope.rpc_async(next, &square, round + 2);
    const RRef<Tensor> there = scope.remote(next, &add, ones({1}), static_cast<double>(round));
    seen.push_back(
        collective->all_reduce(scope, full({1}, static_cast<double>(collective->rank()) + 10 * round)).item());
    seen.push_back(static_cast<double>(scope.rpc_sync(next, &square, round)));
    seen.push_back(collective->broadcast(scope, members.front(), there.to_here(scope)).item());
    seen.push_back(static_cast<double>(async.get()));
  }
  return seen;
}

double sum_after_calls(Scope& scope, const std::vector<NodeName>& members, const std::vector<NodeName>& asked,
                       double own) {
  const Scope limited = scope.with({.deadline = std::chrono::seconds(10)});
  const auto collective = gloo_collective(limited, Group(members));
  for (const NodeName& name : asked) static_cast<void>(limited.rpc_sync(name, &square, 3));
  return collective->all_reduce(limited, full({1}, own)).item();
}

std::string sum_until_failure(Scope& scope, const std::vector<NodeName>& members) {
  try {
    const auto collective = gloo_collective(scope, Group(members));
    while (true) static_cast<void>(collective->all_reduce(scope, ones({100'000})));
  } catch (const RemoteError& error) {
    return std::string(name_of(error.code())) + " " + error.error().peer;
  }
}

FunctionRegistry with_collective_functions(const FunctionRegistry& functions) {
  return functions.with(
      {{"interleave", &interleave}, {"sum_after_calls", &sum_after_calls}, {"sum_until_failure", &sum_until_failure}});
}

}  // namespace troupe::testing
