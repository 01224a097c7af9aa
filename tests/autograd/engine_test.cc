#include "autograd/engine.h"

#include <array>
#include <limits>
#include <thread>

#include "autograd/anomaly.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"
#include "tests/support/said_to_be_on.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(engine)

BOOST_AUTO_TEST_CASE(gradients_go_by_identity_and_stay_out_of_the_leaves) {
  const Variable a = leaf({2.0, 3.0});
  const Variable b = leaf({2.0, 3.0});
  const Gradients gradients = backward(sum(a * b * 5.0));
  expect(gradients.of(a), {10.0, 15.0});
  expect(gradients.of(b), {10.0, 15.0});
  BOOST_CHECK_EQUAL(gradients.size(), 2U);
  BOOST_CHECK(!gradients.of(leaf({2.0, 3.0})).defined());
  BOOST_CHECK(!gradients.of(Variable()).defined());
}

BOOST_AUTO_TEST_CASE(both_sides_of_a_diamond_are_added) {
  const Variable x = leaf(3.0);
  const Variable top = x * 2.0;
  expect(backward(top * top + top).of(x), 26.0);  // (4x^2 + 2x)' = 8 * 3 + 2
}

BOOST_AUTO_TEST_CASE(a_leaf_used_many_times_collects_every_contribution) {
  const Variable x = leaf(2.0);
  expect(backward(x * x * x + x).of(x), 13.0);  // 3 * 4 + 1
}

BOOST_AUTO_TEST_CASE(results_that_the_root_does_not_depend_on_do_not_hold_the_pass_up) {
  const Variable x = leaf(2.0);
  const Variable shared = x * 3.0;
  const Variable unused = exp(shared) * shared;
  expect(backward(shared * 2.0).of(x), 6.0);
}

BOOST_AUTO_TEST_CASE(leaves_without_gradient_get_none_and_cut_the_graph) {
  const Variable x = leaf({1.0, 2.0});
  const Variable constant = from_values<double>({3.0, 4.0});
  const Gradients gradients = backward(sum(x * constant + exp(constant)));
  expect(gradients.of(x), {3.0, 4.0});
  BOOST_CHECK(!gradients.of(constant).defined());
}

BOOST_AUTO_TEST_CASE(a_graph_can_be_differentiated_again_and_passes_can_be_added_up) {
  const Variable x = leaf(3.0);
  const Variable loss = x * x;
  Gradients total = backward(loss);
  const Tensor first = total.of(x);
  total.add(backward(loss));
  expect(total.of(x), 12.0);
  expect(first, 6.0);  // the sum is in another object
}

BOOST_AUTO_TEST_CASE(several_roots_give_the_gradient_of_their_sum) {
  const Variable x = leaf(3.0);
  const std::array<Variable, 2> roots{x * x, x * 4.0};
  expect(backward(roots).of(x), 10.0);  // 6 + 4
}

BOOST_AUTO_TEST_CASE(a_root_may_occur_twice_be_a_leaf_or_lie_behind_another_root) {
  const Variable x = leaf(3.0);
  const Variable y = x * 2.0;
  const Variable z = y * y;
  const std::array<Variable, 4> roots{z, z, y, x};
  expect(backward(roots).of(x), 51.0);  // 2 * (8 * 3) + 2 + 1
  expect(backward(x).of(x), 1.0);
}

BOOST_AUTO_TEST_CASE(given_root_gradients_weight_the_roots_and_an_undefined_one_stands_for_one) {
  const Variable x = leaf({1.0, 2.0});
  const std::array<Variable, 2> roots{x * 3.0, sum(x)};
  const std::array<Tensor, 2> weights{from_values<double>({10.0, 100.0}), Tensor()};
  expect(backward(roots, weights).of(x), {31.0, 301.0});
}

BOOST_AUTO_TEST_CASE(roots_that_have_no_gradient_to_start_with_are_refused) {
  const Variable x = leaf({1.0, 2.0});
  const std::array<Variable, 1> one_root{x};
  const std::array<Tensor, 2> two_gradients{x.value(), x.value()};
  const std::array<Tensor, 1> long_gradient{ones({3}, DType::f64)};
  const std::array<Tensor, 1> other_dtype{ones({2}, DType::f32)};
  expect_throw<TensorError>([&] { (void)backward(x * 2.0); },
                            "[backward] a root without a given gradient needs exactly one element: f64 (2)");
  expect_throw<TensorError>([&] { (void)backward(sum(x.detach())); }, "[backward] the root requires no gradient");
  expect_throw<TensorError>([&] { (void)backward(Variable()); }, "[requires_grad] variable is undefined");
  expect_throw<TensorError>([&] { (void)backward(std::span<const Variable>()); }, "[backward] there are no roots");
  expect_throw<TensorError>([&] { (void)backward(one_root, two_gradients); },
                            "[backward] 2 root gradients for 1 roots");
  expect_throw<TensorError>([&] { (void)backward(one_root, long_gradient); },
                            "[backward] the gradient of a root does not fit: f64 (3) instead of f64 (2)");
  expect_throw<TensorError>([&] { (void)backward(one_root, other_dtype); },
                            "[backward] the gradient of a root does not fit: f32 (2) instead of f64 (2)");
}

BOOST_AUTO_TEST_CASE(the_gradient_of_a_root_is_on_its_device) {
  const Variable x = leaf({1.0, 2.0});
  const std::array<Variable, 1> roots{x};
  const std::array<Tensor, 1> there{said_to_be_on(Device::cuda(1), x.value())};
  const char* const text = "[backward] the gradient of a root is on cuda:1, the root on cpu";
  expect_throw<DeviceError>([&] { (void)backward(roots, there); }, text);
  expect_throw<DeviceError>([&] { (void)grad(roots, roots, there); }, text);
  expect_throw<DeviceError>([&] { (void)seeded_root(x, there[0]); }, text);
  GraphTask task;
  task.mark(x);
  expect_throw<DeviceError>([&] { task.feed(x, there[0]); }, text);
}

BOOST_AUTO_TEST_CASE(contributions_are_added_from_the_newest_to_the_oldest_however_they_arrive) {
  const Variable x(scalar(1.0F), RequiresGrad::yes);
  const std::array<Variable, 3> uses{x * 1.0, x * -1e8, x * 1e8};
  const std::array<std::array<std::size_t, 3>, 6> orders{
      {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
  for (const auto& [a, b, c] : orders) {
    BOOST_CHECK_EQUAL(backward(uses[a] + uses[b] + uses[c]).of(x).item<float>(), 1.0F);  // (1e8 - 1e8) + 1
  }
}

BOOST_AUTO_TEST_CASE(a_leaf_gradient_is_contiguous_and_shares_memory_with_nothing) {
  const Variable a = leaf({1.0, 2.0});
  const Variable b = leaf({1.0, 2.0});
  const std::array<Variable, 1> root{a + b};
  const std::array<Tensor, 1> start{from_values<double>({5.0, 6.0})};
  const Gradients gradients = backward(root, start);
  BOOST_CHECK(!gradients.of(a).storage().same_as(gradients.of(b).storage()));
  BOOST_CHECK(!gradients.of(a).storage().same_as(start[0].storage()));
  BOOST_CHECK(!gradients.of(b).storage().same_as(start[0].storage()));
  BOOST_CHECK(backward(sum(a)).of(a).is_contiguous());
}

BOOST_AUTO_TEST_CASE(writing_into_a_value_that_backward_needs_fails_the_pass_with_the_operations_name) {
  const Variable a = leaf({2.0});
  const Variable loss = sum(a * a);
  const std::uint64_t used = a.value().version();
  a.value().fill(5.0);
  expect_throw<BackwardError>([&] { (void)backward(loss); },
                              "[backward] mul: a value that it saved, f64 (1), was written to afterwards: version " +
                                  std::to_string(used + 1) + ", saved at version " + std::to_string(used));
}

BOOST_AUTO_TEST_CASE(a_chain_of_100000_operations_is_differentiated_and_released) {
  const Variable x = leaf(1.0);
  Variable y = x;
  for (int i = 0; i < 100'000; ++i) y = y + x;
  expect(backward(y).of(x), 100'001.0);
  y = Variable();  // recursion over the graph would overflow the stack here
}

BOOST_AUTO_TEST_CASE(threads_differentiate_one_graph_at_the_same_time_while_its_leaf_changes) {
  const Variable x = leaf({1.0, 2.0});
  const Variable loss = sum(x * x * x);
  const Tensor expected = backward(loss).of(x);
  std::array<int, 3> right{};
  std::vector<std::thread> threads;
  for (int& count : right) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) count += same_bytes(backward(loss).of(x), expected) ? 1 : 0;
    });
  }
  for (int i = 0; i < 100; ++i) x.set_value(full({2}, i, DType::f64));
  for (std::thread& thread : threads) thread.join();
  for (int count : right) BOOST_CHECK_EQUAL(count, 100);
}

BOOST_AUTO_TEST_CASE(a_leaf_that_nobody_holds_any_more_gets_no_gradient) {
  const Variable kept = leaf(2.0);
  const Variable loss = [&] {
    const Variable dropped = leaf(3.0);
    return kept * dropped;
  }();
  const Gradients gradients = backward(loss);
  BOOST_CHECK_EQUAL(gradients.size(), 1U);
  expect(gradients.of(kept), 3.0);
}

BOOST_AUTO_TEST_CASE(a_seeded_root_passes_on_exactly_the_gradient_given) {
  const Variable x(from_values<float>({1.0F, 2.0F, 3.0F}), RequiresGrad::yes);
  const Tensor gradient = from_values<float>({-0.0F, 1e-40F, 3.4e38F});
  Variable seeded;
  {
    const NoGradGuard off;
    seeded = seeded_root(x, gradient);
  }
  BOOST_CHECK(same_bytes(backward(seeded).of(x), gradient));
  {
    const AnomalyGuard masks_with_infinities(Anomaly::nan);
    const Variable scores(from_values<float>({1.0F, -std::numeric_limits<float>::infinity()}), RequiresGrad::yes);
    const Tensor unmasked = from_values<float>({1.0F, 0.0F});
    BOOST_CHECK(same_bytes(backward(seeded_root(scores + 1.0, unmasked)).of(scores), unmasked));
  }
  BOOST_CHECK_THROW(static_cast<void>(seeded_root(x, ones({2}))), TensorError);
  BOOST_CHECK_THROW(static_cast<void>(seeded_root(Variable(ones({3})), gradient)), TensorError);
}

BOOST_AUTO_TEST_SUITE_END()
