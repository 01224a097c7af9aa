#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_reduce)

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// 1 2 3 / 4 5 6
Tensor two_by_three() { return from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}); }

}  // namespace

BOOST_AUTO_TEST_CASE(sums_give_the_hand_values) {
  const Tensor x = two_by_three();
  expect_same(sum(x), scalar(21.0F));
  expect_same(sum(x, 0), from_values<float>({5, 7, 9}));  // 1+4, 2+5, 3+6
  expect_same(sum(x, -1), from_values<float>({6, 15}));   // 1+2+3, 4+5+6
  expect_same(sum(x, 1, KeepDim::yes), from_values<float>({6, 15}, {2, 1}));
  expect_same(sum(x, {0, 1}), scalar(21.0F));
  expect_same(sum(x, {0, 1}, KeepDim::yes), from_values<float>({21}, {1, 1}));
  expect_same(sum(x, std::vector<int>{}), x);
  expect_same(sum(scalar(3.0F)), scalar(3.0F));
}

BOOST_AUTO_TEST_CASE(integers_and_booleans_sum_to_i64) {
  expect_same(sum(from_values<std::uint8_t>({200, 100})), scalar<std::int64_t>(300));
  expect_same(sum(from_values<bool>({true, false, true})), scalar<std::int64_t>(2));
  expect_same(sum(from_values<std::int32_t>({-5, 2})), scalar<std::int64_t>(-3));
}

BOOST_AUTO_TEST_CASE(means_divide_by_the_number_of_elements) {
  expect_same(mean(two_by_three()), scalar(3.5F));  // 21 / 6
  expect_same(mean(two_by_three(), 0), from_values<float>({2.5, 3.5, 4.5}));
  expect_same(mean(from_values<std::int64_t>({1, 2})), scalar(1.5F));
}

BOOST_AUTO_TEST_CASE(extremes_give_the_hand_values_and_pass_nan_on) {
  const Tensor x = from_values<float>({3, -7, 5, 1, 9, -2}, {2, 3});
  expect_same(max(x), scalar(9.0F));
  expect_same(min(x), scalar(-7.0F));
  expect_same(max(x, 0), from_values<float>({3, 9, 5}));
  expect_same(min(x, 1, KeepDim::yes), from_values<float>({-7, -2}, {2, 1}));
  expect_same(max(from_values<float>({-kInf, -kInf})), scalar(-kInf));
  BOOST_CHECK(max(from_values<float>({1, kNan, 2, 3, 4, 5})).item() != max(from_values<float>({1, kNan})).item());
  expect_same(max(from_values<std::int64_t>({-3, -2})), scalar<std::int64_t>(-2));
  expect_same(max(from_values<bool>({false, true})), scalar(true));
  expect_same(min(from_values<bool>({false, true})), scalar(false));
}

BOOST_AUTO_TEST_CASE(argmax_is_the_first_of_the_largest) {
  const Tensor x = from_values<float>({1, 5, 5, 7, 2, 7}, {2, 3});
  expect_same(argmax(x, 1), from_values<std::int64_t>({1, 0}));
  expect_same(argmax(x, 0), from_values<std::int64_t>({1, 0, 1}));
  expect_same(argmax(x, -1, KeepDim::yes), from_values<std::int64_t>({1, 0}, {2, 1}));
  expect_same(argmax(from_values<float>({1, kNan, 9, kNan}), 0), scalar<std::int64_t>(1));
}

BOOST_AUTO_TEST_CASE(logsumexp_neither_overflows_nor_loses_infinities) {
  // log(e^1000 + e^1000) = 1000 + log 2
  expect_close(logsumexp(from_values<double>({1000, 1000}), 0), scalar(1000.6931471805599), 1e-15);
  expect_same(logsumexp(from_values<float>({-kInf, -kInf}), 0), scalar(-kInf));
  expect_same(logsumexp(from_values<float>({kInf, 0}), 0), scalar(kInf));
  BOOST_CHECK_EQUAL(logsumexp(zeros({2, 3, 4}), {0, 2}).shape(), Shape{3});
  BOOST_CHECK_EQUAL(logsumexp(zeros({2, 3, 4}), 1, KeepDim::yes).shape(), (Shape{2, 1, 4}));
}

BOOST_AUTO_TEST_CASE(empty_reductions_are_zero_nan_or_an_error) {
  expect_same(sum(zeros({0, 3})), scalar(0.0F));
  expect_same(sum(zeros({0, 3}), 0), zeros({3}));
  BOOST_CHECK_EQUAL(sum(zeros({0, 3}), 1).shape(), Shape{0});
  const double mean_of_nothing = mean(zeros({0})).item();
  BOOST_CHECK(mean_of_nothing != mean_of_nothing);
  BOOST_CHECK_EQUAL(max(zeros({0, 3}), 1).shape(), Shape{0});
  expect_error<ShapeError>("[max] no elements: (0, 3)", [] { (void)max(zeros({0, 3}), 0); });
  expect_error<ShapeError>("[min] no elements: (0)", [] { (void)min(zeros({0})); });
  expect_error<ShapeError>("[argmax] no elements: (2, 0)", [] { (void)argmax(zeros({2, 0}), 1); });
}

BOOST_AUTO_TEST_CASE(wrong_dimensions_are_refused) {
  expect_error<ShapeError>("[sum] dimension given twice: -1", [] { (void)sum(zeros({2, 3}), {1, -1}); });
  expect_error<ShapeError>("[mean] dimension out of range: 2 of (2, 3)", [] { (void)mean(zeros({2, 3}), 2); });
  expect_error<ShapeError>("[argmax] dimension out of range: 0 of ()", [] { (void)argmax(scalar(1.0F), 0); });
  expect_error<TensorError>("[sum] tensor is undefined", [] { (void)sum(Tensor()); });
}

BOOST_AUTO_TEST_CASE(sum_to_reverses_broadcasting) {
  const Tensor x = two_by_three();
  expect_same(sum_to(x, {3}), from_values<float>({5, 7, 9}));
  expect_same(sum_to(x, {2, 1}), from_values<float>({6, 15}, {2, 1}));
  expect_same(sum_to(x, {1, 3}), from_values<float>({5, 7, 9}, {1, 3}));
  expect_same(sum_to(x, {}), scalar(21.0F));
  BOOST_CHECK(sum_to(x, {2, 3}).storage().same_as(x.storage()));
  expect_error<ShapeError>("[sum_to] (4) does not broadcast to (2, 3)", [&] { (void)sum_to(x, {4}); });
}

BOOST_AUTO_TEST_CASE(sums_have_the_same_bits_for_every_layout_and_number_of_threads) {
  Generator g(1);
  const Tensor x = randn({37, 300, 11}, g, DType::f64);
  const Tensor copy = x.permute({2, 0, 1}).contiguous().permute({1, 2, 0});
  BOOST_REQUIRE(!copy.is_contiguous());
  const MathThreads one(1);
  const auto all = [](const Tensor& t) {
    return std::vector<Tensor>{sum(t), sum(t, 0), sum(t, 1), sum(t, 2), sum(t, {0, 2}), sum(t, {1, 2}), sum(t, {0, 1})};
  };
  const std::vector<Tensor> expected = all(x);
  const MathThreads three(3);
  const std::vector<Tensor> got = all(copy);
  for (std::size_t i = 0; i < got.size(); ++i) expect_same(got[i], expected[i]);
}

BOOST_AUTO_TEST_CASE(long_f32_sums_do_not_lose_small_elements) {
  // A sum in f32 would stay at 2^24.
  expect_same(sum(ones({(1 << 24) + 10})), scalar(16777226.0F));
}

BOOST_AUTO_TEST_CASE(floats_of_16_bits_are_summed_wide_and_rounded_once) {
  // Added one by one in f16, 2048 + 1 is 2048.
  expect_same(sum(ones({5000}, DType::f16)), scalar(Half(5000)));
  expect_same(mean(ones({5000}, DType::bf16)), scalar(BFloat16(1)));
  expect_same(sum(full({3}, 40000.0, DType::f16)), scalar(Half(std::numeric_limits<float>::infinity())));
  expect_same(mean(full({3}, 40000.0, DType::f16)), scalar(Half(40000)));
  // The sum is slightly above 2049. An f32 would round it to 2049, a tie, and then to 2048.
  expect_same(sum(from_values<Half>({Half(2048), Half(1), Half(0x1p-24)})), scalar(Half(2050)));
  Generator g(5);
  const Tensor x = randn({5, 301, 7}, g);
  for (const DType dtype : kDTypesOf16BitFloats) {
    for (const Tensor& view : {x.to(dtype), x.to(dtype).transpose(0, 1), x.to(dtype).slice(1, 1, 300, 3)}) {
      for (const Axes& axes : {Axes{0}, Axes{1}, Axes{2}, Axes{0, 1}, Axes{0, 2}, Axes{0, 1, 2}}) {
        const Tensor wide = view.to(DType::f64);
        expect_same(sum(view, axes), sum(wide, axes).to(dtype));
        expect_same(mean(view, axes), mean(wide, axes).to(dtype));
        expect_same(max(view, axes), max(wide, axes).to(dtype));
        expect_same(min(view, axes, KeepDim::yes), min(wide, axes, KeepDim::yes).to(dtype));
      }
      for (int dim = 0; dim < 3; ++dim) expect_same(argmax(view, dim), argmax(view.to(DType::f32), dim));
    }
  }
  expect_rounded([](const Tensor& a) { return logsumexp(a, {0, 2}); }, x);
  BOOST_CHECK(std::isnan(max(from_values<Half>({Half(1), Half(kNan)})).item()));
  expect_same(argmax(from_values<BFloat16>({BFloat16(2), BFloat16(kNan), BFloat16(3)}), 0), scalar<std::int64_t>(1));
}

BOOST_AUTO_TEST_CASE(small_integers_reduce_as_large_ones_do) {
  const Tensor x = arange(1400).to(DType::i8).reshape({2, 350, 2});
  const Tensor wide = x.to(DType::i64);
  for (const Axes& axes : {Axes{0}, Axes{1}, Axes{2}, Axes{0, 2}, Axes{0, 1, 2}}) {
    expect_same(sum(x, axes), sum(wide, axes));
    expect_same(max(x, axes), max(wide, axes).to(DType::i8));
    expect_same(min(x, axes), min(wide, axes).to(DType::i8));
  }
  expect_same(argmax(x, 1), argmax(wide, 1));
  expect_same(sum(from_values<std::int16_t>({32767, 32767, -1})), scalar<std::int64_t>(65533));
  expect_same(mean(from_values<std::int8_t>({127, 126})), scalar(126.5F));
}

BOOST_AUTO_TEST_CASE(prod_multiplies) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(prod(x), scalar<float>(720));
  expect_same(prod(x, 0), from_values<float>({4, 10, 18}));
  expect_same(prod(x.transpose(), -1, KeepDim::yes), from_values<float>({4, 10, 18}, {3, 1}));
  expect_same(prod(from_values<std::uint8_t>({100, 3})), scalar<std::int64_t>(300));
  expect_same(prod(zeros({0, 2}), 0), ones({2}));
  // 2^60 * 2^10 wraps around to 0.
  expect_same(prod(from_values<std::int64_t>({std::int64_t{1} << 60, 1024})), scalar<std::int64_t>(0));
}

BOOST_AUTO_TEST_CASE(any_and_all_ask_whether_elements_are_not_0) {
  const Tensor x = from_values<float>({0, 2, 0, std::numeric_limits<float>::quiet_NaN(), -1, 0.5F}, {2, 3});
  expect_same(any(x, 0), from_values<bool>({true, true, true}));
  expect_same(all(x, 0), from_values<bool>({false, true, false}));
  expect_same(all(x, 1, KeepDim::yes), from_values<bool>({false, true}, {2, 1}));
  expect_same(any(zeros({3})), scalar<bool>(false));
  expect_same(all(ones({3}, DType::i8)), scalar<bool>(true));
  expect_same(any(zeros({0})), scalar<bool>(false));
  expect_same(all(zeros({0})), scalar<bool>(true));
}

BOOST_AUTO_TEST_CASE(argmin_is_the_first_of_the_smallest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = from_values<float>({3, 1, 1, 2, nan, 0, nan, 5, 7}, {3, 3});
  expect_same(argmin(x, 1), from_values<std::int64_t>({1, 1, 0}));
  expect_same(argmax(x, 1), from_values<std::int64_t>({0, 1, 0}));
  expect_same(argmin(from_values<std::uint8_t>({200, 3}), 0), scalar<std::int64_t>(1));
  expect_error<ShapeError>("[argmin] no elements: (0, 3)", [] { (void)argmin(zeros({0, 3}), 0); });
}

BOOST_AUTO_TEST_CASE(var_is_of_the_distances_from_the_mean) {
  const Tensor x = from_values<double>({1, 2, 3, 4, 5, 9}, {2, 3});
  expect_close(var(x, 1), from_values<double>({1, 7}), 1e-15);  // (1 + 0 + 1) / 2, (4 + 1 + 9) / 2
  expect_close(var(x, 1, 0), from_values<double>({2.0 / 3, 14.0 / 3}), 1e-15);
  expect_close(var(x), scalar<double>(8), 1e-15);  // mean 4: (9+4+1+0+1+25) / 5
  expect_close(stddev(x, 0, 0, KeepDim::yes), from_values<double>({1.5, 1.5, 3}, {1, 3}), 1e-15);
  expect_close(stddev(x, 1), from_values<double>({1, 2.6457513110645906}), 1e-15);
  expect_same(isnan(var(ones({3, 1}), 1)), ones({3}, DType::boolean));
  BOOST_CHECK(var(from_values<std::int32_t>({1, 2})).dtype() == DType::f32);
  expect_same(var(from_values<float>({1, 2, 3}).to(DType::f16)), scalar<float>(1).to(DType::f16));
}

BOOST_AUTO_TEST_CASE(the_mean_that_var_subtracts_need_not_be_of_the_dtype) {
  const Tensor x = from_values<float>({1e8F, 1e8F + 8});  // the mean is 1e8 + 4, the f32 beside 1e8 is 1e8 + 8
  expect_same(var(x, 0), scalar(32.0F));                  // (16 + 16) / 1
  expect_same(stddev(x, 0, 0), scalar(4.0F));
  expect_same(var(from_values<double>({1e16, 1e16 + 2}), 0), scalar(2.0));
  expect_same(var(from_values<std::int32_t>({100000000, 100000008}), 0), scalar(32.0F));
  Generator generator(3);
  const Tensor wide = round(rand({40, 33}, generator, DType::f64) * 20.0) * 8.0 + 1e8;
  for (const Axes& axes : {Axes{0}, Axes{1}, Axes{0, 1}})
    expect_close(var(wide.to(DType::f32), axes), var(wide, axes).to(DType::f32), 1e-6);
}

BOOST_AUTO_TEST_CASE(var_of_what_is_not_finite_or_has_too_large_squares) {
  const float most = std::numeric_limits<float>::max();
  expect_same(isnan(var(from_values<float>({1, kInf, 3, kNan, 2, 4}, {3, 2}), 1)),
              from_values<bool>({true, true, false}));
  for (const Tensor& x : {from_values<float>({3e38F, 1e38F}), from_values<float>({most, -most, -most})})
    expect_same(var(x), scalar(kInf));
}

BOOST_AUTO_TEST_CASE(squares_beyond_f32_do_not_keep_var_and_stddev_from_being_f32) {
  // The mean is 2/3, the distances 1/3, -5/3, 4/3: sqrt(42 / 9 / 2) = 1.5275.
  const Tensor tiny = from_values<float>({1e-23F, -1e-23F, 2e-23F});
  expect_close(stddev(tiny), scalar(1.5275252e-23F), 1e-6);
  expect_close(stddev(tiny.to(DType::bf16)), scalar(1.5275252e-23F).to(DType::bf16), 0.01);
  expect_close(stddev(from_values<float>({3e19F, -3e19F})), scalar(4.2426407e19F), 1e-6);  // 3 sqrt(2)
  const Tensor far = concat({zeros({1000}), from_values<float>({2e19F})}, 0);
  expect_close(var(far), scalar(3.996004e35F), 1e-6);  // (4 - 4 / 1001) / 1000
}

BOOST_AUTO_TEST_CASE(norm_is_the_length) {
  const Tensor x = from_values<double>({3, -4, 0, 0, 5, -12}, {3, 2});
  expect_close(norm(x, 2, 1), from_values<double>({5, 0, 13}), 1e-15);
  expect_close(norm(x, 1, 1, KeepDim::yes), from_values<double>({7, 0, 17}, {3, 1}), 1e-15);
  expect_close(norm(x, std::numeric_limits<double>::infinity(), 0), from_values<double>({5, 12}), 1e-15);
  expect_close(norm(x, 3, 0), from_values<double>({5.336803297443889, 12.146355887502649}),
               1e-14);                                              // 152^(1/3), 1792^(1/3)
  expect_close(norm(x), scalar<double>(13.92838827718412), 1e-14);  // sqrt(194)
  expect_error<ValueError>("[norm] p not above 0: 0", [&] { (void)norm(x, 0); });
}

BOOST_AUTO_TEST_CASE(count_nonzero_counts_what_is_not_0) {
  const Tensor x = from_values<float>({0, 2, -0.0F, 1, 0, std::numeric_limits<float>::quiet_NaN()}, {2, 3});
  expect_same(count_nonzero(x), scalar<std::int64_t>(3));
  expect_same(count_nonzero(x, 1), from_values<std::int64_t>({1, 2}));
  expect_same(count_nonzero(x.transpose(), 0, KeepDim::yes), from_values<std::int64_t>({1, 2}, {1, 2}));
  expect_same(count_nonzero(zeros({0})), scalar<std::int64_t>(0));
  expect_error<TensorError>("[count_nonzero] tensor is undefined", [] { (void)count_nonzero(Tensor()); });
  expect_error<ShapeError>("[count_nonzero] dimension given twice: 0", [&] { (void)count_nonzero(x, {0, 0}); });
}

BOOST_AUTO_TEST_CASE(without_a_dimension_the_place_is_that_in_row_major_order) {
  const Tensor x = from_values<float>({1, 5, 5, 0}, {2, 2});
  expect_same(argmax(x), full({}, 1, DType::i64));
  expect_same(argmin(x), full({}, 3, DType::i64));
  expect_same(argmax(x.transpose()), full({}, 1, DType::i64));
  expect_same(argmax(scalar(3.0F)), full({}, 0, DType::i64));
  expect_error<ShapeError>("[argmax] no elements: (0, 2)", [] { (void)argmax(zeros({0, 2})); });
  expect_error<TensorError>("[argmin] tensor is undefined", [] { (void)argmin(Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()
