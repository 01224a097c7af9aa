#include "autograd/ops/products.h"

#include <limits>
#include <utility>
#include <vector>

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_products)

BOOST_AUTO_TEST_CASE(products_have_the_gradients_worked_out_by_hand) {
  const Variable a = leaf({1.0, 2.0});
  const Variable b = leaf({3.0, 4.0});
  expect(kron(a, b).value(), {3.0, 4.0, 6.0, 8.0});
  expect(gradient_of(a, kron(a, b)), {11.0, 25.0});  // 1*3 + 2*4, 3*3 + 4*4
  expect(tensordot(a, b, 1).value(), 11.0);
  expect(gradient_of(a, tensordot(a, b, 1)), {3.0, 4.0});
  expect(gradient_of(b, tensordot(a, b, {0}, {0})), {1.0, 2.0});
  const Variable u = leaf({1.0, 2.0, 3.0});
  const Variable v = leaf({4.0, 5.0, 6.0});
  expect(cross(u, v).value(), {-3.0, 6.0, -3.0});
  expect(gradient_of(u, cross(u, v)), {3.0, -6.0, 3.0});  // v x (1, 2, 3)
}

BOOST_AUTO_TEST_CASE(a_distance_pulls_its_ends_apart_and_a_distance_of_0_does_nothing) {
  const Variable a = leaf({0.0, 0.0, 3.0, 4.0}, {2, 2});
  const Variable b = leaf({3.0, 4.0}, {1, 2});
  expect(cdist(a, b).value(), {5.0, 0.0}, {2, 1});
  expect(gradient_of(a, cdist(a, b)), {-0.6, -0.8, 0.0, 0.0}, {2, 2});
  expect(gradient_of(b, cdist(a, b)), {0.6, 0.8}, {1, 2});
  expect(gradient_of(a, cdist(a, b, 1.0)), {-1.0, -1.0, 0.0, 0.0}, {2, 2});
  expect(gradient_of(a, cdist(a, b, std::numeric_limits<double>::infinity())), {0.0, -1.0, 0.0, 0.0}, {2, 2});
  const Variable tied = leaf({0.0, 8.0}, {1, 2});  // 4 away in both directions
  expect(gradient_of(tied, cdist(tied, leaf({4.0, 4.0}, {1, 2}), std::numeric_limits<double>::infinity())), {-0.5, 0.5},
         {1, 2});
}

BOOST_AUTO_TEST_CASE(gradients_by_distances_are_exact_where_the_distances_are) {
  // Rows beside each other, of two groups far apart. All coordinates and their differences are numbers of f32.
  const Tensor near = from_values<float>({0.0F, 0.0F, 0.25F, 0.5F, -0.75F, 0.25F, 0.5F, -0.25F}, {4, 2});
  const Tensor groups = concat(std::vector<Tensor>{add(near, 4096.0), sub(near, 4096.0)}, 0);
  const Variable a(groups, RequiresGrad::yes);
  const Variable b(stack(std::vector<Tensor>{add(groups, 0.5), sub(groups, 0.25)}), RequiresGrad::yes);
  const Variable exact_a(a.value().to(DType::f64), RequiresGrad::yes);
  const Variable exact_b(b.value().to(DType::f64), RequiresGrad::yes);
  const Gradients found = backward(sum(cdist(a, b)));
  const Gradients exact = backward(sum(cdist(exact_a, exact_b)));
  for (const auto& [x, reference] : {std::pair(a, exact_a), std::pair(b, exact_b)}) {
    // Sums of at most 16 unit vectors, each with a few roundings.
    const double largest = max(abs(sub(found.of(x).to(DType::f64), exact.of(reference)))).item();
    BOOST_TEST(largest < 16 * 4 * std::numeric_limits<float>::epsilon());
  }
  const Variable none(zeros({0, 2}), RequiresGrad::yes);
  BOOST_TEST((backward(sum(cdist(a, none))).of(a).shape() == Shape{8, 2}));
}

BOOST_AUTO_TEST_CASE(rows_without_columns_have_gradients_without_elements) {
  for (const double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    BOOST_TEST_CONTEXT("p " << p) {
      const Variable a = leaf({}, {3, 0});
      const Variable b = leaf({}, {2, 2, 0});
      const Variable distances = cdist(a, b, p);
      expect(distances.value(), {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, {2, 3, 2});
      const Gradients found = backward(sum(distances));
      BOOST_TEST((found.of(a).shape() == Shape{3, 0}));
      BOOST_TEST((found.of(b).shape() == Shape{2, 2, 0}));
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const std::vector<Variable> both{leaf({0.5, -1.0, 2.0, 1.5, 0.25, 3.0}, {2, 3}),
                                   leaf({1.0, 0.5, -2.0, 0.75, 2.0, -0.5, 1.25, -1.5, 0.0}, {3, 3})};
  expect_gradcheck([](Inputs v) { return tensordot(v[0], v[1], 1, 1); }, both);
  expect_gradcheck([](Inputs v) { return kron(v[0], v[1]); }, both);
  expect_gradcheck([](Inputs v) { return cross(v[0], select(v[1], 0, 1)); }, both);
  expect_gradcheck([](Inputs v) { return cross(transpose(v[0]), slice(v[1], 1, 0, 1), 0); }, both);
  for (const double p : {1.0, 2.0, 3.0}) {
    expect_gradcheck([p](Inputs v) { return cdist(v[0], v[1], p); }, both);
    expect_gradcheck([p](Inputs v) { return cdist(v[0], stack(std::vector<Variable>{v[1], v[1] * 2.0}), p); }, both);
  }
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operation) {
  const Variable x = leaf({1.0, 2.0}, {1, 2});
  expect_throw<ValueError>([&] { (void)cdist(x, x, -1.0); }, "[cdist] p not above 0: -1");
  expect_throw<ShapeError>([&] { (void)tensordot(x, x, 3); }, "[tensordot] 3 dimensions of (1, 2) and (1, 2)");
  expect_throw<ShapeError>([&] { (void)cross(x, x); }, "[cross] not of size 3 along -1: (1, 2) and (1, 2)");
}

BOOST_AUTO_TEST_SUITE_END()
