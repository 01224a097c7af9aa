// Whole worlds: faults, deaths, stalls, waits and shutdown as programs see them.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/data/data_loader.h"
#include "actors/function_registry.h"
#include "actors/rref.h"
#include "node/node.h"
#include "node/sim/world.h"
#include "tests/support/counting_new.h"
#include "tests/support/expect_throw.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(sim)

namespace {

using namespace std::chrono_literals;
using sim::Death;
using sim::World;
using sim::WorldCounts;
using sim::WorldOptions;

/// Advances virtual time, as a computation takes real time.
void pass(const Scope& scope, Duration time) {
  const Clock& clock = scope.state().node->clock();
  detail::WaitPoint never;
  static_cast<void>(never.wait(clock.now() + time));
}

std::int64_t square(std::int64_t x) { return x * x; }

std::int64_t wait_and_answer(Scope& scope, std::int64_t ms) {
  pass(scope, std::chrono::milliseconds(ms));
  return ms;
}

/// Calls itself on `other` and back until `depth` is used up.
std::int64_t back_and_forth(Scope& scope, const std::string& other, std::int64_t depth) {
  if (depth == 0) return 0;
  return 1 + scope.rpc_sync(other, &back_and_forth, scope.node_name(), depth - 1);
}

class Counter {
 public:
  void increment() { ++value_; }
  [[nodiscard]] std::int64_t value() const { return value_; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value_);
  }

 private:
  std::int64_t value_ = 0;
};

/// After `ms`, increments `counter` ten times and does not wait for it.
void increment_later(Scope& scope, const RRef<Counter>& counter, std::int64_t ms) {
  pass(scope, std::chrono::milliseconds(ms));
  for (int i = 0; i < 10; ++i) static_cast<void>(counter.rpc_async(scope, &Counter::increment));
}

const FunctionRegistry& functions() {
  static const FunctionRegistry registry{{"square", &square},
                                         {"wait_and_answer", &wait_and_answer},
                                         {"back_and_forth", &back_and_forth},
                                         {"counter", constructor<Counter>},
                                         {"increment", &Counter::increment},
                                         {"value", &Counter::value},
                                         {"increment_later", &increment_later}};
  return registry;
}

const std::vector<NodeName> kNames{"a", "b", "c"};
const sim::LinkFaults kBadLinks{.drop = 0.1, .duplicate = 0.1, .reorder = 0.2, .delay_mean = 2ms};

WorldOptions bad_links(std::uint64_t seed) { return {.seed = seed, .link = kBadLinks}; }

/// Exercises all features a little. Returns the trace's hash.
std::uint64_t busy_run(World& world) {
  std::vector<Future<std::int64_t>> sums;
  for (const NodeName& name : kNames) {
    sums.push_back(world.on(name, [](Node& node) {
      const RRef<Counter> counter = node.remote("b", constructor<Counter>);
      std::vector<Future<void>> increments;
      for (int i = 0; i < 7; ++i) increments.push_back(counter.rpc_async(node, &Counter::increment));
      for (const Future<void>& increment : increments) increment.get();
      return counter.rpc_sync(node, &Counter::value) +
             node.rpc_sync("c", &back_and_forth, node.name() == "c" ? "a" : node.name(), 6);
    }));
  }
  for (const Future<std::int64_t>& sum : sums) BOOST_TEST(sum.get() == 13);  // 7 + 6
  BOOST_TEST(world.run());
  return world.trace_hash();
}

ErrorCode code_of(const Future<std::int64_t>& future) {
  const auto result = future.get_for(10min);
  BOOST_TEST_REQUIRE(result.has_value());
  BOOST_TEST_REQUIRE(!result->ok());
  return result->error().code;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_run_and_another_seed_another) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    World first(bad_links(seed), kNames, functions());
    const std::uint64_t hash = busy_run(first);
    std::string text = first.trace_text();
    const WorldCounts counts = first.counts();
    BOOST_TEST(counts.steps > 500U);
    std::optional<World> second;
    {
      // The second world exists while the memory of the first is in use: no address may influence a decision.
      second.emplace(bad_links(seed), kNames, functions());
      BOOST_TEST(busy_run(*second) == hash);
    }
    BOOST_TEST(second->trace_text() == text);
    BOOST_TEST(second->counts().steps == counts.steps);
    hashes.insert(hash);
  }
  BOOST_TEST(hashes.size() == 8U);
}

BOOST_AUTO_TEST_CASE(every_fault_of_a_link_happens_and_the_session_repairs_it) {
  World world(bad_links(3), kNames, functions());
  static_cast<void>(busy_run(world));
  const WorldCounts counts = world.counts();
  BOOST_TEST(counts.sent > 50U);
  BOOST_TEST(counts.dropped > 0U);
  BOOST_TEST(counts.duplicated > 0U);
  BOOST_TEST(counts.reordered > 0U);
  BOOST_TEST(counts.lost == 0U);
}

BOOST_AUTO_TEST_CASE(without_faults_nothing_is_dropped_repeated_or_reordered) {
  World world({.seed = 5}, kNames, functions());
  static_cast<void>(busy_run(world));
  world.run_for(100ms);
  const WorldCounts counts = world.counts();
  BOOST_TEST(counts.dropped + counts.duplicated + counts.reordered == 0U);
  BOOST_TEST(counts.sent == counts.arrived);
}

BOOST_AUTO_TEST_CASE(time_is_virtual_and_passes_as_fast_as_nothing_happens) {
  World world({.seed = 1}, {"a", "b"}, functions());
  const Duration begin = world.now();
  const Future<std::int64_t> answer = world.on(
      "a", [](Node& node) { return node.with({.deadline = Deadline(48h)}).rpc_sync("b", &wait_and_answer, 60'000); });
  BOOST_TEST(answer.get() == 60'000);
  const Duration took = world.now() - begin;
  BOOST_TEST((took >= 60s && took < 61s));
}

BOOST_AUTO_TEST_CASE(a_deadline_ends_a_call_in_virtual_time) {
  World world({.seed = 2}, {"a", "b"}, functions());
  const Duration begin = world.now();
  const Future<std::int64_t> answer = world.on(
      "a", [](Node& node) { return node.with({.deadline = Deadline(250ms)}).rpc_sync("b", &wait_and_answer, 60'000); });
  BOOST_TEST((code_of(answer) == ErrorCode::timeout));
  const Duration took = world.now() - begin;
  BOOST_TEST((took >= 250ms && took < 300ms));
}

BOOST_AUTO_TEST_CASE(nested_calls_hold_one_function_each_and_end) {
  World world(bad_links(4), {"a", "b"}, functions());
  const Future<std::int64_t> depth =
      world.on("a", [](Node& node) { return node.rpc_sync("b", &back_and_forth, "a", 60); });
  BOOST_TEST(depth.get() == 60);
}

BOOST_AUTO_TEST_CASE(the_worlds_own_thread_may_call_and_wait) {
  World world({.seed = 6}, {"a", "b"}, functions());
  BOOST_TEST(world.node("a").rpc_sync("b", &square, 7) == 49);
  const Future<std::int64_t> later = world.node("a").rpc_async("b", &wait_and_answer, 100);
  BOOST_TEST(!later.get_for(50ms).has_value());
  BOOST_TEST(later.get() == 100);
}

BOOST_AUTO_TEST_CASE(callbacks_run_as_functions_of_their_node) {
  World world({.seed = 7}, {"a", "b"}, functions());
  const Future<std::int64_t> answer = world.on("a", [&](Node& node) {
    return node.rpc_async("b", &square, 3)
        .then([&node](std::int64_t x) { return node.rpc_sync("b", &square, x); })
        .get();
  });
  BOOST_TEST(answer.get() == 81);  // (3 * 3)^2
}

BOOST_AUTO_TEST_CASE(a_closed_death_fails_its_calls_within_the_links_delay) {
  World world({.seed = 8}, kNames, functions());
  const Future<std::int64_t> answer =
      world.on("a", [](Node& node) { return node.rpc_sync("b", &wait_and_answer, 60'000); });
  world.run_for(1s);
  const Duration died = world.now();
  world.kill("b");
  BOOST_TEST((code_of(answer) == ErrorCode::peer_down));
  BOOST_TEST((world.now() - died < 100ms));
  BOOST_TEST(!world.is_alive("b"));
  BOOST_TEST(world.node("a").members().size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_silent_death_is_found_out_by_silence) {
  World world({.seed = 9}, kNames, functions());
  const Future<std::int64_t> answer =
      world.on("a", [](Node& node) { return node.rpc_sync("b", &wait_and_answer, 60'000); });
  world.run_for(1s);
  const Duration died = world.now();
  world.kill("b", Death::silent);
  BOOST_TEST((code_of(answer) == ErrorCode::peer_down));
  const Duration took = world.now() - died;
  BOOST_TEST((took > 9800ms && took < 10100ms));  // heartbeats arrive every 100 ms; 10 s without any mean death
}

/// Returns what `name` reports about peers that it cannot hear.
std::string cannot_hear(World& world, const NodeName& name) {
  std::string peers;
  for (const auto& [peer, silence] : world.node(name).debug_info().unreachable) peers += peer;
  return peers;
}

BOOST_AUTO_TEST_CASE(a_node_that_stands_still_for_less_than_its_lease_loses_nothing,
                     *boost::unit_test::label("fault-F13")) {
  World world({.seed = 21}, kNames, functions());
  const auto slow = world.on("a", [](Node& node) { return node.rpc_sync("b", &wait_and_answer, 500); });
  world.run_for(100ms);
  world.freeze("b");
  const auto meanwhile = world.on("a", [](Node& node) { return node.rpc_sync("b", &square, 7); });
  world.run_for(9s);
  BOOST_TEST(cannot_hear(world, "a") == "b");
  BOOST_TEST(!slow.get_for(0ms).has_value());
  const Duration asked = world.now();
  const auto impatient =
      world.on("a", [](Node& node) { return node.with({.unreachable = Unreachable::fail}).rpc_sync("b", &square, 7); });
  BOOST_TEST((code_of(impatient) == ErrorCode::peer_unreachable));
  BOOST_TEST((world.now() - asked < 100ms));
  world.thaw("b");
  BOOST_TEST(slow.get() == 500);
  BOOST_TEST(meanwhile.get() == 49);
  world.run_for(1s);
  for (const NodeName& name : kNames) {
    BOOST_TEST(cannot_hear(world, name).empty());
    BOOST_TEST(world.node(name).members().size() == 3U);
  }
}

/// Returns how many requests of `peer` have come to the node; nullopt: `peer` is not up there.
std::optional<std::uint64_t> requests_of(Node& node, const NodeName& peer) {
  const auto traffic = node.core().traffic().counts();
  const auto counts = traffic->find(peer);
  return counts == traffic->end() ? std::nullopt : std::optional(counts->second.calls_received);
}

BOOST_AUTO_TEST_CASE(what_waits_for_a_node_that_stands_still_comes_in_its_order,
                     *boost::unit_test::label("fault-F13")) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    for (const bool sender_stops : {false, true}) {
      std::optional<Error> down;
      World world({.seed = seed}, {"a", "b"}, functions());
      world.node("b").on_down([&down](const Peer&, const Error& error) { down = error; });
      const RRef<Counter> counter =
          world.on("b", [](Node& node) { return node.remote("b", constructor<Counter>); }).get();
      const auto asked = world.on("b", [&counter](Node& node) {
        static_cast<void>(node.rpc_async("a", &increment_later, counter, std::int64_t{500}));
      });
      world.run_for(400ms);
      const std::uint64_t before = requests_of(world.node("b"), "a").value();
      std::uint64_t came = before;  // while "a" is up at "b": ahead of its goodbye
      const auto count = [&] { return came = requests_of(world.node("b"), "a").value_or(came), false; };
      world.freeze("b");
      world.run_for(900ms);
      if (sender_stops) static_cast<void>(world.node("a").stop());
      world.run_for(100ms);  // the goodbye waits for "b", too
      world.thaw("b");
      static_cast<void>(world.step_until(count, 1s));
      const auto value = world.on("b", [&counter](Node& node) { return counter.rpc_sync(node, &Counter::value); });
      BOOST_TEST_CONTEXT("seed " << seed) {
        BOOST_TEST(came - before == 10U);
        // Of the calls that came, those that wait for their turn when their caller is gone do not begin (CT-5).
        BOOST_TEST((sender_stops ? value.get() <= 10 : value.get() == 10), value.get());
        BOOST_TEST(world.run());  // each has ended, begun or not
        BOOST_TEST(world.counts().reordered == 0U);
        BOOST_TEST(down.has_value() == sender_stops);
        if (down) BOOST_TEST(down->text() == "a: shutting_down: it has shut down");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_stands_still_beyond_its_lease_hears_that_it_is_dead_and_who_says_so,
                     *boost::unit_test::label("fault-F13")) {
  World world({.seed = 22}, kNames, functions());
  world.run_for(1s);
  world.freeze("b");
  const Duration frozen = world.now();
  const auto lost = world.on("a", [](Node& node) { return node.rpc_sync("b", &square, 7); });
  BOOST_TEST((code_of(lost) == ErrorCode::peer_down));
  BOOST_TEST((world.now() - frozen > 9800ms && world.now() - frozen < 10100ms));
  const auto refused = world.on("b", [](Node& node) { return node.rpc_sync("a", &square, 7); });
  world.thaw("b");
  const auto result = refused.get_for(10s);
  BOOST_TEST_REQUIRE(result.has_value());
  BOOST_TEST_REQUIRE(!result->ok());
  BOOST_TEST((result->error().code == ErrorCode::you_are_dead));
  BOOST_TEST(result->error().message.starts_with("node a took this node for dead: nothing heard for 10."),
             result->error().message);
}

BOOST_AUTO_TEST_CASE(a_verdict_is_one_pairs_and_other_sessions_live_on, *boost::unit_test::label("fault-F09")) {
  World world({.seed = 23}, kNames, functions());
  world.cut("a", "b");
  world.cut("b", "a");
  world.run_for(12s);
  for (const auto& [from, to] : {std::pair{"a", "b"}, std::pair{"b", "a"}}) {
    const auto lost = world.on(from, [to = std::string(to)](Node& node) { return node.rpc_sync(to, &square, 7); });
    BOOST_TEST((code_of(lost) == ErrorCode::peer_down));
  }
  for (const NodeName name : {"a", "b"}) {
    BOOST_TEST(world.on(name, [](Node& node) { return node.rpc_sync("c", &square, 7); }).get() == 49);
    BOOST_TEST(world.on("c", [name](Node& node) { return node.rpc_sync(name, &square, 7); }).get() == 49);
  }
}

BOOST_AUTO_TEST_CASE(a_cut_of_one_direction_for_three_seconds_is_seen_at_both_ends_and_loses_nothing,
                     *boost::unit_test::label("fault-F07")) {
  World world({.seed = 24}, kNames, functions());
  world.run_for(1s);
  world.cut("a", "b");
  const auto there = world.on("a", [](Node& node) { return node.rpc_sync("b", &square, 7); });
  const auto back = world.on("b", [](Node& node) { return node.rpc_sync("a", &square, 8); });
  world.run_for(3s);
  BOOST_TEST(cannot_hear(world, "a") == "b");
  BOOST_TEST(cannot_hear(world, "b") == "a");
  BOOST_TEST(cannot_hear(world, "c").empty());
  world.heal("a", "b");
  BOOST_TEST(there.get() == 49);
  BOOST_TEST(back.get() == 64);
  world.run_for(1s);
  BOOST_TEST(cannot_hear(world, "a").empty());
  BOOST_TEST(cannot_hear(world, "b").empty());
}

BOOST_AUTO_TEST_CASE(functions_of_a_killed_node_are_unwound_where_they_wait) {
  struct Seen {
    bool destroyed = false;
    bool handled = false;
    bool went_on = false;
  };
  struct Witness {
    Seen& seen;
    ~Witness() { seen.destroyed = true; }
  };
  Seen seen;
  World world({.seed = 10}, kNames, functions());
  const Future<void> program = world.on("b", [&seen](Node& node) {
    const Witness witness{seen};
    try {
      static_cast<void>(node.rpc_sync("c", &wait_and_answer, 60'000));
      seen.went_on = true;
    } catch (const std::exception&) {
      seen.handled = true;
    }
  });
  const Future<std::int64_t> served =
      world.on("a", [](Node& node) { return node.rpc_sync("b", &wait_and_answer, 60'000); });
  world.run_for(1s);
  world.kill("b");
  BOOST_TEST(seen.destroyed);
  BOOST_TEST(!seen.handled);
  BOOST_TEST(!seen.went_on);
  BOOST_TEST(world.counts().unwound == 2U);
  BOOST_TEST(world.counts().actors_left == 0U);
  const auto result = program.get_for(0s);
  BOOST_TEST_REQUIRE(result.has_value());
  BOOST_TEST(result->error().text() == "on on b: peer_down: the node was killed");
  BOOST_TEST((code_of(served) == ErrorCode::peer_down));
}

BOOST_AUTO_TEST_CASE(a_call_whose_node_is_killed_before_its_next_attempt_ends_as_its_other_requests_do) {
  World world({.seed = 16}, kNames, functions());
  const auto call_of = [&world](const NodeName& to) {
    Future<std::int64_t> call;
    world
        .on("a",
            [&call, &to](Node& node) {
              const Scope patient = node.with({.repeat = Repeat::even_if_run, .retry = RetryPolicy{.pause = 10s}});
              call = patient.rpc_async(to, &wait_and_answer, std::int64_t{5000});
            })
        .get();
    return call;
  };
  const Future<std::int64_t> pauses = call_of("nobody");
  const Future<std::int64_t> runs = call_of("b");
  world.run_for(1s);
  BOOST_TEST_REQUIRE(!pauses.ready());
  world.kill("a");
  BOOST_TEST((code_of(pauses) == ErrorCode::shutting_down));
  BOOST_TEST((code_of(runs) == ErrorCode::shutting_down));
  const Error error = pauses.get_for(0ms)->error();
  BOOST_TEST(error.peer == "nobody");
  BOOST_TEST(error.operation == "rpc wait_and_answer");
  BOOST_TEST(error.message == "node a has shut down");
  BOOST_TEST((error.execution == Execution::never));
}

BOOST_AUTO_TEST_CASE(a_loader_of_batches_ends_with_its_killed_node_at_any_moment) {
  int killed = 0;
  for (std::uint64_t steps = 0; steps < 150; steps += 2) {
    World world({.seed = 18}, {"a", "b"}, functions());
    const Future<std::int64_t> sum = world.on("a", [](Node& node) {
      const DistributedSampler sampler({.examples = 40, .ranks = 1, .rank = 0, .seed = 1});
      DataLoader<std::int64_t> batches(node, sampler, {.batch = 2},
                                       [&node](const Tensor& /*indices*/) { return node.rpc_sync("b", &square, 3); });
      std::int64_t all = 0;
      for (int i = 0; i < 5; ++i) all += batches.next().value();
      return all;
    });
    world.kill_after(steps, "a");
    const auto result = sum.get_for(60s);
    BOOST_TEST_REQUIRE(result.has_value());
    killed += result->ok() ? 0 : 1;
    world.run_for(1s);
    BOOST_TEST(world.counts().actors_left == 0U);
  }
  BOOST_TEST(killed > 30);
}

BOOST_AUTO_TEST_CASE(world_that_cannot_start_leaves_nothing) {
  const auto peak_of = [](int worlds) {
    const testing::PeakMemory memory;
    const WorldOptions slow{.seed = 19, .link = {.delay_mean = 100s}, .silence = {.lease = 1h}};
    for (int i = 0; i < worlds; ++i) BOOST_CHECK_THROW(World(slow, kNames, functions()), RemoteError);
    return memory.bytes();
  };
  static_cast<void>(peak_of(1));  // fills the caches
  const std::size_t peak = peak_of(1);
  BOOST_TEST(peak_of(8) < 2 * peak);
}

BOOST_AUTO_TEST_CASE(a_function_may_kill_nodes_its_own_included) {
  World world({.seed = 11}, kNames, functions());
  bool went_on = false;
  const Future<std::int64_t> program = world.on("a", [&](Node& node) {
    world.kill("c");
    const auto result = node.rpc_async("c", &square, 2).get_for(1s);
    BOOST_TEST((result && !result->ok()));
    world.kill("a");
    static_cast<void>(node.rpc_sync("b", &square, 2));
    went_on = true;
    return std::int64_t{0};
  });
  BOOST_TEST((code_of(program) == ErrorCode::peer_down));
  BOOST_TEST(!went_on);
  BOOST_TEST(world.is_alive("b"));
  BOOST_TEST(!world.is_alive("a"));
  BOOST_TEST(world.run());
}

BOOST_AUTO_TEST_CASE(shutdown_is_agreed_upon_in_virtual_time) {
  World world(bad_links(12), kNames, functions());
  std::vector<Future<std::vector<std::string>>> reports;
  for (const NodeName& name : kNames) {
    reports.push_back(world.on(name, [](Node& node) {
      static_cast<void>(node.rpc_sync("b", &wait_and_answer, 30));
      return node.shutdown().waited_for;
    }));
  }
  for (const auto& report : reports) {
    for (const std::string& line : report.get()) BOOST_ERROR(line);
  }
}

BOOST_AUTO_TEST_CASE(a_wait_that_nothing_ends_is_reported_with_its_seed_and_trace) {
  World world({.seed = 13, .wait_max = 5s}, {"a", "b"}, functions());
  const Promise<void> never(world.node("a").core().future_home());
  BOOST_CHECK_EXCEPTION(never.future().get(), std::runtime_error, [](const std::runtime_error& error) {
    const std::string text = error.what();
    return text.starts_with("[sim] seed 13: nothing ended a wait within 5 s of virtual time\n") &&
           text.find("heartbeat from a") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(a_future_that_is_polled_becomes_ready) {
  World world({.seed = 14}, {"a", "b"}, functions());
  constexpr int kPollsMax = 1'000'000;
  const auto polls_of = [](const Future<std::int64_t>& future) {
    int polls = 0;
    while (polls < kPollsMax && !future.get_for(0ms)) ++polls;
    return polls;
  };
  const Future<std::int64_t> square_of_three =
      world.on("a", [](Node& node) { return node.rpc_sync("b", &square, std::int64_t{3}); });
  BOOST_TEST(polls_of(square_of_three) < kPollsMax);
  const Future<int> polls_of_function =
      world.on("a", [&](Node& node) { return polls_of(node.rpc_async("b", &wait_and_answer, std::int64_t{1})); });
  BOOST_TEST(polls_of_function.get() < kPollsMax);
}

BOOST_AUTO_TEST_CASE(the_longest_time_is_without_limit) {
  World world({.seed = 15, .wait_max = Duration::max()}, {"a", "b"}, functions());
  const auto square_of = [&world](std::int64_t x) {
    return world.on("a", [x](Node& node) { return node.rpc_sync("b", &square, x); });
  };
  BOOST_TEST(square_of(3).get() == 9);
  const Future<std::int64_t> second = square_of(4);
  BOOST_TEST(world.run(Duration::max()));
  BOOST_TEST(second.ready());
  const Future<std::int64_t> third = square_of(5);
  BOOST_TEST(world.step_until([&] { return third.ready(); }, Duration::max()));
  const Future<std::int64_t> fourth = square_of(5);
  BOOST_TEST(world.run(std::chrono::hours::max()));  // more than a Duration can represent
  BOOST_TEST(fourth.ready());
  const Future<std::int64_t> fifth = square_of(5);
  BOOST_TEST(world.step_until([&] { return fifth.ready(); }, std::chrono::milliseconds::max()));
  world.kill_after(std::numeric_limits<std::uint64_t>::max(), "b");
  BOOST_TEST(square_of(6).get() == 36);
  world.kill("a");
  world.kill("b");
  const Duration end = world.now();
  world.run_for(Duration::max());  // nothing is left to happen
  world.run_for(std::chrono::hours::max());
  world.run_for(1s);
  BOOST_TEST((world.now() == end + 1s));
}

BOOST_AUTO_TEST_CASE(what_programs_hold_may_outlive_the_world) {
  std::optional<World> world(std::in_place, WorldOptions{.seed = 14}, kNames, functions());
  const Node& a = world->node("a");
  std::optional<Scope> scope = a.with({});
  std::optional<RRef<Counter>> counter = a.remote("b", constructor<Counter>);
  const Future<std::int64_t> pending = a.rpc_async("b", &wait_and_answer, 1000);
  world->run_for(10ms);
  world.reset();
  BOOST_TEST(pending.ready());
  BOOST_CHECK_THROW(pending.get(), RemoteError);
  BOOST_CHECK_THROW(static_cast<void>(scope->rpc_sync("b", &square, 2)), RemoteError);
  counter.reset();
  scope.reset();
}

BOOST_AUTO_TEST_CASE(of_two_worlds_the_newer_one_goes_on_whichever_ends_first) {
  for (const bool older_first : {true, false}) {
    std::optional<World> older(std::in_place, WorldOptions{.seed = 16}, std::vector<NodeName>{"a", "b"}, functions());
    std::optional<World> newer(std::in_place, WorldOptions{.seed = 17}, std::vector<NodeName>{"a", "b"}, functions());
    std::optional<World>& ends = older_first ? older : newer;
    std::optional<World>& remains = older_first ? newer : older;
    BOOST_TEST(newer->node("a").rpc_sync("b", &square, 3) == 9);
    ends.reset();
    BOOST_TEST(remains->node("a").rpc_sync("b", &square, 4) == 16);
  }
}

BOOST_AUTO_TEST_CASE(mistakes_of_the_test_are_told_at_once) {
  using testing::expect_throw;
  expect_throw<std::invalid_argument>(
      [] {
        World({}, {"a", "a"}, functions());
      },
      "[World] the name \"a\" is given twice");
  expect_throw<std::invalid_argument>([] { World({.link = {.drop = 1.0}}, {"a"}, functions()); },
                                      "[World] 1 is no chance below 1");
  expect_throw<std::invalid_argument>([] { World({.wait_max = -1ns}, {"a"}, functions()); },
                                      "[World] a time is negative");
  expect_throw<std::invalid_argument>([] { World({.step_max = 0ns}, {"a"}, functions()); },
                                      "[World] step_max of 0 ns: below 1 ns, time stands still while a function polls");
  World world({}, {"a"}, functions());
  for (const std::function<void()>& names_b : std::initializer_list<std::function<void()>>{
           [&] { static_cast<void>(world.node("b")); }, [&] { static_cast<void>(world.is_alive("b")); },
           [&] { static_cast<void>(world.on("b", [](Node&) {})); }, [&] { world.kill("b"); },
           [&] { world.kill_after(1, "b"); }, [&] { world.freeze("b"); }, [&] { world.thaw("b"); },
           [&] { world.cut("a", "b"); }, [&] { world.heal("b", "a"); }}) {
    expect_throw<std::out_of_range>(names_b, "[World] no node \"b\"");
  }
  expect_throw<std::invalid_argument>([&] { static_cast<void>(world.draw(0)); },
                                      "[World] draw(0): there is nothing to choose from");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
