#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_histogram)

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor integers(std::initializer_list<std::int64_t> values) { return from_values<std::int64_t>(values); }

}  // namespace

BOOST_AUTO_TEST_CASE(unique_gives_distinct_values_in_order_where_they_were_and_how_many) {
  const Unique found = unique(from_values<float>({3, 1, 3, -2, 1, 3}, {2, 3}));
  expect_same(found.values, from_values<float>({-2, 1, 3}));
  expect_same(found.inverse, from_values<std::int64_t>({2, 1, 2, 0, 1, 2}, {2, 3}));
  expect_same(found.counts, integers({1, 2, 3}));
  expect_same(unique(from_values<float>({3, 1, 2, 1}, {2, 2}).transpose()).inverse,
              from_values<std::int64_t>({2, 1, 0, 0}, {2, 2}));
  for (const DType dtype : kDTypes) {
    const Unique both = unique(integers({1, 0, 1}).to(dtype));
    expect_same(both.values, integers({0, 1}).to(dtype));
    expect_same(both.counts, integers({1, 2}));
  }
}

BOOST_AUTO_TEST_CASE(every_nan_is_a_value_of_its_own_and_zeros_are_one) {
  const Unique found = unique(from_values<float>({kNan, 0.0F, kNan, -0.0F, kInf}));
  expect_same(found.counts, integers({2, 1, 1, 1}));
  expect_same(found.inverse, integers({2, 0, 3, 0, 1}));
  const Unique none = unique(zeros({0, 2}));
  expect_same(none.values, zeros({0}));
  expect_same(none.inverse, zeros({0, 2}, DType::i64));
  expect_same(none.counts, zeros({0}, DType::i64));
  expect_same(unique(scalar(5.0F)).inverse, scalar<std::int64_t>(0));
  expect_error<TensorError>("[unique] tensor is undefined", [] { (void)unique(Tensor()); });
}

BOOST_AUTO_TEST_CASE(unique_of_integers_is_the_same_whether_their_range_is_small_or_large) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Unique ends = unique(integers({kMost, kLeast, kMost, 0}));
  expect_same(ends.values, integers({kLeast, 0, kMost}));
  expect_same(ends.inverse, integers({2, 0, 2, 1}));
  expect_same(ends.counts, integers({1, 1, 2}));
  expect_same(unique(integers({kLeast + 2, kLeast})).values, integers({kLeast, kLeast + 2}));
  expect_same(unique(integers({kMost, kMost - 1})).inverse, integers({1, 0}));
  Generator generator(4);
  const Tensor few = randint(-20, 20, {3000}, generator);
  const Unique counted = unique(few);
  const Unique sorted = unique(mul(few, 1000.0));
  expect_same(mul(counted.values, 1000.0), sorted.values);
  expect_same(counted.inverse, sorted.inverse);
  expect_same(counted.counts, sorted.counts);
  expect_same(index_select(counted.values, 0, counted.inverse), few);
  expect_same(unique(few.to(DType::f32)).inverse, counted.inverse);
  expect_same(unique(few.view({2, 1500}).transpose()).inverse.transpose().contiguous(),
              counted.inverse.view({2, 1500}));
  // Of equal elements the first is the value: here -0.
  BOOST_CHECK(std::signbit(unique(from_values<float>({1, -0.0F, 0.0F})).values.data<float>()[0]));
}

BOOST_AUTO_TEST_CASE(bincount_counts_integers_or_sums_their_weights) {
  const Tensor x = integers({1, 3, 1});
  expect_same(bincount(x), integers({0, 2, 0, 1}));
  expect_same(bincount(x, {}, 6), integers({0, 2, 0, 1, 0, 0}));
  expect_same(bincount(x, from_values<float>({0.5F, 2, 0.25F}), 2), from_values<float>({0, 0.75F, 0, 2}));
  expect_same(bincount(from_values<std::uint8_t>({200, 200})).slice(0, 200), integers({2}));
  expect_same(bincount(x, integers({1, 2, 3})), from_values<double>({0, 4, 0, 2}));
  expect_same(bincount(integers({1, 9, 3, 9, 1, 9}).slice(0, 0, 6, 2)), integers({0, 2, 0, 1}));
  expect_same(bincount(integers({})), integers({}));
  expect_same(bincount(integers({}), zeros({0}), 2), from_values<float>({0, 0}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_counted_is_named) {
  expect_error<ValueError>("[bincount] negative: -1", [] { (void)bincount(integers({2, -1})); });
  expect_error<ValueError>("[bincount] too large: 9223372036854775807", [] {
    (void)bincount(integers({2, std::numeric_limits<std::int64_t>::max()}));
  });
  expect_error<ValueError>("[bincount] minlength below 0: -1", [] { (void)bincount(integers({2}), {}, -1); });
  expect_error<ShapeError>("[bincount] not 1 dimensions: ()", [] { (void)bincount(scalar<std::int64_t>(1)); });
  expect_error<ShapeError>("[bincount] shapes differ: (1) and (2)", [] { (void)bincount(integers({2}), ones({2})); });
  expect_error<DTypeError>("[bincount] not integers: f32", [] { (void)bincount(ones({2})); });
  expect_error<DTypeError>("[bincount] not integers: boolean", [] { (void)bincount(ones({2}, DType::boolean)); });
  expect_error<TensorError>("[bincount] tensor is undefined", [] { (void)bincount(Tensor()); });
}

BOOST_AUTO_TEST_CASE(histc_counts_in_parts_of_equal_width) {
  const Tensor x = from_values<float>({0, 0.5F, 1, 1.5F, 2, -1, 3, kNan}, {2, 4});
  expect_same(histc(x, 2, 0.0, 2.0), from_values<float>({2, 3}));  // [0, 1) and [1, 2]
  expect_same(histc(x.transpose(), 4, 0.0, 4.0), from_values<float>({2, 2, 1, 1}));
  expect_same(histc(from_values<double>({1, 2, 5}), 4), from_values<double>({1, 1, 0, 1}));  // from 1 to 5
  expect_same(histc(from_values<float>({7, 7}), 4), from_values<float>({0, 0, 2, 0}));       // from 6 to 8
  expect_same(histc(zeros({0}), 3), zeros({3}));
  expect_same(histc(from_values<float>({1, 2}).to(DType::bf16), 1, 0.0, 2.0), full({1}, 2, DType::bf16));
  BOOST_CHECK_EQUAL(histc(x, 100, 0.0, 1.0).numel(), 100);
  expect_same(histc(from_values<float>({0, 9, 1, 9, 2, 9}).slice(0, 0, 6, 2), 2, 0.0, 2.0), from_values<float>({1, 2}));
  // 0.7F / 1 * 10 is 7 in f32, although 0.7F is below 0.7.
  expect_same(histc(from_values<float>({0.3F, 0.7F}), 10, 0.0, 1.0),
              from_values<float>({0, 0, 0, 1, 0, 0, 0, 1, 0, 0}));
  expect_error<ValueError>("[histc] bins below 1: 0", [&] { (void)histc(x, 0); });
  expect_error<ValueError>("[histc] low above high: 2 > 1", [&] { (void)histc(x, 3, 2.0, 1.0); });
  expect_error<ValueError>("[histc] range is not finite: [nan, nan]", [&] { (void)histc(x, 3); });
  expect_error<ValueError>("[histc] range is not finite: [-1e+308, 1e+308]", [] {
    (void)histc(from_values<double>({-1e308, 1e308}), 3);
  });
  expect_error<ValueError>("[histc] range is not finite: [0, inf]", [&] { (void)histc(x, 3, 0.0, 1e300); });
  expect_error<ValueError>("[histc] range is not finite: [0, inf]",
                           [&] { (void)histc(x, 3, 0.0, std::numeric_limits<double>::infinity()); });
  expect_error<DTypeError>("[histc] not floating point: i64", [] { (void)histc(integers({1}), 3); });
  expect_error<TensorError>("[histc] tensor is undefined", [] { (void)histc(Tensor()); });
}

BOOST_AUTO_TEST_CASE(histc_counts_large_elements_and_many_bins) {
  // From 0 to 3e37; 100 times an element is beyond f32.
  const Tensor large = histc(from_values<float>({0, 1e37F, 2e37F, 3e37F}), 100);
  BOOST_CHECK_EQUAL(sum(large).item(), 4.0);
  for (const std::int64_t bin : {0, 33, 66, 99}) BOOST_CHECK_EQUAL(large.select(0, bin).item(), 1.0);
  // 2^25 - 1, the number of the last bin, is no f32.
  constexpr std::int64_t kBins = 1 << 25;
  const Tensor many = histc(from_values<float>({0, 1}), kBins, 0.0, 1.0);
  BOOST_CHECK_EQUAL(many.select(0, kBins - 1).item(), 1.0);
  // Widened by 1, the range of equal elements may still be empty.
  expect_same(histc(from_values<float>({1e10F, 1e10F}), 2), from_values<float>({2, 0}));
  expect_same(histc(from_values<double>({1e17, 1e17}), 2), from_values<double>({2, 0}));
  // In f32 both ends are 1, so the range is that of the elements.
  expect_same(histc(from_values<float>({0, 1, 2}), 2, 1.0, 1.0 + 1e-12), from_values<float>({1, 2}));
}

BOOST_AUTO_TEST_CASE(searchsorted_says_where_a_value_belongs) {
  const Tensor sorted = from_values<float>({1, 3, 3, 5});
  const Tensor values = from_values<float>({3, 0, 6, 4}, {2, 2});
  expect_same(searchsorted(sorted, values), from_values<std::int64_t>({1, 0, 4, 3}, {2, 2}));
  expect_same(searchsorted(sorted, values, Side::right), from_values<std::int64_t>({3, 0, 4, 3}, {2, 2}));
  expect_same(searchsorted(sorted, values.transpose()), from_values<std::int64_t>({1, 4, 0, 3}, {2, 2}));
  expect_same(searchsorted(sorted, scalar(5.0F)), scalar<std::int64_t>(3));
  // By row: 3 in (1, 3, 5), 3 and 9 in (2, 4, 6).
  const Tensor rows = from_values<float>({1, 3, 5, 2, 4, 6}, {2, 3});
  expect_same(searchsorted(rows, from_values<float>({3, 0, 3, 9}, {2, 2})),
              from_values<std::int64_t>({1, 0, 1, 3}, {2, 2}));
  expect_same(searchsorted(rows.transpose().contiguous().transpose(), from_values<std::int64_t>({6, 6}, {2, 1})),
              from_values<std::int64_t>({3, 2}, {2, 1}));
  for (const DType dtype : kDTypes) {
    expect_same(searchsorted(integers({0, 1}).to(dtype), integers({0, 1}).to(dtype), Side::right), integers({1, 2}));
  }
}

BOOST_AUTO_TEST_CASE(nan_belongs_behind_all_numbers) {
  const Tensor sorted = from_values<float>({1, 2, kNan});
  const Tensor values = from_values<float>({kNan, kInf, 2});
  expect_same(searchsorted(sorted, values), integers({2, 2, 1}));
  expect_same(searchsorted(sorted, values, Side::right), integers({3, 2, 2}));
}

BOOST_AUTO_TEST_CASE(nothing_is_searched_in_nothing) {
  expect_same(searchsorted(zeros({0}), zeros({3})), zeros({3}, DType::i64));
  expect_same(searchsorted(zeros({4}), zeros({0})), zeros({0}, DType::i64));
  expect_same(searchsorted(zeros({0, 3}), zeros({0, 2})), zeros({0, 2}, DType::i64));
  expect_error<ShapeError>("[searchsorted] rows differ: (2, 3) and (3, 1)", [] {
    (void)searchsorted(zeros({2, 3}), zeros({3, 1}));
  });
  expect_error<ShapeError>("[searchsorted] rows differ: (2, 3) and ()", [] {
    (void)searchsorted(zeros({2, 3}), scalar(1.0F));
  });
  expect_error<ShapeError>("[searchsorted] rows differ: () and (2)",
                           [] { (void)searchsorted(scalar(1.0F), zeros({2})); });
  expect_error<TensorError>("[searchsorted] tensor is undefined", [] { (void)searchsorted(Tensor(), zeros({1})); });
}

BOOST_AUTO_TEST_CASE(bucketize_counts_boundaries_below) {
  const Tensor boundaries = integers({1, 3, 5});
  const Tensor x = from_values<double>({0.5, 1, 2, 5, 9});
  expect_same(bucketize(x, boundaries), integers({0, 0, 1, 2, 3}));
  expect_same(bucketize(x, boundaries, Side::right), integers({0, 1, 1, 3, 3}));
  expect_error<ShapeError>("[bucketize] not 1 dimensions: (2, 3)", [&] { (void)bucketize(x, zeros({2, 3})); });
  expect_error<TensorError>("[bucketize] tensor is undefined", [&] { (void)bucketize(x, Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()
