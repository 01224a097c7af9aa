#include "actors/references/value_calls.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/peer_accounts.h"
#include "actors/core/wait_point.h"
#include "actors/task.h"
#include "node/local_cluster.h"
#include "tests/actors/references/among_values.h"

namespace troupe::testing {
namespace {

using detail::ValueBox;

std::int64_t none_of(const RRef<Tally>&) { return 0; }

/// Waits at its end, as a guard that makes a call does.
struct WaitsAtItsEnd {
  bool waits = false;
  ~WaitsAtItsEnd() {
    if (waits) static_cast<void>(detail::WaitPoint().wait(TimePoint{}));
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(waits);
  }
};

// Used by the tests' thread only.
std::optional<Promise<std::int64_t>> given_later;
std::optional<Promise<std::shared_ptr<WaitsAtItsEnd>>> given_guard;
std::function<void()> given_wait;

/// A value whose functions go on after they have returned.
struct Slow {
  std::int64_t value = 0;
  Future<std::int64_t> add_later(Scope& scope, const WaitsAtItsEnd&) {
    given_later.emplace(scope);
    return given_later->future().then([this](std::int64_t more) { return value += more; });
  }
  Future<std::int64_t> add_now(Scope& scope, const WaitsAtItsEnd&) {
    const Promise<std::int64_t> promise(scope);
    promise.complete(++value);
    return promise.future();
  }
  Task<std::int64_t> add_after_guard(Scope& scope) {
    given_guard.emplace(scope);
    given_later.emplace(scope);
    static_cast<void>(co_await given_guard->future());
    co_return value += co_await given_later->future();
  }
  Task<std::int64_t> add_in_parts(Scope& scope) {
    given_later.emplace(scope);
    co_return co_await add_given(WaitsAtItsEnd{});
  }
  Task<std::int64_t> add_given(WaitsAtItsEnd guard) {  // which ends before the task is done
    guard.waits = true;
    co_return value += co_await given_later->future();
  }
  Task<std::int64_t> add_and_wait(Scope& scope) {
    given_later.emplace(scope);
    value += co_await what_is_given();
    given_wait();
    co_return value;
  }
  Task<std::int64_t> what_is_given() { co_return co_await given_later->future(); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

/// The node's own messages to p1, which peers send back: calls exactly as they are encoded.
struct Echo : AmongValues {
  Echo()
      : AmongValues({{"twice", &twice},
                     {"none_of", &none_of},
                     {"Tally", constructor<Tally>},
                     {"Tally::total", &Tally::total},
                     {"Slow", constructor<Slow>},
                     {"Slow::add_later", &Slow::add_later},
                     {"Slow::add_now", &Slow::add_now},
                     {"Slow::add_after_guard", &Slow::add_after_guard},
                     {"Slow::add_in_parts", &Slow::add_in_parts},
                     {"Slow::add_and_wait", &Slow::add_and_wait}}) {}

  template <class Call>
  Call heard() {
    auto calls = p1->take<Call>();
    BOOST_REQUIRE(calls.size() == 1U);
    return std::move(calls[0]);
  }

  /// Returns the call "twice(3)" that creates the value `rref`.
  msg::RemoteCall make_twice(const RRefId& rref) {
    const RRef<std::int64_t> theirs = node->remote("p1", &twice, 3);
    auto call = heard<msg::RemoteCall>();
    call.rref = rref;
    call.fork = {rref.creator, rref.incarnation, rref.serial + 1};
    return call;
  }

  msg::ValueCall total_of(const RRefId& rref) {
    const RRef<Tally> theirs = node->remote("p1", constructor<Tally>);
    static_cast<void>(heard<msg::RemoteCall>());
    const auto total = theirs.rpc_async(*node, &Tally::total);
    auto call = heard<msg::ValueCall>();
    call.rref = rref;
    return call;
  }

  /// Returns the call of that function on the value `rref`.
  template <class F, class... Args>
  msg::ValueCall call_on(const RRefId& rref, const F& function, const Args&... args) {
    const RRef<Slow> theirs = node->remote("p1", constructor<Slow>);
    static_cast<void>(heard<msg::RemoteCall>());
    const auto sum = theirs.rpc_async(*node, function, args...);
    auto call = heard<msg::ValueCall>();
    call.rref = rref;
    return call;
  }

  std::shared_ptr<detail::RRefHandle> own_slow() {
    return references().own(ValueBox::of(Slow{4}), "Slow", SourceLocation::current());
  }

  [[nodiscard]] std::size_t owned_values() { return core().references().owned_values(); }
};

/// Returns "waits", "ok", or the error with its text.
std::string said(const Asked& asked) {
  const std::string what = outcome(asked);
  return *asked && !(*asked)->ok() ? what + ": " + (*asked)->error().message : what;
}

BOOST_AUTO_TEST_SUITE(value_calls)
BOOST_FIXTURE_TEST_SUITE(of_peers, Echo)

BOOST_AUTO_TEST_CASE(a_remote_call_makes_a_value_that_its_caller_holds) {
  pool->keeps = true;
  const msg::RemoteCall call = make_twice({"p1", 1, 50});
  const Asked asked = p1->ask("m", "worker", call);
  BOOST_REQUIRE(outcome(asked) == "ok");  // before the function ends
  BOOST_TEST(((*asked)->value().get<msg::RRefCreated>().rref == call.rref));
  BOOST_REQUIRE(pool->kept.size() == 1U);
  BOOST_TEST(pool->kept[0].label == "remote twice for p1");
  const Asked waiting = fetch(*p1, call.rref);
  BOOST_TEST(outcome(waiting) == "waits");
  pool->keeps = false;
  for (const Job& job : std::exchange(pool->kept, {})) job.run();
  BOOST_TEST(outcome(waiting) == "ok");
  BOOST_TEST(references().owned_values() == 1U);
  p1->say("m", "rref/" + call.rref.text(), msg::RRefDeleted{call.rref, call.fork});
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(a_remote_call_that_cannot_be_served_is_an_error_for_all_who_hold_its_reference) {
  msg::RemoteCall call = make_twice({"p1", 1, 50});
  call.function = {};
  p2->say("m", "rref/p1.50", msg::RRefForked{call.rref, {"p1", 1, 70}, "p1"});
  const Asked waiting = fetch(*p2, call.rref);
  const Asked asked = p1->ask("m", "worker", call);
  BOOST_TEST(outcome(asked) == "no_such_function");
  BOOST_TEST(outcome(waiting) == "no_such_function");
  p2->say("m", "rref/p1.50", msg::RRefDeleted{call.rref, {"p1", 1, 70}});
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(a_pool_that_refuses_is_the_value_and_the_answer) {
  const msg::RemoteCall call = make_twice({"p1", 1, 50});
  auto value = references().own(ValueBox::of(Tally{4}), "Tally", SourceLocation::current());
  const msg::ValueCall total = total_of(value->id());
  Error full;
  full.code = ErrorCode::resource_exhausted;
  pool->refuses = full;
  BOOST_TEST(outcome(p1->ask("m", "worker", call)) == "ok");
  BOOST_TEST(outcome(fetch(*p1, call.rref)) == "resource_exhausted");
  BOOST_TEST(outcome(p1->ask("m", "worker", total)) == "resource_exhausted");
  pool->refuses.reset();
}

BOOST_AUTO_TEST_CASE(a_member_function_needs_a_value_of_its_type) {
  const auto of_type = references().own(ValueBox::of(Tally{4}), "Tally", SourceLocation::current());
  const auto of_other_type = own();
  const msg::ValueCall call = total_of(of_type->id());
  BOOST_TEST(outcome(p1->ask("m", "worker", call)) == "ok");
  msg::ValueCall wrong = call;
  wrong.rref = of_other_type->id();
  const Asked refused = p1->ask("m", "worker", wrong);
  BOOST_REQUIRE(outcome(refused) == "bad_argument");
  BOOST_TEST((*refused)->error().message == "the function does not run on values of this type");
  BOOST_TEST((*refused)->error().operation == "rpc Tally::total");
  BOOST_TEST(((*refused)->error().execution == Execution::never));

  msg::RemoteCall as_function = make_twice({"p1", 1, 50});
  as_function.function = call.function;
  as_function.function_name = call.function_name;
  as_function.fingerprint = call.fingerprint;
  as_function.arguments = call.arguments;
  BOOST_TEST(outcome(p1->ask("m", "worker", as_function)) == "ok");
  const Asked no_value = fetch(*p1, as_function.rref);
  BOOST_REQUIRE(outcome(no_value) == "bad_argument");
  BOOST_TEST((*no_value)->error().message == "a member function is called on an RRef");
  BOOST_TEST((*no_value)->error().operation == "remote Tally::total");
  BOOST_TEST(((*no_value)->error().execution == Execution::never));
}

BOOST_AUTO_TEST_CASE(the_result_of_a_member_function_may_stay_as_a_value) {
  const auto tally = references().own(ValueBox::of(Tally{4}), "Tally", SourceLocation::current());
  msg::ValueCall call = total_of(tally->id());
  const RRefId rref{"p1", 1, 80};
  call.keep_as = msg::NewRRef{rref, {"p1", 1, 81}};
  for (int i = 0; i < 2; ++i) {  // no more answers to p1: its calls wait
    core().accounts().answers.sent(p1->life(), {std::vector<Piece>(2), PeerLimits{}.answer_bytes_max});
  }
  const Asked asked = p1->ask("m", "worker", call);
  BOOST_REQUIRE(outcome(asked) == "ok");
  BOOST_TEST(((*asked)->value().get<msg::RRefCreated>().rref == rref));
  BOOST_TEST(outcome(fetch(*p2, rref)) == "ok");
  BOOST_TEST(references().owned_values() == 2U);
  p1->say("m", "rref/p1.80", msg::RRefDeleted{rref, {"p1", 1, 81}});
  BOOST_TEST(references().owned_values() == 1U);

  call.function = {};
  call.keep_as = msg::NewRRef{{"p1", 1, 90}, {"p1", 1, 91}};
  BOOST_TEST(outcome(p1->ask("m", "worker", call)) == "no_such_function");
  BOOST_TEST(references().owned_values() == 1U);
}

BOOST_AUTO_TEST_CASE(a_call_on_a_value_that_is_not_there_yet_goes_with_its_caller_and_a_value_does_not) {
  ForkId fork;
  const auto tally = references().created({"m", 7, 100}, fork, "m", "Tally", SourceLocation::current());
  const msg::ValueCall call = total_of(tally->id());
  msg::ValueCall keeping = call;
  keeping.keep_as = msg::NewRRef{{"p1", 1, 80}, {"p1", 1, 81}};
  static_cast<void>(p1->ask("m", "worker", call));
  BOOST_TEST(outcome(p1->ask("m", "worker", keeping)) == "ok");
  p2->say("m", "rref/p1.80", msg::RRefForked{{"p1", 1, 80}, {"p1", 1, 82}, "p1"});
  const Asked waiting = fetch(*p2, {"p1", 1, 80});
  BOOST_TEST(core().counts().served_calls >= 2U);
  p1->die();
  BOOST_TEST(outcome(waiting) == "waits");
  Error never;
  never.code = ErrorCode::remote_exception;
  references().creation_ended(*tally, fork, never);
  BOOST_TEST(outcome(waiting) == "remote_exception");
  BOOST_TEST(core().counts().served_calls == 0U);
}

BOOST_AUTO_TEST_CASE(a_call_on_a_value_that_is_given_up_before_its_turn_leaves_the_queue) {
  const auto tally = references().own(ValueBox::of(Tally{4}), "Tally", SourceLocation::current());
  const msg::ValueCall call = total_of(tally->id());
  std::shared_ptr<detail::ValueUse> running;
  references().use(tally->id(), detail::UseKind::reads, [&](const auto&, auto use) { running = std::move(use); });
  const Asked given_up = p1->ask("m", "worker", call);
  const Asked next = p1->ask("m", "worker", call);
  BOOST_TEST(core().counts().served_calls == 2U);
  core().served_calls().cancelled(p1->life(), RequestId{1});
  BOOST_TEST(said(given_up) == "cancelled: its requester no longer waits for it");
  BOOST_TEST(core().counts().served_calls == 1U);
  BOOST_TEST(outcome(next) == "waits");
  running.reset();
  BOOST_TEST(outcome(next) == "ok");
}

// The cancel finds no use yet: the call waits until p1 takes its answers.
BOOST_AUTO_TEST_CASE(a_call_on_a_value_that_is_given_up_before_it_asks_for_its_turn_leaves_the_queue) {
  const auto tally = references().own(ValueBox::of(Tally{4}), "Tally", SourceLocation::current());
  const msg::ValueCall call = total_of(tally->id());
  std::shared_ptr<detail::ValueUse> running;
  references().use(tally->id(), detail::UseKind::reads, [&](const auto&, auto use) { running = std::move(use); });
  const std::size_t bytes = PeerLimits{}.answer_bytes_max;
  for (int i = 0; i < 2; ++i) core().accounts().answers.sent(p1->life(), {std::vector<Piece>(2), bytes});
  const Asked asked = p1->ask("m", "worker", call);
  core().served_calls().cancelled(p1->life(), RequestId{1});
  BOOST_TEST(outcome(asked) == "waits");
  const AnswerTotals all{.small_bytes = 0, .large_bytes = 2 * bytes, .large = 2};
  for (const auto& begin : core().accounts().answers.taken(p1->life(), all)) begin();
  BOOST_TEST(outcome(asked) == "cancelled");
}

// What the future waits for may change the value, which has no turn then.
BOOST_AUTO_TEST_CASE(a_copy_that_is_read_before_the_future_of_a_change_is_done_is_out_of_date_at_once) {
  const auto slow = own_slow();
  const auto read = [&] {
    BOOST_TEST(outcome(fetch(*p2, slow->id(), msg::Wanted::cached)) == "ok");
    return p2->take<msg::RRefChanged>().size();
  };
  const Asked asked = p1->ask("m", "worker", call_on(slow->id(), &Slow::add_later, WaitsAtItsEnd{}));
  BOOST_TEST(outcome(asked) == "waits");
  BOOST_TEST(read() == 1U);
  given_later->complete(3);
  BOOST_TEST(outcome(asked) == "ok");
  BOOST_TEST(read() == 0U);
}

BOOST_AUTO_TEST_CASE(a_wait_after_the_function_has_returned_its_future_leaves_the_turn_to_others) {
  const auto slow = own_slow();
  const auto call = call_on(slow->id(), &Slow::add_now, WaitsAtItsEnd{true});
  BOOST_TEST(said(p1->ask("m", "worker", call)) == "ok");
  BOOST_TEST(said(fetch(*p2, slow->id())) == "ok");
}

// The first part of the task has the last copy of what it awaited: the next part, which waits again, has dropped its
// own.
BOOST_AUTO_TEST_CASE(a_part_of_a_task_that_has_given_up_the_turn_waits_without_it) {
  const auto slow = own_slow();
  pool->keeps = true;
  const Asked asked = p1->ask("m", "worker", call_on(slow->id(), &Slow::add_after_guard));
  references().use(slow->id(), detail::UseKind::reads, [](const auto&, const auto&) {  // begins as the task waits
    const auto last_copy = std::make_shared<WaitsAtItsEnd>();
    last_copy->waits = true;
    given_guard->complete(last_copy);
    given_guard.reset();
  });
  pool->keeps = false;
  for (const Job& job : std::exchange(pool->kept, {})) job.run();
  given_later->complete(3);
  BOOST_TEST(said(asked) == "ok");
  BOOST_TEST(said(fetch(*p2, slow->id())) == "ok");
}

BOOST_AUTO_TEST_CASE(parameters_of_an_awaited_task_end_in_its_turn_before_its_awaiter_goes_on) {
  const auto slow = own_slow();
  const Asked asked = p1->ask("m", "worker", call_on(slow->id(), &Slow::add_in_parts));
  pool->keeps = true;
  given_later->complete(3);
  const auto run_kept = [&] {
    for (const Job& job : std::exchange(pool->kept, {})) job.run();
  };
  run_kept();  // the inner task takes the turn
  bool began = false;
  references().use(slow->id(), detail::UseKind::reads, [&](const auto&, const auto&) { began = true; });
  BOOST_TEST(!began);
  run_kept();  // it ends: its parameter waits, and has given the turn up meanwhile
  BOOST_TEST(began);
  BOOST_TEST(said(asked) == "waits");
  std::shared_ptr<detail::ValueUse> other;
  references().use(slow->id(), detail::UseKind::reads, [&](const auto&, auto use) { other = std::move(use); });
  BOOST_TEST(other == nullptr);  // its awaiter has the turn
  pool->keeps = false;
  run_kept();
  BOOST_TEST(said(asked) == "ok");
  BOOST_TEST(other != nullptr);
}

// The awaited task goes on and ends while its awaiter is about to wait for it, which then need not wait.
BOOST_AUTO_TEST_CASE(a_part_that_has_the_turn_back_from_an_awaited_task_gives_it_up_around_its_waits) {
  const auto slow = own_slow();
  pool->keeps = true;
  const Asked asked = p1->ask("m", "worker", call_on(slow->id(), &Slow::add_and_wait));
  references().use(slow->id(), detail::UseKind::reads,
                   [](const auto&, const auto&) { given_later->complete(3); });  // begins as the awaited task waits
  bool began = false;
  given_wait = [&] {
    references().use(slow->id(), detail::UseKind::reads, [&](const auto&, const auto&) { began = true; });
    BOOST_TEST(!began);
    static_cast<void>(detail::WaitPoint().wait(TimePoint{}));
    BOOST_TEST(began);
  };
  pool->keeps = false;
  for (const Job& job : std::exchange(pool->kept, {})) job.run();
  BOOST_TEST(said(asked) == "ok");
}

// As at the stop of its node: nobody is left to give it a turn.
BOOST_AUTO_TEST_CASE(a_function_that_waits_goes_on_when_the_owner_of_its_value_ends) {
  const auto slow = own_slow();
  ActingWaits acting;
  const detail::BlockingHook::Guard acts(acting);
  bool went_on = false;
  given_wait = [&] {
    acting.action = [&] { references().stop(gone(*p1)); };
    static_cast<void>(detail::WaitPoint().wait(TimePoint{}));
    went_on = true;
  };
  pool->keeps = true;
  const Asked asked = p1->ask("m", "worker", call_on(slow->id(), &Slow::add_and_wait));
  const auto run_kept = [&] {
    while (!pool->kept.empty()) {
      for (const Job& job : std::exchange(pool->kept, {})) job.run();
    }
  };
  run_kept();
  given_later->complete(3);
  run_kept();
  BOOST_TEST(went_on);
}

BOOST_AUTO_TEST_SUITE_END()

/// A value whose function computes until the test lets it end.
struct Busy {
  std::int64_t compute() {
    given_wait();
    return 1;
  }
  [[nodiscard]] std::int64_t read() const { return 2; }
  template <class Archive>
  void serialize(Archive& ar) {
    std::int64_t none = 0;
    ar(none);
  }
};

// Each waits until it is cancelled, so without that none of them would give its part of the grant back.
BOOST_AUTO_TEST_CASE(calls_that_are_given_up_behind_a_long_function_leave_their_caller_its_other_calls,
                     *boost::unit_test::label("fault-F37")) {
  LocalClusterOptions options;
  options.pool.threads = 2;
  options.peer_limits.calls_max = 64;
  LocalCluster cluster(
      {"a", "b"},
      {{"twice", &twice}, {"Busy", constructor<Busy>}, {"Busy::compute", &Busy::compute}, {"Busy::read", &Busy::read}},
      options);
  Node& a = cluster.node("a");
  std::binary_semaphore began(0);
  std::binary_semaphore may_end(0);
  given_wait = [&] {
    began.release();
    may_end.acquire();
  };
  const RRef<Busy> busy = a.remote("b", constructor<Busy>);
  const Future<std::int64_t> computing = busy.rpc_async(a, &Busy::compute);
  began.acquire();
  for (int i = 0; i < 80; ++i) BOOST_TEST(busy.rpc_async(a, &Busy::read).cancel());
  BOOST_CHECK_NO_THROW(BOOST_TEST(a.with({.deadline = std::chrono::seconds(10)}).rpc_sync("b", &twice, 3) == 6));
  BOOST_TEST(!computing.ready());
  may_end.release();
  BOOST_TEST(computing.get() == 1);
}

BOOST_FIXTURE_TEST_SUITE(of_peers_that_lie, Echo)

BOOST_AUTO_TEST_CASE(only_the_life_that_an_id_names_makes_its_value) {
  const msg::RemoteCall call = make_twice({"p1", 1, 50});
  const Asked lie = p2->ask("m", "worker", call);
  BOOST_TEST(said(lie) == "protocol_violation: value p1.50 is not of p2");
  BOOST_TEST(((*lie)->error().execution == Execution::never));
  BOOST_TEST((*lie)->error().peer == "m");
  BOOST_TEST(owned_values() == 0U);
  BOOST_TEST(said(p1->ask("m", "worker", make_twice({"p1", 2, 50}))) ==
             "protocol_violation: value p1.50 is not of p1");  // of another life
  BOOST_TEST(said(p2->ask("m", "worker", make_twice({"m", core().incarnation().low, 50}))) ==
             "protocol_violation: value m.50 is not of p2");
  BOOST_TEST(owned_values() == 0U);
  BOOST_TEST(said(p1->ask("m", "worker", call)) == "ok");
  BOOST_TEST(said(fetch(*p1, call.rref)) == "ok");
}

BOOST_AUTO_TEST_CASE(only_the_life_that_an_id_names_keeps_a_result_as_it) {
  RRef<Tally> tally(*node, Tally{4});
  const RRef<Tally> theirs = node->remote("p1", constructor<Tally>);
  static_cast<void>(heard<msg::RemoteCall>());
  const auto total = theirs.rpc_async(*node, &Tally::total);
  auto call = heard<msg::ValueCall>();
  call.rref = tally.id();
  call.keep_as = msg::NewRRef{{"p1", 1, 80}, {"p1", 1, 81}};
  const Asked lie = p2->ask("m", "worker", call);
  BOOST_TEST(said(lie) == "protocol_violation: value p1.80 is not of p2");
  BOOST_TEST(owned_values() == 1U);
  BOOST_TEST(said(p1->ask("m", "worker", call)) == "ok");
  BOOST_TEST(said(fetch(*p1, {"p1", 1, 80})) == "ok");
  BOOST_TEST(owned_values() == 2U);
}

BOOST_AUTO_TEST_CASE(a_value_that_its_creator_is_yet_to_make_stays_so_whatever_others_say) {
  const RRefId rref{"p1", 1, 50};
  p2->say("m", "rref/p1.50", msg::RRefForked{rref, {"p1", 1, 70}, "p1"});
  const Asked waiting = fetch(*p2, rref);
  BOOST_TEST(said(p2->ask("m", "worker", make_twice(rref))) == "protocol_violation: value p1.50 is not of p2");
  p2->say("m", "references", msg::RRefRevoked{rref, {"p1", 1, 51}, {}});
  BOOST_TEST(said(waiting) == "waits");
  const RRefId of_another_life{"p1", 3, 50};
  p2->say("m", "rref/p1.50", msg::RRefForked{of_another_life, {"p1", 3, 70}, "p1"});
  const Asked waiting_too = fetch(*p2, of_another_life);
  p1->say("m", "references", msg::RRefRevoked{of_another_life, {"p1", 3, 51}, {}});
  BOOST_TEST(said(waiting_too) == "waits");
  BOOST_TEST(said(p1->ask("m", "worker", make_twice(rref))) == "ok");
  BOOST_TEST(said(waiting) == "ok");
}

BOOST_AUTO_TEST_CASE(a_refused_call_is_not_read_and_its_handle_stays_where_it_is, *boost::unit_test::label("attack")) {
  RRef<Tally> tally(*node, Tally{4});
  const RRef<std::int64_t> theirs = node->remote("p1", &none_of, tally);
  auto call = heard<msg::RemoteCall>();
  tally = {};
  BOOST_REQUIRE(owned_values() == 1U);  // p1 has a handle
  call.rref = {"p1", 1, 50};
  BOOST_TEST(said(p2->ask("m", "worker", call)) == "protocol_violation: value p1.50 is not of p2");
  BOOST_TEST(owned_values() == 1U);  // p1's handle is not p2's to return
  p1->die();
  BOOST_TEST(owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(what_others_say_of_a_handle_is_nothing) {
  const auto p3 = peer("p3", 3);
  detail::References& references = core().references();
  const msg::RRefHandout handout{{"p1", 1, 5}, {"p2", 2, 9}, "p1", p1->self().incarnation, "p2", "i64"};
  auto handle = references.received({&handout, 1}, "p2").front();
  const RRefId rref = handle->id();
  const ForkId own{"p2", 2, 9};
  Error why;
  why.code = ErrorCode::ref_revoked;
  p3->say("m", "references", msg::RRefForkAck{{{rref, own}}});
  BOOST_TEST(!references.is_confirmed(*handle));
  p3->say("m", "references", msg::RRefRevoked{rref, own, why});
  BOOST_TEST(!references.failure(*handle).has_value());
  handle->copies().keep(std::make_shared<int>(1), 3);
  p3->say("m", "references", msg::RRefChanged{rref, 4});
  BOOST_TEST(handle->copies().get() != nullptr);

  p1->say("m", "references", msg::RRefForkAck{{{rref, own}}});
  const msg::RRefHandout out = references.hand_out(handle, p2->life());
  handle.reset();
  p3->say("m", "references", msg::RRefForkAck{{{rref, out.fork}}});
  BOOST_TEST(p1->take<msg::RRefDeleted>().empty());
  p2->say("m", "references", msg::RRefForkAck{{{rref, out.fork}}});  // it had a handle, and returns this one
  BOOST_TEST(p1->take<msg::RRefDeleted>().size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
