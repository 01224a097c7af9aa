#include "autograd/ops/ctc_loss.h"

#include "autograd/ops/nn.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_ctc_loss)

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  Generator generator(1);
  const Variable x(randn({6, 3, 4}, generator, DType::f64), RequiresGrad::yes);
  const Tensor targets = from_values<std::int64_t>({1, 2, 2, 3, 0, 0, 0, 0, 0}, {3, 3});
  const Tensor steps = from_values<std::int64_t>({6, 4, 5});
  const Tensor lengths = from_values<std::int64_t>({3, 1, 0});
  for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
    const CtcLossOptions options{.reduction = reduction};
    expect_gradcheck([&](Inputs v) { return ctc_loss(v[0], targets, steps, lengths, options); }, {x});
    expect_gradcheck([&](Inputs v) { return ctc_loss(log_softmax(v[0]), targets, steps, lengths, options); }, {x});
  }
}

BOOST_AUTO_TEST_CASE(targets_and_lengths_may_be_variables) {
  Generator generator(1);
  const Variable x(randn({4, 2, 3}, generator, DType::f64), RequiresGrad::yes);
  const Tensor targets = from_values<std::int64_t>({1, 2, 2, 0}, {2, 2});
  const Tensor steps = from_values<std::int64_t>({4, 3});
  const Tensor lengths = from_values<std::int64_t>({2, 1});
  const Variable loss = ctc_loss(x, Variable(targets), Variable(steps), Variable(lengths));
  expect(loss.value(), ctc_loss(x, targets, steps, lengths).item());
  BOOST_TEST(backward(loss).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
