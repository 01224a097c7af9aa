#include "node/watchdog.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "node/links/memory_link.h"
#include "node/local_cluster.h"
#include "node/system_clock.h"
#include "tests/support/eventually.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(watchdog)

namespace {

using namespace std::chrono_literals;

const TimePoint kStart{1h};

/// The system's clock, which has no memory for the first timer that is due at once.
class ShortOfMemory final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return clock_->now(); }
  TimerId at(TimePoint due, std::function<void()> action) override {
    if (due <= now()) {
      std::size_t before = 0;
      probes.change([&] { before = count++; });
      if (before == 0) throw std::bad_alloc();
    }
    return clock_->at(due, std::move(action));
  }
  void cancel(TimerId timer) override { clock_->cancel(timer); }

  testing::Changes probes;
  std::size_t count = 0;  // guarded by probes

 private:
  const std::shared_ptr<Clock> clock_ = make_system_clock();
};

}  // namespace

BOOST_AUTO_TEST_CASE(silence_is_counted_while_the_process_runs) {
  OutstandingTime silent(1s);
  BOOST_TEST((silent.at(kStart, true) == 0s));
  BOOST_TEST((silent.at(kStart + 1s, true) == 1s));
  BOOST_TEST((silent.at(kStart + 2500ms, true) == 2500ms));
  BOOST_TEST((silent.at(kStart + 3s, false) == 0s));
  BOOST_TEST((silent.at(kStart + 4s, true) == 1s));
}

BOOST_AUTO_TEST_CASE(time_in_which_the_process_was_stopped_is_no_silence, *boost::unit_test::label("fault-F13")) {
  OutstandingTime silent(1s);
  BOOST_TEST((silent.at(kStart, true) == 0s));
  BOOST_TEST((silent.at(kStart + 1h, true) == 2s));  // two steps, however long the pause
  BOOST_TEST((silent.at(kStart + 2h, true) == 4s));
}

struct Watched {
  LocalCluster cluster{{"a"}, FunctionRegistry{}};
  NodeCore& core = cluster.node("a").core();
  testing::Changes changes;
  std::vector<std::string> said;  // guarded by changes

  [[nodiscard]] Watchdog::Stuck note() {
    return [this](const std::string& why) { changes.change([&] { said.push_back(why); }); };
  }
};

BOOST_FIXTURE_TEST_CASE(router_that_does_not_turn_although_it_has_work_is_told_of, Watched,
                        *boost::unit_test::label("fault-F33")) {
  WaitPoint stuck;
  WaitPoint let_go;
  // The answer is reported in the router's turn, which then does not end.
  std::thread turn([&] {
    core.request({"a", "worker", "stuck", std::nullopt, msg::CallCancelled{}}, [&](const Result<msg::AnyMessage>&) {
      stuck.signal();
      let_go.wait_here(std::nullopt);
    });
  });
  BOOST_TEST(stuck.wait_here(std::chrono::steady_clock::now() + 10s));
  {
    const Watchdog watchdog(core.shared_from_this(), 50ms, note());
    testing::eventually(
        10s, changes, [this] { return !said.empty(); }, [] { return "nothing was said"; });
  }
  BOOST_TEST(
      said == (std::vector<std::string>{
                  "the router of a has not turned for 0.1 s of this process's running time, although it has work"}),
      boost::test_tools::per_element());
  let_go.signal();
  turn.join();
}

BOOST_FIXTURE_TEST_CASE(router_that_turns_is_left_alone, Watched) {
  const Watchdog watchdog(core.shared_from_this(), 300ms, note());
  BOOST_TEST(!changes.wait(900ms, [this] { return !said.empty(); }));
}

BOOST_AUTO_TEST_CASE(watchdog_without_memory_for_its_question_asks_again) {
  const auto clock = std::make_shared<ShortOfMemory>();
  MemoryHub hub;
  const Node node(NodeParts{"a",
                            {1, 1},
                            0,
                            FunctionRegistry{}.table(),
                            clock,
                            std::make_shared<ElasticPool>(PoolOptions{}),
                            std::make_unique<MemoryLink>(hub, "a", Incarnation{1, 1}),
                            make_inline_host});
  testing::Changes changes;
  bool said = false;  // guarded by changes
  const Watchdog watchdog(node.core().shared_from_this(), 10s,
                          [&](const std::string&) { changes.change([&] { said = true; }); });
  testing::eventually(
      10s, clock->probes, [&] { return clock->count >= 2; }, [&] { return clock->count; });
  BOOST_TEST(!changes.wait(0s, [&] { return said; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
