#include "actors/shards/optimizer_driver.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/shards/prepared_load.h"
#include "optim/sgd.h"
#include "tensor/create.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

/// Allocations of this size are copies of what a test gives the optimizer.
constexpr std::size_t kLarge = 1 << 18;

/// An optimizer of one parameter of its own node.
struct AmongDrivers : AmongBarePeers {
  AmongDrivers() { driver->create(core(), due()); }

  [[nodiscard]] std::optional<TimePoint> due() { return clock->now() + 1s; }

  /// Runs `use` with its first large allocation refused, then with its second, ... Checks that no step of it is left.
  void refuse_large_ones(const std::function<void()>& use) {
    std::size_t n = 0;
    for (bool is_refused = true; is_refused;) {
      {
        const RefusedAllocation refused(++n, kLarge);
        try {
          use();
        } catch (const std::bad_alloc&) {
        } catch (const RemoteError&) {
        }
        is_refused = refused.happened();
      }
      clock->advance(1s);  // who could not be asked is asked again
      BOOST_TEST(!driver->has_unresolved(), "after allocation " << n);
    }
    BOOST_TEST(n > 2U);
    BOOST_TEST(!driver->state_dict(core(), due(), StateContent::rules_and_values).empty());
  }

  std::shared_ptr<detail::OptimizerDriver> new_driver() {
    return std::make_shared<detail::OptimizerDriver>(
        core().shared_from_this(),
        std::vector<DistParameterGroup>{
            {{RRef<Variable>(*node, Variable(full({2}, 1.0), RequiresGrad::yes))}, optim::SgdOptions{.lr = 0.5}}},
        Stepping{});
  }

  const ContextId context = core().contexts().open();
  const std::shared_ptr<detail::OptimizerDriver> driver = new_driver();
};

BOOST_FIXTURE_TEST_SUITE(optimizer_driver, AmongDrivers)

BOOST_AUTO_TEST_CASE(step_that_gets_no_memory_has_an_outcome) {
  msg::StepSettings settings;
  settings.rates.resize(kLarge / sizeof(msg::StepRate) + 1);
  refuse_large_ones([&] { driver->step(core(), due(), context, settings); });
}

BOOST_AUTO_TEST_CASE(load_that_gets_no_memory_has_an_outcome) {
  const NamedTensors state{{"groups.0." + std::string(kLarge, 'x'), full({}, 1.0, DType::f64)}};
  refuse_large_ones([&] { driver->load_state_dict(core(), due(), state); });
}

BOOST_AUTO_TEST_CASE(optimizer_that_ends_without_memory_ends_its_node) {
  auto other = new_driver();
  other->create(core(), due());
  {
    const RefusedAllocation refused(1);
    other.reset();
    BOOST_TEST(refused.happened());
  }
  BOOST_REQUIRE(core().failure().has_value());
  BOOST_TEST((core().failure()->code == ErrorCode::resource_exhausted));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
