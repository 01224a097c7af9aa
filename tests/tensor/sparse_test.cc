#include "tensor/sparse.h"

#include <boost/test/unit_test.hpp>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

namespace troupe {
namespace {

Tensor places(std::initializer_list<std::int64_t> numbers, const Shape& shape) { return from_values<std::int64_t>(numbers, shape); }

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && sum(ne(a, b).to(DType::i64)).item<std::int64_t>() == 0;
}

bool has_text(const TensorError& error, std::string_view text) { return std::string_view(error.what()) == text; }

}  // namespace

BOOST_AUTO_TEST_SUITE(sparse)

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
  BOOST_CHECK_EXCEPTION(SparseTensor(places({0, 0}, {2, 1}), one, {3}), ShapeError,
                        [](const auto& e) { return has_text(e, "[SparseTensor] indices of shape (2, 1) for a tensor of shape (3)"); });
  BOOST_CHECK_EXCEPTION(SparseTensor(places({0}, {1, 1}), one, {3, 2}), ShapeError,
                        [](const auto& e) { return has_text(e, "[SparseTensor] values of shape (1), expected (1, 2)"); });
  BOOST_CHECK_EXCEPTION(SparseTensor(places({1, 1}, {1, 2}), ones({2}), {3}).as_coalesced(), ValueError,
                        [](const auto& e) { return has_text(e, "[coalesced] places are not ascending"); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
