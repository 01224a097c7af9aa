#include "tensor/ops/update.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/support/expect_throw.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(update_of_parameters)

namespace {

/// One f64 parameter and its states, updated in place.
struct One {
  Tensor value;
  std::vector<Tensor> states;

  void step(const UpdateFormula& formula, const Tensor& gradient) {
    Tensor next = empty(value.shape(), DType::f64);
    std::vector<UpdateItem> items{{value, gradient, next, states, states, formula}};
    update(items);
    value = next;
  }
};

Tensor f64(std::initializer_list<double> values) { return from_values<double>(values); }

void expect(const Tensor& actual, std::initializer_list<double> values) {
  BOOST_TEST(allclose(actual, f64(values), 1e-15, 0.0));  // a few roundings of f64
}

constexpr AdamFormula kAdam{.rate = 0.01, .decay = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .amsgrad = true};

/// Random parameters with sizes around those of blocks and vectors, with their states.
struct Many {
  std::vector<Tensor> values, gradients, nexts;
  std::vector<std::vector<Tensor>> states, next_states;

  explicit Many(DType dtype, std::int64_t largest) {
    Generator generator(5);
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{0}, std::int64_t{259}, largest, std::int64_t{7}}) {
      values.push_back(randn({size}, generator).to(dtype));
      gradients.push_back(randn({size}, generator).to(dtype));
      nexts.push_back(empty({size}, dtype));
      states.emplace_back();
      next_states.emplace_back();
      const DType wide = compute_dtype(dtype);
      for (std::size_t k = 0; k < 3; ++k) states.back().push_back(rand({size}, generator).to(wide));
      if (wide != dtype) states.back().push_back(values.back().to(wide));
      for (const Tensor& state : states.back()) next_states.back().push_back(empty(state.shape(), wide));
    }
  }

  std::vector<UpdateItem> items() {
    std::vector<UpdateItem> items;
    for (std::size_t i = 0; i < values.size(); ++i) {
      items.push_back({values[i], gradients[i], nexts[i], states[i], next_states[i], kAdam});
    }
    return items;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(sgd_follows_its_formula) {
  One plain{f64({1.0, -2.0}), {}};
  plain.step(SgdFormula{.rate = 0.5, .decay = 0.25}, f64({4.0, 1.0}));
  expect(plain.value, {-1.125, -2.25});  // 1 - 0.5*(4 + 0.25), -2 - 0.5*(1 - 0.5)
  One ahead{f64({1.0}), {f64({2.0})}};
  ahead.step(SgdFormula{.rate = 0.5, .momentum = 0.5, .share = 0.25, .has_direction = true, .nesterov = true},
             f64({4.0}));
  expect(ahead.states[0], {2.0});  // 0.5*2 + 0.25*4
  expect(ahead.value, {-1.5});     // 1 - 0.5*(4 + 0.5*2)
}

BOOST_AUTO_TEST_CASE(adam_follows_its_formula) {
  One p{f64({3.0}), {f64({2.0}), f64({4.0}), f64({16.0})}};
  AdamFormula formula{.rate = 0.5, .keep = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 1.0, .root_share = 2.0};
  formula.amsgrad = true;
  p.step(formula, f64({4.0}));
  expect(p.states[0], {3.0});          // 0.5*2 + 0.5*4
  expect(p.states[1], {7.0});          // 0.75*4 + 0.25*16
  expect(p.states[2], {16.0});         // the maximum
  expect(p.value, {1.5 - 0.5 / 3.0});  // 0.5*3 - 0.5 * 3 / (2*4 + 1)
}

BOOST_AUTO_TEST_CASE(adagrad_follows_its_formula) {
  One p{f64({3.0}), {f64({9.0})}};
  p.step(AdagradFormula{.rate = 0.5, .decay = 1.0, .eps = 3.0}, f64({1.0}));
  expect(p.states[0], {25.0});  // g = 1 + 3; 9 + 16
  expect(p.value, {2.75});      // 3 - 0.5 * 4 / (5 + 3)
}

BOOST_AUTO_TEST_CASE(adadelta_follows_its_formula) {
  One p{f64({3.0}), {f64({8.0}), f64({35.0})}};
  p.step(AdadeltaFormula{.rate = 0.5, .rho = 0.5, .eps = 1.0}, f64({4.0}));
  // s0 = 0.5*8 + 0.5*16 = 12, d = sqrt(36) / sqrt(13) * 4, s1 = 17.5 + 0.5 * 16 * 36 / 13
  expect(p.states[0], {12.0});
  expect(p.states[1], {17.5 + 288.0 / 13.0});
  expect(p.value, {3.0 - 12.0 / std::sqrt(13.0)});
}

BOOST_AUTO_TEST_CASE(rmsprop_follows_its_formula) {
  One p{f64({3.0}), {f64({10.0}), f64({2.0}), f64({4.0})}};
  p.step(RmspropFormula{.rate = 0.5, .alpha = 0.5, .eps = 1.0, .momentum = 0.25, .centered = true}, f64({4.0}));
  expect(p.states[0], {13.0});             // 0.5*10 + 0.5*16
  expect(p.states[1], {3.0});              // 0.5*2 + 0.5*4
  expect(p.states[2], {1.0 + 4.0 / 3.0});  // 0.25*4 + 4 / (sqrt(13 - 9) + 1)
  expect(p.value, {3.0 - 0.5 * (7.0 / 3.0)});
  One plain{f64({3.0}), {f64({2.0})}};
  plain.step(RmspropFormula{.rate = 0.5, .alpha = 0.5, .eps = 1.0}, f64({4.0}));
  expect(plain.states[0], {9.0});  // 0.5*2 + 0.5*16
  expect(plain.value, {2.5});      // 3 - 0.5 * 4 / (3 + 1)
}

BOOST_AUTO_TEST_CASE(adamax_follows_its_formula) {
  One p{f64({3.0, 3.0}), {f64({2.0, 2.0}), f64({4.0, 40.0})}};
  p.step(AdamaxFormula{.rate = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 1.0}, f64({-5.0, -5.0}));
  expect(p.states[0], {-1.5, -1.5});  // 0.5*2 - 0.5*5
  expect(p.states[1], {6.0, 30.0});   // the larger of 0.75*4 and |-5| + 1; of 0.75*40 and 6
  expect(p.value, {3.125, 3.025});    // 3 + 0.5 * 1.5 / 6, 3 + 0.5 * 1.5 / 30
}

BOOST_AUTO_TEST_CASE(rprop_follows_its_formula) {
  // Same direction, reversed direction, no previous gradient, no present gradient, and step sizes at their limits.
  One p{f64({1, 1, 1, 1, 1, 1}), {f64({2, -2, 0, 2, 1, -1}), f64({2, 2, 2, 2, 8, 0.5})}};
  const RpropFormula formula{.eta_minus = 0.5, .eta_plus = 1.5, .size_min = 0.5, .size_max = 10.0};
  p.step(formula, f64({3, 3, -3, 0, 3, 3}));
  expect(p.states[0], {3, 0, -3, 0, 3, 0});
  expect(p.states[1], {3, 1, 2, 2, 10, 0.5});
  expect(p.value, {-2, 1, 3, 1, -9, 1});
  One first{f64({1.0, 1.0}), {f64({0.0, 0.0}), f64({5.0, 5.0})}};
  RpropFormula of_first = formula;
  of_first.first_size = 0.75;
  of_first.is_first = true;
  first.step(of_first, f64({-3.0, 0.0}));
  expect(first.states[1], {0.75, 0.75});
  expect(first.value, {1.75, 1.0});
}

BOOST_AUTO_TEST_CASE(nadam_follows_its_formula) {
  One p{f64({3.0}), {f64({2.0}), f64({8.0})}};
  p.step(
      NAdamFormula{.gradient_rate = 0.5, .mean_rate = 0.25, .beta1 = 0.5, .beta2 = 0.5, .eps = 1.0, .root_share = 0.5},
      f64({2.0 * std::sqrt(2.0)}));
  const double g = 2.0 * std::sqrt(2.0);
  const double m = 1.0 + 0.5 * g;
  const double d = 0.5 * std::sqrt(8.0) + 1.0;  // 0.5*8 + 0.5*8
  expect(p.states[0], {m});
  expect(p.states[1], {8.0});
  expect(p.value, {3.0 - 0.5 * g / d - 0.25 * m / d});
}

BOOST_AUTO_TEST_CASE(radam_follows_its_formula) {
  One p{f64({3.0}), {f64({2.0}), f64({2.0})}};
  RAdamFormula formula{.rate = 0.5, .beta1 = 0.5, .beta2 = 0.5, .eps = 1.0, .is_rectified = true};
  p.step(formula, f64({4.0}));
  expect(p.states[0], {3.0});  // 0.5*2 + 0.5*4
  expect(p.states[1], {9.0});  // 0.5*2 + 0.5*16
  expect(p.value, {2.625});    // 3 - 0.5 * 3 / (3 + 1)
  One first{f64({3.0}), {f64({2.0}), f64({2.0})}};
  formula.is_rectified = false;
  first.step(formula, f64({4.0}));
  expect(first.value, {1.5});  // 3 - 0.5 * 3
}

BOOST_AUTO_TEST_CASE(asgd_follows_its_formula) {
  One p{f64({4.0}), {f64({1.0})}};
  p.step(AsgdFormula{.rate = 0.5, .keep = 0.75, .share = 0.25}, f64({2.0}));
  expect(p.value, {2.0});       // 0.75*4 - 0.5*2
  expect(p.states[0], {1.25});  // 1 + 0.25 * (2 - 1)
  One first{f64({4.0}), {f64({1.0})}};
  first.step(AsgdFormula{.rate = 0.5, .keep = 0.75, .replaces_mean = true}, f64({2.0}));
  expect(first.states[0], {2.0});
}

BOOST_AUTO_TEST_CASE(a_nan_in_a_gradient_stays_visible) {
  const Tensor nan = f64({std::numeric_limits<double>::quiet_NaN()});
  One adam{f64({1.0}), {f64({0.0}), f64({0.0}), f64({1.0})}};
  adam.step(kAdam, nan);
  BOOST_TEST(std::isnan(adam.states[2].item()));
  BOOST_TEST(std::isnan(adam.value.item()));
  One adamax{f64({1.0}), {f64({0.0}), f64({1.0})}};
  adamax.step(AdamaxFormula{.rate = 0.5, .beta2 = 0.5}, nan);
  BOOST_TEST(std::isnan(adamax.states[1].item()));
}

BOOST_AUTO_TEST_CASE(states_may_be_replaced_where_they_are) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    Many apart(dtype, 1000);
    Many in_place(dtype, 1000);
    auto items = apart.items();
    update(items);
    for (std::size_t i = 0; i < in_place.values.size(); ++i) {
      std::vector<UpdateItem> one{{in_place.values[i], in_place.gradients[i], in_place.nexts[i], in_place.states[i],
                                   in_place.states[i], kAdam}};
      update(one);
      BOOST_TEST(same_bytes(in_place.nexts[i], apart.nexts[i]));
      for (std::size_t k = 0; k < in_place.states[i].size(); ++k) {
        BOOST_TEST(same_bytes(in_place.states[i][k], apart.next_states[i][k]));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_threads) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Many alone(dtype, 100'003);
    Many threaded(dtype, 100'003);
    auto items = alone.items();
    update(items);
    const MathThreads threads(3);
    items = threaded.items();
    update(items);
    for (std::size_t i = 0; i < alone.values.size(); ++i) {
      BOOST_TEST(same_bytes(alone.nexts[i], threaded.nexts[i]));
      BOOST_TEST(same_bytes(alone.next_states[i].back(), threaded.next_states[i].back()));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_element_is_the_same_wherever_it_stands) {
  Many all(DType::f32, 67);
  auto items = all.items();
  update(items);
  for (std::int64_t i = 0; i < 67; ++i) {
    const auto part = [i](const Tensor& x) { return x.slice(0, i, i + 1).clone(); };
    std::vector<Tensor> states;
    for (const Tensor& state : all.states[3]) states.push_back(part(state));
    std::vector<UpdateItem> one{{part(all.values[3]), part(all.gradients[3]), empty({1}), states, states, kAdam}};
    update(one);
    BOOST_TEST(same_bytes(one[0].next, part(all.nexts[3])));
  }
}

BOOST_AUTO_TEST_CASE(rows_alone_may_be_stepped) {
  const auto table = [](std::initializer_list<double> values) { return from_values<double>(values, {4, 2}); };
  const Tensor value = table({1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<Tensor> states{table({0, 0, 16, 16, 0, 0, 0, 0})};
  std::vector<UpdateItem> items{{value, from_values<double>({3, 0, 1, 2}, {2, 2}), value.clone(), states, states,
                                 AdagradFormula{.rate = 1.0, .eps = 1.0}}};
  items[0].rows = from_values<std::int64_t>({1, 3});
  items.push_back({value, empty({0, 2}, DType::f64), value.clone(), {}, {}, SgdFormula{.rate = 1.0}});
  items[1].rows = empty({0}, DType::i64);
  items.push_back({value, value, value.clone(), {}, {}, SgdFormula{.rate = 1.0}});
  update(items);
  BOOST_TEST(same_bytes(items[1].next, value));
  BOOST_TEST(same_bytes(items[2].next, zeros({4, 2}, DType::f64)));
  BOOST_TEST(same_bytes(states[0], table({0, 0, 25, 16, 0, 0, 1, 4})));
  BOOST_TEST(same_bytes(items[0].next, table({1, 2, 2.5, 4, 5, 6, 6.5, 8 - 2.0 / 3.0})));  // 3 / (5 + 1), 1 / 2, 2 / 3
}

BOOST_AUTO_TEST_CASE(rows_do_not_depend_on_threads) {
  Generator generator(4);
  const Tensor value = randn({3000, 50}, generator);
  const Tensor rows = arange(0.0, 3000.0, 2.0, DType::i64);
  const Tensor gradient = randn({1500, 50}, generator);
  const auto next = [&] {
    std::vector<UpdateItem> items{{value, gradient, value.clone(), {}, {}, SgdFormula{.rate = 0.1}}};
    items[0].rows = rows;
    update(items);
    return items[0].next;
  };
  const Tensor alone = next();
  const MathThreads threads(3);
  BOOST_TEST(same_bytes(next(), alone));
}

BOOST_AUTO_TEST_CASE(items_that_do_not_fit_are_refused) {
  const auto refused = [](auto change, const std::string& text) {
    Many all(DType::f32, 5);
    auto items = all.items();
    change(all, items);
    expect_throw<TensorError>([&] { update(items); }, text);
  };
  using Items = std::vector<UpdateItem>;
  refused([](Many&, Items& items) { items[0].gradient = empty({2}); },
          "[update] the gradient is not contiguous f32 (1)");
  refused([](Many&, Items& items) { items[2].value = empty({518}).slice(0, 0, 518, 2); },
          "[update] the value is not contiguous f32 (259)");
  refused([](Many&, Items& items) { items[0].next = empty({1}, DType::f64); },
          "[update] the next value is not contiguous f32 (1)");
  refused([](Many&, Items& items) { items[0].value = arange(1); }, "[update] not floating point: i64");
  refused([](Many& all, Items&) { all.states[2][1] = empty({2}); }, "[update] state 1 is not contiguous f32 (259)");
  refused([](Many& all, Items&) { all.next_states[2][1] = Tensor(); },
          "[update] next state 1 is not contiguous f32 (259)");
  const Tensor rows = from_values<std::int64_t>({1, 3});
  refused([&](Many&, Items& items) { items[2].rows = rows; }, "[update] the gradient is not contiguous f32 (2)");
  refused([&](Many&, Items& items) { items[2].rows = rows.to(DType::i32); }, "[update] rows is not contiguous i64 (2)");
  const auto of_rows = [](std::initializer_list<std::int64_t> numbers) {
    return [=](Many&, Items& items) {
      items[2].rows = from_values<std::int64_t>(numbers);
      items[2].gradient = empty({items[2].rows.numel()});
    };
  };
  refused(of_rows({3, 1}), "[update] rows are not ascending numbers below 259");
  refused(of_rows({3, 259}), "[update] rows are not ascending numbers below 259");
  refused(of_rows({-1, 3}), "[update] rows are not ascending numbers below 259");
  refused(
      [&](Many&, Items& items) {
        items[2].value = full({}, 1.0);
        items[2].rows = rows;
      },
      "[update] a value without dimensions has no rows");
  refused([](Many&, Items& items) { items[0].formula = SgdFormula{}; }, "[update] 3 states instead of 0");
  refused([](Many&, Items& items) { items[0].next_states = {}; }, "[update] 0 states instead of 3");
}

BOOST_AUTO_TEST_SUITE_END()
