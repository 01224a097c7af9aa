#include "tests/conformance/named_value_functions.h"

#include <stdexcept>

namespace troupe::testing {

void publish_counter(Scope& scope, const std::string& name, std::int64_t start) { scope.publish(name, Counter(start)); }

bool unpublish_here(Scope& scope, const std::string& name) { return scope.unpublish(name); }

RRef<Fixed> fixed_here(Scope& scope, const std::string& name, std::int64_t start, const RRef<Counter>& made) {
  return scope.node_local<Fixed>(name, [&] {
    made.rpc_sync(scope, &Counter::increment);
    if (start < 0) throw std::invalid_argument("no value of " + std::to_string(start));
    return Fixed(start);
  });
}

void make_in_a_circle(Scope& scope) {
  scope.node_local<Fixed>("circle", [&] {
    scope.node_local<Fixed>("circle", [] { return Fixed(1); });
    return Fixed(2);
  });
}

FunctionRegistry with_named_value_functions(const FunctionRegistry& functions) {
  return functions.with({{"publish_counter", &publish_counter},
                         {"unpublish_here", &unpublish_here},
                         {"fixed_here", &fixed_here},
                         {"make_in_a_circle", &make_in_a_circle},
                         {"Fixed::add", &Fixed::add}});
}

}  // namespace troupe::testing
