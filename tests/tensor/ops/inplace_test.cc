#include "tensor/ops/inplace.h"

#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/deferred_ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_inplace)

BOOST_AUTO_TEST_CASE(every_operation_writes_the_hand_values_into_its_first_operand) {
  Tensor x = from_values<float>({1, -2, 4});
  const Tensor handle = x;
  const Tensor y = from_values<float>({2, 3, 0.5});
  const auto step = [&](const Tensor& result, std::initializer_list<float> expected) {
    expect_same(handle, from_values<float>(expected));
    BOOST_CHECK(result.storage().same_as(handle.storage()));
  };
  step(add_(x, y), {3, 1, 4.5});
  step(add_(x, y, 10.0), {23, 31, 9.5});
  step(sub_(x, y), {21, 28, 9});
  step(sub_(x, y, 4.0), {13, 16, 7});
  step(mul_(x, y), {26, 48, 3.5});
  step(div_(x, y), {13, 16, 7});
  step(add_(x, 1.0), {14, 17, 8});
  step(sub_(x, 4.0), {10, 13, 4});
  step(mul_(x, 2.0), {20, 26, 8});
  step(div_(x, 4.0), {5, 6.5, 2});
  step(clamp_(x, 3.0, 6.0), {5, 6, 3});
  step(copy_(x, y), {2, 3, 0.5});
  step(fill_(x, 7.0), {7, 7, 7});
  step(zero_(x), {0, 0, 0});
}

BOOST_AUTO_TEST_CASE(each_write_counts_a_version_and_no_error_does) {
  Tensor x = from_values<float>({1, 2});
  std::uint64_t version = x.version();
  const auto counted = [&] { return std::exchange(version, x.version()) < x.version(); };
  add_(x, x);
  BOOST_CHECK(counted());
  mul_(x, 3.0);
  BOOST_CHECK(counted());
  add_(x, x, 0.5);
  BOOST_CHECK(counted());
  clamp_(x, 0.0, 1.0);
  BOOST_CHECK(counted());
  zero_(x);
  BOOST_CHECK(counted());
  copy_(x, ones({2}));
  BOOST_CHECK(counted());
  BOOST_CHECK_THROW(add_(x, ones({3})), ShapeError);
  BOOST_CHECK_THROW(clamp_(x, 1.0, 0.0), ValueError);
  BOOST_CHECK(!counted());
  expect_same(x, ones({2}));
}

BOOST_AUTO_TEST_CASE(the_other_operand_broadcasts_and_the_first_does_not) {
  const Tensor x = zeros({2, 3});
  add_(x, from_values<float>({1, 2, 3}));
  mul_(x, from_values<float>({10, 100}, {2, 1}));
  add_(x, scalar(1.0F), 2.0);
  expect_same(x, from_values<float>({12, 22, 32, 102, 202, 302}, {2, 3}));
  expect_same(copy_(x, from_values<float>({5, 6}, {2, 1})), from_values<float>({5, 5, 5, 6, 6, 6}, {2, 3}));
  expect_error<ShapeError>("[add_] (2, 3) does not broadcast to (3)", [] { add_(zeros({3}), zeros({2, 3})); });
  expect_error<ShapeError>("[sub_] (2, 3) does not broadcast to (3)", [] { sub_(zeros({3}), zeros({2, 3}), 2.0); });
  expect_error<ShapeError>("[copy_] (2) does not broadcast to (3)", [] { copy_(zeros({3}), zeros({2})); });
}

BOOST_AUTO_TEST_CASE(views_are_written_through) {
  const Tensor x = arange(0.0, 12.0, 1.0).reshape({3, 4});
  add_(x.slice(1, 0, 4, 2), 100.0);
  mul_(x.transpose().select(0, 3), from_values<float>({2, 3, 4}));
  zero_(x.select(0, 2).slice(0, 0, 2));
  expect_same(x, from_values<float>({100, 1, 102, 6, 104, 5, 106, 21, 0, 0, 110, 44}, {3, 4}));
}

BOOST_AUTO_TEST_CASE(the_other_operand_may_share_the_memory) {
  const auto square = [] { return arange(1.0, 10.0, 1.0).reshape({3, 3}); };
  const Tensor a = square();
  expect_same(add_(a, a.transpose()), square() + square().transpose());
  const Tensor b = square();
  expect_same(sub_(b, b.select(0, 2), 2.0), square() - square().select(0, 2) * 2.0);
  const Tensor c = square();
  expect_same(mul_(c, c), square() * square());
  const Tensor d = arange(1.0, 6.0, 1.0);
  expect_same(copy_(d.slice(0, 1), d.slice(0, 0, 4)), from_values<float>({1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(the_result_takes_the_dtype_of_the_first_operand) {
  // 1/3 in f64, rounded once to f32
  expect_same(div_(from_values<float>({1}), from_values<double>({3})), from_values<float>({1.0F / 3.0F}));
  expect_same(add_(from_values<std::int64_t>({5}), from_values<std::int32_t>({7})), from_values<std::int64_t>({12}));
  // 100 + 100 - 256
  expect_same(add_(from_values<std::int32_t>({100}).to(DType::i8), from_values<std::int32_t>({100})),
              from_values<std::int32_t>({-56}).to(DType::i8));
  expect_same(mul_(from_values<float>({1.5}), from_values<std::int64_t>({4})), from_values<float>({6}));
  expect_same(add_(from_values<std::int64_t>({5}), from_values<std::int64_t>({7}), 3.0),
              from_values<std::int64_t>({26}));
  expect_same(sub_(from_values<std::int64_t>({5}), from_values<std::int64_t>({7}), -1.0),
              from_values<std::int64_t>({12}));
  expect_same(copy_(from_values<std::int64_t>({5}), from_values<float>({-2.75})), from_values<std::int64_t>({-2}));
  expect_same(fill_(zeros({2}, DType::boolean), 1.0), ones({2}, DType::boolean));
}

BOOST_AUTO_TEST_CASE(sixteen_bit_floats_are_computed_in_f32_and_rounded_once) {
  Generator generator(3);
  const Tensor x = randn({50}, generator);
  const Tensor y = add(uniform({50}, 0.5, 1.5, generator), 0.0);
  expect_rounded([](const Tensor& a, const Tensor& b) { return add_(a.clone(), b, 0.3); }, x, y);
  expect_rounded([](const Tensor& a, const Tensor& b) { return mul_(a.clone(), b); }, x, y);
  expect_rounded([](const Tensor& a, const Tensor& b) { return div_(a.clone(), b); }, x, y);
  expect_rounded([](const Tensor& a) { return add_(a.clone(), 1e-3); }, x);
}

BOOST_AUTO_TEST_CASE(the_values_are_those_of_the_operation_without_the_underscore) {
  Generator generator(4);
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{0, 3}, Shape{5, 7}, Shape{300, 301}}) {
    const Tensor x = randn(shape, generator);
    const Tensor y = randn(shape, generator);
    expect_same(add_(x.clone(), y), add(x, y));
    expect_same(sub_(x.clone(), y), sub(x, y));
    expect_same(mul_(x.clone(), y), mul(x, y));
    expect_same(div_(x.clone(), y), div(x, y));
    expect_same(add_(x.clone(), y, 0.3), add(x, mul(y, 0.3)));
    expect_same(clamp_(x.clone(), -0.5, 0.25), clamp(x, -0.5, 0.25));
  }
}

BOOST_AUTO_TEST_CASE(memory_that_waits_for_its_values_has_them_before_it_is_written) {
  const std::int64_t count = static_cast<std::int64_t>(detail::kDeferBytes / 4);
  const Tensor later = full({count}, 1.0) + 2.0;
  add_(later, full({count}, 4.0) + 8.0);
  expect_same(later.slice(0, 0, 1), from_values<float>({15}));
}

BOOST_AUTO_TEST_CASE(who_froze_the_memory_sees_no_write) {
  const Tensor x = from_values<float>({1, 2});
  const FrozenBytes before = x.freeze();
  add_(x, 5.0);
  expect_same(x, from_values<float>({6, 7}));
  BOOST_CHECK_EQUAL(reinterpret_cast<const float*>(before.bytes().data())[0], 1.0F);
}

BOOST_AUTO_TEST_CASE(nan_stays_and_limits_may_be_infinite) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  expect_same(clamp_(from_values<float>({kNan, -5, 5}), -1.0, kInf), from_values<float>({kNan, -1, 5}));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  const Tensor counts = from_values<std::int64_t>({1, 2});
  const Tensor flags = ones({2}, DType::boolean);
  const Tensor x = ones({2});
  const Tensor repeated = ones({1, 3}).expand({2, 3});
  expect_error<DTypeError>("[div_] a result of f32 does not fit into i64", [&] { div_(counts, counts); });
  expect_error<DTypeError>("[div_] a result of f32 does not fit into i64", [&] { div_(counts, 2.0); });
  expect_error<DTypeError>("[add_] a result of f32 does not fit into i64", [&] { add_(counts, x); });
  expect_error<DTypeError>("[add_] a result of f32 does not fit into i64", [&] { add_(counts, x, 2.0); });
  expect_error<DTypeError>("[mul_] a result of i64 does not fit into boolean", [&] { mul_(flags, counts); });
  expect_error<DTypeError>("[sub_] not defined for boolean", [&] { sub_(flags, flags); });
  expect_error<DTypeError>("[add_] a result of f32 does not fit into i64", [&] { add_(counts, 1.5); });
  expect_error<DTypeError>("[add_] not a value of i64: 1.5", [&] { add_(counts, counts, 1.5); });
  expect_error<DTypeError>("[sub_] not a value of i64: 1.5", [&] { sub_(counts, counts, 1.5); });
  expect_error<DTypeError>("[clamp_] a result of f32 does not fit into i64", [&] { clamp_(counts, 0.0, 1.5); });
  expect_error<DTypeError>("[clamp_] a result of f32 does not fit into i64", [&] { clamp_(counts, 5.5, 7.0); });
  expect_same(counts, from_values<std::int64_t>({1, 2}));
  expect_error<DTypeError>("[fill_] not a value of i64: 1.5", [&] { fill_(counts, 1.5); });
  expect_error<ValueError>("[clamp_] low above high: 2 > 1", [&] { clamp_(x, 2.0, 1.0); });
  const std::string_view twice = "] one element is written more than once: (2, 3) strides (0, 1)";
  expect_error<ShapeError>("[add_" + std::string(twice), [&] { add_(repeated, 1.0); });
  expect_error<ShapeError>("[add_" + std::string(twice), [&] { add_(repeated, ones({3}), 2.0); });
  expect_error<ShapeError>("[zero_" + std::string(twice), [&] { zero_(repeated); });
  expect_error<ShapeError>("[fill_" + std::string(twice), [&] { fill_(repeated, 1.0); });
  expect_error<ShapeError>("[copy_" + std::string(twice), [&] { copy_(repeated, ones({3})); });
  BOOST_CHECK_EQUAL(add_(ones({2, 1}).expand({2, 0}), 1.0).numel(), 0);  // no element is written, so none twice
  expect_error<TensorError>("[add_] tensor is undefined", [&] { add_(Tensor(), x); });
  expect_error<TensorError>("[add_] tensor is undefined", [&] { add_(Tensor(), 1.0); });
  expect_error<TensorError>("[sub_] tensor is undefined", [&] { sub_(x, Tensor(), 2.0); });
  expect_error<TensorError>("[clamp_] tensor is undefined", [&] { clamp_(Tensor(), 0.0, 1.0); });
  expect_error<TensorError>("[fill_] tensor is undefined", [&] { fill_(Tensor(), 0.0); });
  expect_error<TensorError>("[zero_] tensor is undefined", [&] { zero_(Tensor()); });
  expect_error<TensorError>("[copy_] tensor is undefined", [&] { copy_(x, Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()
