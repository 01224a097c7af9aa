#include "autograd/ops/matmul.h"

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_matmul)

namespace {

/// A leaf with distinct elements.
Variable filled(const Shape& shape) {
  Generator generator(7);
  return Variable(uniform(shape, -1.0, 1.0, generator, DType::f64), RequiresGrad::yes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_of_matrices_have_the_gradients_worked_out_by_hand) {
  const Variable a = leaf({1.0, 2.0, 3.0, 4.0}, {2, 2});
  const Variable b = leaf({5.0, 6.0, 7.0, 8.0}, {2, 2});
  expect(matmul(a, b).value(), {19.0, 22.0, 43.0, 50.0}, {2, 2});  // 1*5 + 2*7, 1*6 + 2*8, ...
  const Gradients gradients = backward(sum(matmul(a, b)));
  expect(gradients.of(a), {11.0, 15.0, 11.0, 15.0}, {2, 2});  // row sums of b
  expect(gradients.of(b), {4.0, 4.0, 6.0, 6.0}, {2, 2});      // column sums of a
}

BOOST_AUTO_TEST_CASE(products_agree_with_finite_differences_for_every_pair_of_shapes) {
  auto check = [](const Shape& a, const Shape& b) {
    BOOST_TEST_CONTEXT(to_string(a) << " x " << to_string(b)) {
      expect_gradcheck([](Inputs v) { return tanh(matmul(v[0], v[1])); }, {filled(a), filled(b)});
    }
  };
  check({2, 3}, {3, 4});
  check({3}, {3});
  check({3}, {3, 2});
  check({2, 3}, {3});
  check({2, 2, 3}, {3, 2});
  check({2, 2, 3}, {3});
  check({2, 3}, {2, 3, 2});
  check({3}, {2, 3, 2});
  check({2, 1, 2, 3}, {3, 3, 2});
}

BOOST_AUTO_TEST_CASE(products_of_transposed_views_agree_with_finite_differences) {
  expect_gradcheck([](Inputs v) { return matmul(transpose(v[0]), transpose(v[1])); }, {filled({3, 2}), filled({4, 3})});
}

BOOST_AUTO_TEST_CASE(a_constant_factor_gets_no_gradient) {
  const Variable a = leaf({1.0, 2.0, 3.0, 4.0}, {2, 2});
  const Variable b = a.value();
  const Gradients gradients = backward(sum(matmul(a, b)));
  BOOST_CHECK_EQUAL(gradients.size(), 1U);
  expect(gradients.of(a), {3.0, 7.0, 3.0, 7.0}, {2, 2});
}

BOOST_AUTO_TEST_CASE(the_other_products_have_the_gradients_worked_out_by_hand) {
  const Variable a = leaf({1.0, 2.0, 3.0, 4.0}, {2, 2});
  const Variable b = leaf({5.0, 6.0, 7.0, 8.0}, {2, 2});
  const Variable v = leaf({10.0, 20.0});
  const Variable w = leaf({3.0, 4.0});
  expect(dot(v, w).value(), 110.0);  // 10*3 + 20*4
  expect(backward(dot(v, w) * 2.0).of(v), {6.0, 8.0});
  expect(mv(a, v).value(), {50.0, 110.0});  // 1*10 + 2*20, 3*10 + 4*20
  expect(gradient_of(a, mv(a, v)), {10.0, 20.0, 20.0, 40.0}, {2, 2});
  expect(gradient_of(v, mv(a, v)), {7.0, 10.0});  // 1*1 + 2*3, 1*2 + 2*4
  expect(outer(v, w).value(), {30.0, 40.0, 60.0, 80.0}, {2, 2});
  expect(gradient_of(v, outer(v, w)), {11.0, 25.0});   // 1*3 + 2*4, 3*3 + 4*4
  expect(gradient_of(w, outer(v, w)), {70.0, 100.0});  // 1*10 + 3*20, 2*10 + 4*20
  const Variable y = addmm(v, a, b, 0.5, 2.0);
  expect(y.value(), {43.0, 54.0, 91.0, 110.0}, {2, 2});  // 2*(1*5 + 2*7) + 10/2, 2*(1*6 + 2*8) + 20/2, ...
  const Gradients gradients = backward(sum(y));
  expect(gradients.of(v), {1.0, 1.0});                        // two rows of 0.5
  expect(gradients.of(a), {22.0, 30.0, 22.0, 30.0}, {2, 2});  // 2 * row sums of b
  expect(gradients.of(b), {8.0, 8.0, 12.0, 12.0}, {2, 2});    // 2 * column sums of a
}

BOOST_AUTO_TEST_CASE(the_other_products_agree_with_finite_differences) {
  expect_gradcheck([](Inputs v) { return bmm(v[0], v[1]); }, {filled({2, 3, 4}), filled({2, 4, 2})});
  expect_gradcheck([](Inputs v) { return bmm(transpose(v[0]), v[1]); }, {filled({2, 4, 3}), filled({2, 4, 2})});
  for (const Shape& input : {Shape{}, Shape{4}, Shape{2, 1}, Shape{2, 4}}) {
    expect_gradcheck([](Inputs v) { return addmm(v[0], v[1], v[2], -0.5, 1.5); },
                     {filled(input), filled({2, 3}), filled({3, 4})});
  }
  expect_gradcheck([](Inputs v) { return addmm(v[0], v[1], v[2]); }, {filled({4}), filled({2, 3}), filled({3, 4})});
  for (const Shape& input : {Shape{4}, Shape{2, 1, 1}, Shape{2, 3, 4}}) {
    expect_gradcheck([](Inputs v) { return baddbmm(v[0], v[1], v[2], -0.5, 1.5); },
                     {filled(input), filled({2, 3, 2}), filled({2, 2, 4})});
  }
  expect_gradcheck([](Inputs v) { return dot(v[0], v[1]); }, {filled({3}), filled({3})});
  expect_gradcheck([](Inputs v) { return mv(v[0], v[1]); }, {filled({2, 3}), filled({3})});
  expect_gradcheck([](Inputs v) { return outer(v[0], v[1]); }, {filled({2}), filled({3})});
}

BOOST_AUTO_TEST_CASE(only_factors_that_require_a_gradient_get_one) {
  const Variable a = leaf({1.0, 2.0, 3.0, 4.0}, {2, 2});
  const Variable constant = ones({2, 2}, DType::f64);
  const Gradients gradients = backward(sum(addmm(constant, constant, a)));
  BOOST_CHECK_EQUAL(gradients.size(), 1U);
  expect(gradients.of(a), {2.0, 2.0, 2.0, 2.0}, {2, 2});
  BOOST_CHECK(!outer(select(constant, 0, 0), select(constant, 0, 0)).requires_grad());
}

BOOST_AUTO_TEST_CASE(equations_agree_with_finite_differences) {
  const auto check = [](std::string_view equation, const std::vector<Shape>& shapes) {
    std::vector<Variable> inputs;
    for (const Shape& shape : shapes) inputs.push_back(filled(shape));
    BOOST_TEST_CONTEXT(equation) {
      expect_gradcheck([&](Inputs v) { return einsum(equation, v); }, inputs);
    }
  };
  check("ij->ji", {{2, 3}});
  check("ij->j", {{2, 3}});
  check("ij,jk->ik", {{2, 3}, {3, 2}});
  check("bij,bkj->bki", {{2, 3, 2}, {2, 2, 2}});
  check("i,j->ij", {{2}, {3}});
  check("ij,ij->", {{2, 3}, {2, 3}});
  check("...ij,...jk->...ik", {{2, 1, 2, 3}, {2, 3, 2}});
  check("bi,oij,bj->bo", {{2, 3}, {2, 3, 2}, {2, 2}});
  check("i,i->i", {{1}, {3}});
}

BOOST_AUTO_TEST_CASE(an_equation_promotes_and_gives_each_its_dtype_back) {
  const Variable a = leaf({1.0, 2.0});
  const Variable b(from_values<float>({3.0F, 4.0F}), RequiresGrad::yes);
  const Variable y = einsum("i,i->", {a, b});
  expect(y.value(), 11.0);  // 1*3 + 2*4
  BOOST_CHECK(y.dtype() == DType::f64);
  BOOST_CHECK(backward(y).of(b).dtype() == DType::f32);
  expect(backward(y).of(b), {1.0, 2.0});
}

BOOST_AUTO_TEST_CASE(an_equation_of_variables_has_the_bits_of_that_of_tensors) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const Tensor a = filled({3, 40}).value().to(dtype);
    const Tensor b = filled({40}).value().to(dtype);
    BOOST_CHECK(same_bytes(einsum("ij,j,j->i", {Variable(a), Variable(b), Variable(b)}).value(),
                           einsum("ij,j,j->i", {a, b, b})));
  }
}

BOOST_AUTO_TEST_CASE(an_equation_that_changes_nothing_returns_its_operand) {
  const Variable x = filled({2, 3});
  BOOST_TEST(same(einsum("ij->ij", {x}), x));
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operations) {
  expect_throw<ShapeError>(
      [] {
        (void)matmul(filled({8, 4}), filled({5, 1}));
      },
      "[matmul] inner sizes differ: (8, 4) x (5, 1)");
  expect_throw<ShapeError>([] { (void)dot(filled({2, 3}), filled({3})); }, "[dot] not 1 dimensions: (2, 3)");
  expect_throw<ValueError>(
      [] {
        (void)einsum("ii->i", {filled({3, 3})});
      },
      "[einsum] label i twice in one operand: ii->i");
}

BOOST_AUTO_TEST_SUITE_END()
