#include "tensor/shape.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tensor/create.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(shape)

BOOST_AUTO_TEST_CASE(a_shape_prints_as_its_sizes) {
  BOOST_CHECK_EQUAL(to_string(Shape{8, 4}), "(8, 4)");
  BOOST_CHECK_EQUAL(to_string(Shape{3}), "(3)");
  BOOST_CHECK_EQUAL(to_string(Shape{}), "()");
}

BOOST_AUTO_TEST_CASE(numel_is_the_product_one_for_a_scalar_zero_with_an_empty_dimension) {
  BOOST_CHECK_EQUAL((Shape{8, 4, 2}.numel()), 64);  // 8 * 4 * 2
  BOOST_CHECK_EQUAL(Shape{}.numel(), 1);
  BOOST_CHECK_EQUAL((Shape{1'000'000'000, 1'000'000'000, 1'000'000'000, 0}.numel()), 0);
}

BOOST_AUTO_TEST_CASE(a_shape_is_made_of_any_integers_and_of_a_vector) {
  const std::vector<std::int64_t> sizes{2, 3, 4};
  const Shape all = sizes;
  const std::vector<float> batch(2);
  BOOST_TEST(all == (Shape{batch.size(), 3, 4U}));
  BOOST_TEST(zeros(sizes).shape() == all);
  BOOST_TEST(zeros({batch.size()}).shape() == Shape{2});
  BOOST_TEST(Shape(std::vector<std::int64_t>{}) == Shape{});
  BOOST_CHECK_THROW(static_cast<void>(Shape(std::vector<std::int64_t>(17, 1))), ShapeError);
  BOOST_CHECK_THROW(zeros({std::numeric_limits<std::size_t>::max()}), ShapeError);
}

BOOST_AUTO_TEST_CASE(a_shape_of_one_axis_in_braces_is_written_as_one_of_several) {
  const std::size_t count = 4;
  BOOST_TEST(Shape({4}) == Shape{4});
  BOOST_TEST(Shape({count}) == Shape{4});
  BOOST_TEST(Shape({2, 4}) == (Shape{2, 4}));
  BOOST_TEST(Strides({4}) == Strides{4});
  BOOST_TEST(ones(Shape({4})).shape() == Shape{4});
  BOOST_TEST(ones({4}).shape() == Shape{4});
  static_assert(!std::is_convertible_v<int, Shape>);  // ones(4) does not compile
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_refused) {
  expect_error<ShapeError>("[shape] negative size: (2, -1)", [] { (void)Shape{2, -1}.numel(); });
  expect_error<ShapeError>("[shape] too many elements: (4294967296, 4294967296)", [] {
    (void)Shape{1LL << 32, 1LL << 32}.numel();
  });
  expect_error<ShapeError>("[shape] more than 16 dimensions: 17",
                           [] { (void)Shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}; });
  expect_error<ShapeError>("[shape] more than 16 dimensions: 17", [] {
    Shape full{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    full.push_back(1);
  });
}

BOOST_AUTO_TEST_CASE(insert_and_erase_shift_the_rest) {
  Shape shape{2, 3, 4};
  shape.insert(1, 7);
  BOOST_CHECK_EQUAL(shape, (Shape{2, 7, 3, 4}));
  shape.erase(0);
  BOOST_CHECK_EQUAL(shape, (Shape{7, 3, 4}));
  shape.erase(2);
  BOOST_CHECK_EQUAL(shape, (Shape{7, 3}));
}

BOOST_AUTO_TEST_CASE(contiguous_strides_are_products_of_the_sizes_behind) {
  BOOST_CHECK_EQUAL(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  BOOST_CHECK_EQUAL(contiguous_strides({}), Strides{});
}

BOOST_AUTO_TEST_CASE(shapes_broadcast_from_the_last_dimension) {
  BOOST_CHECK_EQUAL(broadcast_shapes("add", {2, 3}, {3}), (Shape{2, 3}));
  BOOST_CHECK_EQUAL(broadcast_shapes("add", {4, 1, 3}, {2, 1}), (Shape{4, 2, 3}));
  BOOST_CHECK_EQUAL(broadcast_shapes("add", {}, {2, 0}), (Shape{2, 0}));
  BOOST_CHECK_EQUAL(broadcast_shapes("add", {1}, {0}), (Shape{0}));
  expect_error<ShapeError>("[add] shapes do not broadcast: (2, 3) and (4)", [] {
    (void)broadcast_shapes("add", {2, 3}, {4});
  });
  expect_error<ShapeError>("[add] shapes do not broadcast: (4) and (2, 3)", [] {
    (void)broadcast_shapes("add", {4}, {2, 3});
  });
  BOOST_CHECK(broadcasts_to({1, 3}, {5, 2, 3}));
  BOOST_CHECK(!broadcasts_to({2, 3}, {3}));
  BOOST_CHECK(!broadcasts_to({3}, {1}));
}

BOOST_AUTO_TEST_CASE(negative_dimensions_count_from_the_end) {
  BOOST_CHECK_EQUAL(normalize_dim("sum", -1, {3, 4}), 1);
  BOOST_CHECK_EQUAL(normalize_dim("sum", 0, {3, 4}), 0);
  expect_error<ShapeError>("[sum] dimension out of range: 2 of (3, 4)", [] { (void)normalize_dim("sum", 2, {3, 4}); });
  expect_error<ShapeError>("[sum] dimension out of range: -3 of (3, 4)", [] {
    (void)normalize_dim("sum", -3, {3, 4});
  });
  for (const int dim : {0, -1}) {
    const std::string text = "[sum] dimension out of range: " + std::to_string(dim) + " of ()";
    expect_error<ShapeError>(text, [dim] { (void)normalize_dim("sum", dim, {}); });
  }
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_together_are_refused_where_they_are_joined) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  BOOST_CHECK((joined_around({2, 3, 4, 5}, 1) == Shape{2, 3, 20}));
  expect_error<ShapeError>("[shape] too many elements: (4611686018427387904, 4, 0)", [&] {
    (void)joined_around({kHuge, 4, 0}, 2);
  });
}

BOOST_AUTO_TEST_SUITE_END()
