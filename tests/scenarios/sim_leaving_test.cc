// How nodes wait for each other at the end, and count each other.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/group.h"
#include "node/sim/world.h"
#include "tensor/create.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_leaving)

namespace {

using namespace std::chrono_literals;

const std::vector<NodeName> kNames{"a", "b", "c"};

std::int64_t next(std::int64_t x) { return x + 1; }
Tensor large(std::int64_t mebibytes) { return zeros({mebibytes * 1024 * 1024}, DType::u8); }

struct Room {
  std::int64_t number = 0;
  std::int64_t its_number() const { return number; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(number);
  }
};

/// Answers when it is opened, which nobody does.
class Door {
 public:
  Future<std::int64_t> opened(Scope& scope) { return kept_.emplace_back(scope).future(); }
  Future<Room> room_behind(Scope& scope) { return rooms_.emplace_back(scope).future(); }

 private:
  std::vector<Promise<std::int64_t>> kept_;
  std::vector<Promise<Room>> rooms_;
};

FunctionRegistry functions() {
  return {{"next", &next},
          {"large", &large},
          {"Door", constructor<Door>},
          {"Door::opened", &Door::opened},
          {"Door::room_behind", &Door::room_behind},
          {"Room::its_number", &Room::its_number}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(nodes_agree_to_leave_also_while_large_answers_are_under_way) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world({.seed = seed, .link = {.delay_mean = 30ms}}, kNames, functions());
      std::vector<Future<bool>> ends;
      for (const NodeName& name : kNames) {
        ends.push_back(world.on(name, [name](Node& node) {
          std::vector<Future<Tensor>> answers;
          for (const NodeName& other : kNames) {
            if (other != name) answers.push_back(node.rpc_async(other, &large, 90));
          }
          node.serve();
          bool all = true;
          for (const Future<Tensor>& answer : answers)
            all &= answer.ready() && answer.get().nbytes() == 90U * 1024 * 1024;
          return all;
        }));
      }
      for (const Future<bool>& end : ends) BOOST_TEST(end.get());
    }
  }
}

BOOST_AUTO_TEST_CASE(server_that_shuts_down_without_serve_goes_on_until_nobody_calls_it) {
  sim::World world({}, kNames, functions());
  const auto serves = [](Node& node) { return node.shutdown().clean(); };
  const Future<bool> b = world.on("b", serves);
  const Future<bool> c = world.on("c", serves);
  const Future<bool> caller = world.on("a", [&world](Node& node) {
    bool all = true;
    while (world.now() < 30s) {
      all &= node.with({.deadline = 5s}).rpc_sync("b", &next, 1) == 2;
      Promise<void> paused(node);
      node.core().clock().at(node.core().clock().now() + 500ms, [paused] { paused.complete(Unit{}); });
      paused.future().get();
    }
    return node.shutdown().clean() && all;
  });
  BOOST_TEST(caller.get());
  BOOST_TEST(b.get());
  BOOST_TEST(c.get());
}

BOOST_AUTO_TEST_CASE(node_that_shuts_down_at_a_deadline_says_whom_it_leaves) {
  sim::World world({}, kNames, functions());
  const auto waited_for = world.on("b", [](Node& node) { return node.shutdown(200ms).waited_for; }).get();
  BOOST_TEST_REQUIRE(!waited_for.empty());
  BOOST_TEST(waited_for.front() == "not all have finished; still up: a, c");
  BOOST_TEST(world.trace_text().find("[b] shuts down before the others: not all have finished; still up: a, c") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(nodes_leave_although_a_future_is_never_completed_once_nobody_waits_for_it) {
  sim::World world({}, kNames, functions());
  const Future<bool> b = world.on("b", [](Node& node) { return node.shutdown(60s).clean(); });
  const Future<bool> c = world.on("c", [](Node& node) {
    const RRef<Door> door = node.remote("b", constructor<Door>);
    static_cast<void>(door.rpc_async(node.with({.deadline = Deadline::while_peer_lives()}), &Door::opened));
    return node.shutdown(60s).clean();
  });
  const Future<bool> a = world.on("a", [](Node& node) {
    const RRef<Door> door = node.remote("b", constructor<Door>);
    const Scope impatient = node.with({.deadline = 5s});
    static_cast<void>(door.remote(impatient, &Door::opened));
    return error_of([&] { return door.rpc_sync(impatient, &Door::opened); }).code == ErrorCode::timeout &&
           node.shutdown(60s).clean();
  });
  world.run_for(20s);
  world.kill("c");
  BOOST_TEST(a.get());
  BOOST_TEST(b.get());
  BOOST_TEST((world.now() < 40s));
  BOOST_TEST((error_of([&] { return c.get(); }).code == ErrorCode::peer_down));
}

BOOST_AUTO_TEST_CASE(nodes_leave_although_a_use_waits_for_a_value_that_is_never_made_once_its_caller_is_gone) {
  sim::World world({}, {"a", "b"}, functions());
  const Future<bool> b = world.on("b", [](Node& node) { return node.shutdown(60s).clean(); });
  const Future<bool> a = world.on("a", [](Node& node) {
    const Scope patient = node.with({.deadline = Deadline::while_peer_lives()});
    const RRef<Room> room = node.remote("b", constructor<Door>).remote(patient, &Door::room_behind);
    static_cast<void>(room.remote(patient, &Room::its_number));
    return node.shutdown(60s).clean();
  });
  world.run_for(20s);
  BOOST_TEST(!b.ready());
  world.kill("a");
  BOOST_TEST(b.get());
  BOOST_TEST((world.now() < 40s));
  BOOST_TEST((error_of([&] { return a.get(); }).code == ErrorCode::peer_down));
}

BOOST_AUTO_TEST_CASE(call_that_waits_for_its_next_attempt_keeps_the_nodes_together) {
  sim::World world({}, kNames, functions());
  for (const char* name : {"b", "c"}) static_cast<void>(world.on(name, [](Node& node) { node.serve(); }));
  const auto code =
      world
          .on("a",
              [](Node& node) {
                const Scope patient =
                    node.with({.repeat = Repeat::even_if_run, .retry = RetryPolicy{.attempts_max = 3, .pause = 500ms}});
                const auto call = patient.rpc_async("nobody", &next, 1);
                node.serve();
                if (!call.ready()) return ErrorCode::timeout;
                try {
                  static_cast<void>(call.get());
                } catch (const RemoteError& error) {
                  return error.code();
                }
                return ErrorCode::internal;
              })
          .get();
  BOOST_TEST((code == ErrorCode::not_joined));
  BOOST_TEST((world.now() >= 1500ms));  // pauses of 500 ms and 1 s
}

BOOST_AUTO_TEST_CASE(who_waits_for_members_waits_on_when_one_dies_and_counts_the_living) {
  sim::World world({}, kNames, functions());
  world.kill_after(50, "c");
  const auto wait = [](Node& node) { return error_of([&] { node.wait_for_members(4, 3s); }).text(); };
  const std::string text = world.on("a", wait).get();
  BOOST_TEST(text.find("timeout") != std::string::npos, text);
  BOOST_TEST(text.find("2 of 4 nodes are there: a, b") != std::string::npos, text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
