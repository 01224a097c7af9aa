#include <cmath>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_index)

namespace {

Tensor indices(std::initializer_list<std::int64_t> values) { return from_values<std::int64_t>(values); }

}  // namespace

BOOST_AUTO_TEST_CASE(index_select_picks_in_the_order_of_the_index) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(index_select(x, 1, indices({2, 0, 2})), from_values<float>({3, 1, 3, 6, 4, 6}, {2, 3}));
  expect_same(index_select(x, 0, indices({1})), from_values<float>({4, 5, 6}, {1, 3}));
  expect_same(index_select(x.transpose(), 0, from_values<std::int32_t>({1})), from_values<float>({2, 5}, {1, 2}));
  BOOST_CHECK_EQUAL(index_select(x, 0, indices({})).shape(), (Shape{0, 3}));
}

BOOST_AUTO_TEST_CASE(index_select_backward_adds_what_came_from_one_place) {
  const Tensor grad = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  // Column 2 was selected twice: 1 + 3, 4 + 6; column 0 once; column 1 never.
  expect_same(index_select_backward(grad, 1, indices({2, 0, 2}), {2, 3}),
              from_values<float>({2, 0, 4, 5, 0, 10}, {2, 3}));
  expect_error<ShapeError>("[index_select_backward] gradient does not fit: (2, 3) for (2, 1)", [&] {
    (void)index_select_backward(grad, 1, indices({0}), {2, 3});
  });
}

BOOST_AUTO_TEST_CASE(embedding_looks_rows_up_for_an_index_of_any_shape) {
  const Tensor weight = from_values<float>({0, 1, 10, 11, 20, 21}, {3, 2});
  const Tensor index = from_values<std::int64_t>({2, 0, 1, 2}, {2, 2});
  expect_same(embedding(weight, index), from_values<float>({20, 21, 0, 1, 10, 11, 20, 21}, {2, 2, 2}));
  expect_same(embedding(weight, scalar<std::int64_t>(1)), from_values<float>({10, 11}));
  // Row 2 was looked up first and last: 1 + 7, 2 + 8.
  const Tensor grad = from_values<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  expect_same(embedding_backward(grad, index, 3), from_values<float>({3, 4, 5, 6, 8, 10}, {3, 2}));
}

BOOST_AUTO_TEST_CASE(one_hot_marks_the_index) {
  expect_same(one_hot(indices({1, 0}), 3), from_values<float>({0, 1, 0, 1, 0, 0}, {2, 3}));
  expect_same(one_hot(scalar<std::int64_t>(1), 2, DType::boolean), from_values<bool>({false, true}));
  expect_same(one_hot(indices({0, 2})), from_values<float>({1, 0, 0, 0, 0, 1}, {2, 3}));
  expect_error<ValueError>("[one_hot] no index to count classes by", [] { (void)one_hot(zeros({0}, DType::i64)); });
}

BOOST_AUTO_TEST_CASE(gather_takes_one_element_for_each_of_the_index) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor index = from_values<std::int64_t>({2, 0, 0, 1}, {2, 2});
  expect_same(gather(x, 1, index), from_values<float>({3, 1, 4, 5}, {2, 2}));
  expect_same(gather(x, 0, from_values<std::int32_t>({1, 0}, {1, 2})), from_values<float>({4, 2}, {1, 2}));
  // Any layout, any element size: the transposed rows are (1, 4), (2, 5), (3, 6).
  expect_same(gather(x.to(DType::f64).transpose(), 1, from_values<std::int64_t>({1, 1, 0}, {3, 1})),
              from_values<double>({4, 5, 3}, {3, 1}));
  expect_same(gather(from_values<bool>({true, false}), 0, indices({1, 0, 0})), from_values<bool>({false, true, true}));
  BOOST_CHECK_EQUAL(gather(x, 1, zeros({2, 0}, DType::i64)).shape(), (Shape{2, 0}));
}

BOOST_AUTO_TEST_CASE(scatter_add_adds_to_the_places_of_the_index) {
  const Tensor x = full({2, 3}, 10);
  const Tensor index = from_values<std::int64_t>({2, 2, 0, 1}, {2, 2});
  const Tensor source = from_values<float>({1, 2, 3, 4}, {2, 2});
  // Element (0, 2) receives 1 and 2.
  expect_same(scatter_add(x, 1, index, source), from_values<float>({10, 10, 13, 13, 14, 10}, {2, 3}));
  expect_same(x, full({2, 3}, 10));
  // Of a larger source, only the elements under the index: 1 to (1, 0), 2 to (0, 1).
  expect_same(scatter_add(zeros({2, 2}), 0, from_values<std::int64_t>({1, 0}, {1, 2}), source),
              from_values<float>({0, 2, 1, 0}, {2, 2}));
  expect_same(scatter_add(zeros({3}, DType::u8), 0, indices({0, 0}), from_values<std::uint8_t>({200, 100})),
              from_values<std::uint8_t>({44, 0, 0}));  // 300 - 256
  // f16 cannot represent 2048 + 1: two additions of 1 would round down twice. It represents 2048 + 2.
  const Tensor ones16 = ones({2}, DType::f16);
  expect_same(scatter_add(full({1}, 2048, DType::f16), 0, indices({0, 0}), ones16), full({1}, 2050, DType::f16));
  expect_same(gather(from_values<float>({1, 2}).to(DType::bf16), 0, indices({1})), full({1}, 2, DType::bf16));
}

BOOST_AUTO_TEST_CASE(scatter_puts_elements_to_the_places_of_the_index) {
  const Tensor x = full({2, 3}, 10);
  const Tensor index = from_values<std::int64_t>({2, 0, 1, 0}, {2, 2});
  const Tensor source = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});  // the index takes two columns of it
  expect_same(scatter(x, 1, index, source), from_values<float>({2, 10, 1, 5, 4, 10}, {2, 3}));
  expect_same(x, full({2, 3}, 10));
  expect_same(scatter(x, 1, index, 7), from_values<float>({7, 10, 7, 7, 7, 10}, {2, 3}));
  expect_same(scatter(x.transpose(), 0, index.transpose(), source.transpose()),
              scatter(x, 1, index, source).transpose());
  expect_same(scatter(x, 1, zeros({2, 0}, DType::i64), source), x);
  expect_same(scatter(zeros({1}), 0, from_values<std::int32_t>({0}), ones({1})), ones({1}));
}

BOOST_AUTO_TEST_CASE(of_several_elements_for_one_place_the_last_stays) {
  const Tensor source = from_values<float>({1, 2, 3, 4}, {2, 2});
  // Element 0 of column 0 receives 1, then 3; element 1 of column 1 receives 2, element 0 receives 4.
  expect_same(scatter(zeros({2, 2}), 0, from_values<std::int64_t>({0, 1, 0, 0}, {2, 2}), source),
              from_values<float>({3, 4, 0, 2}, {2, 2}));
  // The row-major order of the index decides, also if its memory order differs.
  const Tensor index = zeros({3, 2}, DType::i64).transpose().contiguous().transpose();
  expect_same(scatter(zeros({1, 2}), 0, index, arange(6, DType::f32).view({3, 2})), from_values<float>({4, 5}, {1, 2}));
  expect_same(index_copy(zeros({2}), 0, indices({1, 1, 1}), from_values<float>({5, 6, 7})), from_values<float>({0, 7}));
}

BOOST_AUTO_TEST_CASE(take_along_dim_broadcasts_beside_its_dimension) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(take_along_dim(x, from_values<std::int64_t>({2, 0}, {1, 2}), 1),
              from_values<float>({3, 1, 6, 4}, {2, 2}));
  expect_same(take_along_dim(x.slice(0, 0, 1), from_values<std::int64_t>({2, 0}, {2, 1}), -1),
              from_values<float>({3, 1}, {2, 1}));
  expect_same(take_along_dim(x, argsort(x, 1, Order::descending), 1), from_values<float>({3, 2, 1, 6, 5, 4}, {2, 3}));
  expect_error<ShapeError>("[take_along_dim] dimensions differ: (2, 3) and (1)",
                           [&] { (void)take_along_dim(x, indices({0}), 1); });
  expect_error<ShapeError>("[take_along_dim] shapes do not broadcast: (2, 1) and (3, 1)", [&] {
    (void)take_along_dim(x, zeros({3, 1}, DType::i64), 1);
  });
}

BOOST_AUTO_TEST_CASE(parts_are_filled_and_copied_by_index) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(index_fill(x, 1, indices({2, 0, 2}), -1), from_values<float>({-1, 2, -1, -1, 5, -1}, {2, 3}));
  expect_same(index_fill(x, 0, indices({}), -1), x);
  const Tensor source = from_values<float>({7, 8, 9, 0}, {2, 2});
  expect_same(index_copy(x, 1, indices({2, 0}), source), from_values<float>({8, 2, 7, 0, 5, 9}, {2, 3}));
  expect_same(index_copy(x, 0, indices({}), zeros({0, 3})), x);
  expect_error<DTypeError>("[index_fill] not a value of u8: -1",
                           [&] { (void)index_fill(x.to(DType::u8), 0, indices({0}), -1); });
  expect_error<IndexError>("[index_fill] index out of range: 3 of 3", [&] { (void)index_fill(x, 1, indices({3}), 0); });
  expect_error<ShapeError>("[index_fill] not 1 dimensions: ()",
                           [&] { (void)index_fill(x, 1, scalar<std::int64_t>(0), 0); });
  expect_error<TensorError>("[index_fill] tensor is undefined",
                            [&] { (void)index_fill(Tensor(), 1, indices({0}), 0); });
  expect_error<IndexError>("[index_copy] index out of range: 3 of 3", [&] {
    (void)index_copy(x, 1, indices({0, 3}), source);
  });
  expect_error<ShapeError>("[index_copy] source does not fit: (2, 2) for (2, 1)",
                           [&] { (void)index_copy(x, 1, indices({0}), source); });
  expect_error<DTypeError>("[index_copy] dtypes differ: f32 and f64", [&] {
    (void)index_copy(x, 1, indices({0, 1}), source.to(DType::f64));
  });
}

BOOST_AUTO_TEST_CASE(masked_scatter_takes_from_the_beginning_of_its_source) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor source = from_values<float>({10, 20, 30, 40}, {2, 2});
  expect_same(masked_scatter(x, x > 3.0, source), from_values<float>({1, 2, 3, 10, 20, 30}, {2, 3}));
  expect_same(masked_scatter(x, from_values<bool>({false, true, false}), source),
              from_values<float>({1, 10, 3, 4, 20, 6}, {2, 3}));
  expect_same(masked_scatter(x, x > 9.0, zeros({0})), x);
  expect_same(masked_scatter(zeros({0, 3}), zeros({0, 3}, DType::boolean), source), zeros({0, 3}));
  expect_error<ValueError>("[masked_scatter] 4 elements for 5 places",
                           [&] { (void)masked_scatter(x, x > 1.0, source); });
  expect_error<DTypeError>("[masked_scatter] mask is not boolean: f32", [&] { (void)masked_scatter(x, x, source); });
  expect_error<DTypeError>("[masked_scatter] dtypes differ: f32 and f64",
                           [&] { (void)masked_scatter(x, x > 1.0, source.to(DType::f64)); });
  expect_error<ShapeError>("[masked_scatter] mask does not fit: (2) for (2, 3)",
                           [&] { (void)masked_scatter(x, zeros({2}, DType::boolean), source); });
}

BOOST_AUTO_TEST_CASE(masked_fill_writes_where_the_mask_holds) {
  const Tensor x = from_values<float>({1, 2, 3, 4}, {2, 2});
  expect_same(masked_fill(x, from_values<bool>({true, false}), -1), from_values<float>({-1, 2, -1, 4}, {2, 2}));
  expect_same(masked_fill(x.to(DType::i32), gt(x, 3.0), 0), from_values<std::int32_t>({1, 2, 3, 0}, {2, 2}));
}

BOOST_AUTO_TEST_CASE(places_that_do_not_fit_are_named) {
  const Tensor x = zeros({2, 3});
  expect_error<ShapeError>("[gather] index does not fit: (3, 4) for (2, 3)", [&] {
    (void)gather(x, 1, zeros({3, 4}, DType::i64));
  });
  expect_error<ShapeError>("[gather] index does not fit: (2) for (2, 3)", [&] { (void)gather(x, 1, indices({0, 1})); });
  expect_error<IndexError>("[gather] index out of range: 3 of 3", [&] {
    (void)gather(x, 1, full({2, 1}, 3, DType::i64));
  });
  expect_error<ShapeError>("[scatter_add] source does not fit: (1, 3) for index (2, 3)", [&] {
    (void)scatter_add(x, 1, zeros({2, 3}, DType::i64), zeros({1, 3}));
  });
  expect_error<DTypeError>("[scatter_add] dtypes differ: f32 and f64", [&] {
    (void)scatter_add(x, 1, zeros({2, 3}, DType::i64), zeros({2, 3}, DType::f64));
  });
  expect_error<DTypeError>("[scatter_add] not defined for boolean", [&] {
    (void)scatter_add(x.to(DType::boolean), 1, zeros({2, 3}, DType::i64), x.to(DType::boolean));
  });
  expect_error<ShapeError>("[scatter] index does not fit: (3, 3) for (2, 3)", [&] {
    (void)scatter(x, 1, zeros({3, 3}, DType::i64), 0);
  });
  expect_error<ShapeError>("[scatter] source does not fit: (1, 3) for index (2, 3)", [&] {
    (void)scatter(x, 1, zeros({2, 3}, DType::i64), zeros({1, 3}));
  });
  expect_error<DTypeError>("[scatter] dtypes differ: f32 and f64", [&] {
    (void)scatter(x, 1, zeros({2, 3}, DType::i64), zeros({2, 3}, DType::f64));
  });
  expect_error<IndexError>("[scatter] index out of range: -1 of 3", [&] {
    (void)scatter(x, 1, full({2, 1}, -1, DType::i64), 0);
  });
  expect_error<DTypeError>("[scatter] not a value of i64: 1.5", [&] {
    (void)scatter(x.to(DType::i64), 1, zeros({2, 1}, DType::i64), 1.5);
  });
  expect_error<ShapeError>("[masked_fill] mask does not fit: (2) for (2, 3)",
                           [&] { (void)masked_fill(x, zeros({2}, DType::boolean), 0); });
  expect_error<DTypeError>("[masked_fill] not a value of u8: -1",
                           [&] { (void)masked_fill(x.to(DType::u8), zeros({3}, DType::boolean), -1); });
}

BOOST_AUTO_TEST_CASE(a_wrong_index_is_named) {
  const Tensor x = zeros({5, 2});
  expect_error<IndexError>("[index_select] index out of range: 7 of 5", [&] {
    (void)index_select(x, 0, indices({1, 7}));
  });
  expect_error<IndexError>("[embedding] index out of range: -1 of 5", [&] { (void)embedding(x, indices({-1})); });
  expect_error<IndexError>("[one_hot] index out of range: 3 of 3", [&] { (void)one_hot(indices({3}), 3); });
  expect_error<DTypeError>("[embedding] index is f32, not i64 or i32", [&] { (void)embedding(x, zeros({1})); });
  expect_error<ShapeError>("[index_select] not 1 dimensions: ()",
                           [&] { (void)index_select(x, 0, scalar<std::int64_t>(1)); });
  expect_error<ShapeError>("[embedding_backward] gradient does not fit: (3, 2) for index (2)", [&] {
    (void)embedding_backward(zeros({3, 2}), indices({0, 1}), 5);
  });
}

BOOST_AUTO_TEST_CASE(every_dtype_is_picked_and_placed) {
  for (const DType dtype : kDTypes) {
    BOOST_TEST_CONTEXT(name_of(dtype)) {
      const Tensor x = arange(6).to(dtype).reshape({3, 2});
      expect_same(index_select(x, 0, indices({2, 0})), from_values<std::int64_t>({4, 5, 0, 1}, {2, 2}).to(dtype));
      expect_same(embedding(x, indices({1})), from_values<std::int64_t>({2, 3}, {1, 2}).to(dtype));
      const Tensor mirrored = from_values<std::int64_t>({4, 5, 2, 3, 0, 1}, {3, 2}).to(dtype);
      expect_same(index_copy(x, 0, indices({2, 1, 0}), x), mirrored);
      expect_same(masked_scatter(mirrored, ones({3, 2}, DType::boolean), x), x);
      expect_same(one_hot(indices({1, 0}), 2, dtype), from_values<std::int64_t>({0, 1, 1, 0}, {2, 2}).to(dtype));
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_that_meet_at_one_place_are_rounded_once) {
  // Added one by one in f16, 2048 + 1 + 1 is 2048. bf16 cannot represent 2050.
  const Tensor grad = from_values<float>({2048, 1, 1}, {3, 1});
  const Tensor index = indices({1, 1, 1});
  expect_same(embedding_backward(grad.to(DType::f16), index, 2), from_values<Half>({Half(0), Half(2050)}, {2, 1}));
  expect_rounded([&](const Tensor& g) { return embedding_backward(g, index, 2); }, grad);
  expect_same(index_select_backward(from_values<std::int8_t>({100, 100}), 0, indices({0, 0}), {1}),
              from_values<std::int8_t>({-56}));  // 200 - 256
}

BOOST_AUTO_TEST_CASE(index_add_adds_parts_to_their_places) {
  const Tensor x = full({3, 2}, 10);
  const Tensor source = from_values<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  // Row 2 receives rows 0 and 2 of the source, row 0 receives row 1.
  expect_same(index_add(x, 0, indices({2, 0, 2}), source), from_values<float>({13, 14, 10, 10, 16, 18}, {3, 2}));
  expect_same(x, full({3, 2}, 10));
  const Tensor line = from_values<float>({1, 2, 3}, {3, 1});
  expect_same(index_add(x.transpose().contiguous().transpose(), 1, indices({1}), line),
              from_values<float>({10, 11, 10, 12, 10, 13}, {3, 2}));
  // 1024 + 0.5 + 0.5 in f16, where the next number after 1024 is 1025: rounded once.
  expect_same(index_add(full({1}, 1024, DType::f16), 0, indices({0, 0}), full({2}, 0.5, DType::f16)),
              full({1}, 1025, DType::f16));
  expect_same(index_add(x, 0, indices({}), zeros({0, 2})), x);
  expect_error<ShapeError>("[index_add] source does not fit: (3, 2) for (2, 2)", [&] {
    (void)index_add(x, 0, indices({0, 1}), source);
  });
  expect_error<IndexError>("[index_add] index out of range: 3 of 3", [&] {
    (void)index_add(x, 0, indices({0, 3, 1}), source);
  });
  expect_error<DTypeError>("[index_add] not defined for boolean", [&] {
    (void)index_add(zeros({1}, DType::boolean), 0, indices({0}), zeros({1}, DType::boolean));
  });
}

BOOST_AUTO_TEST_CASE(nonzero_says_where) {
  const Tensor x = from_values<float>({0, 2, -0.0F, 0, 0.5F, std::nanf("")}, {2, 3});
  expect_same(nonzero(x), from_values<std::int64_t>({0, 1, 1, 1, 1, 2}, {3, 2}));
  expect_same(nonzero(x.transpose()), from_values<std::int64_t>({1, 0, 1, 1, 2, 1}, {3, 2}));
  expect_same(nonzero(from_values<bool>({true, false, true})), from_values<std::int64_t>({0, 2}, {2, 1}));
  BOOST_CHECK_EQUAL(nonzero(scalar(3.0F)).shape(), (Shape{1, 0}));
  BOOST_CHECK_EQUAL(nonzero(zeros({4, 0, 2})).shape(), (Shape{0, 3}));
  expect_error<TensorError>("[nonzero] tensor is undefined", [] { (void)nonzero(Tensor()); });
}

BOOST_AUTO_TEST_CASE(masked_select_takes_what_the_mask_holds) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(masked_select(x, x > 2.5), from_values<float>({3, 4, 5, 6}));
  expect_same(masked_select(x, from_values<bool>({true, false, true})), from_values<float>({1, 3, 4, 6}));
  expect_same(masked_select(from_values<float>({7, 8}), from_values<bool>({true, false}, {2, 1})),
              from_values<float>({7, 8}));
  BOOST_CHECK_EQUAL(masked_select(x, x > 7.0).shape(), (Shape{0}));
  expect_error<DTypeError>("[masked_select] mask is not boolean: f32", [&] { (void)masked_select(x, x); });
  expect_error<ShapeError>("[masked_select] shapes do not broadcast: (2, 3) and (2)", [&] {
    (void)masked_select(x, from_values<bool>({true, false}));
  });
}

BOOST_AUTO_TEST_SUITE_END()
