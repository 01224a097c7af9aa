#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/core/peer_accounts.h"
#include "actors/rref.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/scenarios/sim_seeds.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_rref)

namespace {

using namespace std::chrono_literals;

const std::vector<NodeName> kNames{"owner", "a", "b", "c"};

/// The outcomes of uses of references, on any node.
std::map<std::optional<ErrorCode>, int> uses;

/// Runs in the middle of which two nodes did not hear each other.
int cuts = 0;

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

double use(Scope& scope, const RRef<Table>& table) {
  try {
    const double value = table.rpc_sync(scope, &Table::read);
    ++uses[std::nullopt];
    return value;
  } catch (const RemoteError& error) {
    ++uses[error.code()];
    throw;
  }
}

/// Passes the reference along `path`. The last node uses it after those before it have released theirs.
void hand_on(Scope& scope, const RRef<Table>& table, std::vector<NodeName> path) {
  if (path.empty()) return static_cast<void>(use(scope, table));
  const NodeName next = path.front();
  path.erase(path.begin());
  static_cast<void>(scope.rpc_async(next, &hand_on, table, path));
}

/// Returns references to keep in a value of this node.
std::vector<RRef<Table>> keep(const RRef<Table>& table) { return {table, table}; }

RRef<Table> give_back(RRef<Table> table) { return table; }

/// A reference in an answer of 8 MiB: more than leaves before the peer acknowledges any of it.
struct Loaded {
  RRef<Table> table;
  Tensor load;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(table, load);
  }
};

Loaded give_back_loaded(RRef<Table> table) { return {std::move(table), zeros({2 << 20})}; }

FunctionRegistry functions() {
  return {{"make_table", constructor<Table, double>},
          {"read", &Table::read},
          {"hand_on", &hand_on},
          {"keep", &keep},
          {"give_back", &give_back},
          {"give_back_loaded", &give_back_loaded}};
}

/// Creates references, passes each on in several ways, and drops it. `may_fail`: whether the owner may die.
void use_references(Node& node, bool may_fail) {
  const auto try_to = [](auto action) {
    try {
      action();
    } catch (const RemoteError& error) {
      ++uses[error.code()];
    }
  };
  for (int i = 0; i < 3; ++i) {
    const RRef<Table> table = node.remote("owner", constructor<Table, double>, i + 0.5);
    try_to([&] { node.rpc_sync("b", &hand_on, table, std::vector<NodeName>{"c", "b", "c"}); });
    try_to([&] { node.rpc_sync("c", &hand_on, table, std::vector<NodeName>{"owner"}); });
    const auto kept = node.remote("b", &keep, table);
    try_to([&] {
      const RRef<Table> same = node.rpc_sync("b", &give_back, table);
      BOOST_TEST(same.rpc_sync(node, &Table::read) == i + 0.5);
    });
    try_to([&] { BOOST_TEST(kept.to_here(node).back().rpc_sync(node, &Table::read) == i + 0.5); });
    // Whoever else has died: this node's own reference stays.
    if (!may_fail) BOOST_TEST(table.rpc_sync(node, &Table::read) == i + 0.5);
  }
}

/// Two nodes that do not hear each other for less than a lease, from a drawn step on.
class Cut {
 public:
  explicit Cut(sim::World& world)
      : world_(world),
        one_(world.draw(kNames.size())),
        other_((one_ + 1 + world.draw(kNames.size() - 1)) % kNames.size()),
        step_(world.counts().steps + world.draw(1000)),
        length_(std::chrono::milliseconds(world.draw(5000))) {}

  /// Begins or ends it if that is due. To be called between any two steps.
  void take_place() {
    if (!end_ && world_.counts().steps >= step_) {
      cut_both_ways(world_, kNames[one_], kNames[other_]);
      end_ = world_.now() + length_;
    }
    if (end_ && world_.now() >= *end_) heal_both_ways(world_, kNames[one_], kNames[other_]);
  }

  /// Returns when it ends; 0 before it has begun.
  [[nodiscard]] Duration end() const { return end_.value_or(0s); }

 private:
  sim::World& world_;
  const std::size_t one_;
  const std::size_t other_;
  const std::uint64_t step_;
  const Duration length_;
  std::optional<Duration> end_;
};

/// Every fifth network is perfect. The others lose some of what is sent again every 2 s, and are cut once.
void run_references(std::uint64_t seed, const char* victim, FaultsSeen& seen) {
  {
    const bool is_perfect = seed % 5 == 1;
    sim::World world(is_perfect ? sim::WorldOptions{.seed = seed} : bad_network(seed), kNames, functions());
    const TraceIfFailed show(world);
    const bool may_fail = victim != nullptr && std::string_view(victim) == "owner";
    const Future<void> program = world.on("a", [may_fail](Node& node) { use_references(node, may_fail); });
    if (victim != nullptr) {
      world.kill_after(world.draw(2500), victim, world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
    }
    Cut cut(world);
    std::optional<Duration> death;
    const auto watch = [&] {
      if (!is_perfect) cut.take_place();
      if (victim != nullptr && !death && !world.is_alive(victim)) death = world.now();
    };
    BOOST_TEST(world.step_until([&] { return watch(), program.ready(); }));
    const Duration end = world.now();
    const auto result = program.get_for(0s);
    BOOST_TEST_REQUIRE(result.has_value());
    if (world.is_alive("a")) BOOST_TEST(result->ok());
    const auto is_empty = [&] { return nothing_left(world, kNames) && Table::alive == 0; };
    BOOST_TEST(world.step_until([&] { return watch(), is_empty(); }, 30s));
    const Duration due = death ? *death + FailureDetectorOptions{}.lease : end;
    BOOST_TEST((world.now() <= (is_perfect ? due + 2s : std::max({due, end, cut.end()}) + 10s)));
    seen.add(world.counts());
    cuts += cut.end() > 0s ? 1 : 0;
  }
  BOOST_TEST(Table::alive == 0);
  Table::alive = 0;  // reports a leak only once
}

/// Checks that each use succeeded or failed with one of `codes`, and that each of these occurred.
void check_uses(std::set<std::optional<ErrorCode>> codes) {
  codes.insert(std::nullopt);
  for (const auto code : codes) BOOST_TEST(uses[code] > 0, (code ? name_of(*code) : "success") << " never occurred");
  for (const auto& [code, count] : uses)
    BOOST_TEST(codes.contains(code), count << " x " << (code ? name_of(*code) : "success"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(references_handed_on_over_bad_links_stay_valid_and_leave_nothing,
                     *boost::unit_test::label("fault-F03") * boost::unit_test::label("fault-F04")) {
  FaultsSeen seen;
  uses.clear();
  cuts = 0;
  for (const std::uint64_t seed : seeds(50)) {
    BOOST_TEST_CONTEXT("seed " << seed) { run_references(seed, nullptr, seen); }
  }
  seen.check_links();
  BOOST_TEST(cuts > 25);
  check_uses({});
}

BOOST_AUTO_TEST_CASE(a_hand_over_interrupted_by_a_death_ends_in_a_valid_reference_or_an_error,
                     *boost::unit_test::label("fault-F26") * boost::unit_test::label("fault-F27")) {
  FaultsSeen seen;
  uses.clear();
  cuts = 0;
  for (const char* victim : {"a", "b", "c"}) {
    for (const std::uint64_t seed : seeds(50)) {
      BOOST_TEST_CONTEXT("seed " << seed << ", " << victim << " dies") { run_references(seed, victim, seen); }
    }
  }
  seen.check_links();
  BOOST_TEST(seen.sum.killed > 75U);
  BOOST_TEST(cuts > 75);
  // Of the dead node; of a value that the dead node kept; of a handle that it handed on; of a call that it had made.
  check_uses({ErrorCode::peer_down, ErrorCode::owner_died, ErrorCode::ref_revoked, ErrorCode::cancelled});
}

BOOST_AUTO_TEST_CASE(when_the_owner_dies_every_use_fails_and_nothing_is_left, *boost::unit_test::label("fault-F25")) {
  FaultsSeen seen;
  uses.clear();
  cuts = 0;
  for (const std::uint64_t seed : seeds(50)) {
    BOOST_TEST_CONTEXT("seed " << seed) { run_references(seed, "owner", seen); }
  }
  BOOST_TEST(seen.sum.killed > 20U);
  check_uses({ErrorCode::peer_down, ErrorCode::owner_died});
}

BOOST_AUTO_TEST_CASE(references_in_an_answer_that_is_taken_back_half_sent_are_released,
                     *boost::unit_test::label("fault-F33")) {
  for (const char* owner : {"b", "c"}) {
    BOOST_TEST_CONTEXT("a value of " << owner) {
      sim::World world({}, kNames, functions());
      const TraceIfFailed show(world);
      const Future<void> program = world.on("a", [&](Node& node) {
        const RRef<Table> table = node.remote(owner, constructor<Table, double>, 1.5);
        BOOST_TEST(table.rpc_sync(node, &Table::read) == 1.5);
        world.cut("b", "a");
        const Scope hurried = node.with({.deadline = Deadline(2s)});
        BOOST_CHECK_EXCEPTION(hurried.rpc_sync("b", &give_back_loaded, table), RemoteError,
                              [](const RemoteError& error) { return error.code() == ErrorCode::timeout; });
        world.heal("b", "a");
        BOOST_TEST(table.rpc_sync(node, &Table::read) == 1.5);
      });
      BOOST_TEST(world.run());
      program.get();
      const detail::AnswerBacklog& answers = world.node("b").core().accounts().answers;
      BOOST_TEST(world.step_until(
          [&] { return nothing_left(world, kNames) && Table::alive == 0 && answers.bytes().empty(); }, 30s));
    }
    Table::alive = 0;  // reports a leak only once
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
