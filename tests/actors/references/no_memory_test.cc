// References that get no memory.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
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
