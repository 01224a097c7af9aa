#include "actors/shards/step_ledger.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <list>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/counting_new.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(step_ledger)

using msg::StepState;
using Questions = std::list<StepLedger::Question>;
using Answers = std::list<StepLedger::Answer>;

const NodeLife kA{"a", {1, 1}};
const NodeLife kB{"b", {2, 2}};
const NodeLife kC{"c", {3, 3}};
const std::vector<NodeLife> kOwners{kA, kB, kC};

StepId step_id(std::uint64_t serial) { return {"trainer", 7, serial}; }
const StepId kStep = step_id(5);

/// Returns the ledger of an owner that has prepared kStep with the others and whose driver is gone.
StepLedger left_alone(const NodeLife& self) {
  StepLedger ledger(self);
  ledger.prepared(kStep, kOwners);
  ledger.driver_gone();
  return ledger;
}

BOOST_AUTO_TEST_CASE(outcomes_are_kept_until_the_driver_knows_them) {
  StepLedger ledger(kA);
  for (std::uint64_t serial = 1; serial <= 600; ++serial) {
    ledger.prepared(step_id(serial), kOwners);
    ledger.applied(step_id(serial), serial);
  }
  BOOST_TEST((ledger.state(step_id(1)) == StepState::applied));
  BOOST_TEST(ledger.version(step_id(1)) == 1U);
  ledger.settled(600);
  BOOST_TEST(ledger.size() == 1U);
  BOOST_TEST((ledger.state(step_id(600)) == StepState::applied));
}

BOOST_AUTO_TEST_CASE(what_gets_no_memory_is_listed_by_the_next_call) {
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    StepLedger ledger(kA);
    ledger.prepared(kStep, kOwners);
    ledger.prepared(step_id(6), kOwners);
    ledger.applied(kStep, 1);
    ledger.asked(kB, kStep, StepState::prepared);
    ledger.asked(kC, kStep, StepState::prepared);
    ledger.driver_gone();
    is_refused = false;
    std::optional<StepLedger::Todo> todo;
    try {
      const testing::RefusedAllocation refused(n);
      todo = ledger.todo();
    } catch (const std::bad_alloc&) {
      is_refused = true;
    }
    if (!todo) todo = ledger.todo();
    BOOST_TEST((todo->answers == Answers{{kB, kStep, StepState::applied}, {kC, kStep, StepState::applied}}));
    BOOST_TEST((todo->questions == Questions{{kB, kStep, StepState::applied},
                                             {kC, kStep, StepState::applied},
                                             {kB, step_id(6), StepState::prepared},
                                             {kC, step_id(6), StepState::prepared}}));
  }
}

BOOST_AUTO_TEST_CASE(memory_of_steps_is_bounded_also_if_the_driver_never_says_what_it_knows) {
  StepLedger ledger(kA);
  for (std::uint64_t serial = 1; serial <= 2 * StepLedger::kStepsMax; ++serial) ledger.aborted(step_id(serial));
  BOOST_TEST(ledger.size() == StepLedger::kStepsMax);
  BOOST_TEST(ledger.full());
}

BOOST_AUTO_TEST_CASE(step_that_is_settled_while_prepared_was_aborted_and_so_is_its_late_prepare) {
  StepLedger ledger(kA);
  ledger.prepared(kStep, kOwners);
  ledger.settled(9);
  BOOST_TEST((ledger.todo().abort == std::vector{kStep}));
  BOOST_TEST((ledger.state(kStep) == StepState::aborted));
  BOOST_TEST((ledger.state(step_id(8)) == StepState::aborted));
  BOOST_TEST((ledger.state(step_id(9)) == StepState::unknown));
  BOOST_TEST(ledger.size() == 0U);
}

BOOST_AUTO_TEST_CASE(first_of_the_living_asks_all_others_and_aborts_when_nobody_has_applied) {
  StepLedger ledger = left_alone(kA);
  BOOST_TEST(
      (ledger.todo().questions == Questions{{kB, kStep, StepState::prepared}, {kC, kStep, StepState::prepared}}));
  ledger.answered(kB, kStep, StepState::prepared);
  BOOST_TEST(ledger.todo().abort.empty());
  ledger.answered(kC, kStep, std::nullopt);  // the owner is gone
  BOOST_TEST((ledger.todo().abort == std::vector{kStep}));
  BOOST_TEST(ledger.over());
}

BOOST_AUTO_TEST_CASE(first_of_the_living_applies_what_one_other_has_applied_and_stays_until_all_know) {
  StepLedger ledger = left_alone(kA);
  static_cast<void>(ledger.todo());
  ledger.answered(kB, kStep, StepState::prepared);
  ledger.answered(kC, kStep, StepState::applied);
  BOOST_TEST((ledger.todo().apply == std::vector{kStep}));
  BOOST_TEST((ledger.todo().apply == std::vector{kStep}));  // until it has been applied
  ledger.applied(kStep, 3);
  BOOST_TEST((ledger.todo().questions == Questions{{kB, kStep, StepState::applied}}));
  BOOST_TEST(!ledger.over());
  ledger.asked(kB, kStep, StepState::prepared);
  BOOST_TEST((ledger.todo().answers == Answers{{kB, kStep, StepState::applied}}));
  ledger.answered(kB, kStep, StepState::applied);
  static_cast<void>(ledger.todo());
  BOOST_TEST(ledger.over());
}

BOOST_AUTO_TEST_CASE(others_ask_the_first_alone_and_answer_nobody_else) {
  StepLedger ledger = left_alone(kB);
  BOOST_TEST((ledger.todo().questions == Questions{{kA, kStep, StepState::prepared}}));
  ledger.asked(kC, kStep, StepState::prepared);
  BOOST_TEST(ledger.todo().answers.empty());
  ledger.asked(kA, kStep, StepState::prepared);
  BOOST_TEST((ledger.todo().answers == Answers{{kA, kStep, StepState::prepared}}));
  ledger.answered(kA, kStep, std::nullopt);
  BOOST_TEST((ledger.todo().questions == Questions{{kC, kStep, StepState::prepared}}));
}

BOOST_AUTO_TEST_CASE(owner_that_the_driver_may_still_reach_answers_nobody) {
  StepLedger ledger(kB);
  ledger.prepared(kStep, kOwners);
  ledger.asked(kA, kStep, StepState::prepared);
  BOOST_TEST(ledger.todo().answers.empty());
  ledger.applied(kStep, 1);
  BOOST_TEST((ledger.todo().answers == Answers{{kA, kStep, StepState::applied}}));
}

BOOST_AUTO_TEST_CASE(owner_that_is_asked_before_it_has_prepared_refuses_the_step) {
  StepLedger ledger(kB);
  ledger.asked(kA, kStep, StepState::prepared);
  BOOST_TEST((ledger.todo().answers == Answers{{kA, kStep, StepState::aborted}}));
  BOOST_TEST((ledger.state(kStep) == StepState::aborted));
}

BOOST_AUTO_TEST_CASE(who_takes_no_part_is_told_what_is_known_and_changes_nothing) {
  StepLedger ledger(kB);
  const NodeLife stranger{"x", {9, 9}};
  ledger.asked(stranger, kStep, StepState::unknown);
  BOOST_TEST((ledger.todo().answers == Answers{{stranger, kStep, StepState::unknown}}));
  BOOST_TEST((ledger.state(kStep) == StepState::unknown));
  ledger.prepared(kStep, kOwners);
  ledger.asked(stranger, kStep, StepState::prepared);
  const NodeLife former{"a", {8, 8}};  // an earlier life of an owner
  ledger.asked(former, kStep, StepState::prepared);
  BOOST_TEST(
      (ledger.todo().answers == Answers{{stranger, kStep, StepState::prepared}, {former, kStep, StepState::prepared}}));
}

BOOST_AUTO_TEST_CASE(step_of_one_owner_alone_is_forgotten_with_its_driver) {
  StepLedger ledger(kA);
  ledger.prepared(step_id(1), {});
  ledger.applied(step_id(1), 1);
  ledger.prepared(step_id(2), {});
  ledger.driver_gone();
  BOOST_TEST((ledger.todo().abort == std::vector{step_id(2)}));
  BOOST_TEST(ledger.over());
}

/// One step of a driver and its owners, with all messages in flight. Node 0 is the driver; node i is owner kOwners[i -
/// 1].
struct World {
  static constexpr std::size_t kNodesMax = 4;
  enum class What : std::uint8_t {
    prepare,
    prepared,
    refused,
    commit,
    stepped,
    not_now,
    abort,
    release,
    question,
    answer,
    retry
  };

  struct Word {
    std::size_t from = 0;
    std::size_t to = 0;
    What what = What::prepare;
    StepState state = StepState::unknown;
    friend auto operator<=>(const Word&, const Word&) = default;
  };
  struct Owner {
    std::optional<StepLedger> ledger;  // nothing after its shard has ended
    bool applied = false;
    friend auto operator<=>(const Owner&, const Owner&) = default;
  };
  enum class Driver : std::uint8_t { prepares, commits, done };

  std::size_t owners = 2;
  std::size_t deaths_left = 0;
  std::size_t cuts_left = 0;             // of the connection between the driver and one owner
  std::size_t failures_left = 0;         // number of failing applications
  std::vector<Word> under_way;           // sorted
  std::array<Owner, kNodesMax> nodes{};  // [0] is unused
  std::array<bool, kNodesMax> alive{};
  std::array<std::array<bool, kNodesMax>, kNodesMax> news{};  // [observer][node]: will be told that the node is gone
  std::array<std::array<bool, kNodesMax>, kNodesMax> gone{};  // [observer][node]: was told
  Driver driver = Driver::prepares;
  std::array<bool, kNodesMax> answered{};  // the driver's present phase
  bool refused = false;
  bool lost = false;
  friend auto operator<=>(const World&, const World&) = default;
};

const NodeLife& life(std::size_t node) { return kOwners[node - 1]; }
std::size_t node_of(const NodeLife& owner) {
  return static_cast<std::size_t>(std::ranges::find(kOwners, owner) - kOwners.begin()) + 1;
}

/// The possible events of a World. Each call is one event with its immediate consequences.
class Events {
 public:
  explicit Events(World& world) : w_(world) {}

  void begin() {
    for (std::size_t i = 0; i <= w_.owners; ++i) w_.alive[i] = true;
    for (std::size_t i = 1; i <= w_.owners; ++i) {
      w_.nodes[i].ledger.emplace(life(i));
      say(0, i, World::What::prepare);
    }
  }

  void arrive(std::size_t place) {
    const World::Word word = w_.under_way[place];
    w_.under_way.erase(w_.under_way.begin() + static_cast<std::ptrdiff_t>(place));
    if (word.to == 0) return to_driver(word);
    to_owner(word);
  }

  void die(std::size_t node) {
    --w_.deaths_left;
    w_.alive[node] = false;
    std::erase_if(w_.under_way, [&](const World::Word& word) { return word.to == node; });
    for (std::size_t i = 0; i <= w_.owners; ++i) w_.news[i][node] = i != node && w_.alive[i] && !w_.gone[i][node];
  }

  void cut(std::size_t owner) {
    --w_.cuts_left;
    w_.news[0][owner] = !w_.gone[0][owner];
    w_.news[owner][0] = !w_.gone[owner][0];
  }

  /// `who` learns that `whom` is gone: no message of it arrives any more.
  void hear(std::size_t who, std::size_t whom) {
    w_.news[who][whom] = false;
    w_.gone[who][whom] = true;
    std::erase_if(w_.under_way, [&](const World::Word& word) { return word.from == whom && word.to == who; });
    if (who == 0) {
      w_.lost |= w_.driver == World::Driver::commits && !w_.answered[whom];
      w_.refused |= w_.driver == World::Driver::prepares;
      return driver_has(whom);
    }
    auto& ledger = w_.nodes[who].ledger;
    if (!ledger) return;
    whom == 0 ? ledger->driver_gone() : ledger->answered(life(whom), kStep, std::nullopt);
    go_on(who);
  }

 private:
  void say(std::size_t from, std::size_t to, World::What what, StepState state = StepState::unknown) {
    if (!w_.alive[to] || w_.gone[from][to] || w_.gone[to][from]) return;
    const World::Word word{from, to, what, state};
    w_.under_way.insert(std::ranges::upper_bound(w_.under_way, word), word);
  }

  void to_driver(const World::Word& word) {
    if (word.what == World::What::not_now) return say(0, word.from, World::What::commit);
    w_.refused |= word.what == World::What::refused;
    driver_has(word.from);
  }

  void driver_has(std::size_t owner) {
    w_.answered[owner] = true;
    for (std::size_t i = 1; i <= w_.owners; ++i) {
      if (!w_.answered[i]) return;
    }
    if (w_.driver == World::Driver::prepares && !w_.refused) {
      w_.driver = World::Driver::commits;
      w_.answered = {};
      for (std::size_t i = 1; i <= w_.owners; ++i) {
        // It may have gone since it prepared.
        w_.answered[i] = w_.gone[0][i];
        w_.lost |= w_.gone[0][i];
        say(0, i, World::What::commit);
      }
      return;
    }
    if (w_.driver == World::Driver::done) return;
    for (std::size_t i = 1; i <= w_.owners; ++i) {
      if (w_.driver == World::Driver::prepares) say(0, i, World::What::abort);
      say(0, i, World::What::release);
    }
    w_.driver = World::Driver::done;
  }

  void to_owner(const World::Word& word) {
    const std::size_t self = word.to;
    World::Owner& owner = w_.nodes[self];
    if (!owner.ledger) {
      if (word.what == World::What::question) say(self, word.from, World::What::answer, StepState::unknown);
      return;
    }
    StepLedger& ledger = *owner.ledger;
    switch (word.what) {
      case World::What::prepare:
        if (ledger.state(kStep) == StepState::unknown)
          ledger.prepared(kStep, {kOwners.begin(), kOwners.begin() + static_cast<std::ptrdiff_t>(w_.owners)});
        say(self, 0, ledger.state(kStep) == StepState::prepared ? World::What::prepared : World::What::refused);
        break;
      case World::What::commit:
        BOOST_REQUIRE((ledger.state(kStep) == StepState::prepared));
        if (!apply(self)) return say(self, 0, World::What::not_now);
        say(self, 0, World::What::stepped);
        break;
      case World::What::abort: ledger.aborted(kStep); break;
      case World::What::release:
        ledger.settled(w_.lost ? kStep.serial : kStep.serial + 1);
        ledger.driver_gone();
        break;
      case World::What::question: ledger.asked(life(word.from), kStep, word.state); break;
      case World::What::answer: ledger.answered(life(word.from), kStep, word.state); break;
      default: break;
    }
    go_on(self);
  }

  bool apply(std::size_t self) {
    if (w_.failures_left > 0) {
      --w_.failures_left;
      return false;
    }
    w_.nodes[self].ledger->applied(kStep, 1);
    BOOST_REQUIRE(!std::exchange(w_.nodes[self].applied, true));
    return true;
  }

  void go_on(std::size_t self) {
    World::Owner& owner = w_.nodes[self];
    for (bool changed = true; std::exchange(changed, false);) {
      const StepLedger::Todo todo = owner.ledger->todo();
      for (const StepLedger::Answer& answer : todo.answers)
        say(self, node_of(answer.asker), World::What::answer, answer.state);
      for (const StepLedger::Question& question : todo.questions) {
        const std::size_t asked = node_of(question.owner);
        say(self, asked, World::What::question, question.own);
        if (!w_.gone[self][asked]) continue;
        owner.ledger->answered(question.owner, kStep, std::nullopt);
        changed = true;
      }
      for (const StepId& step : todo.apply) {
        const bool applied = apply(self);
        changed |= applied;
        if (!applied)
          w_.under_way.insert(std::ranges::upper_bound(w_.under_way, World::Word{self, self, World::What::retry}),
                              World::Word{self, self, World::What::retry});
        BOOST_REQUIRE((step == kStep));
      }
    }
    if (owner.ledger->over()) owner.ledger.reset();
  }

  World& w_;
};

/// Visits every order of events, and each state of the world once.
class Explorer {
 public:
  std::size_t applied = 0;
  std::size_t aborted = 0;
  std::size_t states = 0;

  void explore(World first) {
    Events(first).begin();
    std::vector<World> open{first};
    seen_.insert(std::move(first));
    while (!open.empty()) {
      const World world = std::move(open.back());
      open.pop_back();
      ++states;
      bool quiet = true;
      const auto after = [&](auto event) {
        World next = world;
        event(Events(next));
        if (seen_.insert(next).second) open.push_back(std::move(next));
      };
      for (std::size_t i = 0; i < world.under_way.size(); ++i) {
        quiet = false;
        after([i](Events events) { events.arrive(i); });
      }
      for (std::size_t who = 0; who <= world.owners; ++who) {
        if (world.alive[who] && world.deaths_left > 0) after([who](Events events) { events.die(who); });
        if (who > 0 && world.alive[who] && world.alive[0] && world.cuts_left > 0)
          after([who](Events events) { events.cut(who); });
        for (std::size_t whom = 0; whom <= world.owners; ++whom) {
          if (!world.news[who][whom] || !world.alive[who]) continue;
          quiet = false;
          after([who, whom](Events events) { events.hear(who, whom); });
        }
      }
      if (quiet) end(world);
    }
  }

 private:
  void end(const World& world) {
    std::set<bool> applied_by;
    for (std::size_t i = 1; i <= world.owners; ++i) {
      if (!world.alive[i]) continue;
      applied_by.insert(world.nodes[i].applied);
      BOOST_REQUIRE_MESSAGE(!world.nodes[i].ledger, "owner " << i << " remembers the step for ever");
    }
    BOOST_REQUIRE_MESSAGE(applied_by.size() <= 1, "the owners that live did different things");
    const bool has_applied = applied_by.contains(true);
    // A driver that lost an owner reports it: its decision holds for the others.
    if (world.alive[0] && !world.lost && !applied_by.empty()) BOOST_REQUIRE(has_applied == !world.refused);
    ++(has_applied ? applied : aborted);
  }

  std::set<World> seen_;
};

void explore(std::size_t owners, std::size_t deaths, std::size_t cuts, std::size_t failures) {
  BOOST_TEST_CONTEXT(owners << " owners, " << deaths << " deaths, " << cuts << " cuts, " << failures << " failures") {
    Explorer explorer;
    World world;
    world.owners = owners;
    world.deaths_left = deaths;
    world.cuts_left = cuts;
    world.failures_left = failures;
    explorer.explore(std::move(world));
    BOOST_TEST(explorer.applied > 0U);
    if (deaths + cuts > 0) BOOST_TEST(explorer.aborted > 0U);
    BOOST_TEST_MESSAGE(owners << " owners, " << deaths << " deaths, " << cuts << " cuts: " << explorer.states
                              << " states");
  }
}

BOOST_AUTO_TEST_CASE(all_living_owners_do_the_same_whoever_dies_when, *boost::unit_test::label("fault-F29")) {
  explore(2, 0, 0, 1);
  explore(2, 3, 0, 1);
  explore(3, 1, 0, 0);
  explore(3, 2, 0, 0);  // after a third death no owner is left to agree with
}

BOOST_AUTO_TEST_CASE(owner_that_loses_its_driver_alone_does_what_the_driver_decides,
                     *boost::unit_test::label("fault-F29")) {
  explore(2, 0, 1, 1);
  explore(2, 1, 1, 0);
  explore(3, 0, 1, 0);
  explore(3, 1, 1, 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
