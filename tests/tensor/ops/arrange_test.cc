#include <cstdint>
#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_arrange)

namespace {

Tensor matrix() { return from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}); }

}  // namespace

BOOST_AUTO_TEST_CASE(diagonal_is_a_view_of_places_that_differ_by_the_offset) {
  const Tensor x = matrix();
  expect_same(diagonal(x), from_values<float>({1, 5}));
  expect_same(diagonal(x, 1), from_values<float>({2, 6}));
  expect_same(diagonal(x, 2), from_values<float>({3}));
  expect_same(diagonal(x, -1), from_values<float>({4}));
  expect_same(diagonal(x, 1, 1, 0), from_values<float>({4}));  // elements (row, column) with row = column + 1
  expect_same(diagonal(x.transpose(), -1), from_values<float>({2, 6}));
  Tensor written = x.clone();
  diagonal(written, 1).fill(0);
  expect_same(written, from_values<float>({1, 0, 3, 4, 5, 0}, {2, 3}));
  // x[i][j][i + 1] of 0 ... 11 in (2, 2, 3): 1, 4 and 8, 11 by i, so (j, i) is (1, 8), (4, 11).
  expect_same(diagonal(arange(12).view({2, 2, 3}), 1, 0, -1), from_values<std::int64_t>({1, 8, 4, 11}, {2, 2}));
}

BOOST_AUTO_TEST_CASE(a_diagonal_beyond_the_matrix_has_no_elements) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t offset : {std::int64_t{3}, std::int64_t{-2}, kFar, -kFar - 1}) {
    BOOST_CHECK_EQUAL(diagonal(matrix(), offset).shape(), (Shape{0}));
  }
  BOOST_CHECK_EQUAL(diagonal(zeros({0, 3, 2})).shape(), (Shape{2, 0}));
  expect_same(diagonal(full({1, 1}, 7)), from_values<float>({7}));
  expect_error<ShapeError>("[diagonal] the dimensions are one: -1 and 1", [] { (void)diagonal(matrix(), 0, -1, 1); });
  expect_error<ShapeError>("[diagonal] dimension out of range: 1 of (3)", [] { (void)diagonal(zeros({3})); });
  expect_error<TensorError>("[diagonal] tensor is undefined", [] { (void)diagonal(Tensor()); });
}

BOOST_AUTO_TEST_CASE(diag_makes_a_matrix_of_a_vector_and_a_vector_of_a_matrix) {
  expect_same(diag(from_values<float>({1, 2})), from_values<float>({1, 0, 0, 2}, {2, 2}));
  expect_same(diag(from_values<float>({1, 2}), 1), from_values<float>({0, 1, 0, 0, 0, 2, 0, 0, 0}, {3, 3}));
  expect_same(diag(from_values<bool>({true}), -1), from_values<bool>({false, false, true, false}, {2, 2}));
  Tensor line = diag(matrix(), 1);
  expect_same(line, from_values<float>({2, 6}));
  const Tensor x = matrix();
  diag(x).fill(0);  // a copy
  expect_same(x, matrix());
  expect_error<ShapeError>("[diag] neither a vector nor a matrix: (2, 3, 4)", [] { (void)diag(zeros({2, 3, 4})); });
  expect_error<TensorError>("[diag] tensor is undefined", [] { (void)diag(Tensor()); });
}

BOOST_AUTO_TEST_CASE(diag_embed_puts_the_last_dimension_on_the_diagonal_of_two_new_ones) {
  const Tensor x = from_values<float>({1, 2, 3, 4}, {2, 2});
  expect_same(diag_embed(x), from_values<float>({1, 0, 0, 2, 3, 0, 0, 4}, {2, 2, 2}));
  expect_same(diag_embed(x, -1, 0, 2).select(1, 0), from_values<float>({0, 0, 0, 1, 0, 0, 0, 2, 0}, {3, 3}));
  expect_same(diag_embed(x, -1, 2, 0).select(1, 0), from_values<float>({0, 1, 0, 0, 0, 2, 0, 0, 0}, {3, 3}));
  BOOST_CHECK_EQUAL(diag_embed(zeros({0}), 2).shape(), (Shape{2, 2}));
  expect_error<ShapeError>("[diag_embed] the dimensions are one: -1 and 2", [&] { (void)diag_embed(x, 0, -1, 2); });
  expect_error<ShapeError>("[diag_embed] a scalar has no diagonal", [] { (void)diag_embed(scalar(1.0F)); });
}

BOOST_AUTO_TEST_CASE(trace_sums_the_diagonal) {
  expect_same(trace(matrix()), scalar(6.0F));  // 1 + 5
  expect_same(trace(from_values<std::uint8_t>({200, 0, 0, 100}, {2, 2})), scalar<std::int64_t>(300));
  expect_same(trace(zeros({0, 3})), scalar(0.0F));
  expect_error<ShapeError>("[trace] not 2 dimensions: (3)", [] { (void)trace(zeros({3})); });
}

BOOST_AUTO_TEST_CASE(unbind_gives_the_parts_without_their_dimension) {
  const std::vector<Tensor> columns = unbind(matrix(), -1);
  BOOST_REQUIRE_EQUAL(columns.size(), 3U);
  expect_same(columns[1], from_values<float>({2, 5}));
  const Tensor x = matrix();
  unbind(x)[1].fill(0);  // a view
  expect_same(x, from_values<float>({1, 2, 3, 0, 0, 0}, {2, 3}));
  BOOST_CHECK(unbind(zeros({0, 3})).empty());
  expect_error<ShapeError>("[unbind] dimension out of range: 0 of ()", [] { (void)unbind(scalar(1.0F)); });
}

BOOST_AUTO_TEST_CASE(movedim_keeps_the_order_of_the_others) {
  const Tensor x = zeros({2, 3, 4, 5});
  BOOST_CHECK_EQUAL(movedim(x, 0, 2).shape(), (Shape{3, 4, 2, 5}));
  BOOST_CHECK_EQUAL(movedim(x, -1, 0).shape(), (Shape{5, 2, 3, 4}));
  BOOST_CHECK_EQUAL(movedim(x, {0, 1}, {-1, 0}).shape(), (Shape{3, 4, 5, 2}));
  expect_same(movedim(matrix(), 1, 0), matrix().transpose());
  expect_error<ShapeError>("[movedim] 2 dimensions to 1 places", [&] { (void)movedim(x, {0, 1}, 0); });
  expect_error<ShapeError>("[movedim] dimension given twice: -4", [&] { (void)movedim(x, {0, -4}, {0, 1}); });
  expect_error<ShapeError>("[movedim] dimension out of range: 4 of (2, 3, 4, 5)", [&] { (void)movedim(x, 4, 0); });
}

BOOST_AUTO_TEST_CASE(unflatten_cuts_a_dimension_up) {
  const Tensor x = arange(12).view({2, 6});
  expect_same(unflatten(x, 1, {3, 2}), arange(12).view({2, 3, 2}));
  expect_same(unflatten(x, -1, {-1, 2}), arange(12).view({2, 3, 2}));
  expect_same(unflatten(x.transpose(), 0, {2, 3}), x.transpose().reshape({2, 3, 2}));
  BOOST_CHECK_EQUAL(unflatten(zeros({0, 2}), 0, {-1, 3}).shape(), (Shape{0, 3, 2}));
  BOOST_CHECK_EQUAL(unflatten(zeros({0, 2}), 0, {0, 3}).shape(), (Shape{0, 3, 2}));
  expect_error<ShapeError>("[unflatten] 6 into (4, -1)", [&] { (void)unflatten(x, 1, {4, -1}); });
  expect_error<ShapeError>("[unflatten] 6 into (2, 2)", [&] { (void)unflatten(x, 1, {2, 2}); });
  expect_error<ShapeError>("[unflatten] 6 into (-2, -3)", [&] { (void)unflatten(x, 1, {-2, -3}); });
  expect_error<ShapeError>("[unflatten] 6 into ()", [&] { (void)unflatten(x, 1, {}); });
}

BOOST_AUTO_TEST_CASE(broadcasting_by_name) {
  const Tensor x = from_values<float>({1, 2}, {2, 1});
  expect_same(expand_as(x, matrix()), from_values<float>({1, 1, 1, 2, 2, 2}, {2, 3}));
  expect_same(broadcast_to(x, {2, 2}), from_values<float>({1, 1, 2, 2}, {2, 2}));
  expect_error<ShapeError>("[expand] (2, 1) does not broadcast to (3)", [&] { (void)expand_as(x, zeros({3})); });
  expect_error<TensorError>("[expand_as] tensor is undefined", [&] { (void)expand_as(x, Tensor()); });
}

BOOST_AUTO_TEST_CASE(tile_takes_missing_counts_for_the_last_dimensions) {
  const Tensor x = from_values<float>({1, 2, 3, 4}, {2, 2});
  expect_same(tile(x, {2}), from_values<float>({1, 2, 1, 2, 3, 4, 3, 4}, {2, 4}));
  expect_same(tile(x, {2, 1, 1}), stack({x, x}));
  expect_same(tile(x, {}), x);
  BOOST_CHECK_EQUAL(tile(x, {0}).shape(), (Shape{2, 0}));
}

BOOST_AUTO_TEST_CASE(repeat_interleave_repeats_every_part_by_itself) {
  const Tensor x = from_values<float>({1, 2, 3, 4}, {2, 2});
  expect_same(repeat_interleave(x, 2, 0), from_values<float>({1, 2, 1, 2, 3, 4, 3, 4}, {4, 2}));
  expect_same(repeat_interleave(x.transpose(), 2, -1), from_values<float>({1, 1, 3, 3, 2, 2, 4, 4}, {2, 4}));
  expect_same(repeat_interleave(x, from_values<std::int64_t>({0, 2}), 1), from_values<float>({2, 2, 4, 4}, {2, 2}));
  expect_same(repeat_interleave(x, from_values<std::int32_t>({2}), 0), repeat_interleave(x, 2, 0));
  expect_same(repeat_interleave(from_values<bool>({true, false}), scalar<std::int64_t>(2), 0),
              from_values<bool>({true, true, false, false}));
  BOOST_CHECK_EQUAL(repeat_interleave(x, 0, 1).shape(), (Shape{2, 0}));
  BOOST_CHECK_EQUAL(repeat_interleave(zeros({0, 2}), zeros({0}, DType::i64), 0).shape(), (Shape{0, 2}));
  expect_error<ValueError>("[repeat_interleave] count below 0: -1", [&] { (void)repeat_interleave(x, -1, 0); });
  expect_error<ValueError>("[repeat_interleave] count below 0: -3", [&] {
    (void)repeat_interleave(x, from_values<std::int64_t>({1, -3}), 0);
  });
  expect_error<ShapeError>("[repeat_interleave] 3 counts for 2 parts",
                           [&] { (void)repeat_interleave(x, ones({3}, DType::i64), 0); });
  expect_error<DTypeError>("[repeat_interleave] counts are f32, not i64 or i32",
                           [&] { (void)repeat_interleave(x, ones({2}), 0); });
}

BOOST_AUTO_TEST_CASE(vstack_and_hstack_take_vectors_for_rows) {
  const Tensor a = from_values<float>({1, 2});
  const Tensor b = from_values<float>({3, 4, 5, 6}, {2, 2});
  expect_same(vstack({a, b}), from_values<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  expect_same(hstack({a, scalar(7.0F)}), from_values<float>({1, 2, 7}));
  expect_same(hstack({b, a.view({2, 1})}), from_values<float>({3, 4, 1, 5, 6, 2}, {2, 3}));
  expect_error<ShapeError>("[concat] no tensors", [] { (void)vstack({}); });
  expect_error<ShapeError>("[concat] no tensors", [] { (void)hstack({}); });
  expect_error<TensorError>("[vstack] tensor is undefined", [&] { (void)vstack({a, Tensor()}); });
}

BOOST_AUTO_TEST_CASE(meshgrid_gives_coordinates) {
  const Tensor a = from_values<float>({1, 2});
  const Tensor b = from_values<std::int64_t>({3, 4, 5});
  const std::vector<Tensor> ij = meshgrid({a, b});
  expect_same(ij[0], from_values<float>({1, 1, 1, 2, 2, 2}, {2, 3}));
  expect_same(ij[1], from_values<std::int64_t>({3, 4, 5, 3, 4, 5}, {2, 3}));
  const std::vector<Tensor> xy = meshgrid({a, b}, MeshOrder::xy);
  expect_same(xy[0], ij[0].transpose());
  expect_same(xy[1], ij[1].transpose());
  BOOST_CHECK_EQUAL(meshgrid({a, b, zeros({4})}, MeshOrder::xy)[2].shape(), (Shape{3, 2, 4}));
  BOOST_CHECK_EQUAL(meshgrid({scalar(1.0F), b})[0].shape(), (Shape{1, 3}));
  BOOST_CHECK_EQUAL(meshgrid({a, zeros({0})})[0].shape(), (Shape{2, 0}));
  expect_same(meshgrid({a}, MeshOrder::xy)[0], a);
  BOOST_CHECK(meshgrid({}).empty());
  expect_error<ShapeError>("[meshgrid] neither a vector nor a scalar: (2, 3)", [&] { (void)meshgrid({a, matrix()}); });
}

BOOST_AUTO_TEST_CASE(impossible_sizes_are_refused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  expect_error<ShapeError>("[shape] too many elements: (4611686018427387904, 4, 1)", [] {
    (void)unflatten(zeros({8}), 0, {kHuge, 4, -1});
  });
  const auto counts = [](std::int64_t a, std::int64_t b) { return from_values<std::int64_t>({a, b}); };
  expect_error<ShapeError>("[empty] too many elements: (4611686018427387904)",
                           [&] { (void)repeat_interleave(zeros({2}), counts(kHuge, 0), 0); });
  expect_error<ValueError>("[repeat_interleave] more than 2^63 - 1 parts",
                           [&] { (void)repeat_interleave(zeros({2}), counts(kHuge, kHuge), 0); });
}

BOOST_AUTO_TEST_CASE(diff_subtracts_neighbours) {
  const Tensor x = from_values<float>({1, 4, 9, 2, 2, 5}, {2, 3});
  expect_same(diff(x), from_values<float>({3, 5, 0, 3}, {2, 2}));
  expect_same(diff(x, 2), from_values<float>({2, 3}, {2, 1}));
  expect_same(diff(x, 1, 0), from_values<float>({1, -2, -4}, {1, 3}));
  expect_same(diff(x, 0), x);
  expect_same(diff(from_values<bool>({true, false, false})), from_values<bool>({true, false}));
  expect_same(diff(from_values<std::uint8_t>({3, 1})), from_values<std::uint8_t>({254}));  // 256 - 2
  BOOST_CHECK_EQUAL(diff(x, 7).shape(), (Shape{2, 0}));
  BOOST_CHECK_EQUAL(diff(x, std::numeric_limits<std::int64_t>::max()).shape(), (Shape{2, 0}));
  BOOST_CHECK_EQUAL(diff(zeros({0})).shape(), (Shape{0}));
  expect_error<ValueError>("[diff] n below 0: -1", [&] { (void)diff(x, -1); });
  expect_error<ShapeError>("[diff] dimension out of range: -1 of ()", [] { (void)diff(scalar(1.0F)); });
}

BOOST_AUTO_TEST_CASE(a_diagonal_beyond_64_bits_is_refused) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  expect_error<ValueError>("[diag_embed] diagonal outside of 64 bits: 9223372036854775807 of (2)",
                           [] { (void)diag_embed(zeros({2}), kLargest); });
  expect_error<ValueError>("[diag_embed] diagonal outside of 64 bits: -9223372036854775808 of (2)",
                           [] { (void)diag_embed(zeros({2}), -kLargest - 1); });
}

BOOST_AUTO_TEST_SUITE_END()
