#include "tensor/tensor.h"

#include <limits>

#include "tensor/create.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(tensor)

BOOST_AUTO_TEST_CASE(a_copy_is_an_alias_and_a_clone_is_not) {
  Tensor x = from_values<float>({1, 2});
  const Tensor alias = x;
  const Tensor copy = x.clone();
  x.mutable_data<float>()[0] = 5;
  expect_same(alias, from_values<float>({5, 2}));
  expect_same(copy, from_values<float>({1, 2}));
}

BOOST_AUTO_TEST_CASE(an_undefined_tensor_refuses_every_use) {
  const Tensor none;
  BOOST_CHECK(!none.defined());
  expect_error<TensorError>("[clone] tensor is undefined", [&] { (void)none.clone(); });
  expect_error<TensorError>("[item] tensor is undefined", [&] { (void)none.item(); });
  expect_error<TensorError>("[data] tensor is undefined", [&] { (void)none.data<float>(); });
  expect_error<TensorError>("[reshape] tensor is undefined", [&] { (void)none.reshape({1}); });
  expect_error<TensorError>("[freeze] tensor is undefined", [&] { (void)none.freeze(); });
}

BOOST_AUTO_TEST_CASE(typed_access_needs_the_right_dtype_and_a_contiguous_layout) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  BOOST_CHECK_EQUAL(x.data<float>()[5], 6.0F);
  expect_error<DTypeError>("[data] dtype is f32, not f64", [&] { (void)x.data<double>(); });
  expect_error<ShapeError>("[data] not contiguous: (3, 2) strides (1, 3)", [&] { (void)x.transpose().data<float>(); });
  expect_error<ShapeError>("[mutable_data] not contiguous: (3, 2) strides (1, 3)",
                           [&] { (void)x.transpose().mutable_data<float>(); });
}

BOOST_AUTO_TEST_CASE(item_converts_the_only_element) {
  BOOST_CHECK_EQUAL(from_values<std::int64_t>({7}, {1, 1}).item<float>(), 7.0F);
  BOOST_CHECK_EQUAL(arange(5).select(0, 3).item(), 3.0);
  expect_error<ShapeError>("[item] not one element: (2, 3)", [] { (void)zeros({2, 3}).item(); });
  expect_error<ShapeError>("[item] not one element: (0)", [] { (void)zeros({0}).item(); });
}

BOOST_AUTO_TEST_CASE(contiguous_copies_only_what_is_not) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  BOOST_CHECK(x.contiguous().storage().same_as(x.storage()));
  const Tensor copy = x.transpose().contiguous();
  BOOST_CHECK(copy.is_contiguous());
  expect_same(copy, from_values<float>({1, 4, 2, 5, 3, 6}, {3, 2}));
}

BOOST_AUTO_TEST_CASE(copy_from_broadcasts_and_converts_into_a_view) {
  const Tensor x = zeros({2, 3});
  x.slice(1, 1, 3).copy_from(from_values<std::int64_t>({7, 8}));
  expect_same(x, from_values<float>({0, 7, 8, 0, 7, 8}, {2, 3}));
  x.select(1, 0).fill(-1);
  expect_same(x, from_values<float>({-1, 7, 8, -1, 7, 8}, {2, 3}));
  expect_error<ShapeError>("[copy_from] (3) does not broadcast to (2)", [] { zeros({2}).copy_from(zeros({3})); });
  expect_error<ShapeError>("[copy_from] one element is written more than once: (2, 3) strides (0, 1)", [] {
    zeros({3}).expand({2, 3}).copy_from(zeros({3}));
  });
}

BOOST_AUTO_TEST_CASE(fill_is_refused_where_one_element_is_written_more_than_once_and_for_no_value_of_the_dtype) {
  const Tensor x = zeros({3});
  expect_error<ShapeError>("[fill] one element is written more than once: (2, 3) strides (0, 1)", [&] {
    x.expand({2, 3}).fill(1.0);
  });
  expect_error<DTypeError>("[fill] not a value of u8: 300", [] { zeros({3}, DType::u8).fill(300.0); });
  BOOST_TEST(same_bytes(x, zeros({3})));
}

BOOST_AUTO_TEST_CASE(copy_from_an_overlapping_view_reads_before_it_writes) {
  const Tensor x = arange(5);
  x.slice(0, 1, 5).copy_from(x.slice(0, 0, 4));
  expect_same(x, from_values<std::int64_t>({0, 0, 1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(from_storage_shows_received_bytes_and_refuses_layouts_that_leave_them) {
  const Storage bytes = arange(6).storage();
  expect_same(Tensor::from_storage(bytes, {3, 2}, {1, 3}, 0, DType::i64),
              from_values<std::int64_t>({0, 3, 1, 4, 2, 5}, {3, 2}));
  expect_error<ShapeError>("[from_storage] (3) strides (2) offset 2 do not fit into 6 elements",
                           [&] { (void)Tensor::from_storage(bytes, {3}, {2}, 2, DType::i64); });
  expect_error<ShapeError>("[from_storage] impossible layout: (3) strides (-1) offset 2",
                           [&] { (void)Tensor::from_storage(bytes, {3}, {-1}, 2, DType::i64); });
  expect_error<ShapeError>("[from_storage] impossible layout: (3) strides () offset 0",
                           [&] { (void)Tensor::from_storage(bytes, {3}, {}, 0, DType::i64); });
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  BOOST_CHECK_THROW((void)Tensor::from_storage(bytes, {3}, {kHuge}, 0, DType::i64), ShapeError);
  BOOST_CHECK_THROW((void)Tensor::from_storage(bytes, {1}, {1}, kHuge, DType::i64), ShapeError);
  expect_error<TensorError>("[from_storage] storage is undefined",
                            [] { (void)Tensor::from_storage({}, {1}, {1}, 0, DType::i64); });
}

BOOST_AUTO_TEST_CASE(same_bytes_compares_shape_dtype_and_bits) {
  const Tensor x = from_values<float>({0.0F, 1.0F});
  BOOST_CHECK(same_bytes(x, x.clone()));
  BOOST_CHECK(!same_bytes(x, from_values<float>({-0.0F, 1.0F})));
  BOOST_CHECK(!same_bytes(x, x.reshape({2, 1})));
  BOOST_CHECK(!same_bytes(x, x.to(DType::f64)));
  BOOST_CHECK(same_bytes({}, {}));
  BOOST_CHECK(!same_bytes(x, {}));
}

BOOST_AUTO_TEST_CASE(allclose_takes_equal_infinities_but_no_nan) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor x = from_values<double>({1.0, kInf});
  BOOST_CHECK(allclose(from_values<double>({1.000001, kInf}), x));
  BOOST_CHECK(!allclose(from_values<double>({1.0001, kInf}), x));
  BOOST_CHECK(!allclose(from_values<double>({1.0, -kInf}), x));
  BOOST_CHECK(
      !allclose(scalar(std::numeric_limits<double>::quiet_NaN()), scalar(std::numeric_limits<double>::quiet_NaN())));
  BOOST_CHECK(!allclose(zeros({1}), zeros({2})));
}

BOOST_AUTO_TEST_CASE(a_number_that_is_no_dtype_is_refused) {
  const Storage bytes = Storage::allocate(16);
  expect_error<DTypeError>("[from_storage] no dtype has the number 11",
                           [&] { (void)Tensor::from_storage(bytes, {1}, {1}, 0, static_cast<DType>(11)); });
  expect_error<DTypeError>("[empty] no dtype has the number 0", [] { (void)zeros({1}).to(static_cast<DType>(0)); });
}

BOOST_AUTO_TEST_SUITE_END()
