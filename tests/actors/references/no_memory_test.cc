// References that get no memory.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/references/references.h"
#include "actors/rref.h"
#include "actors/task.h"
#include "tests/actors/references/among_values.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

std::int64_t seven() { return 7; }

std::function<void()> waits_and_touches;  // used by the tests' thread only

struct Touched {
  std::int64_t value = 0;
  std::int64_t wait_and_touch() {
    waits_and_touches();
    return ++value;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

/// A task that waits on a value and gets no memory for that; used by the tests' thread only.
struct FailingWait {
  explicit FailingWait(detail::FutureHome home) : promise(std::move(home)) {}

  Promise<void> promise;  // for which the task waits
  bool waits_in_a_task = false;
  std::size_t refused_allocation = 1;
  std::optional<RefusedAllocation> refused;
  bool was_refused = false;
  std::size_t failures = 0;
  bool other_task_waits = false;
  std::function<void()> goes_on = {};  // after a wait that failed, and after one that did not

  Future<void> begin() {
    if (failures == 0) refused.emplace(refused_allocation);
    return promise.future();
  }
  void end(bool has_failed) {
    end_refusal();
    if (has_failed) ++failures;
    goes_on();
  }
  void end_refusal() {
    if (refused) was_refused = refused->happened();
    refused.reset();
  }
};
FailingWait* failing_wait = nullptr;

Task<void> awaits_in_its_turn() {
  const Future<void> future = failing_wait->promise.future();
  failing_wait->other_task_waits = true;
  struct End {
    ~End() { failing_wait->other_task_waits = false; }
  } const end;
  co_await future;
}

struct Awaiting {
  std::int64_t value = 0;
  Task<std::int64_t> await_and_touch() {
    for (bool has_waited = false; !has_waited;) {
      try {
        const Future<void> future = failing_wait->begin();
        if (failing_wait->waits_in_a_task) co_await awaits_in_its_turn();
        else co_await future;
        has_waited = true;
      } catch (const std::exception&) {  // std::bad_alloc, or what has become of it in the other task
      }
      failing_wait->end(!has_waited);
    }
    co_return ++value;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value);
  }
};

BOOST_AUTO_TEST_SUITE(no_memory)

/// Makes a value with the first allocation refused, then with the second, ... Checks that nothing is left of one that
/// was not made. Returns how many were not.
template <class Make>
std::size_t not_made(Make make) {
  std::size_t count = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    AmongValues among({{"seven", &seven}});
    std::optional<decltype(make(among))> made;  // ends later: without memory for the end of an actor the process ends
    {
      const RefusedAllocation refused(n);
      try {
        made.emplace(make(among));
      } catch (const std::bad_alloc&) {
      }
      is_refused = refused.happened();
    }
    if (made || among.core().failure()) continue;
    ++count;
    BOOST_TEST(among.references().owned_values() == 0U, "allocation " << n);
    BOOST_TEST(among.references().handles() == 0U, "allocation " << n);
    BOOST_TEST(among.references().forks() == 0U, "allocation " << n);
  }
  return count;
}

BOOST_AUTO_TEST_CASE(a_value_that_gets_no_memory_leaves_nothing) {
  BOOST_TEST(not_made([](AmongValues& among) { return among.own(); }) > 5U);
  BOOST_TEST(not_made([](AmongValues& among) { return among.node->remote("m", &seven); }) > 5U);
  BOOST_TEST(not_made([](AmongValues& among) { return among.node->remote("p1", &seven); }) > 5U);
}

/// What the value of a use is when it arrives.
enum class Found { nothing, free, in_use };

BOOST_AUTO_TEST_CASE(a_use_that_gets_no_memory_keeps_no_owner) {
  for (const Found found : {Found::nothing, Found::free, Found::in_use}) {
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      AmongValues among;
      auto handle = found == Found::nothing ? nullptr : among.own();
      const RRefId rref = handle ? handle->id() : RRefId{"p1", 1, 5};
      std::shared_ptr<detail::ValueUse> running;
      if (found == Found::in_use) {
        among.references().use(rref, detail::UseKind::changes,
                               [&](const auto&, std::shared_ptr<detail::ValueUse> use) { running = std::move(use); });
      }
      const TurnId turn = among.references().next_turn();
      {
        detail::UsePurpose purpose{detail::UseKind::changes, "a use with a text of more than a few bytes"};
        const detail::UseHandler ignore = [](const auto&, const auto&) {};
        const RefusedAllocation refused(n);
        try {
          among.references().use(rref, turn, std::move(purpose), ignore);
        } catch (const std::bad_alloc&) {
        }
        is_refused = refused.happened();
      }
      if (among.core().failure()) continue;
      running.reset();
      handle.reset();
      among.references().withdraw(rref, turn);
      among.p1->die();
      BOOST_TEST(among.references().owned_values() == 0U, "found " << static_cast<int>(found) << ", allocation " << n);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(word_about_a_handle_that_gets_no_memory_ends_the_node, AmongValues) {
  const auto handle = own();
  const msg::RRefHandout handout = references().hand_out(handle, p1->life());
  {
    const RefusedAllocation refused(1);
    references().take_back(handout);
    BOOST_TEST(refused.happened());
  }
  BOOST_REQUIRE(core().failure().has_value());
  BOOST_TEST((core().failure()->code == ErrorCode::resource_exhausted));
}

BOOST_AUTO_TEST_CASE(function_whose_wait_gets_no_memory_goes_on_in_its_turn) {
  std::size_t failed_waits = 0;
  for (const bool is_refused_in_wait : {false, true}) {
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      AmongValues among({{"Touched", constructor<Touched>}, {"Touched::wait_and_touch", &Touched::wait_and_touch}});
      const RRef<Touched> value = among.node->remote("m", constructor<Touched>);
      std::shared_ptr<detail::ValueUse> second;
      std::optional<RefusedAllocation> refused;
      const auto end_refusal = [&] {
        if (refused) is_refused = refused->happened();
        refused.reset();
      };
      ActingWaits waits;
      const auto end_use = [&] {
        end_refusal();
        second.reset();
      };
      const auto use_meanwhile = [&] {
        end_refusal();
        among.references().use(value.id(), detail::UseKind::changes,
                               [&](const auto&, std::shared_ptr<detail::ValueUse> use) { second = std::move(use); });
        waits.action = end_use;
        if (is_refused_in_wait) refused.emplace(n);
      };
      bool is_alone = false;
      waits_and_touches = [&] {
        if (!is_refused_in_wait) refused.emplace(n);
        try {
          static_cast<void>(detail::WaitPoint().wait(TimePoint{}));
        } catch (const std::bad_alloc&) {
          ++failed_waits;
        }
        end_refusal();
        is_alone = second == nullptr;
      };
      among.pool->keeps = true;  // as a pool does, no actor runs the function
      static_cast<void>(value.rpc_async(*among.node, &Touched::wait_and_touch));
      among.pool->keeps = false;
      waits.action = use_meanwhile;
      {
        const detail::BlockingHook::Guard guard(waits);
        for (const Job& job : std::exchange(among.pool->kept, {})) job.run();
      }
      BOOST_TEST((is_alone || among.core().failure()),
                 "allocation " << n << (is_refused_in_wait ? " in" : " from") << " the wait");
    }
  }
  waits_and_touches = nullptr;
  BOOST_TEST(failed_waits > 2U);
}

BOOST_AUTO_TEST_CASE(task_whose_wait_gets_no_memory_goes_on_in_its_turn) {
  for (const bool waits_in_a_task : {false, true}) {
    std::size_t failures = 0;
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      AmongValues among(
          {{"Awaiting", constructor<Awaiting>}, {"Awaiting::await_and_touch", &Awaiting::await_and_touch}});
      const RRef<Awaiting> value = among.node->remote("m", constructor<Awaiting>);
      FailingWait wait(among.core().future_home());
      wait.waits_in_a_task = waits_in_a_task;
      wait.refused_allocation = n;
      failing_wait = &wait;
      std::shared_ptr<detail::ValueUse> second;
      const auto use = [&] {
        among.references().use(
            value.id(), detail::UseKind::changes,
            [&](const auto&, std::shared_ptr<detail::ValueUse> begun) { second = std::move(begun); });
      };
      bool is_alone = true;
      wait.goes_on = [&] {
        is_alone = is_alone && !wait.other_task_waits;
        use();
        is_alone = is_alone && second == nullptr;
      };
      among.pool->keeps = true;  // as a pool does, no actor runs the function
      const Future<std::int64_t> touched = value.rpc_async(*among.node, &Awaiting::await_and_touch);
      const auto run_all = [&] {
        while (!among.pool->kept.empty()) {
          for (const Job& job : std::exchange(among.pool->kept, {})) {
            try {
              job.run();
            } catch (const std::bad_alloc&) {  // as the pool does
              job.refused(make_error(ErrorCode::resource_exhausted, "out of memory"));
            }
          }
        }
      };
      run_all();
      wait.end_refusal();
      is_refused = wait.was_refused;
      BOOST_TEST((second != nullptr) == (wait.failures > 0), "allocation " << n);  // others run while it waits
      second.reset();
      wait.promise.complete(Unit{});
      run_all();
      BOOST_TEST(is_alone, "allocation " << n << (waits_in_a_task ? " of a wait for a task" : " of a wait"));
      BOOST_TEST(touched.ready());
      second.reset();
      use();
      BOOST_TEST((second != nullptr), "allocation " << n);  // whoever had the turn has ended
      failures += wait.failures;
      failing_wait = nullptr;
    }
    BOOST_TEST(failures > 2U);
  }
}

BOOST_FIXTURE_TEST_CASE(handles_that_came_and_get_no_memory_end_the_node, AmongValues) {
  const msg::RRefHandout handout = of_p1(5, 9);
  {
    const RefusedAllocation refused(1);
    BOOST_CHECK_THROW(std::ignore = references().received({&handout, 1}, "p2"), std::bad_alloc);
  }
  BOOST_TEST(core().failure().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
