#include "autograd/variable.h"

#include <functional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/reads.h"
#include "tests/autograd/expect.h"
#include "tests/support/gpu.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(variable)

BOOST_AUTO_TEST_CASE(copies_are_the_same_variable_and_equal_values_are_not) {
  const Variable a = leaf({1.0, 2.0});
  const Variable copy = a;  // NOLINT(performance-unnecessary-copy-initialization)
  const Variable other = leaf({1.0, 2.0});
  BOOST_CHECK(same(a, copy));
  BOOST_CHECK_EQUAL(a.id(), copy.id());
  BOOST_CHECK(!same(a, other));
  BOOST_CHECK(Variable().id() == nullptr);
}

BOOST_AUTO_TEST_CASE(a_tensor_converts_to_a_constant) {
  const Variable constant = from_values<double>({1.0, 2.0});
  BOOST_CHECK(!constant.requires_grad());
  BOOST_CHECK(constant.is_leaf());
  BOOST_CHECK(!constant.gradient_edge());
}

BOOST_AUTO_TEST_CASE(results_of_operations_are_leaves_only_if_no_gradient_is_wanted) {
  const Variable w = leaf({1.0});
  BOOST_CHECK(w.is_leaf());
  BOOST_CHECK(!(w + 1.0).is_leaf());
  BOOST_CHECK((w + 1.0).requires_grad());
  BOOST_CHECK((w.detach() + 1.0).is_leaf());
  BOOST_CHECK_EQUAL((w * 2.0).gradient_edge().fn->name(), "mul");
}

BOOST_AUTO_TEST_CASE(under_a_no_grad_guard_nothing_is_recorded) {
  const Variable w = leaf({1.0});
  {
    const NoGradGuard outer;
    const NoGradGuard inner;
    BOOST_CHECK(!grad_enabled());
    BOOST_CHECK(!(w + w).requires_grad());
  }
  BOOST_CHECK(grad_enabled());
  BOOST_CHECK((w + w).requires_grad());
}

BOOST_AUTO_TEST_CASE(inside_a_no_grad_guard_recording_can_be_enabled_again) {
  const Variable w = leaf({2.0});
  const NoGradGuard off;
  {
    const EnableGradGuard on;
    BOOST_CHECK(grad_enabled());
    expect(backward(sum(w * w)).of(w), {4.0});
    const NoGradGuard off_again;
    BOOST_CHECK(!(w * w).requires_grad());
  }
  BOOST_CHECK(!grad_enabled());
  BOOST_CHECK(!(w * w).requires_grad());
}

BOOST_AUTO_TEST_CASE(guards_are_of_their_thread) {
  const NoGradGuard off;
  std::thread([] { BOOST_CHECK(grad_enabled()); }).join();
}

BOOST_AUTO_TEST_CASE(a_detached_variable_has_the_value_and_cuts_the_graph) {
  const Variable w = leaf({2.0, 3.0});
  const Variable h = w * 2.0;
  const Variable cut = h.detach();
  BOOST_CHECK(cut.value().storage().same_as(h.value().storage()));
  BOOST_CHECK(!cut.requires_grad());
  BOOST_CHECK(cut.is_leaf());
  BOOST_CHECK(!same(cut, h));
  expect(backward(sum(h * cut)).of(w), {8.0, 12.0});  // 2 * (2 w); the square would have twice that
}

BOOST_AUTO_TEST_CASE(a_new_value_is_seen_by_all_handles_and_not_by_values_read_before) {
  const Variable w = leaf({1.0, 2.0});
  const Variable handle = w;  // NOLINT(performance-unnecessary-copy-initialization)
  const Tensor before = w.value();
  w.set_value(from_values<double>({3.0, 4.0}));
  expect(handle.value(), {3.0, 4.0});
  expect(before, {1.0, 2.0});
  BOOST_CHECK(same(w, handle));
}

BOOST_AUTO_TEST_CASE(a_graph_recorded_before_a_new_value_gives_the_gradient_of_the_old_one) {
  const Variable w = leaf({3.0});
  const Variable loss = sum(w * w);
  w.set_value(from_values<double>({100.0}));
  expect(backward(loss).of(w), {6.0});  // 2 * 3
}

BOOST_AUTO_TEST_CASE(values_that_do_not_fit_and_results_of_operations_refuse_a_new_value) {
  const Variable w = leaf({1.0, 2.0});
  expect_throw<ShapeError>([&] { w.set_value(from_values<double>({1.0})); },
                           "[set_value] the new value does not fit: f64 (1) instead of f64 (2)");
  expect_throw<ShapeError>(
      [&] {
        w.set_value(from_values<float>({1.0F, 2.0F}));
      },
      "[set_value] the new value does not fit: f32 (2) instead of f64 (2)");
  expect_throw<ShapeError>([&] { w.set_value(Tensor()); },
                           "[set_value] the new value does not fit: undefined instead of f64 (2)");
  expect_throw<TensorError>([&] { (w + 1.0).set_value(w.value()); },
                            "[set_value] not a leaf: the variable is the result of an operation");
}

BOOST_AUTO_TEST_CASE(undefined_variables_and_integer_leaves_with_gradient_are_refused) {
  expect_throw<TensorError>([] { (void)Variable().value(); }, "[value] variable is undefined");
  expect_throw<TensorError>([] { (void)Variable().requires_grad(); }, "[requires_grad] variable is undefined");
  expect_throw<TensorError>([] { Variable v{Tensor()}; }, "[Variable] tensor is undefined");
  expect_throw<DTypeError>([] { Variable v(arange(3), RequiresGrad::yes); },
                           "[Variable] only floating point values have gradients: i64");
}

BOOST_AUTO_TEST_CASE(a_leaf_becomes_a_constant_and_a_parameter_again_and_stays_the_same_variable) {
  const Variable w = leaf({3.0});
  const Variable before = sum(w * w);
  w.set_requires_grad(RequiresGrad::no);
  BOOST_CHECK(!w.requires_grad());
  BOOST_CHECK(w.is_leaf());
  BOOST_CHECK(!w.gradient_edge());
  BOOST_CHECK(!(w * 2.0).requires_grad());
  expect(backward(before).of(w), {6.0});  // the recorded graph keeps its edges
  w.set_requires_grad(RequiresGrad::yes);
  expect(backward(sum(w * 5.0) + before).of(w), {11.0});  // both contribute to one gradient
}

BOOST_AUTO_TEST_CASE(a_constant_becomes_a_parameter) {
  const Variable w = from_values<double>({3.0});
  w.set_requires_grad(RequiresGrad::yes);
  expect(backward(sum(w * w)).of(w), {6.0});
  expect_throw<TensorError>([&] { (w + 1.0).set_requires_grad(RequiresGrad::no); },
                            "[set_requires_grad] not a leaf: the variable is the result of an operation");
  expect_throw<DTypeError>([] { Variable(arange(3)).set_requires_grad(RequiresGrad::yes); },
                           "[set_requires_grad] only floating point values have gradients: i64");
}

BOOST_AUTO_TEST_CASE(a_converted_value_may_have_another_dtype_but_no_other_shape) {
  const Variable w = leaf({3.0, 4.0});
  const Variable before = sum(w * w);
  w.convert_value(from_values<float>({5.0F, 6.0F}));
  BOOST_CHECK(w.dtype() == DType::f32);
  expect(backward(before).of(w), {6.0, 8.0});
  BOOST_CHECK(backward(sum(w * w)).of(w).dtype() == DType::f32);
  expect_throw<ShapeError>([&] { w.convert_value(ones({3})); },
                           "[convert_value] the new value does not fit: f32 (3) instead of f32 (2)");
  expect_throw<DTypeError>([&] { w.convert_value(arange(2)); },
                           "[convert_value] only floating point values have gradients: i64");
}

BOOST_AUTO_TEST_CASE(readers_see_one_of_the_values_while_another_thread_sets_them) {
  const Variable w = leaf({0.0, 0.0});
  bool torn = false;
  std::thread writer([&] {
    for (int i = 0; i < 2000; ++i) w.set_value(full({2}, i, DType::f64));
  });
  for (int i = 0; i < 2000; ++i) {
    const Tensor seen = w.value();
    torn = torn || seen.data<double>()[0] != seen.data<double>()[1];
  }
  writer.join();
  BOOST_CHECK(!torn);
}

namespace {

/// Replaces a leaf's value after every read, as another thread might between two reads.
class Replacing final : public detail::Reader {
 public:
  explicit Replacing(const Variable& x) : x_(x) {}

  Tensor value_of(const std::shared_ptr<const void>& identity, const Edge& /*edge*/, Tensor now) override {
    if (identity.get() == x_.id()) x_.set_value(add(now, 1.0));
    return now;
  }
  Generator& generator_for(Generator& generator) override { return generator; }

 private:
  Variable x_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_operation_reads_one_version_of_a_variable_that_it_is_given_twice) {
  using Function = std::function<Variable(const Variable&)>;
  const std::vector<std::pair<Function, double>> uses{{[](const Variable& x) { return x * x; }, 9.0},
                                                      {[](const Variable& x) { return x + x; }, 6.0},
                                                      {[](const Variable& x) { return x - x; }, 0.0},
                                                      {[](const Variable& x) { return x / x; }, 1.0},
                                                      {[](const Variable& x) { return pow(x, x); }, 27.0},
                                                      {[](const Variable& x) { return maximum(x, x); }, 3.0},
                                                      {[](const Variable& x) { return clamp_min(x, x); }, 3.0},
                                                      {[](const Variable& x) { return clamp_max(x, 2.0); }, 2.0},
                                                      {[](const Variable& x) { return remainder(x, x); }, 0.0},
                                                      {[](const Variable& x) { return addcmul(x, x, x); }, 12.0},
                                                      {[](const Variable& x) { return dot(x, x); }, 9.0},
                                                      {[](const Variable& x) {
                                                         return sum(concat(std::vector<Variable>{x, x}));
                                                       },
                                                       6.0}};
  for (const auto& [use, value] : uses) {
    const Variable x = leaf({3.0});
    Replacing replacing(x);
    const detail::ReaderGuard guard(replacing);
    BOOST_TEST(sum(use(x)).value().item() == value);
  }
  // The gradient is of that version too: 2 * 3.
  const Variable x = leaf({3.0});
  Replacing replacing(x);
  Variable square;
  {
    const detail::ReaderGuard guard(replacing);
    square = x * x;
  }
  expect(backward(sum(square)).of(x), {6.0});
}

BOOST_AUTO_TEST_CASE(a_variable_tells_the_sizes_and_the_only_element_of_its_value) {
  const Variable x = Variable(zeros({2, 3}));
  BOOST_CHECK_EQUAL(x.dim(), 2);
  BOOST_CHECK_EQUAL(x.size(0), 2);
  BOOST_CHECK_EQUAL(x.size(-1), 3);
  BOOST_CHECK_EQUAL(x.numel(), 6);
  BOOST_CHECK_EQUAL(sum(leaf({1.0, 2.5})).item(), 3.5);
  BOOST_CHECK_EQUAL(leaf({3.0}).item<int>(), 3);
  BOOST_CHECK_THROW(static_cast<void>(x.item()), ShapeError);
  BOOST_CHECK_THROW(static_cast<void>(Variable().numel()), TensorError);
}

BOOST_AUTO_TEST_CASE(members_of_a_tensor_are_members_of_a_variable_with_gradients) {
  const Variable x = leaf({0, 1, 2, 3, 4, 5});
  const Variable turned = x.reshape({2, 3}).transpose().unsqueeze(0).permute({0, 2, 1}).squeeze(0);
  BOOST_TEST((turned.shape() == Shape{2, 3}));
  const Variable wide = turned.expand({2, 2, 3}).to(DType::f32).to(DType::f64);
  const Gradients gradients = backward(sum(wide * from_values<double>({1, 2, 3, 4, 5, 6}, {2, 3})));
  expect(gradients.of(x), {2, 4, 6, 8, 10, 12});
}

BOOST_AUTO_TEST_CASE(lists_in_braces_and_numbers_are_operands) {
  const Tensor t = from_values<double>({1, 2, 3});
  const Variable x = leaf({1, 2, 3});
  static_assert(std::is_same_v<decltype(concat({t, t}, 0)), Tensor>);
  static_assert(std::is_same_v<decltype(stack({t, t})), Tensor>);
  static_assert(std::is_same_v<decltype(permute(t, {0})), Tensor>);
  const Variable both = concat({concat({x, Variable(t)}, 0), permute(x, {0})}, 0);
  const Variable rows = stack({x, x});
  // 1 at 3, a half at 2, where both are equal; from `where` 1 at 3.
  const Variable chosen = sum(maximum(x, 2.0)) + sum(where(x > 2.0, x, 0.0)) + sum(where(x > 2.0, 0.0, x * 10.0));
  const Gradients gradients = backward(sum(both) + sum(rows) + chosen + sum(minimum(x, 0.5)));
  expect(gradients.of(x), {4 + 10, 4 + 0.5 + 10, 4 + 1 + 1});
  expect(where(t > 2.0, t, 0.0), {0, 0, 3});
  BOOST_TEST((where(arange(3) > 1.0, arange(3), 0.5).dtype() == DType::f32));
  BOOST_TEST((where(arange(3) > 1.0, 2.0, arange(3)).dtype() == DType::i64));
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_on_the_device_already_is_returned_itself) {
  const Variable x(ones({2}), RequiresGrad::yes);
  BOOST_CHECK(same(x.to(Device::cpu()), x));
  BOOST_CHECK_THROW(static_cast<void>(x.to(Device::cuda(99))), DeviceError);
}

BOOST_AUTO_TEST_CASE(a_gradient_returns_to_the_device_of_its_variable,
                     *boost::unit_test::label("needs_gpu") * boost::unit_test::precondition(testing::NeedsGpus{1})) {
  const Variable x(full({2}, 3.0), RequiresGrad::yes);
  const Variable y = x.to(Device::cuda(0));
  BOOST_CHECK(y.device() == Device::cuda(0));
  const Tensor gradient = backward(sum(y * y)).of(x);
  BOOST_CHECK(same_bytes(gradient, full({2}, 6.0)));
}

BOOST_AUTO_TEST_SUITE_END()
