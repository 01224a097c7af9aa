#include "autograd/hooks.h"

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(hooks)

BOOST_AUTO_TEST_CASE(a_hook_sees_the_sum_of_a_variables_gradient_once_per_pass) {
  const Variable x = leaf(3.0);
  const Variable h = x * 2.0;
  std::vector<double> seen;
  h.register_hook([&](const Tensor& gradient) { seen.push_back(gradient.item()); });
  const Variable loss = h * h + h;
  expect(backward(loss).of(x), 26.0);  // 2 (2h + 1) at h = 6
  expect(backward(loss).of(x), 26.0);
  BOOST_TEST(seen == (std::vector<double>{13.0, 13.0}), boost::test_tools::per_element());  // 2 * 6 + 1
}

BOOST_AUTO_TEST_CASE(what_a_hook_returns_takes_the_gradients_place) {
  const Variable x = leaf({1.0, 2.0});
  const Variable h = x * 3.0;
  h.register_hook([](const Tensor& gradient) { return mul(gradient, 10.0); });
  expect(backward(sum(h * 2.0)).of(x), {60.0, 60.0});  // 2 * 10 * 3
}

BOOST_AUTO_TEST_CASE(hooks_of_a_leaf_and_of_a_root_replace_too) {
  const Variable x = leaf(5.0);
  x.register_hook([](const Tensor& gradient) { return add(gradient, 1.0); });
  const Variable y = x * 2.0;
  y.register_hook([](const Tensor& gradient) { return mul(gradient, 100.0); });
  expect(backward(y).of(x), 201.0);  // 1 * 100 * 2 + 1
}

BOOST_AUTO_TEST_CASE(hooks_run_in_the_order_of_registration_each_on_what_the_last_one_left) {
  const Variable x = leaf(1.0);
  const Variable h = x * 1.0;
  h.register_hook([](const Tensor& gradient) { return add(gradient, 1.0); });
  h.register_hook([](const Tensor&) { return Tensor(); });
  h.register_hook([](const Tensor& gradient) { return mul(gradient, 10.0); });
  expect(backward(h * 4.0).of(x), 50.0);  // (4 + 1) * 10
}

BOOST_AUTO_TEST_CASE(each_output_of_an_operation_has_hooks_of_its_own) {
  const Variable x = leaf({1.0, 2.0, 3.0, 4.0});
  const std::vector<Variable> parts = split(x, 2);
  parts[1].register_hook([](const Tensor& gradient) { return mul(gradient, 10.0); });
  expect(backward(sum(parts[0] * 2.0 + parts[1] * 3.0)).of(x), {2.0, 2.0, 30.0, 30.0});
}

BOOST_AUTO_TEST_CASE(a_removed_hook_is_not_called_and_the_others_are) {
  const Variable x = leaf(1.0);
  int first = 0;
  int second = 0;
  const HookHandle handle = x.register_hook([&](const Tensor&) { ++first; });
  x.register_hook([&](const Tensor&) { ++second; });
  (void)backward(x * 2.0);
  handle.remove();
  handle.remove();
  (void)backward(x * 2.0);
  BOOST_CHECK_EQUAL(first, 1);
  BOOST_CHECK_EQUAL(second, 2);
}

BOOST_AUTO_TEST_CASE(a_handle_may_outlive_the_variable_and_a_hook_lives_no_longer_than_it) {
  const auto held = std::make_shared<int>(1);
  HookHandle handle;
  HookHandle().remove();
  {
    const Variable h = leaf(1.0) * 2.0;
    handle = h.register_hook([held](const Tensor&) {});
    BOOST_CHECK_EQUAL(held.use_count(), 2);
  }
  BOOST_CHECK_EQUAL(held.use_count(), 1);
  handle.remove();
}

BOOST_AUTO_TEST_CASE(a_pass_keeps_to_the_hooks_that_there_were_when_it_marked_the_variable) {
  const Variable x = leaf(1.0);
  int before = 0;
  int after = 0;
  const HookHandle handle = x.register_hook([&](const Tensor&) { ++before; });
  GraphTask task;
  task.mark(x);
  handle.remove();
  x.register_hook([&](const Tensor&) { ++after; });
  task.feed(x, scalar(1.0));
  struct Nowhere final : GradientSink {
    void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override {}
  } sink;
  task.run(sink);
  BOOST_CHECK_EQUAL(before, 1);
  BOOST_CHECK_EQUAL(after, 0);
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_not_there_calls_no_hook) {
  const Variable x = leaf(2.0);
  const Variable h = x * 2.0;
  int calls = 0;
  h.register_hook([&](const Tensor&) { ++calls; });
  (void)backward(x * 2.0);  // h is not part of this pass
  const std::array<Variable, 1> sent{h};
  const auto send = SendFn::make(sent);
  GraphTask task;
  task.mark(send);
  task.feed(*send, {Tensor()});
  struct Nowhere final : GradientSink {
    void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override {}
  } sink;
  task.run(sink);
  BOOST_CHECK(task.finished());
  BOOST_CHECK_EQUAL(calls, 0);
}

BOOST_AUTO_TEST_CASE(a_hook_on_a_received_variable_changes_what_its_peer_gets) {
  const auto recv = RecvFn::make(2);
  const Variable a = RecvFn::variable(recv, 0, scalar(1.0));
  const Variable b = RecvFn::variable(recv, 1, scalar(2.0));
  b.register_hook([](const Tensor& gradient) { return neg(gradient); });
  const Variable root = a * 3.0 + b * 5.0;
  GraphTask task;
  task.mark(root);
  task.feed(root, scalar(1.0));
  struct Keep final : GradientSink {
    void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor> gradients) override {
      last = std::move(gradients);
    }
    std::vector<Tensor> last;
  } sink;
  task.run(sink);
  BOOST_REQUIRE_EQUAL(sink.last.size(), 2U);
  expect(sink.last[0], 3.0);
  expect(sink.last[1], -5.0);
}

BOOST_AUTO_TEST_CASE(what_a_hook_throws_or_returns_wrongly_fails_the_pass_with_the_operations_name) {
  const Variable x = leaf({1.0, 2.0});
  const auto message_with = [&](auto hook) {
    const Variable h = exp(x);
    h.register_hook(hook);
    try {
      (void)backward(sum(h));
    } catch (const BackwardError& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  BOOST_CHECK_EQUAL(message_with([](const Tensor&) { throw std::runtime_error("too hot"); }),
                    "[backward] hook on exp: too hot");
  BOOST_CHECK_EQUAL(message_with([](const Tensor&) { throw 1; }),
                    "[backward] hook on exp: threw something that is no std::exception");
  struct Textless : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return nullptr; }
  };
  BOOST_CHECK_EQUAL(message_with([](const Tensor&) { throw Textless(); }), "[backward] hook on exp: ");
  BOOST_CHECK_EQUAL(message_with([](const Tensor&) { return ones({3}, DType::f64); }),
                    "[backward] hook on exp: gave f64 (3) for a gradient of f64 (2)");
  BOOST_CHECK_EQUAL(message_with([](const Tensor& gradient) { return gradient.to(DType::f32); }),
                    "[backward] hook on exp: gave f32 (2) for a gradient of f64 (2)");
}

BOOST_AUTO_TEST_CASE(a_leafs_final_gradient_is_shown_with_the_leaf_after_its_other_hooks) {
  const Variable x = leaf({1.0, 2.0});
  int calls = 0;
  x.register_post_accumulate_grad_hook([&](const Variable& which, const Tensor& gradient) {
    ++calls;
    BOOST_CHECK_EQUAL(which.id(), x.id());
    expect(gradient, {-5.0, -5.0});
    BOOST_CHECK(gradient.is_contiguous());
  });
  x.register_hook([](const Tensor& gradient) { return neg(gradient); });
  expect(backward(sum(x * 2.0) + sum(x * 3.0)).of(x), {-5.0, -5.0});
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(what_is_written_into_a_final_gradient_is_what_the_pass_returns) {
  const Variable x = leaf({1.0, 2.0});
  const Variable y = leaf({1.0, 2.0});
  Tensor later;
  x.register_post_accumulate_grad_hook([&](const Variable&, const Tensor& gradient) { later = gradient; });
  const Gradients gradients = backward(sum(x + y));
  later.fill(7.0);
  expect(gradients.of(x), {7.0, 7.0});
  expect(gradients.of(y), {1.0, 1.0});
}

BOOST_AUTO_TEST_CASE(final_gradients_are_shown_while_the_pass_goes_on) {
  // The leaf of the last layer is final before the first layer's backward has run: a reducer sends it at that time.
  const Variable first = leaf(2.0);
  const Variable last = leaf(3.0);
  std::vector<std::string> order;
  const Variable h = exp(first);
  h.register_hook([&](const Tensor&) { order.emplace_back("hidden"); });
  first.register_post_accumulate_grad_hook([&](const Variable&, const Tensor&) { order.emplace_back("first"); });
  const Variable loss = h * last;
  last.register_post_accumulate_grad_hook([&](const Variable&, const Tensor&) { order.emplace_back("last"); });
  (void)backward(loss);
  BOOST_CHECK_EQUAL(order.size(), 3U);
  BOOST_CHECK_EQUAL(order.back(), "first");
}

BOOST_AUTO_TEST_CASE(variables_that_cannot_have_the_hook_refuse_it) {
  const Variable x = leaf(1.0);
  const auto hook = [](const Tensor&) {};
  const auto leaf_hook = [](const Variable&, const Tensor&) {};
  expect_throw<TensorError>([&] { x.detach().register_hook(hook); },
                            "[register_hook] the variable requires no gradient");
  expect_throw<TensorError>([&] { Variable().register_hook(hook); }, "[register_hook] variable is undefined");
  for (const Variable& other : {x * 2.0, x.detach()}) {
    expect_throw<TensorError>([&] { other.register_post_accumulate_grad_hook(leaf_hook); },
                              "[register_post_accumulate_grad_hook] not a leaf that requires a gradient");
  }
}

BOOST_AUTO_TEST_CASE(what_a_post_accumulate_hook_throws_fails_the_pass) {
  const Variable x = leaf(1.0);
  x.register_post_accumulate_grad_hook(
      [](const Variable&, const Tensor&) { throw std::runtime_error("link is down"); });
  expect_throw<BackwardError>([&] { (void)backward(x * 2.0); }, "[backward] hook on leaf: link is down");
}

BOOST_AUTO_TEST_CASE(threads_register_remove_and_differentiate_at_the_same_time) {
  const Variable x = leaf({1.0, 2.0});
  const Variable h = x * x;
  const Variable loss = sum(h);
  std::atomic<int> calls{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const HookHandle handle = h.register_hook([&](const Tensor&) { ++calls; });
        if (backward(loss).of(x).data<double>()[1] != 4.0) ++wrong;
        handle.remove();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_CHECK_GE(calls.load(), 600);
  BOOST_CHECK_EQUAL(wrong.load(), 0);
}

BOOST_AUTO_TEST_SUITE_END()
