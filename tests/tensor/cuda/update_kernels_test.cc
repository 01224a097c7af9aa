// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/update_kernels.h"

#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/update.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_update_kernels)

namespace {

const std::vector<UpdateFormula>& formulas() {
  static const std::vector<UpdateFormula> all{
      SgdFormula{.rate = 0.1, .decay = 0.01},
      SgdFormula{.rate = 0.1, .momentum = 0.9, .share = 0.5, .has_direction = true},
      SgdFormula{.rate = 0.1, .decay = 0.1, .momentum = 0.9, .has_direction = true, .nesterov = true},
      AdamFormula{.rate = 0.01, .keep = 0.99, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .root_share = 1.5},
      AdamFormula{.rate = 0.01, .decay = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .amsgrad = true},
      AdagradFormula{.rate = 0.1, .eps = 1e-10},
      AdadeltaFormula{.rate = 1.0, .decay = 0.1, .rho = 0.9, .eps = 1e-6},
      RmspropFormula{.rate = 0.01, .alpha = 0.9, .eps = 1e-8},
      RmspropFormula{.rate = 0.01, .alpha = 0.9, .eps = 1e-8, .centered = true},
      RmspropFormula{.rate = 0.01, .alpha = 0.9, .eps = 1e-8, .momentum = 0.5},
      RmspropFormula{.rate = 0.01, .decay = 0.1, .alpha = 0.9, .eps = 1e-8, .momentum = 0.5, .centered = true},
      AdamaxFormula{.rate = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8},
      RpropFormula{
          .eta_minus = 0.5, .eta_plus = 1.2, .size_min = 1e-6, .size_max = 50.0, .first_size = 0.1, .is_first = true},
      RpropFormula{.eta_minus = 0.5, .eta_plus = 1.2, .size_min = 1e-6, .size_max = 50.0},
      NAdamFormula{.gradient_rate = 0.01,
                   .mean_rate = 0.02,
                   .decay = 0.1,
                   .beta1 = 0.9,
                   .beta2 = 0.99,
                   .eps = 1e-8,
                   .root_share = 1.5},
      RAdamFormula{.rate = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .is_rectified = true},
      RAdamFormula{.rate = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8},
      AsgdFormula{.rate = 0.01, .decay = 0.1, .keep = 0.99, .share = 0.5},
      AsgdFormula{.rate = 0.01, .keep = 0.99, .replaces_mean = true}};
  return all;
}

/// One parameter with all tensors that its step reads and writes.
struct Parameter {
  Tensor value;
  Tensor gradient;
  Tensor next;
  std::vector<Tensor> states;

  Parameter(const UpdateFormula& formula, DType dtype, std::int64_t size) {
    Generator generator(9);
    value = randn({size}, generator).to(dtype);
    gradient = randn({size}, generator).to(dtype);
    next = empty({size}, dtype);
    const DType wide = compute_dtype(dtype);
    for (std::size_t k = 0; k < state_count(formula); ++k) states.push_back((rand({size}, generator) + 1.0).to(wide));
    if (wide == dtype) return;
    // The first value was changed by other code; the others are rounded from their master copies.
    states.push_back(value.to(wide) * 1.0001);
    if (size > 0) states.back().slice(0, 0, 1).fill(99.0);
  }

  UpdateItem item(const UpdateFormula& formula) { return {value, gradient, next, states, states, formula, 0.5, 0.4}; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_formula_gives_the_bits_of_the_cpu) {
  for (std::size_t i = 0; i < formulas().size(); ++i) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      Parameter got(formulas()[i], dtype, 37);
      Parameter expected(formulas()[i], dtype, 37);
      std::vector<UpdateItem> ours{got.item(formulas()[i])};
      std::vector<UpdateItem> theirs{expected.item(formulas()[i])};
      cuda::update_with(kHost, ours);
      update(theirs);
      BOOST_TEST_CONTEXT("formula " << i) {
        expect_same(got.next, expected.next);
        for (std::size_t k = 0; k < got.states.size(); ++k) expect_same(got.states[k], expected.states[k]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(several_parameters_are_updated_among_them_an_empty_one) {
  const UpdateFormula& formula = formulas()[0];
  Parameter none(formula, DType::f32, 0);
  Parameter got(formula, DType::f32, 3);
  Parameter expected(formula, DType::f32, 3);
  std::vector<UpdateItem> ours{none.item(formula), got.item(formula)};
  std::vector<UpdateItem> theirs{expected.item(formula)};
  cuda::update_with(kHost, ours);
  update(theirs);
  expect_same(got.next, expected.next);
}

BOOST_AUTO_TEST_CASE(a_gradient_of_rows_changes_these_alone) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    const UpdateFormula& formula = formulas()[4];
    Parameter got(formula, dtype, 12);
    Parameter expected(formula, dtype, 12);
    const auto of_rows = [&](Parameter& parameter) {
      parameter.next = parameter.value.clone();
      for (Tensor* x : {&parameter.value, &parameter.next}) *x = x->view({6, 2});
      for (Tensor& state : parameter.states) state = state.view({6, 2});
      parameter.gradient = parameter.gradient.slice(0, 0, 4).view({2, 2});
      UpdateItem item = parameter.item(formula);
      item.rows = from_values<std::int64_t>({1, 4});
      return item;
    };
    std::vector<UpdateItem> ours{of_rows(got)};
    std::vector<UpdateItem> theirs{of_rows(expected)};
    cuda::update_with(kHost, ours);
    update(theirs);
    expect_same(got.next, expected.next);
    for (std::size_t k = 0; k < got.states.size(); ++k) expect_same(got.states[k], expected.states[k]);
    expect_same(got.next.select(0, 0), got.value.select(0, 0));
    BOOST_TEST(!same_bytes(got.next.select(0, 4), got.value.select(0, 4)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
