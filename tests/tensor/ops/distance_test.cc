#include <cstdint>
#include <limits>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_distance)

BOOST_AUTO_TEST_CASE(cdist_gives_the_distance_of_every_pair_of_rows) {
  const Tensor a = from_values<float>({0, 0, 3, 4}, {2, 2});
  const Tensor b = from_values<float>({3, 4, 0, 0, 6, 8}, {3, 2});
  expect_same(cdist(a, b), from_values<float>({5, 0, 10, 0, 5, 5}, {2, 3}));
  expect_same(cdist(a, b, 1.0), from_values<float>({7, 0, 14, 0, 7, 7}, {2, 3}));
  expect_same(cdist(a, b, std::numeric_limits<double>::infinity()), from_values<float>({4, 0, 8, 0, 4, 4}, {2, 3}));
  expect_same(cdist(a.transpose(), a), cdist(a.transpose().contiguous(), a));
  expect_same(cdist(stack({a, b.slice(0, 1)}), b), stack({cdist(a, b), cdist(b.slice(0, 1), b)}));
  expect_same(cdist(a.to(DType::i32), b.to(DType::i64)), cdist(a, b));
  BOOST_CHECK_EQUAL(cdist(zeros({0, 2}), b).shape(), (Shape{0, 3}));
  BOOST_CHECK_EQUAL(cdist(zeros({4, 0, 2}), b, 1.0).shape(), (Shape{4, 0, 3}));
}

BOOST_AUTO_TEST_CASE(rows_without_columns_are_at_distance_0) {
  for (const double p : {0.5, 1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    BOOST_TEST_CONTEXT("p " << p) {
      expect_same(cdist(zeros({2, 0}), zeros({3, 0}), p), zeros({2, 3}));
      expect_same(cdist(zeros({4, 1, 2, 0}, DType::f64), zeros({5, 3, 0}, DType::f64), p),
                  zeros({4, 5, 2, 3}, DType::f64));
      BOOST_CHECK_EQUAL(cdist(zeros({0, 0}), zeros({3, 0}), p).shape(), (Shape{0, 3}));
    }
  }
}

BOOST_AUTO_TEST_CASE(many_rows_have_the_distances_of_few) {
  Generator g(2);
  const Tensor a = randn({300, 17}, g, DType::f64);
  const Tensor b = randn({260, 17}, g, DType::f64);
  for (const double p : {1.0, 2.0, 3.0}) {
    const Tensor all = cdist(a, b, p);
    for (const std::int64_t i : {0, 111, 280}) {
      // Sums of 17 terms in another order, or computed by products.
      expect_close(all.slice(0, i, i + 20).slice(1, 0, 20), cdist(a.slice(0, i, i + 20), b.slice(0, 0, 20), p), 1e-13);
    }
  }
  expect_same(cdist(full({30, 2}, 3), full({30, 2}, 3)), zeros({30, 30}));
}

BOOST_AUTO_TEST_CASE(distances_are_rounded_once_in_16_bits) {
  Generator g(3);
  for (const double p : {1.0, 2.0}) {
    expect_rounded([p](const Tensor& x, const Tensor& y) { return cdist(x, y, p); }, randn({7, 5}, g),
                   randn({30, 5}, g));
  }
}

BOOST_AUTO_TEST_CASE(what_has_no_distance_is_named) {
  expect_error<ShapeError>("[cdist] not matrices: (3) and (2, 3)", [] { (void)cdist(zeros({3}), zeros({2, 3})); });
  expect_error<ShapeError>("[cdist] columns differ: (2, 3) and (2, 4)", [] {
    (void)cdist(zeros({2, 3}), zeros({2, 4}));
  });
  expect_error<ValueError>("[cdist] p not above 0: 0", [] { (void)cdist(zeros({2, 3}), zeros({2, 3}), 0.0); });
  expect_error<TensorError>("[cdist] tensor is undefined", [] { (void)cdist(zeros({2, 3}), Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()
