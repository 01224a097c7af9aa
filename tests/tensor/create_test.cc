#include "tensor/create.h"

#include <limits>

#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(create)

BOOST_AUTO_TEST_CASE(constant_tensors_hold_their_constant) {
  expect_same(zeros({2, 2}), from_values<float>({0, 0, 0, 0}, {2, 2}));
  expect_same(ones({2}, DType::i64), from_values<std::int64_t>({1, 1}));
  expect_same(full({2}, 2.5, DType::f64), from_values<double>({2.5, 2.5}));
  expect_same(full({}, 1.0, DType::boolean), scalar(true));
  expect_same(zeros_like(from_values<std::uint8_t>({1, 2})), zeros({2}, DType::u8));
  expect_same(ones_like(from_values<double>({1, 2})), ones({2}, DType::f64));
  expect_same(full_like(from_values<std::int32_t>({1, 2}), 7), full({2}, 7, DType::i32));
  BOOST_CHECK_EQUAL(empty_like(zeros({2, 0}, DType::u8)).shape(), (Shape{2, 0}));
  BOOST_CHECK(empty_like(zeros({2}, DType::u8)).dtype() == DType::u8);
}

BOOST_AUTO_TEST_CASE(random_numbers_like_a_tensor_are_those_of_its_shape_and_dtype) {
  const Tensor x = zeros({2, 3}, DType::f64);
  Generator g(4);
  Generator same(4);
  expect_same(rand_like(x, g), rand({2, 3}, same, DType::f64));
  expect_same(randn_like(x, g), randn({2, 3}, same, DType::f64));
  expect_error<DTypeError>("[rand] needs a floating dtype: i64", [&] { (void)rand_like(zeros({2}, DType::i64), g); });
  expect_error<TensorError>("[randn_like] tensor is undefined", [&] { (void)randn_like(Tensor(), g); });
  expect_error<TensorError>("[rand_like] tensor is undefined", [&] { (void)rand_like(Tensor(), g); });
  expect_error<TensorError>("[full_like] tensor is undefined", [] { (void)full_like(Tensor(), 1); });
  expect_error<TensorError>("[empty_like] tensor is undefined", [] { (void)empty_like(Tensor()); });
}

BOOST_AUTO_TEST_CASE(a_constant_must_be_a_value_of_the_dtype) {
  expect_error<DTypeError>("[full] not a value of i64: 1.5", [] { (void)full({1}, 1.5, DType::i64); });
  expect_error<DTypeError>("[full] not a value of u8: 256", [] { (void)full({1}, 256, DType::u8); });
  expect_error<DTypeError>("[full] not a value of u8: -1", [] { (void)full({1}, -1, DType::u8); });
  expect_error<DTypeError>("[full] not a value of boolean: 2", [] { (void)full({1}, 2, DType::boolean); });
  expect_error<DTypeError>("[full] not a value of i32: nan",
                           [] { (void)full({1}, std::numeric_limits<double>::quiet_NaN(), DType::i32); });
  expect_same(full({1}, -9223372036854775808.0, DType::i64),
              from_values<std::int64_t>({std::numeric_limits<std::int64_t>::min()}));
  expect_error<DTypeError>("[full] not a value of i64: 9.223372036854776e+18",
                           [] { (void)full({1}, 9223372036854775808.0, DType::i64); });
}

BOOST_AUTO_TEST_CASE(values_fill_the_shape_row_by_row) {
  const Tensor x = from_values<std::int32_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  BOOST_CHECK_EQUAL(x.select(0, 1).select(0, 0).item<std::int32_t>(), 4);
  BOOST_CHECK_EQUAL(from_values<float>({}).shape(), Shape{0});
  expect_error<ShapeError>("[from_values] 5 values for shape: (2, 3)", [] {
    (void)from_values<float>({1, 2, 3, 4, 5}, {2, 3});
  });
}

BOOST_AUTO_TEST_CASE(arange_counts_up_to_but_not_including_the_end) {
  expect_same(arange(3), from_values<std::int64_t>({0, 1, 2}));
  expect_same(arange(0), zeros({0}, DType::i64));
  expect_same(arange(1.0, 2.0, 0.25), from_values<float>({1, 1.25, 1.5, 1.75}));
  expect_same(arange(3.0, 0.0, -2.0, DType::i32), from_values<std::int32_t>({3, 1}));
  expect_same(arange(3.0, 0.0, 1.0), zeros({0}));
  expect_error<ValueError>("[arange] negative count: -1", [] { (void)arange(-1); });
  expect_error<ValueError>("[arange] endless: from 0 to 1 by 0", [] { (void)arange(0.0, 1.0, 0.0); });
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_error<ValueError>("[arange] endless: from 0 to nan by 1", [=] { (void)arange(0.0, nan, 1.0); });
  expect_error<ValueError>("[arange] endless: from nan to 1 by 1", [=] { (void)arange(nan, 1.0, 1.0); });
  expect_error<DTypeError>("[arange] not a value of i64: 0.5", [] { (void)arange(0.0, 2.0, 0.5, DType::i64); });
}

BOOST_AUTO_TEST_CASE(linspace_has_both_ends) {
  expect_same(linspace(1.0, 2.0, 5), from_values<float>({1.0F, 1.25F, 1.5F, 1.75F, 2.0F}));
  expect_same(linspace(1.0, 0.0, 3, DType::f64), from_values<double>({1.0, 0.5, 0.0}));
  // 35 * (0.7 / 35) is not 0.7.
  const Tensor many = linspace(0.0, 0.7, 36, DType::f64);
  BOOST_TEST(many.select(0, 35).item() == 0.7);
  BOOST_TEST(many.select(0, 1).item() == 0.7 / 35);
  expect_same(linspace(3.0, 4.0, 1), from_values<float>({3}));
  BOOST_CHECK_EQUAL(linspace(3.0, 4.0, 0).shape(), (Shape{0}));
  expect_error<ValueError>("[linspace] count below 0: -1", [] { (void)linspace(0.0, 1.0, -1); });
  expect_error<DTypeError>("[linspace] needs a floating dtype: i64", [] { (void)linspace(0.0, 1.0, 2, DType::i64); });
}

BOOST_AUTO_TEST_CASE(eye_has_ones_on_the_diagonal_only) {
  expect_same(eye(2), from_values<float>({1, 0, 0, 1}, {2, 2}));
  expect_same(eye(0), zeros({0, 0}));
}

BOOST_AUTO_TEST_CASE(impossible_sizes_are_refused_before_anything_is_allocated) {
  expect_error<ShapeError>("[shape] negative size: (-1)", [] { (void)empty({-1}); });
  expect_error<ShapeError>("[empty] too many elements: (2305843009213693952)",
                           [] { (void)empty({std::int64_t{1} << 61}, DType::f64); });
}

BOOST_AUTO_TEST_CASE(every_dtype_is_made_and_read) {
  for (const DType dtype : kDTypes) {
    BOOST_TEST_CONTEXT(name_of(dtype)) {
      const Tensor one_zero = from_values<bool>({true, false}).to(dtype);
      expect_same(arange(1.0, -1.0, -1.0, dtype), one_zero);
      expect_same(full({1}, 1.0, dtype), one_zero.slice(0, 0, 1));
      expect_same(ones_like(one_zero), full({2}, 1.0, dtype));
      expect_same(eye(2, dtype).select(0, 0), one_zero);
      Tensor filled = zeros({2}, dtype);
      filled.fill(1.0);
      expect_same(filled, ones({2}, dtype));
      BOOST_CHECK_EQUAL(ones({}, dtype).item(), 1.0);
      BOOST_CHECK(allclose(one_zero, from_values<double>({1, 0}).to(dtype)));
      dispatch(dtype, [&]<class T>(std::type_identity<T>) {
        expect_same(from_values<T>({T(1), T(0)}), one_zero);
        expect_same(scalar(T(1)), ones({}, dtype));
        BOOST_CHECK(ones({}, DType::i64).item<T>() == T(1));
        BOOST_CHECK(one_zero.data<T>()[0] == T(1));
      });
    }
  }
  expect_same(full({1}, 0.1, DType::bf16), from_values<BFloat16>({BFloat16::from_bits(0x3DCD)}));
  expect_same(full({1}, -128, DType::i8), from_values<std::int8_t>({-128}));
  expect_error<DTypeError>("[full] not a value of i8: 128", [] { (void)full({1}, 128, DType::i8); });
  expect_error<DTypeError>("[full] not a value of i16: -32769", [] { (void)full({1}, -32769, DType::i16); });
  BOOST_CHECK(!allclose(full({1}, 1.0, DType::f16), full({1}, 1.01, DType::f16)));
}

BOOST_AUTO_TEST_SUITE_END()
