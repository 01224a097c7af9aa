#include "autograd/ops_pool.h"

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A leaf with different values in every element, no two closer than the steps of a gradcheck.
Variable filled(const Shape& shape) {
  Generator generator(11);
  const Tensor order = permutation(shape.numel(), generator).to(DType::f64);
  return Variable(sub(mul(order, 2.0 / static_cast<double>(shape.numel())), 0.9).reshape(shape), RequiresGrad::yes);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ops_pool)

BOOST_AUTO_TEST_CASE(pooling_passes_the_gradient_to_the_largest_element) {
  const Variable x = leaf({1.0, 5.0, 2.0, 0.0, 3.0, 4.0, 8.0, 7.0}, {1, 1, 2, 4});
  const Variable y = max_pool2d(x);
  expect(y.value(), {5.0, 8.0}, {1, 1, 1, 2});
  expect(backward(sum(y * 3.0)).of(x), {0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0}, {1, 1, 2, 4});
  expect_gradcheck(
      [](Inputs v) {
        return max_pool2d(v[0], {.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 0}});
      },
      {filled({2, 2, 4, 4})});
}

BOOST_AUTO_TEST_SUITE_END()
