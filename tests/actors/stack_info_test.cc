#include "actors/stack_info.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/function_registry.h"
#include "actors/group.h"
#include "actors/rref.h"
#include "actors/to_here_all.h"
#include "node/local_cluster.h"
#include "tests/support/hold.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;

using testing::hold;

struct Box {
  explicit Box(int) {}
  void keep(Scope& scope) { hold(scope); }
  void wait_elsewhere(Scope& scope) { scope.rpc_sync("trainer", &hold); }
};

Box make_late(Scope& scope) {
  hold(scope);
  return Box(1);
}

std::int32_t number_late(Scope& scope) {
  hold(scope);
  return 1;
}

std::int32_t plus_one(const std::int32_t& x) { return x + 1; }

/// Uses the box in two ways at once, without end.
void use_box(Scope& scope, const RRef<Box>& box) {
  const Future<std::string> type = box.type_async(scope);
  box.rpc_sync(scope, &Box::keep);
}

struct Cluster {
  LocalCluster nodes{{"trainer", "ps0"},
                     {{"hold", &hold},
                      {"Box", constructor<Box, int>},
                      {"make_late", &make_late},
                      {"number_late", &number_late},
                      {"plus_one", &plus_one},
                      {"keep", &Box::keep},
                      {"use_box", &use_box},
                      {"wait_elsewhere", &Box::wait_elsewhere}}};
  Node& trainer = nodes.node("trainer");
  Node& ps = nodes.node("ps0");

  /// Returns the report of `node` when it first fits and no actor was too busy to answer.
  template <class Predicate>
  static StackInfo await(const Node& node, Predicate fits) {
    const auto due = std::chrono::steady_clock::now() + 10s;
    StackInfo stack = node.stack();
    while (!(fits(stack) && stack.silent.empty()) && std::chrono::steady_clock::now() < due) {
      std::this_thread::yield();
      stack = node.stack();
    }
    BOOST_TEST_REQUIRE(fits(stack));
    BOOST_TEST(stack.silent.empty());
    return stack;
  }
};

/// "rpc keep for trainer: has the turn"
std::vector<std::string> texts_of(const ValueInUse& value) {
  std::vector<std::string> texts;
  for (const ValueUser& user : value.users) texts.push_back(user.what + ": " + std::string(name_of(user.state)));
  return texts;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(stack_info, Cluster)

BOOST_AUTO_TEST_CASE(idle_node_has_nothing_to_say) {
  const StackInfo stack = await(trainer, [](const StackInfo&) { return true; });
  BOOST_TEST(stack.counts.node.name == "trainer");
  BOOST_TEST(stack.calls.empty());
  BOOST_TEST(stack.served.empty());
  BOOST_TEST(stack.values.empty());
  BOOST_TEST(stack.contexts.empty());
  BOOST_TEST(stack.barriers.empty());
}

BOOST_AUTO_TEST_CASE(call_is_listed_where_it_waits_with_its_line_and_where_it_runs) {
  const Scope patient = trainer.with({.deadline = Deadline::while_peer_lives()});
  const auto begin = std::chrono::steady_clock::now();
  const int line = __LINE__ + 1;
  const Future<void> first = trainer.rpc_async("ps0", &hold);
  const Future<void> second = patient.rpc_async("ps0", &hold);
  const StackInfo running =
      await(ps, [](const StackInfo& stack) { return stack.threads.size() == 2 && stack.served.size() == 2; });
  BOOST_TEST(running.served[0].operation == "rpc hold");
  BOOST_TEST(running.served[0].caller == "trainer");
  BOOST_TEST(running.threads[0].job == "rpc hold for trainer");
  BOOST_TEST(!running.threads[0].waiting);
  // Each table is read at its own time, so ages are compared with the clock and not with each other.
  const auto since_begin = std::chrono::steady_clock::now() - begin;
  BOOST_TEST((running.threads[0].age > Duration::zero()));
  BOOST_TEST((running.threads[0].age <= since_begin));
  BOOST_TEST((running.served[0].age <= since_begin));

  const StackInfo waiting = trainer.stack();
  BOOST_TEST_REQUIRE(waiting.calls.size() == 2U);
  BOOST_TEST(waiting.calls[0].operation == "rpc hold");
  BOOST_TEST(waiting.calls[0].peer == "ps0");
  BOOST_TEST(waiting.calls[0].site == "stack_info_test.cc:" + std::to_string(line));
  BOOST_TEST((waiting.calls[0].left.value() > 50s));
  BOOST_TEST((waiting.calls[0].left.value() + waiting.calls[0].age <= 60s));
  BOOST_TEST(waiting.calls[1].site == "stack_info_test.cc:" + std::to_string(line + 1));
  BOOST_TEST(!waiting.calls[1].left.has_value());
  BOOST_TEST(waiting.served.empty());
  first.cancel();
  second.cancel();
  static_cast<void>(await(ps, [](const StackInfo& stack) { return stack.served.empty() && stack.threads.empty(); }));
}

BOOST_AUTO_TEST_CASE(value_in_use_says_who_has_the_turn_and_who_waits_for_it) {
  const RRef<Box> box = trainer.remote("ps0", constructor<Box, int>, 1);
  const int line = __LINE__ + 1;
  const Future<void> elsewhere = box.rpc_async(trainer, &Box::wait_elsewhere);
  static_cast<void>(await(trainer, [](const StackInfo& stack) { return !stack.served.empty(); }));
  const Future<void> holder = box.rpc_async(trainer, &Box::keep);
  static_cast<void>(await(ps, [](const StackInfo& stack) { return stack.threads.size() == 2; }));
  const Future<void> next = box.rpc_async(trainer, &Box::keep);
  const StackInfo stack =
      await(ps, [](const StackInfo& now) { return now.values.size() == 1 && now.values[0].users.size() == 3; });
  BOOST_TEST(stack.values[0].value == box.id().text());
  BOOST_TEST((texts_of(stack.values[0]) ==
              std::vector<std::string>{"rpc keep for trainer: has the turn", "rpc keep for trainer: waits for its turn",
                                       "rpc wait_elsewhere for trainer: waits elsewhere"}));
  BOOST_TEST((stack.values[0].users[0].age >= stack.values[0].users[1].age));
  BOOST_TEST(trainer.stack().calls[0].site == "stack_info_test.cc:" + std::to_string(line));
  for (const Future<void>& call : {elsewhere, holder, next}) call.cancel();
  static_cast<void>(await(ps, [](const StackInfo& now) { return now.values.empty(); }));
}

BOOST_AUTO_TEST_CASE(use_of_a_value_that_is_being_made_waits_for_the_value) {
  const RRef<Box> box = trainer.with({.deadline = 1h}).remote("ps0", &make_late);
  const Future<void> early = box.rpc_async(trainer, &Box::keep);
  const StackInfo stack = await(ps, [](const StackInfo& now) { return now.values.size() == 1; });
  BOOST_TEST((texts_of(stack.values[0]) == std::vector<std::string>{"rpc keep for trainer: waits for the value"}));
  BOOST_TEST(stack.served.front().operation == "rpc make_late");
}

BOOST_AUTO_TEST_CASE(uses_of_a_reference_are_listed_with_their_lines) {
  const RRef<std::int32_t> number = trainer.with({.deadline = 1h}).remote("ps0", &number_late);
  const int first = __LINE__ + 1;
  const Future<std::string> type = number.type_async(trainer);
  const Future<std::int32_t> value = number.to_here_async(trainer);
  const Future<std::vector<std::int32_t>> values = to_here_all_async(trainer, std::vector{number});
  const Future<std::int32_t> sum = number.rpc_async(trainer.with({.deadline = 1h}), &plus_one);
  std::vector<std::string> sites;
  const StackInfo stack =
      await(trainer, [](const StackInfo& now) { return now.calls.size() == 4; });  // the creation is answered
  for (const WaitingCall& call : stack.calls) sites.push_back(call.site);
  std::vector<std::string> lines;
  for (int line = first; line < first + 4; ++line) lines.push_back("stack_info_test.cc:" + std::to_string(line));
  BOOST_TEST(sites == lines, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(uses_that_a_dead_node_asked_for_wait_no_longer) {
  const RRef<Box> box = ps.with({.deadline = 1h}).remote("ps0", &make_late);
  const Future<void> call = ps.rpc_async("trainer", &use_box, box);
  const StackInfo before =
      await(ps, [](const StackInfo& now) { return now.values.size() == 1 && now.values[0].users.size() == 2; });
  BOOST_TEST(before.served.size() == 3U);  // make_late, and a keep and a fetch for the trainer
  nodes.kill("trainer");
  const StackInfo after = await(ps, [](const StackInfo& now) { return now.values.empty() && now.served.size() == 1; });
  BOOST_TEST(after.served.front().operation == "rpc make_late");
  BOOST_TEST(after.counts.owners == 1U);
}

BOOST_AUTO_TEST_CASE(context_says_who_takes_part) {
  const DistContext context(trainer);
  const Future<void> call = context.rpc_async("ps0", &hold);
  const StackInfo stack = await(ps, [](const StackInfo& now) { return now.contexts.size() == 1; });
  BOOST_TEST(stack.contexts[0].context == "trainer.1");
  BOOST_TEST((stack.contexts[0].peers == std::vector<NodeName>{"trainer"}));
  BOOST_TEST(stack.contexts[0].passes == 0U);
  BOOST_TEST((stack.contexts[0].age > 0s));
  BOOST_TEST((trainer.stack().contexts.at(0).peers == std::vector<NodeName>{"ps0"}));
  call.cancel();
}

BOOST_AUTO_TEST_CASE(barrier_says_who_is_missing) {
  const Group both({"trainer", "ps0"});
  const auto arrived = std::async(std::launch::async, [&] { both.barrier(trainer); });
  const StackInfo stack = await(ps, [](const StackInfo& now) { return now.barriers.size() == 1; });
  BOOST_TEST(stack.barriers[0].operation == "barrier");
  BOOST_TEST_REQUIRE(stack.barriers[0].waiting.size() == 1U);
  BOOST_TEST(stack.barriers[0].waiting[0].first == "trainer");
  BOOST_TEST((stack.barriers[0].missing == std::vector<NodeName>{"ps0"}));
  BOOST_TEST(trainer.stack().calls.at(0).operation == "barrier");
  both.barrier(ps);
  BOOST_TEST(ps.stack().barriers.empty());
}

BOOST_AUTO_TEST_CASE(only_the_oldest_are_listed) {
  std::vector<Future<void>> calls;
  const Future<void> first = trainer.rpc_async("ps0", &hold);
  for (std::size_t i = 0; i < kStackLines; ++i) calls.push_back(trainer.rpc_async("ps0", &hold));
  const StackInfo stack = trainer.stack();
  BOOST_TEST(stack.calls.size() == kStackLines);
  BOOST_TEST(stack.counts.pending_calls == kStackLines + 1);
  BOOST_TEST(std::is_sorted(stack.calls.begin(), stack.calls.end(),
                            [](const auto& a, const auto& b) { return a.age > b.age; }));
  await(ps, [](const StackInfo& now) {
    return now.counts.served_calls == kStackLines + 1 && now.served.size() == kStackLines;
  });
  for (const Future<void>& call : calls) call.cancel();
  first.cancel();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
