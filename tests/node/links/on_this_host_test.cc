#include "node/links/on_this_host.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "tests/support/eventually.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(on_this_host)

namespace {

using namespace std::chrono_literals;

/// A system whose name look-ups take time. Calls on the test's own thread do not wait.
class SlowSystem {
 public:
  [[nodiscard]] OnThisHost::LookUp look_up() {
    return [state = state_, tester = std::this_thread::get_id()](std::string_view) {
      state->changes.change([&] {
        ++state->asked;
        if (std::this_thread::get_id() == tester) ++state->asked_by_tester;
      });
      if (std::this_thread::get_id() != tester) (void)state->changes.wait(10s, [&] { return state->answers > 0; });
      std::optional<bool> answer;
      state->changes.change([&] {
        --state->answers;
        answer = state->answer;
      });
      return answer;
    };
  }

  /// Ends one look-up with this answer.
  void find(std::optional<bool> answer) {
    state_->changes.change([&] {
      ++state_->answers;
      state_->answer = answer;
    });
  }

  [[nodiscard]] bool was_asked(int times) const {
    return state_->changes.wait(10s, [&] { return state_->asked == times; });
  }
  [[nodiscard]] int asked() const {
    return state_->changes.read([&] { return state_->asked; });
  }
  [[nodiscard]] int asked_by_tester() const {
    return state_->changes.read([&] { return state_->asked_by_tester; });
  }

 private:
  struct State {
    testing::Changes changes;
    int asked = 0;  // guarded by changes, as all members below
    int asked_by_tester = 0;
    int answers = 0;
    std::optional<bool> answer;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Retries until `predicate` holds or enough time has passed.
template <class Predicate>
bool comes_true(Predicate predicate) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

bool comes_to_be_known(OnThisHost& place) {
  return comes_true([&] { return place.is_known(); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(numbers_and_paths_are_known_at_once) {
  SlowSystem system;
  for (const char* here : {"tcp://127.0.0.1:9", "ipc://@anything"}) {
    BOOST_TEST(OnThisHost(here, system.look_up()).is_known(), here);
  }
  BOOST_TEST(!OnThisHost("tcp://192.0.2.1:9", system.look_up()).is_known());
  BOOST_TEST(system.was_asked(0));
}

BOOST_AUTO_TEST_CASE(name_is_looked_up_once_beside_who_asks) {
  SlowSystem system;
  OnThisHost place("tcp://ps0.example:9", system.look_up());
  BOOST_TEST(!place.is_known());
  BOOST_TEST_REQUIRE(system.was_asked(1));
  BOOST_TEST(!place.is_known());
  BOOST_TEST(system.asked_by_tester() == 0);
  system.find(true);
  BOOST_TEST(comes_to_be_known(place));
  BOOST_TEST(system.was_asked(1));
}

BOOST_AUTO_TEST_CASE(name_that_was_not_found_is_looked_up_again_when_somebody_asks) {
  SlowSystem system;
  OnThisHost place("tcp://ps0.example:9", system.look_up());
  BOOST_TEST(!place.is_known());
  system.find(std::nullopt);
  BOOST_TEST_REQUIRE(comes_true([&] { return place.is_known() || system.asked() == 2; }));
  BOOST_TEST(!place.is_known());
  system.find(true);
  BOOST_TEST(comes_to_be_known(place));
}

BOOST_AUTO_TEST_CASE(look_up_may_outlive_who_asked) {
  SlowSystem system;
  {
    OnThisHost place("tcp://ps0.example:9", system.look_up());
    BOOST_TEST(!place.is_known());
  }
  BOOST_TEST_REQUIRE(system.was_asked(1));
  system.find(true);
}

BOOST_AUTO_TEST_CASE(names_of_this_machine_come_to_be_known) {
  OnThisHost place("tcp://localhost:9");
  BOOST_TEST(comes_to_be_known(place));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
