#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tensor/cpu/allocator.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_shape)

BOOST_AUTO_TEST_CASE(concat_joins_along_a_dimension) {
  const Tensor a = from_values<float>({1, 2}, {1, 2});
  const Tensor b = from_values<float>({3, 4, 5, 6}, {2, 2});
  expect_same(concat({a, b}), from_values<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  expect_same(concat({b, b.transpose()}, -1), from_values<float>({3, 4, 3, 5, 5, 6, 4, 6}, {2, 4}));
  expect_same(concat({a, zeros({0, 2})}), a);
  expect_same(concat({a, a.to(DType::i64)}), from_values<float>({1, 2, 1, 2}, {2, 2}));
}

BOOST_AUTO_TEST_CASE(concat_refuses_what_does_not_fit) {
  expect_error<ShapeError>("[concat] no tensors", [] { (void)concat({}); });
  expect_error<ShapeError>("[concat] shapes differ beside dimension 0: (2, 3) and (2, 4)", [] {
    (void)concat({zeros({2, 3}), zeros({2, 4})});
  });
  expect_error<ShapeError>("[concat] shapes differ beside dimension 0: (2) and (2, 4)", [] {
    (void)concat({zeros({2}), zeros({2, 4})});
  });
  expect_error<ShapeError>("[concat] dimension out of range: 0 of ()", [] { (void)concat({scalar(1.0F)}); });
  expect_error<TensorError>("[concat] tensor is undefined", [] { (void)concat({zeros({1}), Tensor()}); });
}

BOOST_AUTO_TEST_CASE(stack_joins_along_a_new_dimension) {
  const Tensor a = from_values<float>({1, 2});
  const Tensor b = from_values<float>({3, 4});
  expect_same(stack({a, b}), from_values<float>({1, 2, 3, 4}, {2, 2}));
  expect_same(stack({a, b}, 1), from_values<float>({1, 3, 2, 4}, {2, 2}));
  expect_same(stack({a, b}, -1), from_values<float>({1, 3, 2, 4}, {2, 2}));
  expect_same(stack({scalar(1.0F), scalar(2.0F)}), a);
  expect_error<ShapeError>("[stack] shapes differ: (2) and (3)", [] { (void)stack({zeros({2}), zeros({3})}); });
  expect_error<ShapeError>("[stack] no tensors", [] { (void)stack({}); });
}

BOOST_AUTO_TEST_CASE(flatten_joins_neighbouring_dimensions) {
  const Tensor x = zeros({2, 3, 4, 5});
  BOOST_CHECK_EQUAL(flatten(x).shape(), Shape{120});
  BOOST_CHECK_EQUAL(flatten(x, 1).shape(), (Shape{2, 60}));
  BOOST_CHECK_EQUAL(flatten(x, 1, 2).shape(), (Shape{2, 12, 5}));
  BOOST_CHECK_EQUAL(flatten(scalar(1.0F)).shape(), Shape{1});
  BOOST_CHECK_EQUAL(flatten(zeros({0, 4}), 1).shape(), (Shape{0, 4}));
  expect_error<ShapeError>("[flatten] first dimension after the last: 2 > 1", [&] { (void)flatten(x, 2, 1); });
}

BOOST_AUTO_TEST_CASE(free_functions_are_the_views_of_tensor) {
  const Tensor x = arange(6).reshape({2, 3});
  expect_same(transpose(x), x.transpose());
  expect_same(reshape(x, {3, 2}), x.reshape({3, 2}));
  expect_same(squeeze(unsqueeze(x, 1), 1), x);
  expect_same(expand(x, {2, 2, 3}), x.expand({2, 2, 3}));
}

BOOST_AUTO_TEST_CASE(parts_are_views_of_the_whole) {
  Tensor x = arange(10).reshape({5, 2});
  const auto parts = split(x, 2);
  BOOST_TEST_REQUIRE(parts.size() == 3U);
  expect_same(parts[1], from_values<std::int64_t>({4, 5, 6, 7}, {2, 2}));
  expect_same(parts[2], from_values<std::int64_t>({8, 9}, {1, 2}));
  const auto columns = split_with_sizes(x, {0, 2}, -1);
  BOOST_CHECK_EQUAL(columns[0].shape(), (Shape{5, 0}));
  expect_same(columns[1], x);
  BOOST_TEST(chunk(x, 3).size() == 3U);  // 2, 2, 1
  BOOST_TEST(chunk(x, 4).size() == 3U);  // parts of 2, so there is no fourth
  BOOST_TEST(chunk(x, 9).size() == 5U);
  BOOST_CHECK_EQUAL(split(zeros({0, 2}), 3)[0].shape(), (Shape{0, 2}));
  expect_same(narrow(x, 0, -2, 2), from_values<std::int64_t>({6, 7, 8, 9}, {2, 2}));
  x.fill(1);
  expect_same(parts[2], from_values<std::int64_t>({1, 1}, {1, 2}));
}

BOOST_AUTO_TEST_CASE(flip_reverses_along_each_axis) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(flip(x, 1), from_values<float>({3, 2, 1, 6, 5, 4}, {2, 3}));
  expect_same(flip(x.transpose(), {0, -1}), from_values<float>({6, 3, 5, 2, 4, 1}, {3, 2}));
  expect_same(flip(zeros({0, 2}), 0), zeros({0, 2}));
}

BOOST_AUTO_TEST_CASE(flip_of_a_long_dimension_takes_little_memory_beside_its_result) {
  constexpr std::int64_t kSize = 20'000'003;
  const Tensor x = zeros({kSize}, DType::u8);
  x.slice(0, 5, 6).fill(3.0);
  x.slice(0, kSize - 70'000, kSize - 69'999).fill(7.0);
  cpu_allocator().release_cached();
  const auto held = [] { return cpu_allocator().statistics().bytes_live + cpu_allocator().statistics().bytes_cached; };
  const std::size_t before = held();
  const Tensor found = flip(x, 0);
  BOOST_TEST(held() - before < 100'000'000U);  // an index of all would take 160 MB
  BOOST_TEST(found.select(0, kSize - 6).item() == 3.0);
  BOOST_TEST(found.select(0, 69'999).item() == 7.0);
  BOOST_TEST(sum(found).item() == 10.0);
  const Tensor rows = arange(140'000).reshape({2, 70'000});
  expect_same(flip(rows, 1), sub(unsqueeze(from_values<std::int64_t>({69'999, 139'999}), 1), arange(70'000)));
}

BOOST_AUTO_TEST_CASE(roll_moves_elements_around_the_end) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(roll(x, 1, 1), from_values<float>({3, 1, 2, 6, 4, 5}, {2, 3}));
  expect_same(roll(x, -4, -1), from_values<float>({2, 3, 1, 5, 6, 4}, {2, 3}));  // -4 is equivalent to -1
  expect_same(roll(x.transpose(), 3, 1), from_values<float>({4, 1, 5, 2, 6, 3}, {3, 2}));
  expect_same(roll(x, 6, 1), x);
  BOOST_CHECK_EQUAL(roll(zeros({2, 0}), 5, 1).shape(), (Shape{2, 0}));
}

BOOST_AUTO_TEST_CASE(repeat_lays_copies_side_by_side) {
  const Tensor x = from_values<std::int64_t>({1, 2, 3, 4}, {2, 2});
  expect_same(repeat(x, {1, 2}), from_values<std::int64_t>({1, 2, 1, 2, 3, 4, 3, 4}, {2, 4}));
  expect_same(repeat(x.transpose(), {2, 1}), from_values<std::int64_t>({1, 3, 2, 4, 1, 3, 2, 4}, {4, 2}));
  expect_same(repeat(from_values<float>({5, 6}), {2, 1, 2}), from_values<float>({5, 6, 5, 6, 5, 6, 5, 6}, {2, 1, 4}));
  expect_same(repeat(from_values<float>({1, 2, 3, 4, 5, 6}, {3, 2}), {1, 2}),
              from_values<float>({1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6}, {3, 4}));
  expect_same(repeat(scalar(7.0F), {3}), full({3}, 7));
  expect_same(repeat(scalar(7.0F), {}), scalar(7.0F));
  const Tensor wide = x.reshape({1, 1, 1, 2, 1, 1, 1, 1, 2});
  expect_same(repeat(wide, {1, 1, 1, 1, 1, 1, 1, 1, 2}), repeat(x, {1, 2}).reshape({1, 1, 1, 2, 1, 1, 1, 1, 4}));
  expect_same(repeat(wide, {1, 1, 1, 3, 1, 1, 1, 1, 2}), repeat(x, {3, 2}).reshape({1, 1, 1, 6, 1, 1, 1, 1, 4}));
  const std::vector<std::int64_t> each(16, 2);
  expect_same(repeat(scalar(7.0F), each), full(Shape(std::span(each)), 7));
  BOOST_CHECK_EQUAL(repeat(wide, {1, 1, 0, 3, 1, 1, 1, 1, 2}).shape(), (Shape{1, 1, 0, 6, 1, 1, 1, 1, 4}));
  BOOST_CHECK_EQUAL(repeat(x, {0, 3}).shape(), (Shape{0, 6}));
  expect_error<ShapeError>("[repeat] 1 counts for (2, 2)", [&] { (void)repeat(x, {2}); });
  expect_error<ValueError>("[repeat] count below 0: -1", [&] { (void)repeat(x, {1, -1}); });
  expect_error<TensorError>("[repeat] tensor is undefined", [] { (void)repeat(Tensor(), {1}); });
}

BOOST_AUTO_TEST_CASE(pad_adds_before_and_after_from_the_last_dimension_on) {
  const Tensor x = from_values<float>({1, 2, 3, 4}, {2, 2});
  expect_same(pad(x, {1, 2}, 9), from_values<float>({9, 1, 2, 9, 9, 9, 3, 4, 9, 9}, {2, 5}));
  expect_same(pad(x, {0, 0, 1, 0}), from_values<float>({0, 0, 1, 2, 3, 4}, {3, 2}));
  expect_same(pad(x, {-1, 1}), from_values<float>({2, 0, 4, 0}, {2, 2}));
  expect_same(pad(x.transpose(), {0, -1}, 5), from_values<float>({1, 2}, {2, 1}));
  expect_same(pad(from_values<bool>({true}), {1, 0}, 1), from_values<bool>({true, true}));
  expect_same(pad(zeros({0}), {1, 1}, 7), from_values<float>({7, 7}));
}

BOOST_AUTO_TEST_CASE(pad_that_removes_more_than_there_is_leaves_what_it_adds) {
  const Tensor x = from_values<float>({1, 2, 3});
  for (const std::vector<std::int64_t>& amounts :
       {std::vector<std::int64_t>{-3, 5}, {-5, 7}, {4, -4}, {7, -5}, {9, -7}})
    expect_same(pad(x, amounts, 9), full({3 + amounts[0] + amounts[1]}, 9));
  expect_same(pad(x, {-5, 2}), zeros({0}));
  const Tensor matrix = from_values<float>({1, 2, 3, 4}, {2, 2});
  expect_same(pad(matrix, {-3, 4, 1, 0}, 9), full({3, 3}, 9));
  expect_same(pad(matrix, {1, -2, 4, -3}, 9), full({3, 1}, 9));
}

BOOST_AUTO_TEST_CASE(triangles_keep_one_side_of_a_diagonal) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(tril(x), from_values<float>({1, 0, 0, 4, 5, 0}, {2, 3}));
  expect_same(triu(x), from_values<float>({1, 2, 3, 0, 5, 6}, {2, 3}));
  expect_same(tril(x, 1), from_values<float>({1, 2, 0, 4, 5, 6}, {2, 3}));
  expect_same(tril(x, -2), zeros({2, 3}));
  expect_same(triu(x, 5), zeros({2, 3}));
  // Each matrix of a batch, in any layout: [[1, 3], [5, 7]] and [[2, 4], [6, 8]].
  const Tensor batch = from_values<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}).permute({2, 0, 1});
  expect_same(triu(batch, 1), from_values<float>({0, 3, 0, 0, 0, 4, 0, 0}, {2, 2, 2}));
}

BOOST_AUTO_TEST_CASE(parts_that_there_are_not_are_named) {
  const Tensor x = zeros({4, 2});
  expect_error<IndexError>("[narrow] length 3 from start 2 on, dimension 0 has 4", [&] { (void)narrow(x, 0, 2, 3); });
  expect_error<IndexError>("[narrow] length -1 from start 0 on, dimension 0 has 4", [&] { (void)narrow(x, 0, 0, -1); });
  expect_error<ValueError>("[split] size below 1: 0", [&] { (void)split(x, 0); });
  expect_error<ShapeError>("[split_with_sizes] sizes (2, 3) for 4 parts", [&] { (void)split_with_sizes(x, {2, 3}); });
  expect_error<ShapeError>("[split_with_sizes] sizes (5, -1) for 4 parts", [&] { (void)split_with_sizes(x, {5, -1}); });
  expect_error<ValueError>("[chunk] count below 1: 0", [&] { (void)chunk(x, 0); });
  expect_error<ValueError>("[pad] 3 amounts: two for each of the last dimensions, of 2", [&] {
    (void)pad(x, {1, 1, 1});
  });
  expect_error<ShapeError>("[pad] size below 0: -1", [&] { (void)pad(x, {-2, -1}); });
  expect_error<TensorError>("[pad] tensor is undefined", [] { (void)pad(Tensor(), {1, 1}); });
  expect_error<ShapeError>("[tril] not a matrix: (3)", [] { (void)tril(zeros({3})); });
  expect_error<TensorError>("[flip] tensor is undefined", [] { (void)flip(Tensor(), 0); });
}

BOOST_AUTO_TEST_CASE(sizes_beyond_64_bits_are_refused) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;
  const Tensor x = ones({2, 3});
  expect_error<ValueError>("[tril] diagonal outside of 64 bits: 9223372036854775807 of (2, 3)",
                           [&] { (void)tril(x, kLargest); });
  expect_error<ValueError>("[triu] diagonal outside of 64 bits: 9223372036854775807 of (2, 3)",
                           [&] { (void)triu(x, kLargest); });
  expect_same(tril(x, kLargest - 2), x);
  expect_same(triu(x, -kLargest - 1), x);
  expect_error<ShapeError>("[repeat] too many elements: 4611686018427387904 times (2, 3)", [&] {
    (void)repeat(x, {1, kHalf});
  });
  const Tensor many = ones({1}).expand({kHalf});
  expect_error<ShapeError>("[concat] too many parts along dimension 0: 2 tensors, (4611686018427387904) and others",
                           [&] {
                             (void)concat({many, many});
                           });
  const auto padded = [](std::int64_t before, std::int64_t after) {
    return "[pad] size outside of 64 bits: 3 with " + std::to_string(before) + " before and " + std::to_string(after) +
           " after";
  };
  expect_error<ShapeError>(padded(kLargest, 0), [&] { (void)pad(x, {kLargest, 0}); });
  expect_error<ShapeError>(padded(kLargest, -kLargest), [&] { (void)pad(x, {kLargest, -kLargest}); });
  expect_error<ShapeError>(padded(0, -kLargest - 1), [&] { (void)pad(x, {0, -kLargest - 1}); });
  expect_error<ShapeError>("[nbytes] too many elements: (4611686018427387904)", [&] { (void)many.nbytes(); });
  expect_error<ShapeError>("[flatten] too many elements: (4611686018427387904, 4, 0)", [&] {
    (void)flatten(zeros({kHalf, 4, 0}), 0, 1);
  });
}

BOOST_AUTO_TEST_CASE(roll_takes_several_dimensions_or_none) {
  const Tensor x = arange(6).reshape({2, 3});
  expect_same(roll(x, {1, 1}, {0, 1}), from_values<std::int64_t>({5, 3, 4, 2, 0, 1}, {2, 3}));
  expect_same(roll(x, {1, -4}, {1, 1}), x);  // 1 - 4 is one full turn
  expect_same(roll(x, 1), from_values<std::int64_t>({5, 0, 1, 2, 3, 4}, {2, 3}));
  expect_same(roll(x, -7), from_values<std::int64_t>({1, 2, 3, 4, 5, 0}, {2, 3}));
  expect_same(roll(x, std::numeric_limits<std::int64_t>::min(), 1), roll(x, -2, 1));  // 2^63 = 3 * k + 2
  Tensor same = roll(x, std::vector<std::int64_t>{}, std::vector<int>{});
  same.fill(9);
  expect_same(x, arange(6).reshape({2, 3}));
  expect_error<ShapeError>("[roll] 2 shifts for 1 dimensions", [&] { (void)roll(x, {1, 2}, {0}); });
  expect_error<ShapeError>("[roll] dimension out of range: 2 of (2, 3)", [&] { (void)roll(x, {1}, {2}); });
}

BOOST_AUTO_TEST_SUITE_END()
