#include "actors/contexts/context_ledger.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

#include "autograd/ops.h"
#include "tensor/create.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(context_ledger)

namespace {

bool is_short_to_destroy(const std::vector<Variable>& sent) {
  ContextLedger ledger("trainer");
  std::uint64_t serial = 0;
  for (const Variable& each : sent)
    ledger.record_send({"trainer", 7, ++serial}, SendFn::make(std::vector{each}), "ps0", "arguments");
  return ledger.is_short_to_destroy();
}

}  // namespace

BOOST_AUTO_TEST_CASE(part_of_a_graph_is_short_to_destroy_if_all_that_was_sent_is_small_and_holds_no_user_code) {
  const Variable small(ones({2, 2}), RequiresGrad::yes);
  const Variable middle(ones({30, 20}), RequiresGrad::yes);
  BOOST_TEST(is_short_to_destroy({}));
  BOOST_TEST(is_short_to_destroy({tanh(small), small}));
  BOOST_TEST(is_short_to_destroy({middle}));
  BOOST_TEST(!is_short_to_destroy({middle, middle}));
  const Variable hooked = tanh(small);
  hooked.register_hook([](const Tensor&) {});
  BOOST_TEST(!is_short_to_destroy({hooked}));
}

BOOST_AUTO_TEST_CASE(roots_whose_passes_were_all_taken_back_leave_nothing, *boost::unit_test::label("attack")) {
  ContextLedger ledger("trainer");
  for (std::uint64_t root = 1; root <= 10'000; ++root) {
    const PassId pass{"node" + std::to_string(root), 7, root};
    ledger.note_used(pass, {{{"trainer", 7, 1}, 1}});
    ledger.take_back(pass);
  }
  BOOST_TEST(ledger.remembered_roots() == 0U);

  ledger.note_used({"ps0", 7, 1}, {});
  ledger.note_used({"ps0", 7, 2}, {});
  ledger.take_back({"ps0", 7, 2});
  BOOST_TEST(ledger.remembered_roots() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
