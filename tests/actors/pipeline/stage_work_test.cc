#include "actors/pipeline/stage_work.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <optional>
#include <vector>

#include "actors/core/node_core.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using namespace detail;

BOOST_AUTO_TEST_SUITE(stage_work)

/// Has no inputs and computes nothing.
struct NoWork final : StageWork {
  std::vector<Future<void>> fetch(const Scope& /*scope*/) override { return {}; }
  void take() override {}
  void run(Scope& /*scope*/) override {}
  [[nodiscard]] bool requires_grad() const override { return false; }
};

BOOST_AUTO_TEST_CASE(micro_batch_that_is_given_up_without_memory_fails_its_round_or_ends_the_node) {
  std::size_t failed_rounds = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    AmongBarePeers among;
    const RRef<StageSeat> kept = among.node->remote("m", &make_stage_seat);
    const auto rounds = kept.local_value(*among.node)->rounds();
    StageTask task;
    task.plan = {{0}, 3, 3};
    task.index = 1;
    const Future<void> runs = rounds->enter(task.plan, 0);
    const Future<void> waits = rounds->enter(task.plan, 2);
    RRef<StageSeat> seat = kept;
    NoWork work;
    const Future<void> given_up = perform_stage(*among.node, seat, task, work).start(*among.node);
    BOOST_TEST(runs.ready());
    BOOST_TEST(!given_up.ready());
    among.pool->refuses = make_error(ErrorCode::resource_exhausted, "all threads wait");
    {
      const RefusedAllocation refused(n);
      rounds->leave({{0}, 0});  // the task may enter, and no thread is left for it
      is_refused = refused.happened();
    }
    BOOST_TEST(given_up.ready(), "allocation " << n);
    if (among.core().failure()) continue;
    BOOST_TEST(waits.ready(), "allocation " << n);
    ++failed_rounds;
  }
  BOOST_TEST(failed_rounds > 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
