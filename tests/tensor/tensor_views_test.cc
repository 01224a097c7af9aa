#include <array>

#include "tensor/create.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(tensor_views)

namespace {

// 0 1 2 / 3 4 5
Tensor two_by_three() { return arange(6).reshape({2, 3}); }

}  // namespace

BOOST_AUTO_TEST_CASE(views_alias_the_elements) {
  const Tensor x = two_by_three();
  for (const Tensor& view : {x.view({6}), x.reshape({3, 2}), x.transpose(), x.permute({1, 0}), x.unsqueeze(0),
                             x.unsqueeze(0).squeeze(0), x.expand({4, 2, 3}), x.slice(1, 0, 2), x.select(0, 1)}) {
    BOOST_CHECK(view.storage().same_as(x.storage()));
  }
}

BOOST_AUTO_TEST_CASE(reshape_infers_one_size_and_keeps_the_order) {
  const Tensor x = two_by_three();
  expect_same(x.reshape({3, -1}), from_values<std::int64_t>({0, 1, 2, 3, 4, 5}, {3, 2}));
  expect_same(x.transpose().reshape({6}), from_values<std::int64_t>({0, 3, 1, 4, 2, 5}));
  BOOST_CHECK_EQUAL(zeros({0, 3}).reshape({-1, 3}).shape(), (Shape{0, 3}));
  BOOST_CHECK_EQUAL(scalar(1.0F).reshape({1, 1}).shape(), (Shape{1, 1}));
  expect_error<ShapeError>("[reshape] 6 elements into shape: (4, -1)", [&] { (void)x.reshape({4, -1}); });
  expect_error<ShapeError>("[view] 6 elements into shape: (5)", [&] { (void)x.view({5}); });
  expect_error<ShapeError>("[reshape] 0 elements into shape: (0, -1)", [&] { (void)zeros({0}).reshape({0, -1}); });
  expect_error<ShapeError>("[shape] negative size: (1, -1)", [&] { (void)x.reshape({-1, -1}); });
}

BOOST_AUTO_TEST_CASE(view_joins_and_splits_only_what_lies_without_gaps) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  const Tensor t = x.permute({1, 0, 2});  // (3, 2, 4) strides (4, 12, 1)
  BOOST_CHECK_EQUAL(t.view({3, 2, 2, 2}).strides(), (Strides{4, 12, 2, 1}));
  expect_same(t.view({3, 1, 2, 4}).select(1, 0), t.contiguous());
  expect_error<ShapeError>("[view] layout needs a copy: (3, 2, 4) strides (4, 12, 1) to (6, 4)", [&] {
    (void)t.view({6, 4});
  });
  expect_same(t.reshape({6, 4}), t.contiguous().view({6, 4}));
  const Tensor s = x.slice(1, 0, 2);  // (2, 2, 4) strides (12, 4, 1): the last two dimensions join, the first does not
  BOOST_CHECK_EQUAL(s.view({2, 8}).strides(), (Strides{12, 1}));
  BOOST_CHECK_THROW((void)s.view({16}), ShapeError);
  BOOST_CHECK_EQUAL(x.slice(2, 0, 1).view({6}).strides(), Strides{4});  // a trailing dimension of size 1
}

BOOST_AUTO_TEST_CASE(transpose_and_permute_reorder_dimensions) {
  const Tensor x = two_by_three();
  expect_same(x.transpose(), from_values<std::int64_t>({0, 3, 1, 4, 2, 5}, {3, 2}));
  expect_same(x.permute(std::array{1, 0}), x.transpose(0, 1));
  BOOST_CHECK_EQUAL(zeros({2, 3, 4}).permute({2, 0, 1}).shape(), (Shape{4, 2, 3}));
  expect_error<ShapeError>("[transpose] dimension out of range: -2 of (3)", [] { (void)zeros({3}).transpose(); });
  expect_error<ShapeError>("[permute] not an order of the dimensions of (2, 3): (0, 0)", [&] {
    (void)x.permute({0, 0});
  });
  expect_error<ShapeError>("[permute] not an order of the dimensions of (2, 3): (0)", [&] { (void)x.permute({0}); });
}

BOOST_AUTO_TEST_CASE(squeeze_and_unsqueeze_drop_and_add_a_dimension_of_one) {
  const Tensor x = two_by_three();
  BOOST_CHECK_EQUAL(x.unsqueeze(0).shape(), (Shape{1, 2, 3}));
  BOOST_CHECK_EQUAL(x.unsqueeze(2).shape(), (Shape{2, 3, 1}));
  BOOST_CHECK_EQUAL(x.unsqueeze(-1).shape(), (Shape{2, 3, 1}));
  BOOST_CHECK_EQUAL(x.unsqueeze(1).squeeze(1).shape(), (Shape{2, 3}));
  BOOST_CHECK(x.unsqueeze(1).is_contiguous());
  expect_error<ShapeError>("[squeeze] size of dimension 0 is not 1: (2, 3)", [&] { (void)x.squeeze(0); });
  expect_error<ShapeError>("[unsqueeze] dimension out of range: 3 of (2, 3)", [&] { (void)x.unsqueeze(3); });
}

BOOST_AUTO_TEST_CASE(expand_repeats_without_memory) {
  const Tensor x = from_values<float>({1, 2}, {2, 1});
  expect_same(x.expand({2, 3}), from_values<float>({1, 1, 1, 2, 2, 2}, {2, 3}));
  BOOST_CHECK_EQUAL(x.expand({5, 2, 3}).strides(), (Strides{0, 1, 0}));
  BOOST_CHECK_EQUAL(zeros({1}).expand({0}).shape(), Shape{0});
  expect_error<ShapeError>("[expand] (2, 1) does not broadcast to (3, 3)", [&] { (void)x.expand({3, 3}); });
}

BOOST_AUTO_TEST_CASE(slice_clamps_its_bounds_and_steps) {
  const Tensor x = arange(6);
  expect_same(x.slice(0, 1, 4), from_values<std::int64_t>({1, 2, 3}));
  expect_same(x.slice(0, -2), from_values<std::int64_t>({4, 5}));
  expect_same(x.slice(0, 0, -1, 2), from_values<std::int64_t>({0, 2, 4}));
  expect_same(x.slice(0, 1, 100, 3), from_values<std::int64_t>({1, 4}));
  BOOST_CHECK_EQUAL(x.slice(0, 4, 2).numel(), 0);
  BOOST_CHECK_EQUAL(x.slice(0, 9).numel(), 0);
  expect_same(x.slice(0, 1, 6, 2).slice(0, 1, 3), from_values<std::int64_t>({3, 5}));
  expect_error<ValueError>("[slice] step below 1: 0", [&] { (void)x.slice(0, 0, 6, 0); });
  expect_error<ShapeError>("[slice] dimension out of range: 1 of (6)", [&] { (void)x.slice(1, 0); });
}

BOOST_AUTO_TEST_CASE(a_slice_of_one_element_with_a_step_starts_at_its_first) {
  const Tensor x = arange(6);
  expect_same(x.slice(0, 4, 6, 5), from_values<std::int64_t>({4}));
  expect_same(x.slice(0, 2, 6, 3), from_values<std::int64_t>({2, 5}));
}

BOOST_AUTO_TEST_CASE(select_drops_the_dimension) {
  const Tensor x = two_by_three();
  expect_same(x.select(0, 1), from_values<std::int64_t>({3, 4, 5}));
  expect_same(x.select(1, -1), from_values<std::int64_t>({2, 5}));
  expect_error<IndexError>("[select] index out of range: 5 of 3", [&] { (void)x.select(1, 5); });
  expect_error<IndexError>("[select] index out of range: -3 of 2", [&] { (void)x.select(0, -3); });
}

BOOST_AUTO_TEST_CASE(squeeze_without_a_dimension_drops_all_of_size_1) {
  const Tensor x = arange(6).reshape({1, 2, 1, 3, 1});
  BOOST_CHECK(x.squeeze().shape() == (Shape{2, 3}));
  expect_same(x.transpose(1, 3).squeeze(), arange(6).reshape({2, 3}).transpose().contiguous());
  BOOST_CHECK(ones({1, 1}).squeeze().shape() == Shape{});
  BOOST_CHECK(zeros({1, 0}).squeeze().shape() == Shape{0});
}

BOOST_AUTO_TEST_CASE(expand_keeps_the_size_where_it_is_told_minus_1) {
  const Tensor x = from_values<float>({1, 2}, {2, 1});
  expect_same(x.expand({-1, 3}).contiguous(), from_values<float>({1, 1, 1, 2, 2, 2}, {2, 3}));
  BOOST_CHECK(x.expand({4, -1, -1}).shape() == (Shape{4, 2, 1}));
  expect_error<ShapeError>("[expand] no size to keep: (2, 1) to (-1, 2, 3)", [&] { (void)x.expand({-1, 2, 3}); });
  expect_error<ShapeError>("[expand] no size to keep: (2, 1) to (-1)", [&] { (void)x.expand({-1}); });
  expect_error<ShapeError>("[shape] negative size: (2, -2)", [&] { (void)x.expand({-1, -2}); });
}

BOOST_AUTO_TEST_SUITE_END()
