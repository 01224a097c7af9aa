#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_matmul)

namespace {

// The product by its definition, in f64.
Tensor product_by_definition(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(DType::f64).unsqueeze(-1);  // (m, k, 1)
  const Tensor y = b.to(DType::f64).unsqueeze(0);   // (1, k, n)
  return sum(x * y, 1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_give_the_hand_values) {
  const Tensor a = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor b = from_values<float>({1, 4, 2, 5, 3, 6}, {3, 2});
  // 1*1 + 2*2 + 3*3, 1*4 + 2*5 + 3*6 / 4*1 + 5*2 + 6*3, 4*4 + 5*5 + 6*6
  const Tensor expected = from_values<float>({14, 32, 32, 77}, {2, 2});
  expect_same(matmul(a, b), expected);
  expect_same(matmul(a, a.transpose()), expected);
  expect_same(matmul(a.to(DType::f64), b.to(DType::f64)), expected.to(DType::f64));
  expect_same(matmul(a.to(DType::i64), b.to(DType::i64)), expected.to(DType::i64));
}

BOOST_AUTO_TEST_CASE(vectors_are_rows_on_the_left_and_columns_on_the_right) {
  const Tensor v = from_values<float>({1, 2});
  const Tensor m = from_values<float>({3, 4, 5, 6}, {2, 2});
  expect_same(matmul(v, v), scalar(5.0F));                  // 1*1 + 2*2
  expect_same(matmul(v, m), from_values<float>({13, 16}));  // 1*3 + 2*5, 1*4 + 2*6
  expect_same(matmul(m, v), from_values<float>({11, 17}));  // 3*1 + 4*2, 5*1 + 6*2
  BOOST_CHECK_EQUAL(matmul(zeros({4, 2, 3}), zeros({3})).shape(), (Shape{4, 2}));
  BOOST_CHECK_EQUAL(matmul(zeros({2}), zeros({4, 2, 3})).shape(), (Shape{4, 3}));
}

BOOST_AUTO_TEST_CASE(batches_broadcast) {
  Generator g(1);
  const Tensor a = randn({3, 1, 2, 4}, g, DType::f64);
  const Tensor b = randn({5, 4, 6}, g, DType::f64);
  const Tensor c = matmul(a, b);
  BOOST_CHECK_EQUAL(c.shape(), (Shape{3, 5, 2, 6}));
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) {
      expect_close(c.select(0, i).select(0, j), product_by_definition(a.select(0, i).select(0, 0), b.select(0, j)),
                   1e-13, 1e-14);
    }
  }
  const Tensor w = randn({4, 6}, g, DType::f64);
  expect_close(matmul(a, w).select(0, 2).select(0, 0), product_by_definition(a.select(0, 2).select(0, 0), w), 1e-13,
               1e-14);
  expect_close(matmul(a.transpose(0, 2), w).select(0, 1).select(0, 0),
               product_by_definition(a.select(2, 1).select(1, 0), w), 1e-13, 1e-14);
}

BOOST_AUTO_TEST_CASE(every_layout_gives_the_product) {
  Generator g(2);
  for (const std::int64_t size : {3, 50}) {  // sizes for OpenBLAS and for oneDNN
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor a = randn({size, size + 1}, g, dtype);
      const Tensor b = randn({size + 1, size + 2}, g, dtype);
      const Tensor expected = product_by_definition(a, b).to(dtype);
      // Sums of at most 51 products of numbers of about 1: 51 roundings of 2^-24 or 2^-53.
      const double atol = dtype == DType::f32 ? 4e-5 : 1e-13;
      const Tensor wide_a = concat({a, a}, 1).slice(1, 0, size + 1);
      const Tensor spread_a = stack({a, a}, 2).select(2, 0);  // neither stride is 1
      const Tensor turned_a = a.transpose().contiguous().transpose();
      const Tensor turned_b = b.transpose().contiguous().transpose();
      for (const Tensor& x : {a, wide_a, spread_a, turned_a}) {
        expect_close(matmul(x, b), expected, 0, atol);
        expect_close(matmul(x, turned_b), expected, 0, atol);
      }
      const Tensor row = a.slice(0, 0, 1);
      expect_close(matmul(row, turned_b), expected.slice(0, 0, 1), 0, atol);
      expect_close(matmul(a, b.slice(1, 0, 1)), expected.slice(1, 0, 1), 0, atol);
      expect_close(matmul(row.select(0, 0).expand({2, size + 1}), b), expected.slice(0, 0, 1).expand({2, size + 2}), 0,
                   atol);
    }
  }
}

BOOST_AUTO_TEST_CASE(empty_products_are_zero) {
  expect_same(matmul(zeros({2, 0}), zeros({0, 3})), zeros({2, 3}));
  BOOST_CHECK_EQUAL(matmul(zeros({0, 4}), zeros({4, 3})).shape(), (Shape{0, 3}));
  BOOST_CHECK_EQUAL(matmul(zeros({0, 2, 4}), zeros({4, 3})).shape(), (Shape{0, 2, 3}));
  BOOST_CHECK_EQUAL(matmul(zeros({0, 2, 4}), zeros({1, 4, 3})).shape(), (Shape{0, 2, 3}));
  expect_same(matmul(zeros({0}), zeros({0})), scalar(0.0F));
}

BOOST_AUTO_TEST_CASE(operands_that_do_not_fit_are_refused) {
  expect_error<ShapeError>("[matmul] inner sizes differ: (8, 4) x (5, 1)", [] {
    (void)matmul(zeros({8, 4}), zeros({5, 1}));
  });
  expect_error<ShapeError>("[matmul] inner sizes differ: (3) x (2)", [] { (void)matmul(zeros({3}), zeros({2})); });
  expect_error<ShapeError>("[matmul] a scalar has no columns: () x (3)",
                           [] { (void)matmul(scalar(1.0F), zeros({3})); });
  expect_error<ShapeError>("[matmul] shapes do not broadcast: (2) and (3)", [] {
    (void)matmul(zeros({2, 4, 4}), zeros({3, 4, 4}));
  });
  expect_error<TensorError>("[matmul] tensor is undefined", [] { (void)matmul(zeros({1, 1}), Tensor()); });
}

BOOST_AUTO_TEST_CASE(products_of_a_batch_are_the_same_on_any_number_of_threads) {
  Generator g(5);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor a = randn({6, 1, 40, 30}, g, dtype);
    const Tensor b = randn({1, 7, 20, 30}, g, dtype).transpose();
    const auto products = [&](int threads) {
      const MathThreads guard(threads);
      return matmul(a, b);
    };
    const Tensor on_one = products(1);
    // With more threads than products, each product still runs on one thread because it is small.
    for (const int threads : {2, 3, 43}) expect_same(products(threads), on_one);
    expect_close(on_one.select(0, 5).select(0, 6), matmul(a.select(0, 5).select(0, 0), b.select(0, 0).select(0, 6)),
                 1e-5, 1e-6);
  }
  const Tensor large = randn({5, 90, 90}, g);  // oneDNN computes it, inside one of our threads
  const auto squares = [&](int threads) {
    const MathThreads guard(threads);
    return bmm(large, large);
  };
  for (const int threads : {2, 3, 5}) expect_same(squares(threads), squares(1));
}

BOOST_AUTO_TEST_CASE(a_long_sum_of_products_keeps_its_digits) {
  const Tensor x = full({1000000}, 0.1);
  const Tensor expected = full({}, 1e6 * static_cast<double>(0.1F));
  expect_close(dot(x, ones({1000000})), expected, 2e-5);
  expect_close(mv(x.expand({3, 1000000}), ones({1000000})), expected.expand({3}), 2e-5);
}

BOOST_AUTO_TEST_CASE(a_product_repeats_bit_for_bit) {
  Generator g(3);
  const MathThreads one(1);
  const Tensor a = randn({100, 70}, g);
  const Tensor b = randn({70, 90}, g);
  const Tensor first = matmul(a, b);
  for (int i = 0; i < 10; ++i) expect_same(matmul(a, b), first);
}

BOOST_AUTO_TEST_CASE(floats_of_16_bits_are_multiplied_in_f32_and_rounded_once) {
  Generator g(9);
  const auto product = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  expect_rounded(product, randn({40, 50}, g), randn({50, 30}, g));
  expect_rounded(product, randn({2, 1, 3, 4}, g), randn({5, 4, 3}, g));
  expect_rounded(product, randn({5}, g), randn({5}, g));
  expect_rounded(product, randn({3, 0}, g), randn({0, 2}, g));
  expect_same(matmul(ones({1, 5000}, DType::f16), ones({5000, 1}, DType::f16)), full({1, 1}, 5000, DType::f16));
  BOOST_CHECK(matmul(ones({2, 2}, DType::bf16), ones({2, 2}, DType::f16)).dtype() == DType::f32);
  BOOST_CHECK(matmul(ones({2, 2}, DType::bf16), ones({2, 2}, DType::i8)).dtype() == DType::bf16);
  BOOST_CHECK(matmul(ones({2, 2}, DType::i16), ones({2, 2}, DType::i8)).dtype() == DType::i16);
}

BOOST_AUTO_TEST_CASE(the_other_products_give_the_hand_values) {
  const Tensor a = from_values<float>({1, 2, 3, 4}, {2, 2});
  const Tensor b = from_values<float>({5, 6, 7, 8}, {2, 2});
  const Tensor v = from_values<float>({10, 20});
  // 1*5 + 2*7, 1*6 + 2*8 / 3*5 + 4*7, 3*6 + 4*8
  const Tensor product = from_values<float>({19, 22, 43, 50}, {2, 2});
  expect_same(bmm(stack({a, b}), stack({b, a})),
              stack({product, from_values<float>({23, 34, 31, 46}, {2, 2})}));  // 5*1 + 6*3, 5*2 + 6*4 / 7*1 + 8*3, ...
  expect_same(mv(a, v), from_values<float>({50, 110}));                         // 1*10 + 2*20, 3*10 + 4*20
  expect_same(dot(v, from_values<float>({3, 4})), scalar(110.0F));              // 10*3 + 20*4
  expect_same(outer(v, from_values<float>({1, 2, 3})), from_values<float>({10, 20, 30, 20, 40, 60}, {2, 3}));
  expect_same(outer(from_values<std::int64_t>({2}), from_values<std::int64_t>({3})),
              from_values<std::int64_t>({6}, {1, 1}));
  // 19 + 10, 22 + 20 / 43 + 10, 50 + 20
  expect_same(addmm(v, a, b), from_values<float>({29, 42, 53, 70}, {2, 2}));
  // 2*19 + 10/2, 2*22 + 20/2 / 2*43 + 10/2, 2*50 + 20/2
  const Tensor halves = from_values<float>({43, 54, 91, 110}, {2, 2});
  expect_same(addmm(v, a, b, 0.5, 2.0), halves);
  expect_same(baddbmm(v, stack({a, a}), stack({b, b}), 0.5, 2.0), stack({halves, halves}));
}

BOOST_AUTO_TEST_CASE(a_beta_of_0_ignores_the_summand) {
  const Tensor a = ones({2, 3});
  const Tensor b = ones({3, 2});
  const Tensor nothing = full({}, std::numeric_limits<double>::quiet_NaN());
  expect_same(addmm(nothing, a, b, 0.0), full({2, 2}, 3.0));
  expect_same(addmm(nothing, a, b, 0.0, 0.5), full({2, 2}, 1.5));
  BOOST_CHECK(std::isnan(addmm(nothing, a, b, 1.0).select(0, 0).select(0, 0).item()));
}

BOOST_AUTO_TEST_CASE(the_other_products_read_any_layout_and_dtype) {
  Generator g(11);
  const Tensor a = randn({4, 3, 5}, g, DType::f64);
  const Tensor b = randn({4, 5, 2}, g, DType::f64);
  const Tensor turned = b.transpose().contiguous().transpose();
  expect_close(bmm(a, turned), matmul(a, b), 1e-13, 1e-14);
  const Tensor column = b.select(2, 1).select(0, 0);
  expect_close(mv(a.select(0, 0), column), matmul(a.select(0, 0), column.contiguous()), 1e-13, 1e-14);
  expect_close(addmm(column.slice(0, 0, 3).unsqueeze(1), a.select(0, 0), turned.select(0, 0)),
               matmul(a.select(0, 0), b.select(0, 0)) + column.slice(0, 0, 3).unsqueeze(1), 1e-13, 1e-14);
  BOOST_CHECK(dot(ones({2}, DType::i64), ones({2}, DType::i32)).dtype() == DType::i64);
  BOOST_CHECK(addmm(ones({1}, DType::f64), ones({1, 1}), ones({1, 1})).dtype() == DType::f64);
  BOOST_CHECK_EQUAL(bmm(zeros({0, 2, 3}), zeros({0, 3, 4})).shape(), (Shape{0, 2, 4}));
  expect_same(addmm(ones({2, 2}), zeros({2, 0}), zeros({0, 2}), 3.0), full({2, 2}, 3.0));
  expect_same(baddbmm(ones({3, 2, 2}), zeros({3, 2, 0}), zeros({3, 0, 2}), 3.0), full({3, 2, 2}, 3.0));
  BOOST_CHECK_EQUAL(baddbmm(ones({4}), zeros({0, 2, 3}), zeros({0, 3, 4})).shape(), (Shape{0, 2, 4}));
  expect_same(dot(zeros({0}), zeros({0})), scalar(0.0F));
  BOOST_CHECK_EQUAL(outer(zeros({0}), zeros({3})).shape(), (Shape{0, 3}));
}

BOOST_AUTO_TEST_CASE(the_other_products_are_rounded_once_in_16_bits) {
  Generator g(12);
  const Tensor m = randn({7, 9}, g);
  const Tensor v = randn({9}, g);
  expect_rounded([](const Tensor& a, const Tensor& b) { return bmm(a, b); }, randn({2, 7, 9}, g), randn({2, 9, 3}, g));
  expect_rounded([](const Tensor& c, const Tensor& a, const Tensor& b) { return addmm(c, a, b, 0.3, 1.7); },
                 randn({7, 3}, g), m, randn({9, 3}, g));
  expect_rounded([](const Tensor& c, const Tensor& a, const Tensor& b) { return baddbmm(c, a, b, 0.3, 1.7); },
                 randn({7, 3}, g), randn({2, 7, 9}, g), randn({2, 9, 3}, g));
  expect_rounded([](const Tensor& a, const Tensor& b) { return mv(a, b); }, m, v);
  expect_rounded([](const Tensor& a, const Tensor& b) { return dot(a, b); }, v, v);
  expect_rounded([](const Tensor& a, const Tensor& b) { return outer(a, b); }, v, v);
}

BOOST_AUTO_TEST_CASE(the_other_products_refuse_what_does_not_fit) {
  expect_error<ShapeError>("[bmm] not 3 dimensions: (2, 3)", [] { (void)bmm(zeros({2, 3}), zeros({2, 3, 4})); });
  expect_error<ShapeError>("[bmm] batches differ: (2, 3, 4) x (3, 4, 5)", [] {
    (void)bmm(zeros({2, 3, 4}), zeros({3, 4, 5}));
  });
  expect_error<ShapeError>("[bmm] inner sizes differ: (2, 3, 4) x (2, 3, 4)", [] {
    (void)bmm(zeros({2, 3, 4}), zeros({2, 3, 4}));
  });
  expect_error<ShapeError>("[addmm] not 2 dimensions: (3)", [] {
    (void)addmm(zeros({2, 2}), zeros({2, 3}), zeros({3}));
  });
  expect_error<ShapeError>("[addmm] (3) does not broadcast to (2, 4)", [] {
    (void)addmm(zeros({3}), zeros({2, 3}), zeros({3, 4}));
  });
  expect_error<ShapeError>("[baddbmm] not 3 dimensions: (2, 3)", [] {
    (void)baddbmm(zeros({2}), zeros({2, 3}), zeros({2, 3, 4}));
  });
  expect_error<ShapeError>("[baddbmm] batches differ: (2, 3, 4) x (3, 4, 5)", [] {
    (void)baddbmm(zeros({5}), zeros({2, 3, 4}), zeros({3, 4, 5}));
  });
  expect_error<ShapeError>("[baddbmm] (3, 1, 1) does not broadcast to (2, 3, 5)", [] {
    (void)baddbmm(zeros({3, 1, 1}), zeros({2, 3, 4}), zeros({2, 4, 5}));
  });
  expect_error<TensorError>("[addmm] tensor is undefined", [] { (void)addmm({}, zeros({2, 3}), zeros({3, 4})); });
  expect_error<ShapeError>("[dot] not 1 dimensions: (2, 3)", [] { (void)dot(zeros({2, 3}), zeros({3})); });
  expect_error<ShapeError>("[dot] inner sizes differ: (3) x (2)", [] { (void)dot(zeros({3}), zeros({2})); });
  expect_error<ShapeError>("[mv] not 2 dimensions: (3)", [] { (void)mv(zeros({3}), zeros({3})); });
  expect_error<ShapeError>("[mv] inner sizes differ: (2, 3) x (2)", [] { (void)mv(zeros({2, 3}), zeros({2})); });
  expect_error<ShapeError>("[outer] not 1 dimensions: (2, 3)", [] { (void)outer(zeros({3}), zeros({2, 3})); });
}

BOOST_AUTO_TEST_SUITE_END()
