#include <cstdint>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_products)

BOOST_AUTO_TEST_CASE(tensordot_sums_over_pairs_of_dimensions) {
  const Tensor a = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor b = from_values<float>({1, 0, 2, 1, 1, 1}, {3, 2});
  expect_same(tensordot(a, b, 1), matmul(a, b));
  expect_same(tensordot(a, b, {0, 1}, {1, 0}), scalar(19.0F));  // 1*1 + 2*2 + 3*1 + 4*0 + 5*1 + 6*1
  expect_same(tensordot(a, a, 2), scalar(91.0F));               // 1 + 4 + 9 + 16 + 25 + 36
  expect_same(tensordot(a, from_values<float>({10, 20}), 0, 0),
              from_values<float>({90, 120, 150}));  // 1*10 + 4*20, ...
  expect_same(tensordot(a, from_values<float>({10, 20}), 0).select(2, 1), a * 20.0);
  BOOST_CHECK_EQUAL(tensordot(zeros({2, 0, 3}), zeros({0, 4}), 1, 0).shape(), (Shape{2, 3, 4}));
  BOOST_CHECK(tensordot(a.to(DType::i64), b.to(DType::i32), 1).dtype() == DType::i64);
  Generator g(1);
  expect_rounded(
      [](const Tensor& x, const Tensor& y) {
        return tensordot(x, y, {2, 0}, {0, 1});
      },
      randn({2, 3, 4}, g), randn({4, 2, 5}, g));
}

BOOST_AUTO_TEST_CASE(what_tensordot_cannot_sum_is_named) {
  const Tensor a = zeros({2, 3});
  const Tensor b = zeros({4, 5});
  expect_error<ShapeError>("[tensordot] 2 axes and 1", [&] { (void)tensordot(a, a, {0, 1}, 0); });
  expect_error<ShapeError>("[tensordot] sizes differ: 3 along 1 and 4 along 0", [&] { (void)tensordot(a, b, -1, 0); });
  expect_error<ShapeError>("[tensordot] dimension given twice: -1", [&] { (void)tensordot(a, a, {1, -1}, {0, 1}); });
  expect_error<ShapeError>("[tensordot] 3 dimensions of (2, 3) and (4, 5)", [&] { (void)tensordot(a, b, 3); });
  expect_error<ShapeError>("[tensordot] -1 dimensions of (2, 3) and (4, 5)", [&] { (void)tensordot(a, b, -1); });
  expect_error<TensorError>("[tensordot] tensor is undefined", [&] { (void)tensordot(a, Tensor()); });
}

BOOST_AUTO_TEST_CASE(kron_has_a_block_for_each_element) {
  const Tensor a = from_values<std::int64_t>({1, 2}, {1, 2});
  const Tensor b = from_values<std::int64_t>({1, 10, 100, 1000}, {2, 2});
  expect_same(kron(a, b), from_values<std::int64_t>({1, 10, 2, 20, 100, 1000, 200, 2000}, {2, 4}));
  expect_same(kron(b.transpose(), a), from_values<std::int64_t>({1, 2, 100, 200, 10, 20, 1000, 2000}, {2, 4}));
  expect_same(kron(from_values<std::int64_t>({3, 4}), b),
              from_values<std::int64_t>({3, 30, 4, 40, 300, 3000, 400, 4000}, {2, 4}));
  expect_same(kron(scalar(2.0F), scalar(3.0F)), scalar(6.0F));
  BOOST_CHECK_EQUAL(kron(zeros({0, 2}), zeros({3})).shape(), (Shape{0, 6}));
  expect_error<TensorError>("[kron] tensor is undefined", [&] { (void)kron(a, Tensor()); });
}

BOOST_AUTO_TEST_CASE(cross_is_at_right_angles_to_both) {
  const Tensor a = from_values<float>({1, 2, 3, 1, 0, 0}, {2, 3});
  const Tensor b = from_values<float>({4, 5, 6, 0, 1, 0}, {2, 3});
  // 2*6 - 3*5, 3*4 - 1*6, 1*5 - 2*4; x times y is z.
  const Tensor expected = from_values<float>({-3, 6, -3, 0, 0, 1}, {2, 3});
  expect_same(cross(a, b), expected);
  expect_same(cross(a.transpose(), b.transpose(), 0), expected.transpose());
  expect_same(cross(a, from_values<float>({0, 1, 0})), from_values<float>({-3, 0, 1, 0, 0, 1}, {2, 3}));
  BOOST_CHECK_EQUAL(cross(zeros({0, 3}), zeros({3})).shape(), (Shape{0, 3}));
  expect_error<ShapeError>("[cross] not of size 3 along -1: (2, 4) and (2, 4)", [] {
    (void)cross(zeros({2, 4}), zeros({2, 4}));
  });
  expect_error<ShapeError>("[cross] not of size 3 along 0: (3, 3) and (3)", [] {
    (void)cross(zeros({3, 3}), zeros({3}), 0);
  });
  expect_error<ShapeError>("[cross] shapes do not broadcast: (2, 3) and (4, 3)", [] {
    (void)cross(zeros({2, 3}), zeros({4, 3}));
  });
  expect_error<TensorError>("[cross] tensor is undefined", [] { (void)cross(zeros({3}), Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()
