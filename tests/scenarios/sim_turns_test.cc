// What turns on a value do not promise: while a function waits, others may change the value.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <utility>

#include "actors/function_registry.h"
#include "actors/rref.h"
#include "actors/task.h"
#include "node/sim/world.h"

namespace troupe::testing {
namespace {

/// What a function has read of a value before it waited, and after.
using Readings = std::pair<std::int64_t, std::int64_t>;

/// Not thread-safe.
class Purse {
 public:
  void add(std::int64_t amount) { balance_ += amount; }

  /// Each makes `other` add 5 to this purse, and waits for that in its own way.
  Readings waits_for_a_call(Scope& scope, const NodeName& other, const RRef<Purse>& self);
  Task<Readings> awaits_a_call(Scope& scope, NodeName other, RRef<Purse> self);
  Future<Readings> returns_a_future(Scope& scope, const NodeName& other, const RRef<Purse>& self);

 private:
  std::int64_t balance_ = 10;
};

void add_five(Scope& scope, const RRef<Purse>& purse) { purse.rpc_sync(scope, &Purse::add, 5); }

Readings Purse::waits_for_a_call(Scope& scope, const NodeName& other, const RRef<Purse>& self) {
  const std::int64_t before = balance_;
  scope.rpc_sync(other, &add_five, self);
  return {before, balance_};
}

Task<Readings> Purse::awaits_a_call(Scope& scope, NodeName other, RRef<Purse> self) {
  const std::int64_t before = balance_;
  co_await scope.rpc_async(other, &add_five, self);
  co_return Readings{before, balance_};
}

Future<Readings> Purse::returns_a_future(Scope& scope, const NodeName& other, const RRef<Purse>& self) {
  return scope.rpc_async(other, &add_five, self).then([this, before = balance_] { return Readings{before, balance_}; });
}

const FunctionRegistry& purses() {
  static const FunctionRegistry registry{{"Purse", constructor<Purse>},
                                         {"Purse::add", &Purse::add},
                                         {"Purse::waits_for_a_call", &Purse::waits_for_a_call},
                                         {"Purse::awaits_a_call", &Purse::awaits_a_call},
                                         {"Purse::returns_a_future", &Purse::returns_a_future},
                                         {"add_five", &add_five}};
  return registry;
}

BOOST_AUTO_TEST_SUITE(sim_turns)

BOOST_AUTO_TEST_CASE(what_a_function_read_before_it_waited_may_have_changed) {
  sim::World world({.seed = 3}, {"caller", "owner", "other"}, purses());
  const auto readings_of = [&world](const auto& function) {
    return world.on("caller", [&function](Node& node) {
      const RRef<Purse> purse = node.remote("owner", constructor<Purse>);
      return purse.rpc_sync(node, function, "other", purse);
    });
  };
  const Readings changed{10, 15};  // 10 + 5
  BOOST_TEST((readings_of(&Purse::waits_for_a_call).get() == changed));
  BOOST_TEST((readings_of(&Purse::awaits_a_call).get() == changed));
  BOOST_TEST((readings_of(&Purse::returns_a_future).get() == changed));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
