#include "tensor/ops/pad.h"

#include <limits>
#include <string>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_pad)

namespace {

constexpr std::array kModes{PadMode::reflect, PadMode::replicate, PadMode::circular};

Tensor numbers(std::initializer_list<std::int64_t> values) { return from_values<std::int64_t>(values); }

}  // namespace

BOOST_AUTO_TEST_CASE(each_mode_takes_its_values_from_the_tensor) {
  const Tensor x = numbers({1, 2, 3, 4});
  expect_same(pad(x, {2, 3}, PadMode::reflect), numbers({3, 2, 1, 2, 3, 4, 3, 2, 1}));
  expect_same(pad(x, {2, 3}, PadMode::replicate), numbers({1, 1, 1, 2, 3, 4, 4, 4, 4}));
  expect_same(pad(x, {2, 4}, PadMode::circular), numbers({3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(amounts_are_of_the_last_dimensions_from_the_last_on) {
  const Tensor x = from_values<float>({1, 2, 3, 4}, {2, 2});
  expect_same(pad(x, {1, 0, 0, 1}, PadMode::reflect), from_values<float>({2, 1, 2, 4, 3, 4, 2, 1, 2}, {3, 3}));
  expect_same(pad(x, {0, 0, 2, 0}, PadMode::replicate), from_values<float>({1, 2, 1, 2, 1, 2, 3, 4}, {4, 2}));
  expect_same(pad(x.transpose(), {1, 1}, PadMode::circular), from_values<float>({3, 1, 3, 1, 4, 2, 4, 2}, {2, 4}));
}

BOOST_AUTO_TEST_CASE(a_negative_amount_cuts_off) {
  const Tensor x = numbers({1, 2, 3});
  expect_same(pad(x, {-1, 1}, PadMode::reflect), numbers({2, 3, 2}));
  expect_same(pad(x, {-1, 1}, PadMode::replicate), numbers({2, 3, 3}));
  expect_same(pad(x, {1, -2}, PadMode::reflect), numbers({2, 1}));
  for (const PadMode mode : kModes) expect_same(pad(x, {-3, 0}, mode), zeros({0}, DType::i64));
}

BOOST_AUTO_TEST_CASE(what_a_negative_amount_leaves_goes_around) {
  const Tensor x = numbers({1, 2, 3, 4, 5});
  expect_same(pad(x, {1, -2}, PadMode::circular), numbers({3, 1, 2, 3}));
  expect_same(pad(x, {-2, 2}, PadMode::circular), numbers({3, 4, 5, 3, 4}));
  expect_same(pad(x, {1, -4}, PadMode::circular), numbers({1, 1}));
  expect_error<ShapeError>("[pad] 3 elements around 2 along dimension 0 of (5)", [&] {
    (void)pad(x, {3, -3}, PadMode::circular);
  });
  expect_error<ShapeError>("[pad] nothing to repeat along dimension 0 of (5)", [&] {
    (void)pad(x, {-5, 1}, PadMode::circular);
  });
}

BOOST_AUTO_TEST_CASE(one_element_no_element_and_no_amount) {
  for (const PadMode mode : {PadMode::replicate, PadMode::circular}) {
    expect_same(pad(from_values<bool>({true}), {1, 1}, mode), from_values<bool>({true, true, true}));
  }
  for (const PadMode mode : kModes) {
    expect_same(pad(zeros({0, 3}), {1, 1}, mode), zeros({0, 5}));
    expect_same(pad(zeros({2, 0}), {0, 0}, mode), zeros({2, 0}));
    Tensor x = ones({2});
    for (const std::vector<std::int64_t>& amounts : {std::vector<std::int64_t>{}, {0, 0}}) {
      Tensor same = pad(x, amounts, mode);
      same.fill(2.0);
      expect_same(x, ones({2}));
    }
  }
}

BOOST_AUTO_TEST_CASE(amounts_that_do_not_fit_are_refused) {
  const Tensor x = ones({2, 3});
  const auto refused = [](const Tensor& given, const std::vector<std::int64_t>& amounts, PadMode mode,
                          const char* text) {
    expect_error<ShapeError>(text, [&] { (void)pad(given, amounts, mode); });
  };
  refused(x, {3, 0}, PadMode::reflect, "[pad] 3 elements reflected off 3 along dimension 1 of (2, 3)");
  refused(x, {0, 0, 0, 2}, PadMode::reflect, "[pad] 2 elements reflected off 2 along dimension 0 of (2, 3)");
  refused(x, {0, 4}, PadMode::circular, "[pad] 4 elements around 3 along dimension 1 of (2, 3)");
  for (const PadMode mode : kModes) {
    refused(zeros({2, 0}), {1, 0}, mode, "[pad] nothing to repeat along dimension 1 of (2, 0)");
    refused(x, {-2, -2}, mode, "[pad] size below 0: -1");
    expect_error<ValueError>("[pad] 3 amounts: two for each of the last dimensions, of 2", [&] {
      (void)pad(x, {1, 1, 1}, mode);
    });
    expect_error<TensorError>("[pad] tensor is undefined", [&] { (void)pad(Tensor(), {1, 1}, mode); });
  }
  refused(x, {std::int64_t{1} << 61, 0}, PadMode::replicate, "[empty] too many elements: (2305843009213693955)");
  expect_error<ValueError>("[pad] no mode has the number 9", [&] { (void)pad(x, {1, 1}, static_cast<PadMode>(9)); });
}

BOOST_AUTO_TEST_CASE(amounts_beyond_64_bits_are_refused) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (const PadMode mode : kModes) {
    expect_error<ShapeError>("[pad] size outside of 64 bits: 3 with 9223372036854775807 before and 1 after", [&] {
      (void)pad(ones({3}), {kLargest, 1}, mode);
    });
    expect_error<ShapeError>(
        "[pad] size outside of 64 bits: 3 with -9223372036854775808 before and 9223372036854775807 after", [&] {
          (void)pad(ones({3}), {-kLargest - 1, kLargest}, mode);
        });
  }
}

BOOST_AUTO_TEST_SUITE_END()
