#include "tensor/ops/promotion.h"

#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/inplace.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(promotion)

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

DType of(const Tensor& a, const Tensor& b) { return (a + b).dtype(); }

}  // namespace

// The table of torch.result_type.
BOOST_AUTO_TEST_CASE(a_scalar_counts_where_it_is_of_a_higher_kind_than_all_with_dimensions) {
  for (const DType wide : kDTypes) {
    for (const DType narrow : kDTypes) {
      const auto kind = [](DType dtype) { return is_floating(dtype) ? 2 : dtype == DType::boolean ? 0 : 1; };
      const DType expected = kind(narrow) <= kind(wide) ? wide : promote(wide, narrow);
      const Tensor scalar = ones({}, narrow);
      for (const Shape& shape : {Shape{3}, Shape{1}, Shape{0}}) {
        BOOST_CHECK(detail::promoted(ones(shape, wide), scalar) == expected);
        BOOST_CHECK(detail::promoted(scalar, ones(shape, wide)) == expected);
      }
      BOOST_CHECK(detail::promoted(ones({}, wide), scalar) == promote(wide, narrow));
      BOOST_CHECK(detail::promoted(ones({2}, wide), ones({2}, narrow)) == promote(wide, narrow));
    }
  }
  const Tensor f16 = ones({2}, DType::f16);
  const Tensor f64 = ones({}, DType::f64);
  const Tensor i64 = ones({2}, DType::i64);
  BOOST_CHECK(detail::promoted({&f16, &f64, &i64}) == DType::f16);
  BOOST_CHECK(detail::promoted({&i64, &f64, &i64}) == DType::f64);
}

BOOST_AUTO_TEST_CASE(every_operation_of_elements_takes_scalars_so) {
  const Tensor x = from_values<float>({1, 2});
  const Tensor scalar64 = scalar(2.5);
  expect_same(x + scalar64, from_values<float>({3.5, 4.5}));
  expect_same(scalar64 - x, from_values<float>({1.5, 0.5}));
  expect_same(Tensor(x) * scalar64, from_values<float>({2.5, 5.0}));  // given up
  expect_same(x / scalar(2.0), from_values<float>({0.5, 1.0}));
  expect_same(maximum(x, scalar(1.5)), from_values<float>({1.5, 2.0}));
  expect_same(pow(x, scalar(2.0)), from_values<float>({1.0, 4.0}));
  expect_same(where(lt(x, scalar(1.5)), x, scalar64), from_values<float>({1.0, 2.5}));
  expect_same(addcmul(x, scalar64, x), from_values<float>({3.5, 7.0}));
  expect_same(remainder(x, scalar(1.5)), from_values<float>({1.0, 0.5}));
  expect_same(add_(x.clone(), scalar64), from_values<float>({3.5, 4.5}));
  expect_same(from_values<std::int32_t>({1, 2}) + scalar64, from_values<double>({3.5, 4.5}));
  expect_same(from_values<std::uint8_t>({255, 2}) + scalar(std::int64_t{3}), from_values<std::uint8_t>({2, 5}));
  // The scalar is rounded to f32 before the comparison, as before an addition.
  expect_same(eq(from_values<float>({0.1F, 0.2F}), scalar(0.1)), from_values<bool>({true, false}));
  BOOST_CHECK(of(ones({2, 1}), ones({1}, DType::f64)) == DType::f64);
}

BOOST_AUTO_TEST_CASE(a_number_that_is_not_whole_makes_integers_f32) {
  const Tensor x = from_values<std::int64_t>({1, 2});
  expect_same(x * 2.5, from_values<float>({2.5, 5.0}));
  expect_same(x * 2.0, from_values<std::int64_t>({2, 4}));
  expect_same(0.5 - x, from_values<float>({-0.5, -1.5}));
  expect_same(x + kInfinity, from_values<float>({static_cast<float>(kInfinity), static_cast<float>(kInfinity)}));
  expect_same(x + 1e30, from_values<float>({1e30F, 1e30F}));
  expect_same(maximum(x, 1.5), from_values<float>({1.5, 2.0}));
  expect_same(clamp(x, 1.25, 1.75), from_values<float>({1.25, 1.75}));
  expect_same(remainder(x, 1.5), from_values<float>({1.0, 0.5}));
  expect_same(floor_divide(x, 0.75), from_values<float>({1.0, 2.0}));
  expect_same(gt(x, 1.5), from_values<bool>({false, true}));
  expect_same(eq(x, 1.5), from_values<bool>({false, false}));
  expect_same(lt(x, kNaN), from_values<bool>({false, false}));
  expect_error<DTypeError>("[add] not a value of u8: 300", [] { (void)(ones({1}, DType::u8) + 300.0); });
  expect_error<DTypeError>("[lt] not a value of u8: -1", [] { (void)lt(ones({1}, DType::u8), -1.0); });
  expect_error<DTypeError>("[bitwise_and] not a value of i64: 1.5", [&] { (void)bitwise_and(x, 1.5); });
  expect_error<DTypeError>("[mul_] a result of f32 does not fit into i64", [&] { (void)mul_(x.clone(), 2.5); });
}

BOOST_AUTO_TEST_CASE(booleans_are_added_as_or_and_multiplied_as_and) {
  const Tensor a = from_values<bool>({true, false, true, false});
  const Tensor b = from_values<bool>({true, true, false, false});
  const Tensor either = from_values<bool>({true, true, true, false});
  const Tensor both = from_values<bool>({true, false, false, false});
  expect_same(a + b, either);
  expect_same(maximum(a, b), either);
  expect_same(a * b, both);
  expect_same(minimum(a, b), both);
  expect_same(a + from_values<bool>({true}), full({4}, 1, DType::boolean));  // broadcast
  expect_same(add_(a.clone(), b), either);
  expect_same(a + 1.0, from_values<std::int64_t>({2, 1, 2, 1}));
  expect_same(a * 2.5, from_values<float>({2.5, 0.0, 2.5, 0.0}));
  expect_same(square(a), from_values<std::int64_t>({1, 0, 1, 0}));
  expect_same(pow(a, 2.0), from_values<std::int64_t>({1, 0, 1, 0}));
  expect_same(sign(a), a);
  expect_same(eq(a, 1.0), a);
  expect_error<DTypeError>("[sub] not defined for boolean", [&] { (void)(a - b); });
  expect_error<DTypeError>("[sub] not defined for boolean", [&] { (void)(a - 1.0); });
  expect_error<DTypeError>("[sub] not defined for boolean", [&] { (void)(1.0 - a); });
  expect_error<DTypeError>("[remainder] not defined for boolean",
                           [&] { (void)remainder(a, full({4}, 1, DType::boolean)); });
  expect_error<DTypeError>("[pow] not defined for boolean", [&] { (void)pow(a, b); });
  expect_error<DTypeError>("[add_] a result of i64 does not fit into boolean", [&] { (void)add_(a.clone(), 1.0); });
}

BOOST_AUTO_TEST_CASE(powers_of_integers_are_integers) {
  const Tensor x = from_values<std::int64_t>({-3, 0, 1, 2});
  expect_same(pow(x, 3.0), from_values<std::int64_t>({-27, 0, 1, 8}));
  expect_same(pow(x, 2.0), from_values<std::int64_t>({9, 0, 1, 4}));
  expect_same(pow(x, 1.0), x);
  expect_same(pow(x, 0.0), from_values<std::int64_t>({1, 1, 1, 1}));
  expect_same(pow(x, -1.0), from_values<float>({-1.0F / 3.0F, static_cast<float>(kInfinity), 1.0F, 0.5F}));
  expect_same(pow(from_values<std::int64_t>({4}), 0.5), from_values<float>({2.0}));
  // 3^5 = 243, 3^6 = 729 = 2 * 256 + 217
  expect_same(pow(from_values<std::uint8_t>({3, 3}), from_values<std::uint8_t>({5, 6})),
              from_values<std::uint8_t>({243, 217}));
  expect_same(pow(full({}, 3, DType::i64), 41.0),
              full({}, 0, DType::i64) + pow(full({}, 3, DType::i64), 40.0) * 3.0);  // wraps around
  // Broadcast of bases and exponents. For negative exponents, 1 / x is rounded toward 0.
  const Tensor bases = from_values<std::int32_t>({-1, 0, 1, 2}, {4, 1});
  const Tensor exponents = from_values<std::int32_t>({-2, -1, 0, 5});
  expect_same(pow(bases, exponents), from_values<std::int32_t>({1, -1, 1, -1,  //
                                                                0, 0, 1, 0,    //
                                                                1, 1, 1, 1,    //
                                                                0, 0, 1, 32},
                                                               {4, 4}));
  expect_same(pow(zeros({0}, DType::i64), x.slice(0, 0, 1)), zeros({0}, DType::i64));
  expect_same(pow(full({}, 3, DType::u8), 300.0), full({}, 113, DType::u8));  // 3^300 mod 256: an exponent has no dtype
}

BOOST_AUTO_TEST_CASE(products_of_integers_are_integers) {
  const Tensor a = from_values<std::int64_t>({1, 2, 3, 4}, {2, 2});
  expect_same(matmul(a, a), from_values<std::int64_t>({7, 10, 15, 22}, {2, 2}));              // 1*1 + 2*3, ...
  expect_same(matmul(a, a.transpose()), from_values<std::int64_t>({5, 11, 11, 25}, {2, 2}));  // 1*1 + 2*2, ...
  expect_same(dot(from_values<std::int32_t>({1, 2}), from_values<std::int32_t>({3, 4})), full({}, 11, DType::i32));
  expect_same(mv(a, from_values<std::int64_t>({1, -1})), from_values<std::int64_t>({-1, -1}));
  // Batches that broadcast: [[1, 2], [3, 4]] times [[1], [1]] and [[0], [2]].
  expect_same(matmul(a, from_values<std::int64_t>({1, 1, 0, 2}, {2, 2, 1})),
              from_values<std::int64_t>({3, 7, 4, 8}, {2, 2, 1}));
  // 200 * 200 + 2 * 3 = 40006 = 156 * 256 + 70
  expect_same(matmul(from_values<std::uint8_t>({200, 2}, {1, 2}), from_values<std::uint8_t>({200, 3}, {2, 1})),
              full({1, 1}, 70, DType::u8));
  expect_same(matmul(a, zeros({2, 0}, DType::i64)), zeros({2, 0}, DType::i64));
  expect_same(matmul(zeros({2, 0}, DType::i64), zeros({0, 1}, DType::i64)), zeros({2, 1}, DType::i64));
  expect_same(matmul(a, ones({2})), from_values<float>({3, 7}));
  expect_same(addmm(from_values<std::int64_t>({1, 1}), a, a, 2.0, 3.0),
              from_values<std::int64_t>({23, 32, 47, 68}, {2, 2}));  // 2*1 + 3*7
  expect_same(einsum("ij,jk->ik", {a, a}), from_values<std::int64_t>({7, 10, 15, 22}, {2, 2}));
  const Tensor truth = full({1, 1}, 1, DType::boolean);
  expect_error<DTypeError>("[matmul] not defined for boolean", [&] { (void)matmul(truth, truth); });
  expect_error<DTypeError>("[einsum] not defined for boolean", [&] { (void)einsum("ij,jk->ik", {truth, truth}); });
  expect_error<DTypeError>("[addmm] not a value of i64: 0.5", [&] { (void)addmm(a, a, a, 0.5); });
}

BOOST_AUTO_TEST_CASE(the_sign_of_nan_is_0_and_the_logarithm_of_an_empty_sum_is_infinite) {
  expect_same(sign(from_values<double>({kNaN, -2.0, 0.0, 5.0})), from_values<double>({0.0, -1.0, 0.0, 1.0}));
  expect_same(logsumexp(zeros({0, 3}), 0), full({3}, -kInfinity));
  expect_same(logsumexp(zeros({0}), 0), full({}, -kInfinity));
  expect_same(logsumexp(zeros({0, 3}), {0, 1}, KeepDim::yes), full({1, 1}, -kInfinity));
  expect_same(logsumexp(zeros({3, 0}), 0), zeros({0}));
  expect_same(logsumexp(zeros({0, 2}, DType::i64), 0), full({2}, -kInfinity));
}

BOOST_AUTO_TEST_SUITE_END()
