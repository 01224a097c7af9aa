#include "tensor/ops/rvalue.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <initializer_list>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/deferred_ops.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(ops_rvalue)

namespace {

Tensor numbers() { return from_values<float>({1, 2, 3, 4}, {2, 2}); }

template <class T>
void expect_values(const Tensor& x, std::initializer_list<T> expected) {
  expect_same(x, from_values<T>(std::span<const T>(expected.begin(), expected.size()), x.shape()));
}

// More than kDeferBytes, and no whole number of stretches.
Tensor many(std::uint64_t seed) {
  Generator generator(seed);
  return uniform({3, 100'001}, 1.0, 2.0, generator);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_result_takes_the_memory_of_the_operand_that_is_given_up) {
  const Tensor other = numbers();
  const std::vector<std::function<Tensor(Tensor)>> uses{
      [&](Tensor x) { return std::move(x) + other; }, [&](Tensor x) { return other + std::move(x); },
      [&](Tensor x) { return std::move(x) - 2.0; },   [&](Tensor x) { return 2.0 - std::move(x); },
      [&](Tensor x) { return std::move(x) * other; }, [&](Tensor x) { return other / std::move(x); },
      [&](Tensor x) { return relu(std::move(x)); },   [&](Tensor x) { return -std::move(x); },
      [&](Tensor x) { return exp(std::move(x)); },    [&](Tensor x) { return std::move(x) + full({2}, 1.0); }};
  for (const auto& use : uses) {
    Tensor x = numbers();
    const std::byte* const memory = x.bytes();
    BOOST_TEST(use(std::move(x)).bytes() == memory);
  }
}

BOOST_AUTO_TEST_CASE(of_two_operands_that_are_given_up_either_may_give_its_memory) {
  Tensor wide = numbers();
  const std::byte* const memory = wide.bytes();
  const Tensor sum = full({2}, 10.0) + std::move(wide);
  BOOST_TEST(sum.bytes() == memory);
  expect_values<float>(sum, {11, 12, 13, 14});
}

BOOST_AUTO_TEST_CASE(an_operand_that_somebody_else_can_see_keeps_its_values) {
  Tensor x = numbers();
  const Tensor copy = x;
  expect_values<float>(std::move(x) + 1.0, {2, 3, 4, 5});
  expect_values<float>(copy, {1, 2, 3, 4});

  Tensor y = numbers();
  const Tensor row = y.select(0, 1);
  expect_values<float>(std::move(y) * 2.0, {2, 4, 6, 8});
  expect_values<float>(row, {3, 4});

  Tensor z = numbers();
  const FrozenBytes sent = z.freeze();
  expect_values<float>(neg(std::move(z)), {-1, -2, -3, -4});
  BOOST_TEST(*reinterpret_cast<const float*>(sent.bytes().data()) == 1.0F);
}

BOOST_AUTO_TEST_CASE(a_result_of_another_shape_or_dtype_has_memory_of_its_own) {
  expect_values<float>(full({2}, 1.0) + numbers(), {2, 3, 4, 5});
  const Tensor sum = from_values<float>({1, 2}) + from_values<double>({0.5, 0.5});
  BOOST_TEST((sum.dtype() == DType::f64));
  expect_values<double>(sum, {1.5, 2.5});
  const Tensor quotient = from_values<std::int64_t>({3, 4}) / 2.0;
  expect_values<float>(quotient, {1.5, 2});
  expect_values<float>(exp(from_values<std::int64_t>({0})), {1});
}

BOOST_AUTO_TEST_CASE(integers_and_16_bit_floats_are_reused_too) {
  expect_values<std::int64_t>(from_values<std::int64_t>({7, 8}) * from_values<std::int64_t>({2, 3}), {14, 24});
  Tensor half = numbers().to(DType::f16);
  const std::byte* const memory = half.bytes();
  const Tensor sum = std::move(half) + 0.5;
  BOOST_TEST(sum.bytes() == memory);
  expect_values<float>(sum.to(DType::f32), {1.5, 2.5, 3.5, 4.5});
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_other_forms) {
  expect_error<ShapeError>("[add] shapes do not broadcast: (2, 2) and (3)", [] { (void)(numbers() + full({3}, 1.0)); });
  expect_error<TensorError>("[mul] tensor is undefined", [] { (void)(Tensor() * 2.0); });
  expect_error<DTypeError>("[add] not a value of u8: 300", [] { (void)(from_values<std::uint8_t>({1}) + 300); });
  expect_error<DTypeError>("[neg] not defined for boolean", [] { (void)-full({1}, 1, DType::boolean); });
}

BOOST_AUTO_TEST_CASE(a_chain_that_is_deferred_gives_the_bits_of_one_that_is_not) {
  const Tensor y = many(2);
  const Tensor z = many(3);
  const Tensor w = many(4);
  Tensor x = many(1);
  Tensor eager = x.clone();
  for (int i = 0; i < 40; ++i) {  // more operands than wait together
    x = std::move(x) * y - 0.25;
    x = w / (1.5 - (z + std::move(x) * 0.125) * 0.01);
    const Tensor product = mul(eager, y);
    const Tensor first = sub(product, 0.25);
    const Tensor scaled = mul(first, 0.125);
    const Tensor sum = add(z, scaled);
    const Tensor share = mul(sum, 0.01);
    const Tensor rest = sub(1.5, share);
    eager = div(w, rest);
  }
  BOOST_TEST(same_bytes(x, eager));
  for (int i = 0; i < 150; ++i) {  // more steps
    x = std::move(x) * 1.25 - 0.25;
    const Tensor product = mul(eager, 1.25);
    eager = sub(product, 0.25);
  }
  BOOST_TEST(same_bytes(x, eager));
}

BOOST_AUTO_TEST_CASE(integers_wait_too) {
  Tensor x = full({1 << 18}, 3, DType::i64);
  const Tensor y = full({1 << 18}, 5, DType::i64);
  x = y - std::move(x) * y;  // 5 - 3 * 5
  BOOST_TEST(x.select(0, 1000).item<std::int64_t>() == -10);
}

BOOST_AUTO_TEST_CASE(a_write_to_an_operand_in_the_meantime_does_not_reach_the_result) {
  Tensor y = full({1 << 19}, 1.0);
  Tensor x = full({1 << 19}, 2.0) + y;
  y.fill(100.0);
  BOOST_TEST(x.select(0, 7).item() == 3.0);
  BOOST_TEST(y.select(0, 7).item() == 100.0);
}

BOOST_AUTO_TEST_CASE(bytes_that_were_frozen_before_stay_as_they_are) {
  Tensor x = full({1 << 19}, 2.0);
  const FrozenBytes sent = x.freeze();
  x = std::move(x) + 1.0;
  BOOST_TEST(x.select(0, 7).item() == 3.0);
  BOOST_TEST(*reinterpret_cast<const float*>(sent.bytes().data()) == 2.0F);
}

BOOST_AUTO_TEST_CASE(whatever_looks_at_a_result_finds_it_computed) {
  const Tensor y = full({1 << 19}, 1.0);
  const auto waiting = [&] {
    Tensor x = full({1 << 19}, 2.0) + y;
    BOOST_REQUIRE(x.storage().pending() != nullptr);
    return x;
  };
  BOOST_TEST(*reinterpret_cast<const float*>(waiting().freeze().bytes().data()) == 3.0F);
  BOOST_TEST(waiting().slice(0, 5, 6).item() == 3.0);
  BOOST_TEST(sum(waiting()).item() == 3.0 * (1 << 19));
  Tensor written = waiting();
  written.mutable_data<float>()[0] += 1.0F;
  BOOST_TEST(written.data<float>()[0] == 4.0F);
  BOOST_TEST(written.data<float>()[1] == 3.0F);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_result_that_waits_goes_on_alone) {
  const Tensor y = full({1 << 20}, 1.0);
  Tensor x = full({1 << 20}, 2.0) + y;
  Tensor part = x.slice(0, 1 << 19);
  x = Tensor();
  part = std::move(part) * y.slice(0, 1 << 19);
  part = std::move(part) + 10.0;
  BOOST_TEST(part.select(0, 0).item() == 13.0);
  BOOST_TEST(part.select(0, (1 << 19) - 1).item() == 13.0);
}

BOOST_AUTO_TEST_CASE(several_threads_may_look_at_once) {
  const Tensor y = many(2);
  const Tensor expected = add(many(1), y);
  for (int round = 0; round < 20; ++round) {
    const Tensor x = many(1) + y;
    std::vector<char> right(3);
    {
      std::vector<std::jthread> threads;
      for (char& same : right) threads.emplace_back([&x, &same, &expected] { same = same_bytes(x, expected) ? 1 : 0; });
    }
    BOOST_TEST(right == std::vector<char>(3, 1), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_result_that_nobody_looks_at_lets_its_operands_go) {
  const Tensor y = full({1 << 19}, 1.0);
  {
    const Tensor x = full({1 << 19}, 2.0) + y;
    BOOST_TEST(y.storage().frozen());
  }
  BOOST_TEST(!y.storage().frozen());
}

BOOST_AUTO_TEST_CASE(work_that_is_deferred_counts_a_version) {
  Tensor x = full({1 << 19}, 2.0);
  const std::uint64_t before = x.version();
  x = std::move(x) + 1.0;
  BOOST_TEST(x.version() > before);
}

BOOST_AUTO_TEST_CASE(what_is_written_through_a_span_does_not_reach_arithmetic_that_came_before) {
  Tensor y = full({1 << 19}, 1.0);
  const std::span<float> span = y.mutable_data<float>();
  Tensor x = full({1 << 19}, 2.0) + y;
  span[7] = 100.0F;
  BOOST_TEST(x.select(0, 7).item() == 3.0);
  BOOST_TEST(y.select(0, 7).item() == 100.0);
  // The same of the operand that gives its memory.
  const std::span<float> own = x.mutable_data<float>();
  const Tensor sum = std::move(x) + full({1 << 19}, 1.0);
  own[7] = 50.0F;
  BOOST_TEST(sum.select(0, 7).item() == 50.0);
  BOOST_TEST(sum.select(0, 8).item() == 4.0);
}

BOOST_AUTO_TEST_CASE(a_span_of_an_operand_stays_valid_beside_arithmetic) {
  Tensor y = full({1 << 19}, 1.0);
  const std::span<const float> span = y.data<float>();
  {
    const Tensor x = full({1 << 19}, 2.0) + y;
    BOOST_TEST(!y.storage().frozen());
    add_into(y, x);
  }
  BOOST_TEST(span[7] == 4.0F);  // 1 + (2 + 1), in the memory that it always had
}

BOOST_AUTO_TEST_CASE(a_write_that_moves_a_tensor_leaves_its_spans_behind) {
  Tensor y = full({1 << 19}, 1.0);
  (void)y.data<float>();
  BOOST_TEST(y.storage().exposed());
  const FrozenBytes sent = y.freeze();
  y.fill(2.0);
  BOOST_TEST(!y.storage().exposed());
  const Tensor x = full({1 << 19}, 2.0) + y;
  BOOST_TEST(y.storage().frozen());
  BOOST_TEST(x.select(0, 7).item() == 4.0);
}

BOOST_AUTO_TEST_CASE(a_tensor_may_be_given_up_to_arithmetic_with_itself) {
  const auto expect = [](const Tensor& x, double value) { expect_same(x, full({1 << 19}, value)); };
  for (const bool waits : {false, true}) {  // with work that was deferred before, and without
    const auto three = [&] { return waits ? full({1 << 19}, 1.0) + full({1 << 19}, 2.0) : full({1 << 19}, 3.0); };
    Tensor x = three();
    expect(std::move(x) * x, 9.0);
    x = three();
    expect(x - std::move(x), 0.0);
    x = three();
    expect(std::move(x) + std::move(x), 6.0);
    x = three();
    x = std::move(x) * x;
    x = std::move(x) + x;
    expect(1.0 - std::move(x) / x, 0.0);
  }
}

BOOST_AUTO_TEST_CASE(views_of_one_tensor_may_be_given_up_to_arithmetic_with_it) {
  const Tensor x = many(1);
  Tensor y = x + 1.0;
  const Tensor shifted = y.reshape({300'003}).slice(0, 1), before = shifted.clone();
  expect_same(y.reshape({300'003}).slice(0, 0, 300'002) * shifted,
              (x.reshape({300'003}).slice(0, 0, 300'002) + 1.0) * before);
  expect_same(shifted, before);
  y = y + y.clone();
  expect_same(std::move(y) + x, ((x + 1.0) + (x + 1.0)) + x);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
