// Passes that release their graph or end early, and the memory that they use.
#include "autograd/pass.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "autograd/ops.h"
#include "autograd/record.h"
#include "tensor/cpu/allocator.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(pass)

namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

std::size_t live_bytes() { return cpu_allocator().statistics().bytes_live; }

/// A leaf of one megabyte.
Variable big_leaf() { return Variable(full({128, 1024}, 0.5, DType::f64), RequiresGrad::yes); }

/// Returns the result of `count` operations on x, each of which saves one megabyte.
Variable saving_chain(const Variable& x, int count) {
  Variable result = x;
  for (int i = 0; i < count; ++i) result = tanh(result);
  return result;
}

const char* const kReleasedMul = "[backward] mul: an earlier backward pass released its graph";

}  // namespace

BOOST_AUTO_TEST_CASE(a_released_graph_is_refused_before_anything_runs) {
  const Variable x = leaf(3.0);
  const Variable h = x * x;
  const Variable loss = h * 2.0;
  int calls = 0;
  expect(backward(loss, {.graph = Graph::release}).of(x), 12.0);
  x.register_hook([&](const Tensor&) { ++calls; });
  expect_throw<TensorError>([&] { (void)backward(loss); }, kReleasedMul);
  expect_throw<TensorError>([&] { (void)backward(h + 1.0); }, kReleasedMul);
  BOOST_CHECK_EQUAL(calls, 0);
  expect(backward(x * x).of(x), 6.0);  // leaves belong to no graph
}

BOOST_AUTO_TEST_CASE(a_pass_releases_what_it_ran_and_nothing_else) {
  const Variable x = leaf(3.0);
  const Variable h = x * x;
  const Variable other = h * x;
  BOOST_CHECK(!h.gradient_edge().fn->released());
  (void)backward(h * 2.0, {.graph = Graph::release});
  BOOST_CHECK(h.gradient_edge().fn->released());
  BOOST_CHECK(!other.gradient_edge().fn->released());
  BOOST_CHECK(!x.gradient_edge().fn->released());
}

BOOST_AUTO_TEST_CASE(releasing_frees_what_operations_saved_while_the_pass_goes_on) {
  const Variable x = big_leaf();
  std::size_t at_the_end = 0;
  x.register_hook([&](const Tensor&) { at_the_end = live_bytes(); });
  for (const Graph graph : {Graph::keep, Graph::release}) {
    const std::size_t before = live_bytes();
    const Variable logits = saving_chain(x, 16);  // a result is still held, as in many programs
    (void)backward(sum(logits), {.graph = graph});
    // logits, and the gradients of two neighbours
    if (graph == Graph::release) BOOST_CHECK_LT(at_the_end, before + 5 * kMegabyte);
    if (graph == Graph::keep) BOOST_CHECK_GT(at_the_end, before + 16 * kMegabyte);
  }
}

BOOST_AUTO_TEST_CASE(a_root_that_is_moved_in_takes_its_graph_with_it_while_the_pass_goes_on) {
  const Variable x = big_leaf();
  std::size_t at_the_end = 0;
  x.register_hook([&](const Tensor&) { at_the_end = live_bytes(); });
  const std::size_t before = live_bytes();
  Variable loss = sum(saving_chain(x, 16));
  (void)backward(std::move(loss));
  BOOST_CHECK_LT(at_the_end, before + 5 * kMegabyte);
  BOOST_CHECK(!loss.defined());  // NOLINT(bugprone-use-after-move): this is what is promised
}

BOOST_AUTO_TEST_CASE(what_somebody_holds_stays_usable_when_a_root_is_moved_in) {
  const Variable x = leaf(3.0);
  const Variable h = x * x;
  expect(backward(h * 2.0).of(x), 12.0);
  expect(backward(h * 5.0).of(x), 30.0);
  const Gradients gradients = backward(leaf(1.0));  // a leaf is not released
  BOOST_CHECK_EQUAL(gradients.size(), 1U);
}

BOOST_AUTO_TEST_CASE(many_uses_of_one_variable_take_the_memory_of_one_sum) {
  const Variable x = big_leaf();
  std::vector<Variable> uses;
  std::size_t most = 0;
  for (int i = 0; i < 20; ++i) {
    uses.push_back(sum(x * static_cast<double>(i)));
    uses.back().register_hook([&](const Tensor&) { most = std::max(most, live_bytes()); });
  }
  const std::size_t before = live_bytes();
  const Gradients gradients = backward(uses);
  BOOST_CHECK_EQUAL(gradients.of(x).data<double>()[0], 190.0);  // 0 + 1 + ... + 19
  BOOST_CHECK_LT(most, before + 4 * kMegabyte);
}

BOOST_AUTO_TEST_CASE(sums_are_the_same_whether_made_on_arrival_or_after_the_last) {
  Generator generator(5);
  const Variable x(randn({64}, generator), RequiresGrad::yes);
  Variable y = x;
  std::vector<Variable> roots;
  for (int i = 0; i < 10; ++i) {
    y = tanh(y * x) + x * 0.3 + y;
    roots.push_back(sum(y * y));
  }
  struct Nowhere final : GradientSink {
    void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override {}
  } sink;
  GraphTask late;  // runs before all roots are fed, so that the order of arrival is unknown
  for (const Variable& root : roots) late.mark(root);
  for (const Variable& root : roots) {
    late.feed(root, scalar(1.0F));
    late.run(sink);
  }
  BOOST_CHECK(late.finished());
  BOOST_CHECK(same_bytes(late.take_gradients().of(x), backward(roots).of(x)));
}

BOOST_AUTO_TEST_CASE(vertices_whose_marks_are_not_those_of_their_order_are_summed_by_marks_all_the_same) {
  // In f32 1e8 + 1 is 1e8. By marks the sum is (1 + 1e8) - 1e8 = 0; `late`, the newest, can only run after `first`.
  const Variable x(scalar(1.0F), RequiresGrad::yes);
  std::atomic<std::uint64_t> serial{0};
  const CallPathGuard guard(nullptr, serial);
  const auto made_as = [&](std::uint64_t number, const Variable& from, double factor) {
    serial = number;
    return from * factor;
  };
  const Variable late = made_as(10, x, 1.0);
  const Variable first = made_as(1, late, 1.0);
  const std::array<Variable, 3> roots{made_as(5, x, 1e8), made_as(3, x, -1e8), first};
  BOOST_CHECK_EQUAL(backward(roots).of(x).item<float>(), 0.0F);
}

BOOST_AUTO_TEST_CASE(a_graph_of_several_calls_is_summed_call_by_call_whatever_ran_first) {
  // By calls 1e8 + (-1e8 + 1) = 0; by serials only (-1e8 + 1e8) + 1 = 1.
  const Variable x(scalar(1.0F), RequiresGrad::yes);
  const auto made_in = [&](std::uint32_t call, std::uint64_t number, double factor) {
    std::atomic<std::uint64_t> serial{number};
    const CallPathGuard guard(std::make_shared<const CallPath>(std::vector<std::uint32_t>{call}), serial);
    return x * factor;
  };
  const std::array<Variable, 3> roots{made_in(0, 9, -1e8), made_in(1, 5, 1e8), made_in(0, 1, 1.0)};
  BOOST_CHECK_EQUAL(backward(roots).of(x).item<float>(), 0.0F);
}

BOOST_AUTO_TEST_CASE(what_an_operation_saved_stays_while_its_backward_runs_and_leaves_with_it) {
  const Variable x = leaf(2.0);
  auto saved = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = saved;
  std::weak_ptr<const GradFn> self;
  long uses_inside = 0;
  const Variable y = detail::record("probe", x.value().clone(), detail::edges_of({&x}),
                                    [&, saved = std::move(saved)](const Tensor& g) {
                                      std::thread([&] { self.lock()->release(); }).join();  // as another pass might
                                      uses_inside = watch.use_count();
                                      return g;
                                    });
  self = y.gradient_edge().fn;
  (void)backward(y * 1.0);
  BOOST_CHECK_EQUAL(uses_inside, 1);
  BOOST_CHECK(watch.expired());
  y.gradient_edge().fn->release();  // a second release has no effect
  expect_throw<std::logic_error>([&] { GradFn::Use use(*y.gradient_edge().fn); },
                                 "an earlier backward pass released its graph");
}

BOOST_AUTO_TEST_CASE(a_graph_that_one_thread_releases_fails_for_the_others_or_is_right) {
  for (int round = 0; round < 50; ++round) {
    const Variable x = leaf({1.0, 2.0});
    const Variable loss = sum(exp(x * x) * tanh(x));
    const Tensor expected = backward(loss).of(x);
    std::atomic<int> odd{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        try {
          if (!same_bytes(backward(loss, {.graph = t == 1 ? Graph::release : Graph::keep}).of(x), expected)) ++odd;
        } catch (const std::exception& e) {
          if (!std::string_view(e.what()).ends_with(": an earlier backward pass released its graph")) ++odd;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    BOOST_CHECK_EQUAL(odd.load(), 0);
  }
}

BOOST_AUTO_TEST_CASE(grad_gives_the_gradients_of_leaves_and_of_results) {
  const Variable x = leaf({1.0, 2.0});
  const Variable w = leaf({3.0, 4.0});
  const Variable h = x * w;
  const Variable loss = sum(h * h);
  const std::array<Variable, 4> inputs{h, w, x, h};
  const std::vector<Tensor> found = grad(std::span(&loss, 1), inputs);
  BOOST_REQUIRE_EQUAL(found.size(), 4U);
  expect(found[0], {6.0, 16.0});   // 2 h
  expect(found[1], {6.0, 32.0});   // 2 h x
  expect(found[2], {18.0, 64.0});  // 2 h w
  expect(found[3], {6.0, 16.0});
  expect(grad(loss, x), {18.0, 64.0});
}

BOOST_AUTO_TEST_CASE(grad_weights_its_outputs_and_an_output_may_be_an_input) {
  const Variable x = leaf({1.0, 2.0});
  const Variable h = x * x;
  const std::array<Variable, 2> outputs{h, sum(h)};
  const std::array<Tensor, 2> weights{from_values<double>({10.0, 100.0}), Tensor()};
  const std::array<Variable, 2> inputs{h, x};
  const std::vector<Tensor> found = grad(outputs, inputs, weights);
  expect(found[0], {11.0, 101.0});
  expect(found[1], {22.0, 404.0});  // times 2 x
}

BOOST_AUTO_TEST_CASE(grad_runs_only_what_lies_between_outputs_and_inputs) {
  const Variable x = leaf({1.0, 2.0});
  const Variable w = leaf({3.0, 4.0});
  const auto never = [](const Tensor&) -> Tensor { throw std::runtime_error("ran"); };
  const Variable below = detail::record("below", x.value().clone(), detail::edges_of({&x}), never);
  const Variable beside = detail::record("beside", w.value().clone(), detail::edges_of({&w}), never);
  const Variable h = below * 2.0;
  const Variable loss = sum(h * beside);
  expect(grad(loss, h), {3.0, 4.0});
  expect_throw<BackwardError>([&] { (void)grad(loss, x); }, "[backward] below: ran");
}

BOOST_AUTO_TEST_CASE(grad_asks_an_operation_only_for_what_is_needed) {
  const Variable x = leaf(2.0);
  const Variable w = leaf(3.0);
  std::vector<bool> asked;
  const Variable y =
      detail::record("probe", mul(x.value(), w.value()), detail::edges_of({&x, &w}),
                     [&asked](const Tensor& g, std::span<const Edge> to) {
                       asked = {static_cast<bool>(to[0]), static_cast<bool>(to[1])};
                       return std::vector<Tensor>{to[0] ? mul(g, 3.0) : Tensor(), to[1] ? mul(g, 2.0) : Tensor()};
                     });
  expect(grad(y, w), 2.0);
  BOOST_TEST(asked == (std::vector<bool>{false, true}), boost::test_tools::per_element());
  expect(backward(y).of(x), 3.0);
  BOOST_TEST(asked == (std::vector<bool>{true, true}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(grad_of_what_an_output_does_not_depend_on_is_undefined) {
  const Variable x = leaf(2.0);
  const Variable other = leaf(3.0);
  const std::array<Variable, 2> inputs{other, x};
  const std::array<Variable, 2> outputs{x * 5.0, exp(other.detach() + leaf(1.0))};
  const std::vector<Tensor> found = grad(outputs, inputs);
  BOOST_CHECK(!found[0].defined());
  expect(found[1], 5.0);
  const std::array<Variable, 1> none{other};
  BOOST_CHECK(!grad(outputs, none).front().defined());
}

BOOST_AUTO_TEST_CASE(grad_calls_the_hooks_on_its_way_and_none_of_final_gradients) {
  const Variable x = leaf(2.0);
  const Variable h = x * 3.0;
  int calls = 0;
  x.register_post_accumulate_grad_hook([&](const Variable&, const Tensor&) { ++calls; });
  x.register_hook([](const Tensor& gradient) { return add(gradient, 1.0); });
  h.register_hook([](const Tensor& gradient) { return mul(gradient, 10.0); });
  const std::array<Variable, 2> inputs{h, x};
  const Variable loss = h * 7.0;
  const std::vector<Tensor> found = grad(std::span(&loss, 1), inputs);
  expect(found[0], 70.0);
  expect(found[1], 211.0);  // 70 * 3 + 1
  BOOST_CHECK_EQUAL(calls, 0);
}

BOOST_AUTO_TEST_CASE(grad_ends_at_a_received_variable) {
  const Variable received = RecvFn::variable(RecvFn::make(1), 0, scalar(2.0));
  const Variable x = leaf(3.0);
  expect(grad(received * x, received), 3.0);
  expect(grad(received * x, x), 2.0);
}

BOOST_AUTO_TEST_CASE(gradients_of_grad_are_contiguous_and_share_memory_with_nothing) {
  const Variable x = leaf({1.0, 2.0});
  const Variable h = x + 1.0;
  const std::array<Variable, 3> inputs{h, x, x};
  const Variable loss = sum(h);
  const std::vector<Tensor> found = grad(std::span(&loss, 1), inputs);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_CHECK(found[i].is_contiguous());
    BOOST_CHECK_EQUAL(found[i].storage().handle_count(), 1);
  }
}

BOOST_AUTO_TEST_CASE(grad_refuses_inputs_and_outputs_without_gradient_and_releases_if_told) {
  const Variable x = leaf(2.0);
  const std::array<Variable, 2> inputs{x, x.detach()};
  const Variable loss = x * x;
  expect_throw<TensorError>([&] { (void)grad(std::span(&loss, 1), inputs); }, "[grad] input 1 requires no gradient");
  expect_throw<TensorError>([&] { (void)grad(x.detach(), x); }, "[backward] the root requires no gradient");
  expect(grad(loss, x, {.graph = Graph::release}), 4.0);
  expect_throw<TensorError>([&] { (void)grad(loss, x); }, kReleasedMul);
}

BOOST_AUTO_TEST_CASE(backward_to_inputs_leaves_their_gradients_and_those_of_no_other_leaf) {
  const Variable x = leaf({1.0, 2.0});
  const Variable w = leaf({3.0, 4.0});
  const Variable other = leaf(5.0);
  const Variable h = x * w;
  const Variable loss = sum(h * h) + other;
  const Gradients all = backward(loss);
  for (const std::vector<Variable>& inputs : {std::vector{w}, std::vector{w, h}, std::vector{h, w, x, h}}) {
    const Gradients found = backward(loss, {.inputs = inputs});
    BOOST_CHECK_EQUAL(found.size(), std::min<std::size_t>(inputs.size(), 3));
    BOOST_CHECK(same_bytes(found.of(w), all.of(w)));
    if (inputs.size() > 1) expect(found.of(h), {6.0, 16.0});  // 2 h
    BOOST_CHECK_EQUAL(found.of(x).defined(), inputs.size() == 4U);
    BOOST_CHECK(!found.of(other).defined());
  }
  const Gradients root = backward(loss, {.inputs = {loss, other}});
  expect(root.of(loss), 1.0);
  expect(root.of(other), 1.0);
  BOOST_CHECK(backward(loss, {.inputs = {leaf(1.0)}}).empty());  // nothing depends on it
}

BOOST_AUTO_TEST_CASE(backward_to_inputs_runs_only_what_lies_between_and_the_hooks_of_inputs) {
  const Variable x = leaf({1.0, 2.0});
  const Variable w = leaf({3.0, 4.0});
  const auto never = [](const Tensor&) -> Tensor { throw std::runtime_error("ran"); };
  const Variable below = detail::record("below", x.value().clone(), detail::edges_of({&x}), never);
  const Variable h = below * w;
  int calls = 0;
  w.register_post_accumulate_grad_hook([&](const Variable&, const Tensor&) { ++calls; });
  h.register_hook([](const Tensor& gradient) { return mul(gradient, 10.0); });
  const Gradients found = backward(sum(h), {.inputs = {w, h}});
  expect(found.of(h), {10.0, 10.0});
  expect(found.of(w), {10.0, 20.0});
  BOOST_CHECK_EQUAL(calls, 1);
  expect_throw<BackwardError>([&] { (void)backward(sum(h), {.inputs = {x}}); }, "[backward] below: ran");
  BOOST_CHECK_EQUAL(calls, 1);
}

BOOST_AUTO_TEST_CASE(gradients_of_inputs_share_memory_with_nothing_and_rows_stay_rows) {
  const Variable x = leaf({1.0, 2.0});
  const Variable h = x + 1.0;
  const Gradients found = backward(sum(h), {.inputs = {h, x}});
  for (const Variable& input : {h, x}) {
    BOOST_CHECK(found.of(input).is_contiguous());
    BOOST_CHECK_NE(found.of(input).data<double>().data(), found.of(input.id() == h.id() ? x : h).data<double>().data());
  }
  const Variable table = drawn({6, 2}, 1);
  const Variable rows = embedding(table, from_values<std::int64_t>({4, 1, 4}), {.sparse = true});
  BOOST_CHECK(backward(sum(rows * x), {.inputs = {table}}).sparse_of(table).defined());
}

BOOST_AUTO_TEST_CASE(backward_refuses_inputs_without_gradient_and_grad_those_of_its_options) {
  const Variable x = leaf(2.0);
  const Variable loss = x * x;
  for (const Variable& wrong : {x.detach(), Variable()}) {
    expect_throw<TensorError>(
        [&] {
          (void)backward(loss, {.inputs = {x, wrong}});
        },
        "[backward] input 1 requires no gradient");
  }
  expect_throw<ValueError>([&] { (void)grad(loss, x, {.inputs = {x}}); },
                           "[grad] options.inputs: the inputs are an argument of grad()");
}

BOOST_AUTO_TEST_SUITE_END()
