// Functions that run on the value of a reference: at its owner, one after the other.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tensor/create.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::fixture;
using boost::unit_test::label;

BOOST_FIXTURE_TEST_SUITE(turns, OnSharedCluster, *fixture<SharedCluster>())

RRef<Counter> counter_on(const Scope& scope, const NodeName& node, std::int64_t start) {
  return scope.remote(node, constructor<Counter, std::int64_t>, start);
}

BOOST_AUTO_TEST_CASE(state_of_a_remote_object_persists_between_calls, *label("R-12") * label("O-16") * label("O-31")) {
  for (const char* owner : {"p1", "trainer"}) {
    const RRef<Counter> counter = counter_on(trainer, owner, 40);
    counter.rpc_sync(trainer, &Counter::increment);
    BOOST_TEST(counter.rpc_sync(trainer, &Counter::add, 1) == 42);
    BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 42);    // const
    BOOST_TEST(counter.rpc_sync(trainer, &Counter::plus, 8) == 50);  // const noexcept
    BOOST_TEST(counter.rpc_async(trainer, &Counter::add, -2).get() == 40);
    BOOST_TEST(counter.to_here(trainer).value() == 40);  // a copy
  }
}

BOOST_AUTO_TEST_CASE(members_of_a_tensor_are_called_in_all_three_kinds, *label("O-29") * label("O-30")) {
  for (const char* owner : {"p1", "trainer"}) {
    const RRef<Tensor> tensor = trainer.remote(owner, &add, ones({2}), 1.0);
    for (int round = 0; round < 3; ++round) {
      const double base = 3.0 * round;
      tensor.rpc_sync(trainer, &Tensor::fill, base + 1.0);
      BOOST_TEST(same_bytes(tensor.to_here(trainer), full({2}, base + 1.0)));
      tensor.rpc_async(trainer, &Tensor::fill, base + 2.0).get();
      BOOST_TEST(same_bytes(tensor.to_here(trainer), full({2}, base + 2.0)));
      const auto filled = tensor.remote(trainer, &Tensor::fill, base + 3.0);
      BOOST_TEST(filled.owner() == owner);
      filled.created(trainer).get();
      BOOST_TEST(same_bytes(tensor.to_here(trainer), full({2}, base + 3.0)));
    }
  }
}

BOOST_AUTO_TEST_CASE(result_of_a_member_function_may_stay_at_the_owner) {
  const RRef<Counter> counter = counter_on(trainer, "p1", 5);
  const RRef<std::int64_t> sum = counter.remote(trainer, &Counter::add, 3);
  BOOST_TEST(sum.owner() == "p1");
  BOOST_TEST(sum.to_here(trainer) == 8);
  BOOST_TEST((counter.remote(trainer, &Counter::increment).to_here(trainer) == Unit{}));
  BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 9);
}

BOOST_AUTO_TEST_CASE(exception_of_a_member_function_arrives_and_the_object_lives) {
  const RRef<Counter> counter = counter_on(trainer, "p1", 5);
  const Error error = error_of([&] { return counter.rpc_sync(trainer, &Counter::fail), 0; });
  BOOST_TEST(error.exception_type == "std::domain_error");
  BOOST_TEST(error.operation == "rpc Counter::fail");
  BOOST_TEST((error_of([&] { return counter.remote(trainer, &Counter::fail).to_here(trainer), 0; }).exception_type ==
              "std::domain_error"));
  BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 5);
}

BOOST_AUTO_TEST_CASE(member_function_of_an_object_that_failed_to_be_made_fails_alike) {
  const RRef<Counter> never = counter_on(trainer, "p9", 5);
  BOOST_TEST(error_of([&] { return never.rpc_sync(trainer, &Counter::value); }).code == ErrorCode::not_joined);
  BOOST_TEST(error_of([&] { return never.remote(trainer, &Counter::value).to_here(trainer); }).code ==
             ErrorCode::not_joined);
}

BOOST_AUTO_TEST_CASE(calls_of_one_caller_take_turns_in_the_order_they_were_made) {
  const RRef<Counter> counter = counter_on(trainer, "p1", 0);
  std::vector<Future<std::int64_t>> sums;
  for (std::int64_t i = 1; i <= 100; ++i) sums.push_back(counter.rpc_async(trainer, &Counter::add, i));
  std::int64_t sum = 0;
  for (std::int64_t i = 1; i <= 100; ++i) BOOST_TEST(sums[static_cast<std::size_t>(i - 1)].get() == (sum += i));
}

BOOST_AUTO_TEST_CASE(eight_callers_increment_an_unprotected_counter_ten_thousand_times) {
  constexpr std::int32_t kEach = 1250;  // 8 * 1250 = 10,000
  const RRef<Counter> counter = counter_on(trainer, "p1", 0);
  std::vector<Future<void>> there;
  for (const char* node : {"p1", "p2", "p3", "p4"}) {
    there.push_back(trainer.rpc_async(node, &increment_often, counter, kEach));
  }
  {
    std::vector<std::jthread> here;
    for (int i = 0; i < 4; ++i) {
      here.emplace_back([&] {
        for (std::int32_t n = 0; n < kEach; ++n) counter.rpc_sync(trainer, &Counter::increment);
      });
    }
  }
  for (const auto& done : there) done.get();
  BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 10'000);
}

BOOST_AUTO_TEST_CASE(object_that_calls_out_can_be_called_back, *label("fault-F38")) {
  for (const char* other : {"p2", "p1", "trainer"}) {
    const RRef<Counter> counter = counter_on(trainer, "p1", 0);
    BOOST_TEST(counter.rpc_sync(trainer, &Counter::incremented_by, other, counter) == 1);
  }
}

BOOST_AUTO_TEST_CASE(many_objects_call_each_other_back_at_once, *label("fault-F38")) {
  const RRef<Counter> counter = counter_on(trainer, "p1", 0);
  std::vector<Future<std::int64_t>> visits;
  for (int i = 0; i < 50; ++i) visits.push_back(counter.rpc_async(trainer, &Counter::incremented_by, "p2", counter));
  for (const auto& visit : visits) BOOST_TEST(visit.get() >= 1);
  BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 50);
}

BOOST_AUTO_TEST_CASE(local_value_holds_the_turn) {
  const RRef<Counter> counter(trainer, Counter(1));
  Future<void> elsewhere;
  {
    const LocalValue<Counter> mine = counter.local_value(trainer);
    elsewhere = trainer.rpc_async("p1", &increment_of, counter);
    BOOST_TEST(!elsewhere.get_for(50ms).has_value());
    BOOST_TEST(mine->value() == 1);
  }
  elsewhere.get();
  BOOST_TEST(counter.local_value(trainer)->value() == 2);
}

BOOST_AUTO_TEST_CASE(computing_member_function_keeps_its_turn) {
  const RRef<Counter> counter = counter_on(trainer, "p1", 0);
  const Future<void> busy = counter.rpc_async(trainer, &Counter::compute_for, 60);
  BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 1);  // not before the function has ended
  busy.get();
}

BOOST_AUTO_TEST_CASE(dropping_the_reference_does_not_disturb_calls_under_way) {
  Future<std::int64_t> last;
  {
    const RRef<Counter> counter = counter_on(trainer, "p1", 7);
    static_cast<void>(counter.rpc_async(trainer, &Counter::compute_for, 30));
    last = counter.rpc_async(trainer, &Counter::value);
  }
  BOOST_TEST(last.get() == 8);
}

BOOST_AUTO_TEST_CASE(member_that_is_not_registered_throws_at_the_caller, *label("O-32")) {
  const RRef<std::string> text = trainer.remote("p1", &join_words, std::vector<std::string>{"a"});
  BOOST_CHECK_THROW(text.rpc_sync(trainer, &std::string::empty), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(text.rpc_async(trainer, &std::string::empty)), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(text.remote(trainer, &std::string::empty)), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(member_that_the_owner_does_not_serve_is_an_error_in_all_kinds, *label("O-32")) {
  const RRef<std::string> text = trainer.remote("p1", &join_words, std::vector<std::string>{"a"});
  const auto check = [](const Error& error) {
    BOOST_TEST(error.code == ErrorCode::no_such_function);
    BOOST_TEST(error.message == "\"std::string::size\" is not in the registry of p1");
    BOOST_TEST(error.execution == Execution::never);
  };
  check(error_of([&] { return text.rpc_sync(trainer, &std::string::size); }));  // the trainer knows the type
  check(error_of([&] { return text.rpc_async(trainer, &std::string::size).get(); }));
  check(error_of([&] { return text.remote(trainer, &std::string::size).to_here(trainer); }));
}

BOOST_AUTO_TEST_CASE(slow_member_function_times_out_in_all_kinds, *label("O-33")) {
  const RRef<Counter> counter = counter_on(trainer, "p1", 0);
  const Scope hasty = trainer.with({.deadline = 40ms});
  BOOST_TEST(error_of([&] { return counter.rpc_sync(hasty, &Counter::wait_until_stopped); }).code ==
             ErrorCode::timeout);
  BOOST_TEST(error_of([&] { return counter.rpc_async(hasty, &Counter::wait_until_stopped).get(); }).code ==
             ErrorCode::timeout);
  const RRef<bool> kept = counter.remote(trainer.with({.deadline = 500ms}), &Counter::wait_until_stopped);
  BOOST_TEST(error_of([&] { return kept.to_here(hasty); }).code == ErrorCode::timeout);
  BOOST_TEST(kept.to_here(trainer));  // stopped at the deadline of `remote`, not at the end of its own patience
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
