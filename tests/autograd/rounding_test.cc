#include "autograd/rounding.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/ops/activation.h"
#include "autograd/ops/division.h"
#include "autograd/ops/exponential.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/margin_loss.h"
#include "autograd/ops/nn.h"
#include "autograd/ops/pointwise.h"
#include "autograd/ops/products.h"
#include "autograd/ops/trigonometry.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/margin_loss.h"
#include "tensor/ops/nn.h"
#include "tensor/ops/products.h"
#include "tests/autograd/expect.h"

namespace troupe {
namespace {

using namespace testing;

BOOST_AUTO_TEST_SUITE(rounding)

using Given = std::vector<Variable>;

struct Case {
  std::string name;
  std::vector<std::vector<double>> inputs;  ///< each (2, columns)
  std::function<Variable(const Given&)> f;
};

Tensor as_rows(const std::vector<double>& values, DType dtype) {
  return from_values<double>(std::span<const double>(values), {2, static_cast<std::int64_t>(values.size()) / 2})
      .to(dtype);
}

/// Returns leaves whose values are those of `dtype`, in `dtype` or in f32.
Given leaves(const Case& one, DType dtype, DType in) {
  Given all;
  for (const auto& values : one.inputs) all.emplace_back(as_rows(values, dtype).to(in), RequiresGrad::yes);
  return all;
}

/// Checks that the operation rounds once: on values of `dtype` it gives what it gives in f32, rounded.
void expect_rounded_once(const Case& one, DType dtype) {
  const Given given = leaves(one, dtype, dtype), precise = leaves(one, dtype, DType::f32);
  const Variable found = one.f(given), wanted = one.f(precise);
  const std::string name = one.name + " " + std::string(name_of(dtype));
  BOOST_TEST(same_bytes(found.value(), wanted.value().to(dtype)), name);
  BOOST_TEST(!any(isnan(found.value())).item<bool>(), name);
  const Gradients by_found = backward(sum(found)), by_wanted = backward(sum(wanted));
  for (std::size_t i = 0; i < given.size(); ++i)
    BOOST_TEST(same_bytes(by_found.of(given[i]), by_wanted.of(precise[i]).to(dtype)), name << ": gradient " << i);
}

void expect_all(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    for (const DType dtype : {DType::f16, DType::bf16}) expect_rounded_once(one, dtype);
  }
}

/// Signs as a target of a loss: one per row.
Tensor signs(const Variable& like) { return from_values<double>({1, -1}).to(like.dtype()); }

BOOST_AUTO_TEST_CASE(layers_of_several_steps_round_once) {
  const std::vector<double> x{0, 0, 0, 300, 1.5, -0.25}, y{1, 1, 1, 200, -2, 0.75};
  expect_all({
      {"normalize", {x}, [](const Given& in) { return normalize(in[0]); }},
      {"cosine_similarity", {x, y}, [](const Given& in) { return cosine_similarity(in[0], in[1]); }},
      {"pairwise_distance", {x, y}, [](const Given& in) { return pairwise_distance(in[0], in[1], 3.0); }},
      {"cdist", {x, y}, [](const Given& in) { return cdist(in[0], in[1], 3.0); }},
      {"cross",
       {{300, 200, 1, 3, 1, 2}, {300, 301, 2, 1, 0.3, 7}},
       [](const Given& in) { return cross(in[0], in[1]); }},
      {"local_response_norm",
       {{300, 200, 100, 0.5, 7, 1000}},
       [](const Given& in) { return local_response_norm(unsqueeze(in[0], 2), 3); }},
      {"bilinear",
       {x, y, {1.1, 2.3, 0.7, 0.3, 1.7, 1.9, 0.4, 0.6, 1.3, 0.1, 0.2, 2.2, 0.9, 1.0, 1.6, 2.8, 0.8, 0.5}, {0.1, 300}},
       [](const Given& in) {
         return bilinear(in[0], in[1], reshape(in[2], {2, 3, 3}), reshape(in[3], {2}));
       }},
      {"norm", {x}, [](const Given& in) { return norm(in[0], 3.0, 1); }},
      {"norm of large elements", {{60000, 60000, 1, 2}}, [](const Given& in) { return norm(in[0], 2.0, 1); }},
      {"logsumexp", {{760, 760, 1, 33.5, 9, 8}}, [](const Given& in) { return logsumexp(in[0], 1); }},
      {"var", {x}, [](const Given& in) { return var(in[0], 1); }},
      {"stddev", {x}, [](const Given& in) { return stddev(in[0], 1); }},
      {"softplus", {x}, [](const Given& in) { return softplus(in[0], 0.3); }},
      {"softsign", {x}, [](const Given& in) { return softsign(in[0]); }},
      {"tanhshrink", {x}, [](const Given& in) { return tanhshrink(in[0]); }},
      {"glu", {{0.3, 0.7, 1, 2, 1.1, 1.3, 2, 3}}, [](const Given& in) { return glu(in[0]); }},
      {"prelu", {x, {0.3, 0.7}}, [](const Given& in) { return prelu(unsqueeze(in[0], 0), reshape(in[1], {2})); }},
  });
}

BOOST_AUTO_TEST_CASE(losses_of_several_steps_round_once) {
  const std::vector<double> x{0, 0, 2, 0.8, 1.5, 5}, y{1, 0, 3, 0, 2.5, 7}, zeros{0, 0, 0, 0, 0.5, 2};
  std::vector<Case> cases;
  for (const Reduction reduction : {Reduction::none, Reduction::mean}) {
    cases.insert(
        cases.end(),
        {{"poisson_nll_loss",
          {x},
          [=](const Given& in) {
            return poisson_nll_loss(in[0], as_rows(y, in[0].dtype()),
                                    {.log_input = false, .full = true, .reduction = reduction});
          }},
         {"gaussian_nll_loss",
          {x, y, zeros},
          [=](const Given& in) {
            return gaussian_nll_loss(in[0], in[1], in[2], {.full = true, .reduction = reduction});
          }},
         {"cosine_embedding_loss",
          {x, y},
          [=](const Given& in) { return cosine_embedding_loss(in[0], in[1], signs(in[0]), {.reduction = reduction}); }},
         {"hinge_embedding_loss",
          {x},
          [=](const Given& in) {
            return hinge_embedding_loss(in[0], unsqueeze(signs(in[0]), 1), {.margin = 1.1, .reduction = reduction});
          }},
         {"margin_ranking_loss",
          {x, y},
          [=](const Given& in) {
            return margin_ranking_loss(in[0], in[1], unsqueeze(signs(in[0]), 1),
                                       {.margin = 1.1, .reduction = reduction});
          }},
         {"triplet_margin_loss",
          {x, y, {1, 2, 3, 0.1, 0.2, 0.3}},
          [=](const Given& in) {
            return triplet_margin_loss(in[0], in[1], in[2], {.margin = 5.1, .swap = true, .reduction = reduction});
          }},
         {"soft_margin_loss",
          {x},
          [=](const Given& in) { return soft_margin_loss(in[0], sign(in[0].value()), reduction); }},
         {"multi_margin_loss",
          {x},
          [=](const Given& in) {
            return multi_margin_loss(in[0], from_values<std::int64_t>({0, 2}), {.margin = 1.1, .reduction = reduction});
          }},
         {"cross_entropy", {x}, [=](const Given& in) {
            return cross_entropy(in[0], as_rows({0.25, 0.25, 0.5, 0.125, 0.125, 0.75}, in[0].dtype()),
                                 {.reduction = reduction, .label_smoothing = 0.1});
          }}});
  }
  expect_all(cases);
}

BOOST_AUTO_TEST_CASE(gradients_of_several_steps_round_once) {
  const std::vector<double> large{300, 400, 1.5, 120, 2.25, 3}, small{0.1, 0.7, -0.3, 0.9, 0.01, -0.6};
  expect_all({
      {"atan2", {{0, 1, 2, 3}, {300, 400, 0.5, -0.1}}, [](const Given& in) { return atan2(in[0], in[1]); }},
      {"acosh", {large}, [](const Given& in) { return acosh(in[0]); }},
      {"asinh", {large}, [](const Given& in) { return asinh(in[0]); }},
      {"atan", {large}, [](const Given& in) { return atan(in[0]); }},
      {"asin", {small}, [](const Given& in) { return asin(in[0]); }},
      {"acos", {small}, [](const Given& in) { return acos(in[0]); }},
      {"atanh", {small}, [](const Given& in) { return atanh(in[0]); }},
      {"sin", {large}, [](const Given& in) { return sin(in[0]); }},
      {"cos", {large}, [](const Given& in) { return cos(in[0]); }},
      {"sinh", {small}, [](const Given& in) { return sinh(in[0]); }},
      {"cosh", {small}, [](const Given& in) { return cosh(in[0]); }},
      {"pow", {{140, 0.5, 3, 7}}, [](const Given& in) { return pow(in[0], 3.0); }},
      {"square", {large}, [](const Given& in) { return square(in[0]); }},
      {"erf", {small}, [](const Given& in) { return erf(in[0]); }},
      {"erfc", {small}, [](const Given& in) { return erfc(in[0]); }},
      {"log1p", {large}, [](const Given& in) { return log1p(in[0]); }},
      {"log2", {large}, [](const Given& in) { return log2(in[0]); }},
      {"log10", {large}, [](const Given& in) { return log10(in[0]); }},
      {"logit", {{0.1, 0.7, 0.5, 0.9}}, [](const Given& in) { return logit(in[0]); }},
      {"logaddexp", {large, small}, [](const Given& in) { return logaddexp(in[0], in[1]); }},
      {"xlogy", {large, large}, [](const Given& in) { return xlogy(in[0], in[1]); }},
      {"lerp", {small, large, small}, [](const Given& in) { return lerp(in[0], in[1], in[2]); }},
      {"addcmul", {small, large, small}, [](const Given& in) { return addcmul(in[0], in[1], in[2], 0.3); }},
      {"addcdiv", {small, small, large}, [](const Given& in) { return addcdiv(in[0], in[1], in[2], 0.3); }},
      {"fmod", {large, small}, [](const Given& in) { return fmod(in[0], in[1]); }},
      {"remainder", {large, small}, [](const Given& in) { return remainder(in[0], in[1]); }},
      {"log_sigmoid", {small}, [](const Given& in) { return log_sigmoid(in[0]); }},
      {"prod", {{300, 400, 0.001, 0.01, 2, 3}}, [](const Given& in) { return prod(in[0], 1); }},
  });
}

BOOST_AUTO_TEST_CASE(equal_elements_share_a_gradient_also_if_their_number_is_no_bf16) {
  const Variable x(ones({257}, DType::bf16), RequiresGrad::yes);
  const Tensor share = full({257}, 1.0 / 257.0, DType::bf16);
  BOOST_TEST(same_bytes(backward(max(x)).of(x), share));
  BOOST_TEST(same_bytes(backward(median(x)).of(x), share));
}

BOOST_AUTO_TEST_CASE(tensors_get_the_values_that_variables_get) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor x = as_rows({0, 0, 0, 3, 1.5, -0.25}, dtype), y = as_rows({1, 1, 1, 2, -2, 0.75}, dtype);
    const auto expect_both = [](const Tensor& found, const Variable& wanted) {
      BOOST_TEST(same_bytes(found, wanted.value()));
    };
    expect_both(normalize(x), normalize(Variable(x)));
    expect_both(cosine_similarity(x, y), cosine_similarity(Variable(x), Variable(y)));
    expect_both(pairwise_distance(x, y), pairwise_distance(Variable(x), Variable(y)));
    expect_both(cross(x, y), cross(Variable(x), Variable(y)));
    expect_both(local_response_norm(x.unsqueeze(2), 3), local_response_norm(Variable(x.unsqueeze(2)), 3));
    expect_both(poisson_nll_loss(x, y, {.full = true}), poisson_nll_loss(Variable(x), y, {.full = true}));
    expect_both(gaussian_nll_loss(x, y, abs(x)), gaussian_nll_loss(Variable(x), Variable(y), Variable(abs(x))));
    BOOST_TEST((normalize(zeros({1, 3}, dtype)).dtype() == dtype));
  }
}

BOOST_AUTO_TEST_CASE(a_wider_operand_decides_the_dtype_of_the_result) {
  const Variable x(as_rows({1, 2, 3, 4}, DType::f16)), y(as_rows({1, 2, 3, 5}, DType::f32));
  BOOST_TEST((cosine_similarity(x, y).dtype() == DType::f32));
  BOOST_TEST((poisson_nll_loss(x, y.value()).dtype() == DType::f32));
  BOOST_TEST((poisson_nll_loss(y, x.value()).dtype() == DType::f32));
  BOOST_TEST((pairwise_distance(x, cast(y, DType::bf16)).dtype() == DType::f32));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
