// References: created, passed on, used and dropped on any node. The fixture checks after each test that none is left.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::fixture;
using boost::unit_test::label;

BOOST_FIXTURE_TEST_SUITE(references, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(remote_value_is_fetched, *label("O-01") * label("O-03")) {
  const RRef<Tensor> sum = trainer.remote("p1", &add, ones({2}), 3.0);
  BOOST_TEST(sum.owner() == "p1");
  BOOST_TEST(!sum.is_owner());
  BOOST_TEST(same_bytes(sum.to_here(trainer), full({2}, 4)));
  BOOST_TEST(same_bytes(sum.to_here(trainer), full({2}, 4)));  // again
}

BOOST_AUTO_TEST_CASE(many_remote_values_are_fetched_in_any_order, *label("O-03")) {
  std::vector<RRef<std::int64_t>> squares;
  for (std::int64_t i = 0; i < 40; ++i) squares.push_back(trainer.remote(i % 2 == 0 ? "p1" : "p2", &square, i));
  for (std::int64_t i = 39; i >= 0; --i) BOOST_TEST(squares[static_cast<std::size_t>(i)].to_here(trainer) == i * i);
}

BOOST_AUTO_TEST_CASE(remote_to_oneself_gives_an_owner, *label("O-02")) {
  const RRef<Tensor> sum = trainer.remote("trainer", &add, ones({2}), 1.0);
  BOOST_TEST(sum.is_owner());
  BOOST_TEST(sum.confirmed_by_owner());
  BOOST_TEST(same_bytes(*sum.local_value(trainer), full({2}, 2)));
  BOOST_TEST(same_bytes(sum.to_here(trainer), full({2}, 2)));
}

BOOST_AUTO_TEST_CASE(remote_of_a_function_without_a_value_can_be_waited_for) {
  BOOST_TEST((trainer.remote("p1", &nothing).to_here(trainer) == Unit{}));
}

BOOST_AUTO_TEST_CASE(local_value_is_shared_not_copied, *label("O-12")) {
  const std::uint64_t before = trainer.core().requests_started();
  const RRef<Tensor> mine(trainer, zeros({2}));
  BOOST_TEST(mine.is_owner());
  (*mine.local_value(trainer)).fill(5);
  BOOST_TEST(trainer.core().requests_started() == before);
  BOOST_TEST(trainer.debug_info().forks == 0U);
  BOOST_TEST(same_bytes(mine.to_here(trainer), full({2}, 5)));
}

BOOST_AUTO_TEST_CASE(local_value_of_another_type_names_both_types) {
  const RRef<Tensor> mine(trainer, ones({2}));
  const RRef<double> claimed(mine.shared_handle());  // as a peer can say, whose program is another
  const Error error = error_of([&] { return *claimed.local_value(trainer); });
  BOOST_TEST(error.code == ErrorCode::bad_argument);
  BOOST_TEST(error.message == "the value is of type troupe::Tensor, not double");
  (*mine.local_value(trainer)).fill(5);  // nobody has the turn
}

BOOST_AUTO_TEST_CASE(local_value_elsewhere_names_both_nodes, *label("O-13")) {
  const RRef<Tensor> sum = trainer.remote("p1", &add, ones({2}), 3.0);
  const Error error = error_of([&] { return *sum.local_value(trainer); });
  BOOST_TEST(error.code == ErrorCode::bad_argument);
  BOOST_TEST(error.message == "the value is on p1, this is trainer");
  BOOST_TEST(error.execution == Execution::never);
}

BOOST_AUTO_TEST_CASE(call_that_waits_for_a_turn_which_its_own_program_holds_says_what_may_hold_it) {
  const RRef<Counter> counter(trainer, Counter(3));
  {
    const auto held = counter.local_value(trainer);
    const Error error = error_of([&] { return counter.rpc_sync(trainer.with({.deadline = 20ms}), &Counter::value); });
    BOOST_TEST(error.code == ErrorCode::timeout);
    BOOST_TEST(error.hint == "uses of a value take turns: does this program hold it with local_value meanwhile?");
  }
  BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 3);
}

BOOST_AUTO_TEST_CASE(creation_error_is_raised_by_every_use, *label("O-20") * label("A-08")) {
  const RRef<std::int32_t> never = trainer.remote("p1", &throw_out_of_range);
  for (int i = 0; i < 2; ++i) {
    const Error error = error_of([&] { return never.to_here(trainer); });
    BOOST_TEST(error.code == ErrorCode::remote_exception);
    BOOST_TEST(error.exception_type == "std::out_of_range");
    BOOST_TEST(error.message == "index 7 of 3");
    BOOST_TEST(error.peer == "p1");
  }
}

BOOST_AUTO_TEST_CASE(refused_creation_is_raised_by_every_use, *label("R-26")) {
  const RRef<std::int64_t> never = trainer.remote("p1", &only_on_trainer, 1);
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(error_of([&] { return never.to_here(trainer); }).code == ErrorCode::no_such_function);
  }
}

BOOST_AUTO_TEST_CASE(uses_before_the_value_exists_wait_at_the_owner) {
  const RRef<Tensor> slow = trainer.remote("p1", &slow_add, ones({1}), 1.0, 60);
  const RRef<Tensor> twice = trainer.remote("p1", &rref_add, slow, slow);
  const Future<Tensor> direct = slow.to_here_async(trainer);
  const Future<Tensor> elsewhere = trainer.rpc_async("p2", &rref_value, slow);
  BOOST_TEST(twice.to_here(trainer).item() == 4.0);  // (1 + 1) + (1 + 1)
  BOOST_TEST(direct.get().item() == 2.0);
  BOOST_TEST(elsewhere.get().item() == 2.0);
}

BOOST_AUTO_TEST_CASE(value_that_is_made_too_late_times_out_and_is_freed, *label("O-34")) {
  {
    // The function returns when it is told to stop: at the deadline of the creation.
    const RRef<bool> slow = trainer.with({.deadline = 1s}).remote("p1", &wait_until_stopped);
    const Scope hurried = trainer.with({.deadline = 20ms});
    const Error created = error_of([&] { return slow.created(hurried).get(), 0; });
    BOOST_TEST(created.code == ErrorCode::timeout);
    BOOST_TEST(created.operation.starts_with("type of trainer."));
    const Error fetched = error_of([&] { return slow.to_here(hurried); });
    BOOST_TEST(fetched.code == ErrorCode::timeout);
    BOOST_TEST(fetched.operation.starts_with("to_here trainer."));
    // It returned a value all the same, and the reference is valid.
    slow.created(trainer).get();
    BOOST_TEST(slow.to_here(trainer));
    BOOST_TEST(cluster.counts("p1").owned_values == 1U);
  }
  cluster.await("p1", [](const Counts& counts) { return counts.owned_values == 0 && counts.served_calls == 0; });
}

BOOST_AUTO_TEST_CASE(user_gives_a_reference_to_its_owner, *label("O-04") * label("O-06")) {
  const RRef<Tensor> a = trainer.remote("p1", &add, ones({2}), 1.0);
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", &rref_local, a), full({2}, 2)));
  BOOST_TEST(same_bytes(trainer.remote("p1", &rref_local, a).to_here(trainer), full({2}, 2)));
}

BOOST_AUTO_TEST_CASE(user_gives_a_reference_to_another_user, *label("O-05")) {
  const RRef<Tensor> a = trainer.remote("p1", &add, ones({2}), 1.0);
  const RRef<Tensor> b = trainer.remote("p1", &add, ones({2}), 2.0);
  BOOST_TEST(same_bytes(trainer.rpc_sync("p2", &rref_add, a, b), full({2}, 5)));
  BOOST_TEST(same_bytes(trainer.remote("p2", &rref_add, a, b).to_here(trainer), full({2}, 5)));
}

BOOST_AUTO_TEST_CASE(owner_gives_its_value_to_itself_and_to_others, *label("O-07")) {
  const RRef<Tensor> mine(trainer, full({2}, 3));
  for (const char* node : {"trainer", "p1"}) {
    BOOST_TEST(same_bytes(trainer.rpc_sync(node, &rref_value, mine), full({2}, 3)));
    BOOST_TEST(same_bytes(trainer.remote(node, &rref_value, mine).to_here(trainer), full({2}, 3)));
  }
}

BOOST_AUTO_TEST_CASE(same_reference_twice_in_one_call_is_one_value) {
  const RRef<Tensor> a = trainer.remote("p1", &add, ones({2}), 1.0);
  for (const char* node : {"trainer", "p1", "p2"}) {
    BOOST_TEST(same_bytes(trainer.rpc_sync(node, &rref_add, a, a), full({2}, 4)));
  }
}

BOOST_AUTO_TEST_CASE(function_makes_a_value_elsewhere_and_fetches_it, *label("O-08")) {
  for (const char* other : {"p2", "p1", "trainer"}) {
    BOOST_TEST(same_bytes(trainer.rpc_sync("p1", &add_on, other, ones({2}), 4.0), full({2}, 5)));
  }
}

BOOST_AUTO_TEST_CASE(result_that_is_a_reference_can_be_used, *label("O-10")) {
  const RRef<Tensor> there = trainer.rpc_sync("p1", &keep_here, full({2}, 6));
  BOOST_TEST(there.owner() == "p1");
  BOOST_TEST(same_bytes(there.to_here(trainer), full({2}, 6)));
  const RRef<RRef<Tensor>> of_reference = trainer.remote("p2", &give_back, there);
  const RRef<Tensor> back = of_reference.to_here(trainer);
  BOOST_TEST((back == there));
  BOOST_TEST(same_bytes(back.to_here(trainer), full({2}, 6)));
}

/// Returns the expected result of `keep_range(first, count)` on `owner`.
std::vector<std::pair<NodeName, std::int64_t>> range_of(const NodeName& owner, std::int64_t first, std::int64_t count) {
  std::vector<std::pair<NodeName, std::int64_t>> values;
  for (std::int64_t i = 0; i < count; ++i) values.emplace_back(owner, first + i);
  return values;
}

BOOST_AUTO_TEST_CASE(lists_of_local_references_are_returned_and_passed_between_three_nodes, *label("O-14")) {
  Scope scope = trainer;
  for (const char* node : {"p1", "p2", "trainer"}) {
    const auto returned = trainer.rpc_sync(node, &keep_range, 100, 20);
    BOOST_TEST((read_all(scope, returned) == range_of(node, 100, 20)));
    BOOST_TEST((read_all(scope, trainer.remote(node, &keep_range, 200, 3).to_here(trainer)) == range_of(node, 200, 3)));
    if (std::string_view(node) != "trainer") BOOST_TEST(cluster.counts(node).owned_values >= 20U);
    const std::vector<RRef<std::int64_t>> own = keep_range(scope, 300, 20);
    BOOST_TEST((trainer.rpc_sync(node, &read_all, own) == range_of("trainer", 300, 20)));
    BOOST_TEST((trainer.remote(node, &read_all, own).to_here(trainer) == range_of("trainer", 300, 20)));
    for (const char* other : {"p1", "p2", "trainer"}) {
      BOOST_TEST((trainer.rpc_sync(other, &read_all, returned) == range_of(node, 100, 20)));
      BOOST_TEST((trainer.rpc_sync(node, &read_mine_on, other, 400, 20) == range_of(node, 400, 20)));
    }
  }
}

BOOST_AUTO_TEST_CASE(twenty_references_in_a_result_can_be_used, *label("O-09")) {
  const std::vector<RRef<Tensor>> many = trainer.rpc_sync("p1", &keep_many, 20);
  BOOST_REQUIRE(many.size() == 20U);
  for (std::size_t i = 0; i < many.size(); ++i) BOOST_TEST(many[i].to_here(trainer).item() == static_cast<double>(i));
  const RRef<std::vector<RRef<Tensor>>> nested = trainer.remote("p2", &keep_many, 20);
  BOOST_TEST(nested.to_here(trainer)[19].to_here(trainer).item() == 19.0);
}

BOOST_AUTO_TEST_CASE(references_in_structs_and_containers_travel) {
  const Bundle bundle{"b",
                      trainer.remote("p1", &add, ones({1}), 1.0),
                      RRef<Tensor>(trainer, scalar(10.0F)),
                      {{"x", trainer.remote("p3", &add, ones({1}), 99.0)}}};
  BOOST_TEST(trainer.rpc_sync("p2", &bundle_sum, bundle).item() == 112.0);  // 2 + 10 + 100
  const Bundle back = trainer.rpc_sync("p2", &give_bundle_back, bundle);
  BOOST_TEST((back.value == bundle.value));
  BOOST_TEST((back.other == bundle.other));
  BOOST_TEST((back.more.at("x") == bundle.more.at("x")));
  BOOST_TEST(back.other->is_owner());
}

BOOST_AUTO_TEST_CASE(reference_inside_a_remote_value_keeps_what_it_names) {
  RRef<Tensor> inner = trainer.remote("p1", &add, ones({1}), 1.0);
  const RRef<Bundle> outer = trainer.remote("p2", &keep_bundle, inner);
  inner = {};
  BOOST_TEST(outer.to_here(trainer).value.to_here(trainer).item() == 2.0);
}

BOOST_AUTO_TEST_CASE(null_reference_travels_as_null) {
  BOOST_TEST(!trainer.rpc_sync("p1", &give_back, RRef<Tensor>()).defined());
}

BOOST_AUTO_TEST_CASE(reference_passed_around_a_ring_is_the_same_value, *label("O-11")) {
  const std::vector<NodeName> eight_hops{"p2", "p3", "p4", "trainer", "p1", "p2", "p3"};
  const RRef<Tensor> a = trainer.remote("p1", &add, ones({1}), 7.0);
  BOOST_TEST(trainer.rpc_sync("p1", &forward_along, a, eight_hops).item() == 8.0);
  const RRef<Tensor> mine(trainer, scalar(3.0F));
  BOOST_TEST(trainer.rpc_sync("p1", &forward_along, mine, eight_hops).item() == 3.0);
}

BOOST_AUTO_TEST_CASE(reference_dropped_right_after_it_was_passed_on_stays_usable_there) {
  Future<Tensor> end;
  {
    const RRef<Tensor> a = trainer.remote("p1", &slow_add, ones({1}), 1.0, 30);
    end = trainer.rpc_async("p2", &forward_along, a, std::vector<NodeName>{"p3", "p4"});
  }
  BOOST_TEST(end.get().item() == 2.0);
}

/// Data loaders on p1 and p2, their sum on p3, its double on p4. The trainer waits only for the end.
BOOST_AUTO_TEST_CASE(chain_over_four_nodes_needs_no_wait_in_between, *label("scenario-D1")) {
  const RRef<Tensor> ra = trainer.remote("p1", &slow_add, ones({2}), 1.0, 20);
  const RRef<Tensor> rb = trainer.remote("p2", &slow_add, ones({2}), 2.0, 20);
  const RRef<Tensor> rc = trainer.remote("p3", &rref_add, ra, rb);
  const RRef<Tensor> rd = trainer.remote("p4", &rref_add, rc, rc);
  BOOST_TEST(rd.owner() == "p4");
  BOOST_TEST(same_bytes(rd.to_here(trainer), full({2}, 10)));  // ((1 + 1) + (1 + 2)) * 2
}

BOOST_AUTO_TEST_CASE(value_that_a_remote_call_works_on_may_be_dropped_before_it_exists) {
  RRef<Tensor> slow = trainer.remote("p1", &slow_add, ones({1}), 1.0, 100);
  const auto filled = slow.remote(trainer, &Tensor::fill, 5.0);
  static_cast<void>(cluster.counts("p1"));  // by now p1 owns both, and no other node needs `slow`
  slow = {};
  BOOST_CHECK_NO_THROW(filled.to_here(trainer));
}

BOOST_AUTO_TEST_CASE(references_in_an_answer_that_comes_too_late_are_released) {
  const Future<RRef<Tensor>> late =
      trainer.with({.deadline = 20ms}).rpc_async("p1", &keep_here_when_stopped, ones({1}));
  const Future<RRef<Tensor>> unwanted = trainer.rpc_async("p2", &keep_here_when_stopped, ones({1}));
  BOOST_TEST(unwanted.cancel());
  BOOST_TEST(error_of([&] { return late.get(); }).code == ErrorCode::timeout);
  // Both values must be created and sent before the fixture checks that they are gone.
  cluster.await_calls("p1", 0);
  cluster.await_calls("p2", 0);
}

BOOST_AUTO_TEST_CASE(handles_become_confirmed_by_their_owner, *label("O-19")) {
  const RRef<Tensor> a = trainer.remote("p1", &add, ones({1}), 1.0);
  static_cast<void>(a.to_here(trainer));  // the answer to the creating call arrived before this one
  BOOST_TEST(a.confirmed_by_owner());
  BOOST_TEST(trainer.rpc_sync("p1", &is_confirmed_here, a));  // on its owner always confirmed
  const RRef<Tensor> there = trainer.rpc_sync("p1", &keep_here, ones({1}));
  BOOST_TEST(there.confirmed_by_owner());  // confirmed, because the owner itself passed it on
}

BOOST_AUTO_TEST_CASE(owner_counts_values_and_users_count_handles, *label("O-26")) {
  BOOST_TEST(cluster.counts("p1").owned_values == 0U);
  RRef<Tensor> a = trainer.remote("p1", &add, ones({1}), 1.0);
  const RRef<Tensor> b = trainer.remote("p1", &add, ones({1}), 2.0);
  RRef<Tensor> copy = a;
  static_cast<void>(b.to_here(trainer));
  BOOST_TEST(cluster.counts("p1").owned_values == 2U);
  BOOST_TEST(trainer.counts().handles == 2U);
  a = {};
  BOOST_TEST(trainer.counts().handles == 2U);  // the copy shares the handle
  copy = {};
  BOOST_TEST(trainer.counts().handles == 1U);
  BOOST_TEST(b.to_here(trainer).item() == 3.0);  // by now the owner has confirmed
  BOOST_TEST(cluster.counts("p1").owned_values == 1U);
}

BOOST_AUTO_TEST_CASE(thousand_references_dropped_in_any_order_leave_nothing) {
  std::vector<RRef<std::int64_t>> many;
  for (std::int64_t i = 0; i < 1000; ++i) many.push_back(trainer.remote("p1", &square, i));
  for (std::size_t i = 0; i < many.size(); i += 2) many[i] = {};  // many of them before their values exist
}

BOOST_AUTO_TEST_CASE(references_are_equal_if_they_name_the_same_value, *label("O-15")) {
  const RRef<Tensor> a = trainer.remote("p1", &add, ones({1}), 1.0);
  const RRef<Tensor> b = trainer.remote("p1", &add, ones({1}), 1.0);
  BOOST_TEST((a == RRef<Tensor>(a)));
  BOOST_TEST((a == trainer.rpc_sync("p2", &give_back, a)));
  BOOST_TEST((a != b));
  BOOST_TEST((a != RRef<Tensor>()));
  BOOST_TEST((RRef<Tensor>() == RRef<Tensor>()));
}

BOOST_AUTO_TEST_CASE(text_shows_type_id_and_owner, *label("O-17")) {
  const RRef<Tensor> a = trainer.remote("p1", &add, ones({1}), 1.0);
  BOOST_TEST(a.text() == "RRef<tensor> " + a.id().text() + " on p1");
  BOOST_TEST(a.id().text().starts_with("trainer."));
  const RRef<std::int64_t> mine(trainer, 1);
  BOOST_TEST(mine.text() == "RRef<i64> " + mine.id().text() + " on trainer");
}

BOOST_AUTO_TEST_CASE(every_use_of_a_null_reference_throws) {
  const RRef<Tensor> none;
  BOOST_TEST(!none.defined());
  const auto says = [](const char* text) {
    return [text](const std::logic_error& error) { return std::string_view(error.what()) == text; };
  };
  BOOST_CHECK_EXCEPTION(none.to_here(trainer), std::logic_error, says("[RRef] to_here of a null reference"));
  BOOST_CHECK_EXCEPTION(static_cast<void>(none.local_value(trainer)), std::logic_error,
                        says("[RRef] local_value of a null reference"));
  BOOST_CHECK_EXCEPTION(static_cast<void>(none.owner()), std::logic_error, says("[RRef] owner of a null reference"));
  BOOST_CHECK_EXCEPTION(static_cast<void>(none.text()), std::logic_error, says("[RRef] text of a null reference"));
}

BOOST_AUTO_TEST_CASE(reference_outside_a_call_is_refused, *label("O-25")) {
  const RRef<Tensor> mine(trainer, ones({1}));
  BOOST_CHECK_EXCEPTION(static_cast<void>(to_payload(nullptr, mine)), EncodeError, [](const EncodeError& error) {
    return std::string_view(error.what()) == "[encode] an RRef travels only in a call or its result";
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(death_of_the_owner_fails_every_use_at_once_and_names_it, *label("fault-F25")) {
  TestCluster cluster({"p1", "p2"});
  Node& trainer = cluster.trainer();
  const RRef<Tensor> a = trainer.remote("p1", &add, ones({1}), 1.0);
  const RRef<Bundle> kept = trainer.remote("p2", &keep_bundle, a);
  static_cast<void>(kept.to_here(trainer));
  const RRef<bool> slow = trainer.remote("p1", &wait_until_stopped);  // never done while p1 lives
  const Future<bool> pending = slow.to_here_async(trainer);
  static_cast<void>(cluster.counts("p1"));  // all earlier messages have reached p1
  cluster.kill("p1");
  BOOST_TEST(error_of([&] { return pending.get(); }).code == ErrorCode::owner_died);
  const Error error = error_of([&] { return a.to_here(trainer); });
  BOOST_TEST(error.code == ErrorCode::owner_died);
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(error_of([&] { return slow.to_here(trainer); }).code == ErrorCode::owner_died);
  BOOST_TEST(error_of([&] { return trainer.rpc_sync("p2", &rref_value, a); }).code == ErrorCode::owner_died);
  // p2 refuses to send its reference. If it has not noticed yet, it sends one that is dead here.
  BOOST_TEST(error_of([&] { return kept.to_here(trainer).value.to_here(trainer); }).code == ErrorCode::owner_died);
}

BOOST_AUTO_TEST_CASE(death_of_a_user_frees_its_handles_only, *label("fault-F26")) {
  TestCluster cluster({"p1", "p2"});
  Node& trainer = cluster.trainer();
  {
    const RRef<Tensor> shared = trainer.remote("p1", &add, ones({1}), 1.0);
    const RRef<Bundle> kept = trainer.remote("p2", &keep_bundle, shared);
    RRef<Tensor> only_there = trainer.remote("p1", &add, ones({1}), 2.0);
    const RRef<Bundle> kept_too = trainer.remote("p2", &keep_bundle, only_there);
    static_cast<void>(kept_too.to_here(trainer));
    static_cast<void>(kept.to_here(trainer));
    only_there = {};
    BOOST_TEST(cluster.counts("p1").owned_values == 2U);
    cluster.kill("p2");
    cluster.await("p1", [](const Counts& counts) { return counts.owned_values == 1; });
    BOOST_TEST(shared.to_here(trainer).item() == 2.0);
  }
  cluster.expect_settled();
}

}  // namespace
}  // namespace troupe::testing
