#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_elementwise)

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

}  // namespace

BOOST_AUTO_TEST_CASE(arithmetic_gives_the_hand_values) {
  const Tensor a = from_values<float>({6, -8});
  const Tensor b = from_values<float>({4, 2});
  expect_same(a + b, from_values<float>({10, -6}));
  expect_same(a - b, from_values<float>({2, -10}));
  expect_same(a * b, from_values<float>({24, -16}));
  expect_same(a / b, from_values<float>({1.5, -4}));
  expect_same(-a, from_values<float>({-6, 8}));
  expect_same(abs(a), from_values<float>({6, 8}));
  expect_same(maximum(a, b), from_values<float>({6, 2}));
  expect_same(minimum(a, b), from_values<float>({4, -8}));
}

BOOST_AUTO_TEST_CASE(scalars_stand_on_either_side) {
  const Tensor a = from_values<double>({4, 8});
  expect_same(a + 1, from_values<double>({5, 9}));
  expect_same(1 + a, from_values<double>({5, 9}));
  expect_same(a - 1, from_values<double>({3, 7}));
  expect_same(1 - a, from_values<double>({-3, -7}));
  expect_same(a * 0.5, from_values<double>({2, 4}));
  expect_same(0.5 * a, from_values<double>({2, 4}));
  expect_same(a / 2, from_values<double>({2, 4}));
  expect_same(2 / a, from_values<double>({0.5, 0.25}));
  expect_same(maximum(a, 5), from_values<double>({5, 8}));
  expect_same(minimum(a, 5), from_values<double>({4, 5}));
}

BOOST_AUTO_TEST_CASE(operands_broadcast) {
  const Tensor column = from_values<float>({10, 20}, {2, 1});
  const Tensor row = from_values<float>({1, 2, 3});
  expect_same(column + row, from_values<float>({11, 12, 13, 21, 22, 23}, {2, 3}));
  expect_same(row - column, from_values<float>({-9, -8, -7, -19, -18, -17}, {2, 3}));
  expect_same(column * scalar(2.0F), from_values<float>({20, 40}, {2, 1}));
  BOOST_CHECK_EQUAL((zeros({0, 3}) + row).shape(), (Shape{0, 3}));
  BOOST_CHECK_EQUAL((zeros({2, 0}) + column).shape(), (Shape{2, 0}));
  expect_error<ShapeError>("[add] shapes do not broadcast: (2, 3) and (4)", [] { (void)(zeros({2, 3}) + zeros({4})); });
  expect_error<ShapeError>("[eq] shapes do not broadcast: (2) and (3)", [] { (void)eq(zeros({2}), zeros({3})); });
}

BOOST_AUTO_TEST_CASE(every_layout_gives_the_same_elements) {
  const Tensor x = arange(0.0, 24.0, 1.0).reshape({2, 3, 4});
  const Tensor y = mul(x, x) + 1;
  const Tensor expected = x + y;
  expect_same((x.permute({2, 0, 1}) + y.permute({2, 0, 1})).permute({1, 2, 0}), expected);
  expect_same(x.slice(1, 0, 3, 2) + y.slice(1, 0, 3, 2), expected.slice(1, 0, 3, 2));
  expect_same(x.select(2, 1) + y.select(2, 1), expected.select(2, 1));
  expect_same(x.expand({5, 2, 3, 4}) + y, expected.expand({5, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(dtypes_promote) {
  BOOST_CHECK((ones({1}, DType::u8) + ones({1}, DType::i64)).dtype() == DType::i64);
  BOOST_CHECK((ones({1}, DType::i64) * ones({1}, DType::f32)).dtype() == DType::f32);
  BOOST_CHECK((ones({1}, DType::f32) - ones({1}, DType::f64)).dtype() == DType::f64);
  expect_same(from_values<bool>({true, false}) * from_values<float>({3, 4}), from_values<float>({3, 0}));
  expect_same(from_values<std::int64_t>({3}) / from_values<std::int64_t>({2}), from_values<float>({1.5}));
  expect_same(from_values<std::int64_t>({3}) / 2, from_values<float>({1.5}));
  expect_same(sqrt(from_values<std::int32_t>({9})), from_values<float>({3}));
}

BOOST_AUTO_TEST_CASE(a_whole_number_must_be_a_value_of_the_integer_dtype) {
  const Tensor x = from_values<std::int64_t>({1, 2});
  expect_same(x + 1, from_values<std::int64_t>({2, 3}));
  expect_same(x + 1.5, from_values<float>({2.5, 3.5}));
  expect_same(x < 1.5, from_values<bool>({true, false}));
  expect_error<DTypeError>("[mul] not a value of u8: 300", [] { (void)(zeros({1}, DType::u8) * 300); });
}

BOOST_AUTO_TEST_CASE(other_arithmetic_on_booleans_alone_is_refused) {
  const Tensor x = from_values<bool>({true});
  expect_error<DTypeError>("[sub] not defined for boolean", [&] { (void)(x - x); });
  expect_error<DTypeError>("[neg] not defined for boolean", [&] { (void)(-x); });
  Tensor written = x.clone();
  expect_error<DTypeError>("[add_into] not defined for boolean", [&] { add_into(written, x); });
}

BOOST_AUTO_TEST_CASE(integers_wrap_around) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  expect_same(from_values<std::int64_t>({kMax}) + 1, from_values<std::int64_t>({kMin}));
  expect_same(from_values<std::int64_t>({kMin}) - 1, from_values<std::int64_t>({kMax}));
  expect_same(abs(from_values<std::int64_t>({kMin})), from_values<std::int64_t>({kMin}));
  expect_same(from_values<std::uint8_t>({200}) + 100, from_values<std::uint8_t>({44}));  // 300 - 256
  expect_same(from_values<std::int32_t>({1 << 20}) * (1 << 20), from_values<std::int32_t>({0}));
}

BOOST_AUTO_TEST_CASE(functions_of_reals_give_the_hand_values) {
  expect_close(exp(from_values<double>({0, 1})), from_values<double>({1, 2.718281828459045}), 1e-15);
  expect_close(log(from_values<double>({1, 10})), from_values<double>({0, 2.302585092994046}), 1e-15);
  expect_close(tanh(from_values<double>({0, 1})), from_values<double>({0, 0.7615941559557649}), 1e-15);
  expect_close(sigmoid(from_values<double>({0, 1, -1})),
               from_values<double>({0.5, 0.7310585786300049, 0.2689414213699951}), 1e-15);
  expect_same(sigmoid(from_values<float>({-1000, 1000})), from_values<float>({0, 1}));
  expect_same(relu(from_values<float>({-1, 0, 2, kNan})), from_values<float>({0, 0, 2, kNan}));
  expect_same(relu_backward(from_values<float>({5, 6, 7, 8}), from_values<float>({0, 2, 0, kNan})),
              from_values<float>({0, 6, 0, 8}));
  expect_error<ShapeError>("[relu_backward] shapes differ: (2) and (3)",
                           [] { (void)relu_backward(zeros({2}), zeros({3})); });
}

BOOST_AUTO_TEST_CASE(pow_takes_whole_and_broken_exponents) {
  const Tensor x = from_values<double>({4, 9});
  expect_same(pow(x, 2), from_values<double>({16, 81}));
  expect_same(pow(x, 0.5), from_values<double>({2, 3}));
  expect_same(pow(x, -1), from_values<double>({0.25, 1.0 / 9}));
  expect_same(pow(x, 0), from_values<double>({1, 1}));
  expect_same(pow(from_values<std::int64_t>({3}), 2), from_values<std::int64_t>({9}));
  const Tensor same = pow(x, 1);
  expect_same(same, x);
  BOOST_CHECK(!same.storage().same_as(x.storage()));
}

BOOST_AUTO_TEST_CASE(maximum_and_minimum_pass_nan_on) {
  const Tensor a = from_values<float>({kNan, 1});
  const Tensor b = from_values<float>({1, kNan});
  expect_same(ne(maximum(a, b), maximum(a, b)), from_values<bool>({true, true}));
  expect_same(ne(minimum(a, b), minimum(a, b)), from_values<bool>({true, true}));
}

BOOST_AUTO_TEST_CASE(clamp_limits_both_ends) {
  expect_same(clamp(from_values<float>({-5, 0.5, 5}), -1, 1), from_values<float>({-1, 0.5, 1}));
  expect_same(clamp(from_values<std::int64_t>({-5, 0, 5}), -1, 1), from_values<std::int64_t>({-1, 0, 1}));
  expect_error<ValueError>("[clamp] low above high: 2 > 1", [] { (void)clamp(zeros({1}), 2, 1); });
}

BOOST_AUTO_TEST_CASE(one_limit_is_enough) {
  const Tensor x = from_values<float>({-5, 0.5, 5});
  expect_same(clamp_min(x, -1), from_values<float>({-1, 0.5, 5}));
  expect_same(clamp_max(x, 1), from_values<float>({-5, 0.5, 1}));
  expect_same(clamp_min(x, from_values<float>({-6, 1, 6})), from_values<float>({-5, 1, 6}));
  expect_same(clamp_max(x.unsqueeze(1), from_values<double>({0, 1})),
              from_values<double>({-5, -5, 0, 0.5, 0, 1}, {3, 2}));
  expect_same(isnan(clamp_min(from_values<float>({kNan, 1}), 0)), from_values<bool>({true, false}));
  expect_same(clamp_max(from_values<std::uint8_t>({200}), 7), from_values<std::uint8_t>({7}));
  expect_same(clamp_min(arange(2), 0.5), from_values<float>({0.5, 1}));
  expect_error<DTypeError>("[clamp_min] not a value of u8: -1", [] { (void)clamp_min(arange(2).to(DType::u8), -1); });
  expect_error<ShapeError>("[clamp_max] shapes do not broadcast: (2) and (3)",
                           [] { (void)clamp_max(zeros({2}), zeros({3})); });
  expect_error<TensorError>("[clamp_min] tensor is undefined", [] { (void)clamp_min(Tensor(), 1); });
}

BOOST_AUTO_TEST_CASE(signs_are_taken_from_the_other) {
  const Tensor x = from_values<float>({1, -2, 0, kInf});
  expect_same(copysign(x, from_values<float>({-1, 1, -0.0F, -kNan})), from_values<float>({-1, 2, -0.0F, -kInf}));
  expect_same(copysign(x, -0.0), from_values<float>({-1, -2, -0.0F, -kInf}));
  expect_same(copysign(from_values<std::int64_t>({3}), from_values<std::int64_t>({-1})), from_values<float>({-3}));
  expect_same(copysign(x.unsqueeze(1), from_values<double>({1, -1})).select(1, 1).contiguous(), -abs(x.to(DType::f64)));
  expect_rounded([](const Tensor& a, const Tensor& b) { return copysign(a, b); }, x.slice(0, 0, 3), -x.slice(0, 0, 3));
  expect_error<ShapeError>("[copysign] shapes do not broadcast: (2) and (3)",
                           [] { (void)copysign(zeros({2}), zeros({3})); });
}

BOOST_AUTO_TEST_CASE(close_is_within_both_tolerances) {
  const Tensor a = from_values<double>({1.0, 1.0, 100.0, kInf, kInf, kNan, 0});
  const Tensor b = from_values<double>({1.1, 1.3, 110.0, kInf, -kInf, kNan, 1e-9});
  expect_same(isclose(a, b, 0.1, 0.1),
              from_values<bool>({true, false, true, true, false, false, true}));  // within 0.21, 0.23, 11.1
  expect_same(isclose(a, b, 0.0, 0.0), from_values<bool>({false, false, false, true, false, false, false}));
  expect_same(isclose(a, b, 1e-5, 1e-8, EqualNan::yes),
              from_values<bool>({false, false, false, true, false, true, true}));
  expect_same(isclose(a, scalar(kInf), 0.1, kInf), from_values<bool>({false, false, false, true, true, false, false}));
  expect_same(isclose(arange(3).unsqueeze(1), from_values<float>({0, 1.000001F})),
              from_values<bool>({true, false, false, true, false, false}, {3, 2}));
  BOOST_CHECK_EQUAL(isclose(zeros({0, 2}), zeros({2})).shape(), (Shape{0, 2}));
  Generator g(3);
  const Tensor x = uniform({50}, 0.9, 1.1, g);
  const Tensor y = uniform({50}, 0.9, 1.1, g);
  for (int i = 0; i < 50; ++i)
    BOOST_CHECK_EQUAL(isclose(x, y, 0.03, 0.02).select(0, i).item<bool>(),
                      allclose(x.select(0, i), y.select(0, i), 0.03, 0.02));
  expect_error<ValueError>("[isclose] tolerance below 0: rtol -1, atol 0", [&] { (void)isclose(a, b, -1, 0); });
  expect_error<ShapeError>("[isclose] shapes do not broadcast: (2) and (3)",
                           [] { (void)isclose(zeros({2}), zeros({3})); });
  expect_error<TensorError>("[isclose] tensor is undefined", [&] { (void)isclose(a, Tensor()); });
}

BOOST_AUTO_TEST_CASE(comparisons_are_elementwise_and_false_for_nan) {
  const Tensor a = from_values<float>({1, 2, 3, kNan});
  const Tensor b = from_values<float>({2, 2, 2, kNan});
  expect_same(a == b, from_values<bool>({false, true, false, false}));
  expect_same(a != b, from_values<bool>({true, false, true, true}));
  expect_same(a < b, from_values<bool>({true, false, false, false}));
  expect_same(a <= b, from_values<bool>({true, true, false, false}));
  expect_same(a > b, from_values<bool>({false, false, true, false}));
  expect_same(a >= b, from_values<bool>({false, true, true, false}));
  expect_same(a >= 2, from_values<bool>({false, true, true, false}));
  expect_same(a > 2, from_values<bool>({false, false, true, false}));
  expect_same(a < 2, from_values<bool>({true, false, false, false}));
  expect_same(a <= 2, from_values<bool>({true, true, false, false}));
  expect_same(a == 2, from_values<bool>({false, true, false, false}));
  expect_same(a != 2, from_values<bool>({true, false, true, true}));
  expect_same(from_values<bool>({true, false}) == from_values<bool>({true, true}), from_values<bool>({true, false}));
}

BOOST_AUTO_TEST_CASE(where_picks_by_condition_and_broadcasts) {
  const Tensor condition = from_values<bool>({true, false}, {2, 1});
  expect_same(where(condition, from_values<float>({1, 2}), scalar(0.0)), from_values<float>({1, 2, 0, 0}, {2, 2}));
  expect_same(where(condition, scalar(kInf), scalar(1.0F)), from_values<float>({kInf, 1}, {2, 1}));
  expect_error<DTypeError>("[where] condition is f32, not boolean",
                           [] { (void)where(zeros({1}), zeros({1}), zeros({1})); });
}

BOOST_AUTO_TEST_CASE(undefined_operands_are_named) {
  expect_error<TensorError>("[add] tensor is undefined", [] { (void)(zeros({1}) + Tensor()); });
  expect_error<TensorError>("[mul] tensor is undefined", [] { (void)(Tensor() * 2); });
  expect_error<TensorError>("[exp] tensor is undefined", [] { (void)exp(Tensor()); });
}

BOOST_AUTO_TEST_CASE(axpby_writes_into_existing_memory) {
  Tensor out = from_values<double>({1, 2});
  const Tensor alias = out;
  axpby_into(out, 0.5, out, -3.0, from_values<double>({10, 20}));  // 0.5 * 1 - 30, 0.5 * 2 - 60
  expect_same(alias, from_values<double>({-29.5, -59}));
  Tensor x = arange(0.0, 4.0, 1.0).reshape({2, 2});
  axpby_into(x, 1.0, x.transpose(), 0.0, x);  // an overlapping operand in another layout
  expect_same(x, from_values<float>({0, 2, 1, 3}, {2, 2}));
  expect_error<ShapeError>("[axpby_into] shapes differ: (2) and (3)",
                           [&] { axpby_into(out, 1, zeros({3}, DType::f64), 1, out); });
  expect_error<DTypeError>("[axpby_into] dtypes differ: f64 and f32", [&] { axpby_into(out, 1, out, 1, zeros({2})); });
  Tensor whole = arange(2);
  expect_error<DTypeError>("[axpby_into] needs a floating dtype: i64", [&] { axpby_into(whole, 1, whole, 1, whole); });
}

BOOST_AUTO_TEST_CASE(add_into_and_scale_into_change_the_memory_of_all_views) {
  const Tensor x = from_values<float>({1, 2, 3, 4}, {2, 2});
  Tensor column = x.select(1, 1);
  add_into(column, from_values<float>({10, 20}));
  expect_same(x, from_values<float>({1, 12, 3, 24}, {2, 2}));
  scale_into(column, 0.5);
  expect_same(x, from_values<float>({1, 6, 3, 12}, {2, 2}));
  Tensor repeated = zeros({2}).expand({3, 2});
  expect_error<ShapeError>("[add_into] one element is written more than once: (3, 2) strides (0, 1)", [&] {
    add_into(repeated, zeros({3, 2}));
  });
}

BOOST_AUTO_TEST_CASE(large_tensors_give_the_same_bits_on_any_number_of_threads) {
  Generator g(1);
  const Tensor x = randn({300, 1, 401}, g);
  const Tensor y = randn({3, 401}, g);
  const MathThreads one(1);
  const Tensor expected = exp(x) * y + x.expand({300, 3, 401});
  const MathThreads three(3);
  expect_same(exp(x) * y + x.expand({300, 3, 401}), expected);
}

BOOST_AUTO_TEST_CASE(floats_of_16_bits_are_computed_in_f32_and_rounded_once) {
  Generator g(3);
  // More than one block, in layouts that repeat, skip and transpose elements.
  const Tensor x = uniform({3, 1, 301}, 0.25, 2.0, g);
  const Tensor y = uniform({2, 301}, -3.0, 3.0, g);
  expect_rounded([](const Tensor& a, const Tensor& b) { return a + b; }, x, y);
  expect_rounded([](const Tensor& a, const Tensor& b) { return b - a; }, x, y);
  expect_rounded([](const Tensor& a, const Tensor& b) { return a * b; }, x, y);
  expect_rounded([](const Tensor& a, const Tensor& b) { return b / a; }, x, y);
  expect_rounded([](const Tensor& a, const Tensor& b) { return maximum(a, b); }, x, y);
  expect_rounded([](const Tensor& a, const Tensor& b) { return minimum(a, b); }, x, y);
  expect_rounded([](const Tensor& a) { return -a; }, y.transpose());
  expect_rounded([](const Tensor& a) { return abs(a); }, y.slice(1, 3, 300, 7));
  expect_rounded([](const Tensor& a) { return relu(a); }, y);
  expect_rounded([](const Tensor& a) { return exp(a); }, y);
  expect_rounded([](const Tensor& a) { return log(a); }, x);
  expect_rounded([](const Tensor& a) { return sqrt(a); }, x);
  expect_rounded([](const Tensor& a) { return tanh(a); }, y.transpose());
  expect_rounded([](const Tensor& a) { return sigmoid(a); }, y);
  expect_rounded([](const Tensor& a) { return pow(a, 2.0); }, y);
  expect_rounded([](const Tensor& a) { return pow(a, 0.3); }, x);
  expect_rounded([](const Tensor& a) { return clamp(a, -0.7, 1.3); }, y);
  expect_rounded([](const Tensor& a, const Tensor& b) { return relu_backward(a, b); }, y, -y);
  expect_rounded([](const Tensor& a, const Tensor& b) { return where(a < b, a, b); }, x, y);
  for (const DType dtype : kDTypesOf16BitFloats) {
    const Tensor a = x.to(dtype);
    const Tensor b = y.to(dtype);
    const Tensor wide_a = a.to(DType::f32);
    const Tensor wide_b = b.to(DType::f32);
    expect_same(a < b, wide_a < wide_b);
    expect_same(a == b.select(0, 1), wide_a == wide_b.select(0, 1));
    expect_same(a + y, wide_a + y);
    BOOST_CHECK((a + arange(301)).dtype() == dtype);
    Tensor out = b.clone();
    Tensor column = out.select(1, 5);
    add_into(column, b.select(1, 6));
    scale_into(column, 0.3);
    axpby_into(out, 0.3, out, -1.7, b);
    const Tensor wide_column = ((wide_b.select(1, 5) + wide_b.select(1, 6)).to(dtype).to(DType::f32) * 0.3).to(dtype);
    expect_same(out.select(1, 5), (wide_column.to(DType::f32) * 0.3 + wide_b.select(1, 5) * -1.7).to(dtype));
    expect_same(out.select(1, 9), (wide_b.select(1, 9) * 0.3 + wide_b.select(1, 9) * -1.7).to(dtype));
  }
  BOOST_CHECK((ones({1}, DType::f16) + ones({1}, DType::bf16)).dtype() == DType::f32);
}

BOOST_AUTO_TEST_CASE(a_scalar_beside_16_bits_is_an_f32_in_arithmetic_and_one_of_the_dtype_in_comparisons) {
  const Tensor x = from_values<Half>({Half(0x1p-24F)});
  expect_same(x / 1e-8, full({1}, static_cast<double>(0x1p-24F / 1e-8F), DType::f16));  // 1e-8 would be 0 in f16
  expect_same(full({1}, 1000.0, DType::f16) / 1e5, full({1}, 0.01, DType::f16));        // 1e5 would be infinite in f16
  expect_same(full({1}, 0.1, DType::f16) == 0.1, from_values<bool>({true}));
  expect_same(full({1}, 0.1, DType::bf16) < 0.1, from_values<bool>({false}));
}

BOOST_AUTO_TEST_CASE(integers_of_8_bits_wrap_around_whatever_they_are) {
  for (const DType dtype : {DType::i8, DType::u8}) {
    const Tensor all = arange(256).to(dtype);
    const Tensor x = all.unsqueeze(1);
    const Tensor a = x.to(DType::i64);
    const Tensor b = all.to(DType::i64);
    expect_same(x + all, (a + b).to(dtype));
    expect_same(x - all, (a - b).to(dtype));
    expect_same(x * all, (a * b).to(dtype));
    expect_same(maximum(x, all), maximum(a, b).to(dtype));
    expect_same(minimum(x, all), minimum(a, b).to(dtype));
    expect_same(-all, (-b).to(dtype));
    expect_same(abs(all), abs(b).to(dtype));
    expect_same(relu(all), relu(b).to(dtype));
    expect_same(x < all, a < b);
    expect_same(x <= all, a <= b);
    expect_same(x == all, a == b);
    expect_same(x != all, a != b);
    expect_same(x / all, a.to(DType::f32) / b.to(DType::f32));
  }
  expect_same(from_values<std::int16_t>({32767, -32768}) + 1, from_values<std::int16_t>({-32768, -32767}));
  expect_same(from_values<std::int16_t>({300}) * 300, from_values<std::int16_t>({24464}));  // 90000 - 65536
  expect_same(abs(from_values<std::int8_t>({-128})), from_values<std::int8_t>({-128}));
  expect_same(clamp(from_values<std::int8_t>({-100, 5, 100}), -7, 8), from_values<std::int8_t>({-7, 5, 8}));
  Tensor sum = from_values<std::int8_t>({100, -100});
  add_into(sum, sum);
  expect_same(sum, from_values<std::int8_t>({-56, 56}));  // 200 - 256
  BOOST_CHECK((ones({1}, DType::u8) + ones({1}, DType::i8)).dtype() == DType::i16);
  expect_error<DTypeError>("[add] not a value of i8: 128", [] { (void)(zeros({1}, DType::i8) + 128); });
}

BOOST_AUTO_TEST_CASE(functions_of_reals_have_their_known_values) {
  const Tensor x = from_values<double>({0.25, 1.0, 4.0});
  expect_close(rsqrt(x), from_values<double>({2, 1, 0.5}), 1e-15);
  expect_close(erf(x), from_values<double>({0.2763263901682369, 0.8427007929497149, 0.9999999845827421}), 1e-14);
  expect_close(sin(x), from_values<double>({0.24740395925452294, 0.8414709848078965, -0.7568024953079282}), 1e-14);
  expect_close(cos(x), from_values<double>({0.9689124217106447, 0.5403023058681398, -0.6536436208636119}), 1e-14);
  expect_close(expm1(from_values<double>({1e-10, 1})), from_values<double>({1.00000000005e-10, 1.718281828459045}),
               1e-14);
  expect_close(log1p(from_values<double>({1e-10, 1})), from_values<double>({9.9999999995e-11, 0.6931471805599453}),
               1e-14);
  expect_close(pow(x, from_values<double>({0.5, 7.0, -1.0})), from_values<double>({0.5, 1, 0.25}), 1e-15);
  expect_same(pow(from_values<std::int64_t>({2, 3}), scalar<std::int64_t>(2)), from_values<std::int64_t>({4, 9}));
  BOOST_CHECK(erf(from_values<std::int32_t>({1})).dtype() == DType::f32);
}

BOOST_AUTO_TEST_CASE(numbers_are_rounded_to_integers_and_to_signs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = from_values<float>({-1.5F, -0.5F, 2.5F, 3.0F});
  expect_same(floor(x), from_values<float>({-2, -1, 2, 3}));
  expect_same(ceil(x), from_values<float>({-1, -0.0F, 3, 3}));
  expect_same(round(x), from_values<float>({-2, -0.0F, 2, 3}));
  expect_same(sign(x), from_values<float>({-1, -1, 1, 1}));
  expect_same(sign(from_values<float>({nan, 0})), from_values<float>({0, 0}));
  expect_same(floor(from_values<std::int64_t>({-7})), from_values<std::int64_t>({-7}));
  expect_same(sign(from_values<std::int8_t>({-7, 0, 5})), from_values<std::int8_t>({-1, 0, 1}));
  expect_same(sign(from_values<std::uint8_t>({200})), from_values<std::uint8_t>({1}));
}

BOOST_AUTO_TEST_CASE(numbers_are_cut_at_the_point) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = from_values<float>({-2.75F, -0.5F, 0.5F, 3.0F, 1e30F});
  expect_same(trunc(x), from_values<float>({-2, -0.0F, 0, 3, 1e30F}));
  expect_same(frac(x), from_values<float>({-0.75F, -0.5F, 0.5F, 0, 0}));
  expect_same(trunc(from_values<float>({inf})), from_values<float>({inf}));
  expect_same(isnan(frac(from_values<float>({inf, 1}))), from_values<bool>({true, false}));
  expect_same(trunc(from_values<std::int64_t>({-7})), from_values<std::int64_t>({-7}));
  expect_same(frac(from_values<std::uint8_t>({7})), from_values<std::uint8_t>({0}));
  expect_same(frac(from_values<Half>({Half(-1.25F)})), from_values<Half>({Half(-0.25F)}));
  expect_rounded([](const Tensor& a) { return trunc(a); }, x.slice(0, 0, 4));
  expect_error<DTypeError>("[trunc] not defined for boolean", [] { (void)trunc(ones({1}, DType::boolean)); });
  expect_error<DTypeError>("[frac] not defined for boolean", [] { (void)frac(ones({1}, DType::boolean)); });
  expect_error<TensorError>("[frac] tensor is undefined", [] { (void)frac(Tensor()); });
}

BOOST_AUTO_TEST_CASE(squares_stay_integers_and_reciprocals_become_reals) {
  const float inf = std::numeric_limits<float>::infinity();
  expect_same(square(from_values<double>({-3, 0.5})), from_values<double>({9, 0.25}));
  expect_same(square(from_values<std::int32_t>({-3, 1 << 16})), from_values<std::int32_t>({9, 0}));  // 2^32 wraps
  expect_same(reciprocal(from_values<float>({4, -0.0F, inf})), from_values<float>({0.25F, -inf, 0}));
  expect_same(reciprocal(from_values<std::int64_t>({4, 0})), from_values<float>({0.25F, inf}));
  expect_same(reciprocal(from_values<bool>({true})), from_values<float>({1}));
  expect_rounded([](const Tensor& a) { return reciprocal(a); }, from_values<float>({3, 7}));
  expect_rounded([](const Tensor& a) { return square(a); }, from_values<float>({3.3F, 7}));
  expect_same(square(ones({1}, DType::boolean)), ones({1}, DType::i64));
  expect_error<TensorError>("[reciprocal] tensor is undefined", [] { (void)reciprocal(Tensor()); });
}

BOOST_AUTO_TEST_CASE(erfc_is_exact_where_erf_is_1) {
  const Tensor x = from_values<double>({0, 1, 10});
  expect_close(erfc(x), from_values<double>({1, 0.15729920705028513, 2.088487583762545e-45}), 1e-15);
  expect_rounded([](const Tensor& a) { return erfc(a); }, from_values<float>({0.3F, -2}));
  BOOST_CHECK(erfc(from_values<std::int32_t>({1})).dtype() == DType::f32);
}

BOOST_AUTO_TEST_CASE(numbers_take_the_place_of_nan_and_infinities) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Tensor x = from_values<double>({1.5, std::nan(""), inf, -inf}).to(dtype);
    expect_same(isinf(x), from_values<bool>({false, false, true, true}));
    const Tensor plain = nan_to_num(x);
    BOOST_CHECK(plain.dtype() == dtype);
    BOOST_CHECK(all(isfinite(plain)).item<bool>());
    // The largest number of the dtype: twice its value is infinite.
    BOOST_CHECK(isinf(plain.select(0, 2) * 2.0).item<bool>());
    expect_same(plain.select(0, 3), -plain.select(0, 2));
    expect_same(plain.slice(0, 0, 2), from_values<double>({1.5, 0}).to(dtype));
    const Tensor chosen = nan_to_num(x, {.nan = inf, .posinf = 7.0, .neginf = -9.0});
    expect_same(chosen, from_values<double>({1.5, inf, 7, -9}).to(dtype));
    expect_same(nan_to_num(x.reshape({2, 2}).transpose()), plain.reshape({2, 2}).transpose().contiguous());
  }
  expect_same(nan_to_num(full({}, inf, DType::f16)), full({}, 65504.0, DType::f16));
  expect_same(nan_to_num(full({}, inf, DType::bf16)), full({}, 0x1.FEp127, DType::bf16));
  expect_same(nan_to_num(full({}, inf, DType::f32)), scalar(std::numeric_limits<float>::max()));
  expect_same(nan_to_num(full({}, inf, DType::f64)), scalar(std::numeric_limits<double>::max()));
  const Tensor whole = from_values<std::int64_t>({1, 2});
  expect_same(nan_to_num(whole), whole);
  BOOST_CHECK(!nan_to_num(whole).storage().same_as(whole.storage()));
  expect_same(isinf(whole), from_values<bool>({false, false}));
  expect_same(isinf(zeros({0, 2})), zeros({0, 2}, DType::boolean));
  expect_error<TensorError>("[nan_to_num] tensor is undefined", [] { (void)nan_to_num(Tensor()); });
  expect_error<TensorError>("[isinf] tensor is undefined", [] { (void)isinf(Tensor()); });
}

BOOST_AUTO_TEST_CASE(logic_asks_whether_elements_are_not_0) {
  const Tensor a = from_values<float>({0, 0, 2, std::numeric_limits<float>::quiet_NaN()});
  const Tensor b = from_values<std::int64_t>({0, 5, 0, 1});
  expect_same(logical_and(a, b), from_values<bool>({false, false, false, true}));
  expect_same(logical_or(a, b), from_values<bool>({false, true, true, true}));
  expect_same(logical_xor(a, b), from_values<bool>({false, true, true, false}));
  expect_same(logical_not(a), from_values<bool>({true, true, false, false}));
  expect_same(logical_or(a.reshape({4, 1}), from_values<bool>({false, true})).select(1, 0),
              logical_not(logical_not(a)));
  const float inf = std::numeric_limits<float>::infinity();
  expect_same(isfinite(from_values<float>({1, inf, -inf, std::numeric_limits<float>::quiet_NaN()})),
              from_values<bool>({true, false, false, false}));
  expect_same(isfinite(b), ones({4}, DType::boolean));
  expect_same(isnan(a), from_values<bool>({false, false, false, true}));
  expect_error<ShapeError>("[logical_xor] shapes do not broadcast: (4) and (3)",
                           [&] { (void)logical_xor(a, zeros({3})); });
  expect_error<TensorError>("[isnan] tensor is undefined", [] { (void)isnan(Tensor()); });
}

BOOST_AUTO_TEST_CASE(the_second_operand_counts_alpha_times) {
  const Tensor a = from_values<float>({1, 2});
  const Tensor b = from_values<float>({10, 20});
  expect_same(add(a, b, 0.5), from_values<float>({6, 12}));
  expect_same(sub(a, b, 0.5), from_values<float>({-4, -8}));
  expect_same(add(a.unsqueeze(1), b, 2.0), from_values<float>({21, 41, 22, 42}, {2, 2}));
  expect_same(add(a.to(DType::i64), b.to(DType::i64), -2.0), from_values<std::int64_t>({-19, -38}));
  expect_same(add(a.to(DType::i32), scalar(0.25), 2.0), from_values<double>({1.5, 2.5}));
  expect_rounded([](const Tensor& x, const Tensor& y) { return add(x, y, 0.1); }, a, b);
  const Tensor truth = from_values<bool>({true, false});
  expect_same(add(truth, logical_not(truth), 1.0), from_values<bool>({true, true}));
  expect_same(add(truth, logical_not(truth), 0.0), truth);
  expect_error<DTypeError>("[add] not a value of i64: 0.5",
                           [&] { (void)add(a.to(DType::i64), b.to(DType::i64), 0.5); });
  expect_error<DTypeError>("[sub] not defined for boolean", [&] { (void)sub(truth, truth, 0.0); });
  expect_error<ShapeError>("[sub] shapes do not broadcast: (2) and (3)", [&] { (void)sub(a, ones({3}), 2.0); });
}

BOOST_AUTO_TEST_SUITE_END()
