#include "actors/collect.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/actors/futures_home.h"

namespace troupe {
namespace {

using namespace testing::futures;

BOOST_FIXTURE_TEST_SUITE(collect, Home)

BOOST_AUTO_TEST_CASE(futures_that_are_collected_are_held_a_fixed_number_of_times) {
  std::vector<Promise<int>> promises;
  std::vector<Future<int>> futures;
  for (int i = 0; i < 100; ++i) futures.push_back(promises.emplace_back(home).future());
  const Future<std::vector<int>> all = collect_all(futures);
  BOOST_TEST(futures.front().shared_state().use_count() <= 6);
  for (const Promise<int>& promise : promises) promise.complete(1);
  executor->run_all();
  BOOST_TEST(all.get().size() == 100U);
}

BOOST_AUTO_TEST_CASE(collect_all_fails_with_the_first_error_to_happen_whatever_its_place) {
  const Promise<int> first(home);
  const Promise<int> second(home);
  const auto list = collect_all(std::vector{first.future(), second.future()});
  const auto tuple = collect_all(first.future(), second.future());
  second.complete(failure(ErrorCode::timeout, "earlier"));
  executor->run_all();
  first.complete(failure(ErrorCode::timeout, "later"));
  executor->run_all();
  BOOST_TEST(error_of(list).message == "earlier");
  BOOST_TEST(error_of(tuple).message == "earlier");
}

BOOST_AUTO_TEST_CASE(open_inputs_of_collect_any_hold_nothing_of_it_once_one_has_succeeded) {
  using Value = std::shared_ptr<int>;
  const Promise<Value> stop(home);
  const auto holders = stop.future().shared_state().use_count();
  std::weak_ptr<int> value;
  {
    const Promise<Value> next(home);
    const auto any = collect_any(std::vector{stop.future(), next.future()});
    auto five = std::make_shared<int>(5);
    value = five;
    next.complete(std::move(five));
    executor->run_all();
    const auto [place, found] = any.get();
    BOOST_TEST(place == 1U);
    BOOST_TEST(*found == 5);
  }
  BOOST_TEST(value.expired());
  BOOST_TEST(stop.future().shared_state().use_count() == holders);
  stop.complete(Value());
  BOOST_TEST(executor->jobs.empty());
}

BOOST_AUTO_TEST_CASE(input_that_collect_any_reaches_after_the_first_success_holds_nothing_of_it) {
  home.executor = std::make_shared<EndsFirst>();
  const Promise<int> done(home);
  const Promise<int> open(home);
  done.complete(5);
  const auto holders = open.future().shared_state().use_count();
  BOOST_TEST(collect_any(std::vector{done.future(), open.future()}).get().second == 5);
  BOOST_TEST(open.future().shared_state().use_count() == holders);
}

BOOST_AUTO_TEST_CASE(collect_any_fails_with_the_last_error_when_all_have_failed) {
  const Promise<int> first(home);
  const Promise<int> last(home);
  const auto any = collect_any(std::vector{last.future(), first.future()});
  first.complete(failure(ErrorCode::timeout, "first"));
  executor->run_all();
  BOOST_TEST(!any.ready());
  last.complete(failure(ErrorCode::timeout, "last"));
  executor->run_all();
  BOOST_TEST(error_of(any).message == "last");
}

/// A value that came and notes the thread that decodes it.
struct Undecoded : Home {
  Undecoded() { came->complete_later(decoded_on); }

  static int decode(void* thread) {
    *static_cast<std::thread::id*>(thread) = std::this_thread::get_id();
    return 1;
  }
  [[nodiscard]] bool is_decoded() const { return *decoded_on != std::thread::id(); }

  std::shared_ptr<std::thread::id> decoded_on = std::make_shared<std::thread::id>();
  std::shared_ptr<detail::FutureState<int>> came = std::make_shared<detail::FutureState<int>>(home, &decode);
};

// The thread that completes an input may be the one that receives: user types are not decoded there.
BOOST_AUTO_TEST_CASE(a_full_pool_fails_what_is_collected_and_decodes_nothing) {
  Undecoded value;
  value.executor->refusal = failure(ErrorCode::resource_exhausted, "all pool threads wait");
  const std::vector futures{Future<int>(value.came)};
  BOOST_TEST((error_of(collect_all(futures)).code == ErrorCode::resource_exhausted));
  BOOST_TEST((error_of(collect_all(futures[0], futures[0])).code == ErrorCode::resource_exhausted));
  BOOST_TEST((error_of(collect_any(futures)).code == ErrorCode::resource_exhausted));
  BOOST_TEST(!value.is_decoded());
}

BOOST_AUTO_TEST_CASE(collect_any_succeeds_although_the_pool_refused_one_of_its_inputs) {
  Undecoded value;
  const Promise<int> next(value.home);
  value.executor->refusal = failure(ErrorCode::resource_exhausted, "all pool threads wait");
  const auto any = collect_any(std::vector{Future<int>(value.came), next.future()});
  BOOST_TEST(!any.ready());
  value.executor->refusal.reset();
  next.complete(5);
  value.executor->run_all();
  BOOST_TEST((any.get() == std::pair<std::size_t, int>(1, 5)));
  BOOST_TEST(!value.is_decoded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
