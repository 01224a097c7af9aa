#include "tensor/sparse.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/support/said_to_be_on.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(sparse)

namespace {

Tensor places(std::initializer_list<std::int64_t> numbers, const Shape& shape) {
  return from_values<std::int64_t>(numbers, shape);
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && sum(ne(a, b).to(DType::i64)).item<std::int64_t>() == 0;
}

bool has_text(const TensorError& error, std::string_view text) { return std::string_view(error.what()) == text; }

}  // namespace

BOOST_AUTO_TEST_CASE(parts_at_one_place_add_up) {
  const SparseTensor rows(places({2, 0, 2}, {1, 3}), from_values<double>({1, 2, 3, 4, 5, 6}, {3, 2}), {3, 2});
  BOOST_TEST(rows.count() == 3);
  BOOST_TEST(rows.sparse_dim() == 1);
  BOOST_TEST(!rows.is_coalesced());
  const Tensor dense = from_values<double>({3, 4, 0, 0, 6, 8}, {3, 2});
  BOOST_TEST(same(rows.to_dense(), dense));
  const SparseTensor once = rows.coalesce();
  BOOST_TEST(once.is_coalesced());
  BOOST_TEST(same(once.indices(), places({0, 2}, {1, 2})));
  BOOST_TEST(same(once.values(), from_values<double>({3, 4, 6, 8}, {2, 2})));
  BOOST_TEST(same(once.to_dense(), dense));
}

BOOST_AUTO_TEST_CASE(places_along_several_dimensions_sort_in_row_major_order) {
  // Columns: (1,2) (0,0) (1,1) (1,2).
  const SparseTensor points(places({1, 0, 1, 1, 2, 0, 1, 2}, {2, 4}), from_values<std::int64_t>({1, 2, 3, 4}), {2, 3});
  const SparseTensor sorted = points.coalesce();
  BOOST_TEST(same(sorted.indices(), places({0, 1, 1, 0, 1, 2}, {2, 3})));
  BOOST_TEST(same(sorted.values(), from_values<std::int64_t>({2, 3, 5})));
  BOOST_TEST(same(sorted.to_dense(), from_values<std::int64_t>({2, 0, 0, 0, 3, 5}, {2, 3})));
}

BOOST_AUTO_TEST_CASE(many_parts_are_summed_in_their_order_whatever_the_threads) {
  // The parts of one index differ much in size, so another order gives another sum.
  constexpr std::int64_t kParts = 5000;
  constexpr std::int64_t kWidth = 37;
  for (const std::int64_t places_there : {std::int64_t{3}, std::int64_t{700}, std::int64_t{5'000'000'000}}) {
    Generator generator(17);
    const std::int64_t step = std::max<std::int64_t>(places_there / 700, 1);
    const Tensor index =
        mul(randint(0, std::min<std::int64_t>(places_there, 700), {kParts}, generator), static_cast<double>(step));
    const Tensor sizes = exp(mul(randn({kParts, 1}, generator), 8.0));
    const Tensor parts = mul(randn({kParts, kWidth}, generator), sizes);
    // Also with two sparse dimensions: index = 2 * first + second.
    for (const int dims : {1, 2}) {
      const Shape shape = dims == 1 ? Shape{places_there * 2, kWidth} : Shape{places_there, 2, kWidth};
      const Tensor second = eq(arange(kParts), -1.0).to(DType::i64);
      const Tensor indices = dims == 1 ? index.unsqueeze(0) : stack(std::vector{index, second}, 0);
      const SparseTensor sparse(indices, parts, shape);
      const SparseTensor alone = sparse.coalesce();
      {
        const MathThreads threads(3);
        const SparseTensor together = sparse.coalesce();
        BOOST_TEST(same(together.indices(), alone.indices()));
        BOOST_TEST(same(together.values(), alone.values()));
      }
      std::map<std::int64_t, std::vector<float>> expected;
      for (std::int64_t i = 0; i < kParts; ++i) {
        auto& sums =
            expected.try_emplace(index.data<std::int64_t>()[static_cast<std::size_t>(i)], kWidth, -0.0F).first->second;
        for (std::size_t j = 0; j < kWidth; ++j)
          sums[j] += parts.data<float>()[static_cast<std::size_t>(i) * kWidth + j];
      }
      BOOST_TEST_REQUIRE(alone.count() == static_cast<std::int64_t>(expected.size()));
      std::size_t row = 0;
      bool all_equal = true;
      for (const auto& [place, sums] : expected) {
        all_equal = all_equal && alone.indices().data<std::int64_t>()[row] == place &&
                    std::equal(sums.begin(), sums.end(),
                               alone.values().data<float>().begin() + static_cast<std::ptrdiff_t>(row * kWidth));
        ++row;
      }
      BOOST_TEST(all_equal);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_comes_together_is_rounded_once_and_wraps) {
  const SparseTensor halves(places({1, 0, 1, 1}, {1, 4}), from_values<float>({2048, 1, 1, 1}).to(DType::f16), {2});
  BOOST_TEST(same(halves.coalesce().values(), from_values<float>({1, 2050}).to(DType::f16)));  // added one by one: 2048
  const SparseTensor bytes(places({1, 0, 1}, {1, 3}), from_values<std::int64_t>({100, 1, 100}).to(DType::i8), {2});
  BOOST_TEST(same(bytes.coalesce().values(), from_values<std::int64_t>({1, -56}).to(DType::i8)));
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const SparseTensor longs(places({1, 0, 1}, {1, 3}), from_values<std::int64_t>({largest, 1, 1}), {2});
  BOOST_TEST(same(longs.coalesce().values(), from_values<std::int64_t>({1, std::numeric_limits<std::int64_t>::min()})));
  const SparseTensor flags(places({1, 0}, {1, 2}), ones({2}).to(DType::boolean), {2});
  expect_error<DTypeError>("[coalesce] not defined for boolean", [&] { (void)flags.coalesce(); });
}

BOOST_AUTO_TEST_CASE(what_ascends_already_is_not_copied) {
  const SparseTensor rows(places({0, 2}, {1, 2}), from_values<float>({1, 2}), {3});
  BOOST_TEST(!rows.is_coalesced());
  BOOST_TEST(rows.coalesce().is_coalesced());
  BOOST_TEST(rows.coalesce().values().storage().same_as(rows.values().storage()));
  const SparseTensor empty(places({}, {1, 0}), zeros({0, 4}), {3, 4});
  BOOST_TEST(empty.coalesce().count() == 0);
  const SparseTensor narrow(places({2, 0, 2}, {1, 3}), zeros({3, 0}), {3, 0});
  BOOST_TEST(narrow.coalesce().count() == 2);
}

BOOST_AUTO_TEST_CASE(dense_and_back) {
  const Tensor dense = from_values<float>({0, 0, 1, 0, 0, 0, 2, 3, 0, 0, 0, 0}, {4, 3});
  for (const int dims : {1, 2}) {
    const SparseTensor sparse = SparseTensor::from_dense(dense, dims);
    BOOST_TEST(sparse.is_coalesced());
    BOOST_TEST(sparse.count() == (dims == 1 ? 2 : 3));
    BOOST_TEST(same(sparse.to_dense(), dense));
  }
  const SparseTensor nothing = SparseTensor::from_dense(zeros({2, 2}), 2);
  BOOST_TEST(nothing.count() == 0);
  BOOST_TEST(same(nothing.to_dense(), zeros({2, 2})));
  BOOST_TEST(nothing.coalesce().count() == 0);
}

BOOST_AUTO_TEST_CASE(sums_have_all_parts_one_after_another) {
  const SparseTensor a(places({2, 0}, {1, 2}), from_values<float>({1, 2}), {3});
  const SparseTensor b(places({2}, {1, 1}), from_values<float>({4}), {3});
  const SparseTensor sum = add(std::vector{a, b});
  BOOST_TEST(same(sum.indices(), places({2, 0, 2}, {1, 3})));
  BOOST_TEST(same(sum.values(), from_values<float>({1, 2, 4})));
  BOOST_TEST(!sum.is_coalesced());
  BOOST_TEST(same(sum.to_dense(), from_values<float>({2, 0, 5})));
  expect_error<ValueError>("[add] no tensors", [] { (void)add(std::vector<SparseTensor>()); });
  expect_error<TensorError>("[add] tensor is undefined", [&] { (void)add(std::vector{a, SparseTensor()}); });
  const SparseTensor longer(places({2}, {1, 1}), from_values<float>({4}), {4});
  expect_error<ShapeError>("[add] shapes differ: (3) and (4)", [&] { (void)add(std::vector{a, longer}); });
  const SparseTensor wide(places({2}, {1, 1}), from_values<double>({4}), {3});
  expect_error<DTypeError>("[add] dtypes differ: f32 and f64", [&] { (void)add(std::vector{a, wide}); });
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_by_name) {
  const Tensor one = from_values<float>({1});
  BOOST_CHECK_EXCEPTION(SparseTensor(places({3}, {1, 1}), one, {3}), IndexError,
                        [](const auto& e) { return has_text(e, "[SparseTensor] index out of range: 3 of 3"); });
  BOOST_CHECK_EXCEPTION(SparseTensor(places({-1}, {1, 1}), one, {3}), IndexError,
                        [](const auto& e) { return has_text(e, "[SparseTensor] index out of range: -1 of 3"); });
  BOOST_CHECK_EXCEPTION(SparseTensor(from_values<float>({0}, {1, 1}), one, {3}), DTypeError,
                        [](const auto& e) { return has_text(e, "[SparseTensor] indices are f32, not i64"); });
  BOOST_CHECK_EXCEPTION(SparseTensor(places({0, 0}, {2, 1}), one, {3}), ShapeError, [](const auto& e) {
    return has_text(e, "[SparseTensor] indices of shape (2, 1) for a tensor of shape (3)");
  });
  BOOST_CHECK_EXCEPTION(SparseTensor(places({0}, {1, 1}), one, {3, 2}), ShapeError, [](const auto& e) {
    return has_text(e, "[SparseTensor] values of shape (1), expected (1, 2)");
  });
  const Tensor there = testing::said_to_be_on(Device::cuda(), one);
  expect_error<DeviceError>("[SparseTensor] devices differ: cpu and cuda:0", [&] {
    (void)SparseTensor(places({0}, {1, 1}), there, {3});
  });
  const Tensor indices_there = testing::said_to_be_on(Device::cuda(), places({0}, {1, 1}));
  expect_error<DeviceError>("[SparseTensor] devices differ: cuda:0 and cpu",
                            [&] { (void)SparseTensor(indices_there, one, {3}); });
  expect_error<ShapeError>("[from_dense] 0 dimensions of (2, 3)", [] {
    (void)SparseTensor::from_dense(ones({2, 3}), 0);
  });
  expect_error<ShapeError>("[from_dense] 3 dimensions of (2, 3)", [] {
    (void)SparseTensor::from_dense(ones({2, 3}), 3);
  });
  BOOST_CHECK_EXCEPTION((void)SparseTensor(places({1, 1}, {1, 2}), ones({2}), {3}).as_coalesced(), ValueError,
                        [](const auto& e) { return has_text(e, "[coalesced] places are not ascending"); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
