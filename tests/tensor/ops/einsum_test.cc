#include "tensor/ops/einsum.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_einsum)

BOOST_AUTO_TEST_CASE(equations_give_the_hand_values) {
  const Tensor a = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor b = from_values<float>({10, 20, 30});
  expect_same(einsum("ij->ji", {a}), from_values<float>({1, 4, 2, 5, 3, 6}, {3, 2}));
  expect_same(einsum("ij->j", {a}), from_values<float>({5, 7, 9}));
  expect_same(einsum("ij->", {a}), scalar(21.0F));
  expect_same(einsum("ij,j->i", {a, b}), from_values<float>({140, 320}));  // 1*10 + 2*20 + 3*30, 4*10 + 5*20 + 6*30
  expect_same(einsum("ij,j->ij", {a, b}), from_values<float>({10, 40, 90, 40, 100, 180}, {2, 3}));
  expect_same(einsum("i,j->ji", {b.slice(0, 0, 2), b}), from_values<float>({100, 200, 200, 400, 300, 600}, {3, 2}));
  // The sum over i of a[i][j], times the sum over k of b.
  expect_same(einsum("ij,k->j", {a, b}), from_values<float>({300, 420, 540}));
  expect_same(einsum("", {scalar(3.0F)}), scalar(3.0F));
  expect_same(einsum("ij, j -> i", {a.to(DType::i64), b.to(DType::i16)}), from_values<std::int64_t>({140, 320}));
}

BOOST_AUTO_TEST_CASE(without_an_arrow_labels_that_occur_once_stay_in_alphabetical_order) {
  const Tensor a = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(einsum("ba", {a}), a.transpose().contiguous());
  expect_same(einsum("ij,ij", {a, a}), scalar(91.0F));                            // 1 + 4 + 9 + 16 + 25 + 36
  BOOST_CHECK_EQUAL(einsum("bi,iZ", {a, zeros({3, 5})}).shape(), (Shape{5, 2}));  // capitals sort first
  BOOST_CHECK_EQUAL(einsum("x...,y", {zeros({2, 3, 4}), zeros({5})}).shape(), (Shape{3, 4, 2, 5}));
}

BOOST_AUTO_TEST_CASE(equations_agree_with_the_operations_they_stand_for) {
  Generator g(1);
  const Tensor a = randn({4, 2, 3}, g, DType::f64);
  const Tensor b = randn({4, 3, 5}, g, DType::f64);
  const auto close = [](const Tensor& got, const Tensor& expected) { expect_close(got, expected, 1e-13, 1e-13); };
  close(einsum("bij,bjk->bik", {a, b}), bmm(a, b));
  close(einsum("bij,bjk->kib", {a, b}), permute(bmm(a, b), std::vector<int>{2, 1, 0}));
  close(einsum("bij,bjk->ik", {a, b}), sum(bmm(a, b), 0));
  close(einsum("bij,bik->", {a, permute(a, std::vector<int>{0, 1, 2})}), sum(sum(a, 2) * sum(a, 2)));
  // Several labels of each kind: batch (b, h), summed (d, e), left (q), right (k).
  const Tensor q = randn({2, 4, 3, 2, 5}, g, DType::f64);
  const Tensor k = randn({2, 6, 3, 2, 5}, g, DType::f64);
  close(einsum("bqhde,bkhde->bhqk", {q, k}),
        matmul(permute(q, std::vector<int>{0, 2, 1, 3, 4}).reshape({2, 3, 4, 10}),
               permute(k, std::vector<int>{0, 2, 1, 3, 4}).reshape({2, 3, 6, 10}).transpose()));
  // Three operands, one of which is only a factor.
  const Tensor s = randn({5}, g, DType::f64);
  close(einsum("bij,bjk,k->bi", {a, b, s}), matmul(bmm(a, b), s));
  close(einsum("i,i,i->i", {s, s, s}), s * s * s);
}

BOOST_AUTO_TEST_CASE(an_ellipsis_stands_for_dimensions_that_broadcast) {
  Generator g(2);
  const Tensor a = randn({3, 1, 2, 4}, g, DType::f64);
  const Tensor b = randn({5, 4, 6}, g, DType::f64);
  const auto close = [](const Tensor& got, const Tensor& expected) { expect_close(got, expected, 1e-13, 1e-13); };
  close(einsum("...ij,...jk->...ik", {a, b}), matmul(a, b));
  close(einsum("...ij,...jk", {a, b}), matmul(a, b));
  close(einsum("...ij->...ji", {a}), a.transpose());
  close(einsum("i...->...", {a}), sum(a, 0));
  close(einsum("...ij->ij", {a}), sum(a, {0, 1}));
  close(einsum("...,...->...", {a, scalar(2.0)}), a * 2.0);
}

BOOST_AUTO_TEST_CASE(a_size_of_1_broadcasts_to_that_of_its_label) {
  const Tensor one = from_values<float>({2}, {1});
  const Tensor three = from_values<float>({1, 2, 3});
  expect_same(einsum("i,i->", {one, three}), scalar(12.0F));  // 2*1 + 2*2 + 2*3
  expect_same(einsum("i,i->i", {three, one}), from_values<float>({2, 4, 6}));
  expect_same(einsum("i,i,i->", {one, one, three}), scalar(24.0F));
}

BOOST_AUTO_TEST_CASE(equations_of_nothing_give_zeros) {
  expect_same(einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 3})}), zeros({2, 3}));
  BOOST_CHECK_EQUAL(einsum("ij,jk->ki", {zeros({0, 2}), zeros({2, 3})}).shape(), (Shape{3, 0}));
  expect_same(einsum("i->", {zeros({0})}), scalar(0.0F));
}

BOOST_AUTO_TEST_CASE(equations_of_16_bit_floats_are_rounded_once) {
  Generator g(3);
  expect_rounded(
      [](const Tensor& a, const Tensor& b, const Tensor& c) {
        return einsum("bij,bjk,k->bi", {a, b, c});
      },
      randn({2, 3, 8}, g), randn({2, 8, 5}, g), randn({5}, g));
  BOOST_CHECK(einsum("i,i->", {ones({2}, DType::f16), ones({2}, DType::bf16)}).dtype() == DType::f32);
}

BOOST_AUTO_TEST_CASE(equations_that_make_no_sense_are_refused) {
  const Tensor x = zeros({2, 3});
  const auto refused = [&](std::string_view equation, const std::vector<Tensor>& operands, std::string_view text) {
    expect_error<ValueError>(text, [&] { (void)einsum(equation, operands); });
  };
  refused("i-j", {x}, "[einsum] neither a label nor an ellipsis: - in i-j");
  refused("i..j", {x}, "[einsum] neither a label nor an ellipsis: . in i..j");
  refused("......", {x}, "[einsum] neither a label nor an ellipsis: . in ......");
  refused("ij->i->j", {x}, "[einsum] neither a label nor an ellipsis: - in ij->i->j");
  refused("ij,jk", {x, x, x}, "[einsum] 2 operands in ij,jk, 3 given");
  refused("", {}, "[einsum] 1 operands in , 0 given");
  refused("ii->i", {x}, "[einsum] label i twice in one operand: ii->i");
  refused("ij->ii", {x}, "[einsum] label i twice in the result: ij->ii");
  refused("ij->ik", {x}, "[einsum] label k of the result is in no operand: ij->ik");
  expect_error<ShapeError>("[einsum] 3 labels for (2, 3): ijk->i", [&] { (void)einsum("ijk->i", {x}); });
  expect_error<ShapeError>("[einsum] 1 labels for (2, 3): i->i", [&] { (void)einsum("i->i", {x}); });
  expect_error<ShapeError>("[einsum] 3 labels for (2, 3): i...jk", [&] { (void)einsum("i...jk", {x}); });
  expect_error<ShapeError>("[einsum] sizes of label j differ: 3 and 2 in ij,jk->ik", [&] {
    (void)einsum("ij,jk->ik", {x, x});
  });
  expect_error<ShapeError>("[einsum] sizes of label ... differ: 2 and 3 in ...,...", [&] {
    (void)einsum("...,...", {x, x.transpose()});
  });
  expect_error<TensorError>("[einsum] tensor is undefined", [&] { (void)einsum("ij,jk", {x, Tensor()}); });
}

BOOST_AUTO_TEST_SUITE_END()
