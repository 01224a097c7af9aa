// Two nodes that do not hear each other for a while: less than a lease costs nothing but time, more ends what they
// have of each other, once and for all.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/wait_point.h"
#include "actors/rref.h"
#include "tests/scenarios/sim_seeds.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_partition)

namespace {

using namespace std::chrono_literals;

const std::vector<NodeName> kNames{"a", "b", "c"};

/// Counts its live copies on all nodes.
struct Table {
  explicit Table(double v) : value(v) { ++alive; }
  Table() : Table(0) {}
  Table(const Table& other) : value(other.value) { ++alive; }
  Table& operator=(const Table&) = default;
  ~Table() { --alive; }
  [[nodiscard]] double read() const { return value; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
  double value;
  static inline int alive = 0;
};

int times_run = 0;                         // of answer_after
std::map<NodeName, RRef<Table>> held;      // by each node
std::map<NodeName, std::string> downs_of;  // the peers that each node saw go down

std::int64_t answer_after(Scope& scope, std::int64_t ms) {
  ++times_run;
  detail::WaitPoint never;
  static_cast<void>(never.wait(scope.state().node->clock().now() + std::chrono::milliseconds(ms)));
  return ms;
}

void hold(Scope& scope, const RRef<Table>& table) { held.insert_or_assign(scope.node_name(), table); }

FunctionRegistry functions() {
  return {{"make_table", constructor<Table, double>},
          {"read", &Table::read},
          {"answer_after", &answer_after},
          {"hold", &hold}};
}

/// The nodes a, b and c. Every other seed's network is bad.
struct Parted {
  explicit Parted(std::uint64_t seed)
      : world(seed % 2 == 0 ? bad_network(seed) : with_seed(seed), kNames, functions()) {
    times_run = 0;
    downs_of.clear();
    for (const NodeName& name : kNames) {
      world.node(name).on_down([name](const Peer& peer, const Error&) { downs_of[name] += peer.name; });
    }
  }
  ~Parted() { held.clear(); }
  Parted(const Parted&) = delete;
  Parted& operator=(const Parted&) = delete;

  static sim::WorldOptions with_seed(std::uint64_t seed) { return {.seed = seed}; }

  void give(const NodeName& from, const NodeName& to) {
    world.on(from, [from, to](Node& node) { node.rpc_sync(to, &hold, held.at(from)); }).get();
  }

  /// The value of a, whose only reference b holds.
  void b_holds_a_value_of_a() {
    world
        .on("b",
            [](Node& node) {
              held.insert_or_assign("b", node.remote("a", constructor<Table, double>, 1.5));
              BOOST_TEST(held.at("b").rpc_sync(node, &Table::read) == 1.5);
            })
        .get();
  }

  double read(const NodeName& name) {
    return world.on(name, [name](Node& node) { return held.at(name).rpc_sync(node, &Table::read); }).get();
  }

  ErrorCode error_of_reading(const NodeName& name) {
    return error_of([&] { static_cast<void>(read(name)); }).code;
  }

  void run_steps(std::uint64_t steps) {
    const std::uint64_t end = world.counts().steps + steps;
    world.step_until([this, end] { return world.counts().steps >= end; });
  }

  void check_that_nothing_is_left() {
    held.clear();
    BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames) && Table::alive == 0; }, 2s));
    Table::alive = 0;  // reports a leak only once
  }

  sim::World world;
  const TraceIfFailed show{world};
};

}  // namespace

BOOST_AUTO_TEST_CASE(who_hears_each_other_again_within_the_lease_has_lost_nothing,
                     *boost::unit_test::label("fault-F08")) {
  int pending = 0;
  for (const std::uint64_t seed : seeds(40)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Parted parted(seed);
      sim::World& world = parted.world;
      parted.b_holds_a_value_of_a();
      const auto call = world.on("b", [](Node& node) { return node.rpc_sync("a", &answer_after, 1); });
      const auto made = world.on("b", [](Node& node) {
        const RRef<Table> table = node.remote("a", constructor<Table, double>, 2.5);
        return table.rpc_sync(node, &Table::read);
      });
      parted.run_steps(world.draw(40));
      if (!call.ready()) ++pending;
      cut_both_ways(world, "a", "b");
      world.run_for(5s);
      BOOST_TEST(world.node("a").debug_info().unreachable.contains("b"));
      BOOST_TEST(world.node("b").debug_info().unreachable.contains("a"));
      BOOST_TEST(world.node("a").counts().owned_values >= 1U);
      heal_both_ways(world, "a", "b");
      BOOST_TEST(call.get_for(20s).has_value());  // sent again every 2 s, and lost again by some networks
      BOOST_TEST(call.get() == 1);
      BOOST_TEST(made.get() == 2.5);
      BOOST_TEST(times_run == 1);
      BOOST_TEST(parted.read("b") == 1.5);
      BOOST_TEST(downs_of.empty());
      parted.check_that_nothing_is_left();
    }
  }
  BOOST_TEST(pending > 20);
}

BOOST_AUTO_TEST_CASE(who_hears_each_other_again_after_the_lease_has_nothing_of_each_other,
                     *boost::unit_test::label("fault-F08")) {
  for (const std::uint64_t seed : seeds(40)) {
    const bool c_holds_it = seed % 3 == 0;
    BOOST_TEST_CONTEXT("seed " << seed << (c_holds_it ? ", c holds it too" : "")) {
      Parted parted(seed);
      sim::World& world = parted.world;
      parted.b_holds_a_value_of_a();
      if (c_holds_it) parted.give("b", "c");
      const auto call = world.on("b", [](Node& node) { return node.rpc_sync("a", &answer_after, 30'000); });
      parted.run_steps(world.draw(40));
      cut_both_ways(world, "a", "b");
      world.run_for(12s);
      const auto check_that_it_is_over = [&] {
        BOOST_TEST(downs_of.size() == 2U);
        BOOST_TEST(downs_of["a"] == "b");
        BOOST_TEST(downs_of["b"] == "a");
        BOOST_TEST((parted.error_of_reading("b") == ErrorCode::owner_died));
        BOOST_TEST(world.node("a").counts().owned_values == (c_holds_it ? 1U : 0U));
        BOOST_TEST(Table::alive == (c_holds_it ? 1 : 0));
        if (c_holds_it) BOOST_TEST(parted.read("c") == 1.5);
      };
      BOOST_TEST_REQUIRE(call.ready());
      BOOST_TEST((error_of([&] { static_cast<void>(call.get()); }).code == ErrorCode::peer_down));
      check_that_it_is_over();
      heal_both_ways(world, "a", "b");
      world.run_for(5s);
      check_that_it_is_over();
      for (const auto& [from, to] : {std::pair{"a", "b"}, std::pair{"b", "a"}}) {
        const auto late =
            world.on(from, [to = NodeName(to)](Node& node) { return node.rpc_sync(to, &answer_after, 1); });
        const Error error = error_of([&] { static_cast<void>(late.get()); });
        BOOST_TEST((error.code == ErrorCode::peer_down || error.code == ErrorCode::you_are_dead), error.text());
      }
      parted.check_that_nothing_is_left();
    }
  }
}

// a -> b -> c, and c cannot tell a of its handle.
BOOST_AUTO_TEST_CASE(reference_to_a_node_that_is_not_heard_is_valid_once_it_is_or_fails_and_leaves_nothing,
                     *boost::unit_test::label("fault-F09")) {
  for (const std::uint64_t seed : seeds(60)) {
    const bool is_long = seed % 3 == 0;
    const bool b_lets_go = seed % 4 < 2;
    BOOST_TEST_CONTEXT("seed " << seed << (is_long ? ", beyond the lease" : "") << (b_lets_go ? ", b lets go" : "")) {
      Parted parted(seed);
      sim::World& world = parted.world;
      parted.b_holds_a_value_of_a();
      cut_both_ways(world, "a", "c");
      parted.give("b", "c");
      parted.run_steps(world.draw(40));
      if (b_lets_go) held.erase("b");
      world.run_for(is_long ? 12s : 5s);
      if (is_long) {
        BOOST_TEST((parted.error_of_reading("c") == ErrorCode::owner_died));
        BOOST_TEST(Table::alive == (b_lets_go ? 0 : 1));
      } else {
        BOOST_TEST(Table::alive == 1);
        heal_both_ways(world, "a", "c");
        BOOST_TEST(parted.read("c") == 1.5);
        BOOST_TEST(downs_of.empty());
      }
      BOOST_TEST(!downs_of.contains("b"));
      if (!b_lets_go) BOOST_TEST(parted.read("b") == 1.5);
      parted.check_that_nothing_is_left();
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
