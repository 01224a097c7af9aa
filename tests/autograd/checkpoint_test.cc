#include "autograd/checkpoint.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "autograd/custom_op.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "autograd/nn/rnn.h"
#include "autograd/nn/transformer.h"
#include "autograd/ops/inplace.h"
#include "autograd/ops/nn.h"
#include "tensor/cpu/allocator.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(checkpoint_itself)

namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

std::size_t live_bytes() { return cpu_allocator().statistics().bytes_live; }

/// Operations that save four tensors of the size of `x`.
Variable four_tanhs(const Variable& x, const Variable& w) { return tanh(tanh(tanh(tanh(x * w)))); }

/// Three layers with dropout between them. If `checkpointed`, each layer is a checkpoint.
class Net {
 public:
  Variable operator()(const Variable& x, bool checkpointed) {
    Variable h = x;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto segment = [this, i](const Variable& in) { return dropouts_[i](tanh(layers_[i](in))); };
      h = checkpointed ? checkpoint(segment, h) : segment(h);
    }
    return sum(h * h);
  }

  [[nodiscard]] std::vector<Variable> parameters() const {
    std::vector<Variable> all;
    for (const nn::Linear& layer : layers_) {
      all.push_back(layer.weight());
      all.push_back(layer.bias());
    }
    return all;
  }

 private:
  Generator generator_{11};
  std::array<nn::Linear, 3> layers_{nn::Linear(6, 8, generator_), nn::Linear(8, 8, generator_),
                                    nn::Linear(8, 3, generator_)};
  std::array<nn::Dropout, 3> dropouts_{nn::Dropout(0.3, generator_), nn::Dropout(0.3, generator_),
                                       nn::Dropout(0.3, generator_)};
};

Tensor some_input() {
  Generator generator(7);
  return randn({5, 6}, generator);
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_and_gradients_are_the_same_bit_for_bit) {
  Net plain;
  Net saving;
  const Variable x(some_input(), RequiresGrad::yes);
  for (int step = 0; step < 3; ++step) {  // the generator of the dropout continues
    const Variable expected = plain(x, false);
    const Variable found = saving(x, true);
    BOOST_CHECK(same_bytes(found.value(), expected.value()));
    const Gradients expected_gradients = backward(expected);
    const Gradients found_gradients = backward(found);
    BOOST_CHECK(same_bytes(found_gradients.of(x), expected_gradients.of(x)));
    BOOST_CHECK_EQUAL(found_gradients.size(), 7U);
    for (std::size_t i = 0; i < 6; ++i) {
      BOOST_CHECK(same_bytes(found_gradients.of(saving.parameters()[i]), expected_gradients.of(plain.parameters()[i])));
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_with_attention_and_recurrence_train_the_same_bit_for_bit) {
  struct Model {
    Generator generator{21};
    nn::TransformerEncoderLayer attention{8, 2, generator, {.feedforward = 16, .dropout = 0.2}};
    nn::Lstm recurrence{8, 8, generator, {.layers = 2, .dropout = 0.3}};
    std::vector<Variable> parameters() {
      std::vector<Variable> all;
      for (const auto& [name, parameter] : attention.named_parameters()) all.push_back(parameter);
      for (const auto& [name, parameter] : recurrence.named_parameters()) all.push_back(parameter);
      return all;
    }
  };
  Model plain;
  Model saving;
  Generator generator(7);
  const Variable x(randn({5, 3, 8}, generator), RequiresGrad::yes);
  const Variable expected = plain.recurrence.forward(plain.attention.forward(x)).output;
  const Variable found = checkpoint([&](const Variable& in) { return saving.recurrence.forward(in).output; },
                                    checkpoint([&](const Variable& in) { return saving.attention.forward(in); }, x));
  BOOST_CHECK(same_bytes(found.value(), expected.value()));
  const Gradients found_gradients = backward(sum(found * found));
  const Gradients expected_gradients = backward(sum(expected * expected));
  BOOST_CHECK(same_bytes(found_gradients.of(x), expected_gradients.of(x)));
  const std::vector<Variable> parameters = saving.parameters();
  BOOST_CHECK_EQUAL(found_gradients.size(), parameters.size() + 1);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    BOOST_CHECK(same_bytes(found_gradients.of(parameters[i]), expected_gradients.of(plain.parameters()[i])));
  }
}

BOOST_AUTO_TEST_CASE(the_gradient_agrees_with_differences) {
  const GradcheckResult result = gradcheck(
      [](Inputs in) {
        return checkpoint([](const Variable& a, const Variable& b) { return sigmoid(a * b) + b; }, in[0], in[1]) *
               in[1];
      },
      std::array<Variable, 2>{leaf({0.5, -1.0, 2.0}), leaf({1.5, 0.3, -0.7})});
  BOOST_CHECK_MESSAGE(result.ok, result.worst);
}

BOOST_AUTO_TEST_CASE(what_operations_save_is_not_kept) {
  const Variable x(full({128, 1024}, 0.5, DType::f64), RequiresGrad::yes);
  const Variable w = leaf(1.5);
  const std::size_t before = live_bytes();
  const auto grown = [&] { return live_bytes() - before; };
  {
    Variable y = x;
    for (int i = 0; i < 8; ++i) y = four_tanhs(y, w);
    BOOST_CHECK_GE(grown(), 32 * kMegabyte);
  }
  std::size_t most = 0;
  const auto measured = [&](const Variable& in) {
    const Variable y = four_tanhs(in, w);
    most = std::max(most, grown());
    return y;
  };
  Variable y = x;
  for (int i = 0; i < 8; ++i) y = checkpoint(measured, y);
  BOOST_CHECK_LE(grown(), 8 * kMegabyte);  // one result per segment
  BOOST_CHECK_LE(most, 9 * kMegabyte);     // and the value before the last one
  const Gradients gradients = backward(sum(y));
  // The results of all segments, the four tensors of one segment, and the gradients of two neighbours.
  BOOST_CHECK_LE(most, 15 * kMegabyte);
  BOOST_CHECK(gradients.of(x).defined());
}

BOOST_AUTO_TEST_CASE(variables_that_the_function_reads_get_their_gradients_through_the_graph_they_come_from) {
  const Variable x = leaf(2.0);
  const Variable w = leaf(3.0);
  const Variable h = x * w;  // neither a leaf nor an input of the checkpoint
  int calls = 0;
  h.register_hook([&](const Tensor& gradient) {
    ++calls;
    BOOST_CHECK_EQUAL(gradient.item(), 22.0);  // 2 * (2 w + 5)
  });
  const Variable y = checkpoint([&](const Variable& in) { return in * h * w * 2.0 + h * 10.0; }, leaf(1.0) * 2.0);
  const Gradients gradients = backward(y + h * 0.0);
  // y = 4 h w + 10 h with h = x w: dy/dx = (4 w + 10) w, dy/dw = (4 w + 10) x + 4 h
  expect(gradients.of(x), 66.0);
  expect(gradients.of(w), 68.0);
  BOOST_CHECK_EQUAL(calls, 1);
}

BOOST_AUTO_TEST_CASE(generators_draw_the_same_again_and_stay_where_forward_left_them) {
  Generator generator(3);
  Generator twin(3);
  const Variable x(ones({1000}), RequiresGrad::yes);
  const Variable y =
      checkpoint([&](const Variable& in) { return dropout(dropout(in, 0.5, generator), 0.2, generator); }, x);
  const Generator after = generator;
  const Tensor gradient = backward(sum(y)).of(x);
  BOOST_CHECK(same_bytes(gradient, y.value()));  // x is 1, so both are the mask
  BOOST_CHECK(generator == after);
  BOOST_CHECK(same_bytes(y.value(), dropout(dropout(Variable(ones({1000})), 0.5, twin), 0.2, twin).value()));
  BOOST_CHECK(generator == twin);
}

BOOST_AUTO_TEST_CASE(checkpoints_nest) {
  Generator plain_generator(3);
  Generator generator(3);
  const Variable x(some_input(), RequiresGrad::yes);
  const Variable w(full({6}, 0.7), RequiresGrad::yes);
  const auto inner = [](const Variable& in, const Variable& factor, Generator& g) {
    return dropout(tanh(in * factor), 0.3, g);
  };
  const Variable expected = sum(inner(inner(x, w, plain_generator), w * w, plain_generator));
  int calls = 0;
  const Variable found = sum(checkpoint(
      [&](const Variable& in) {
        const Variable h = checkpoint([&](const Variable& i) { return ++calls, inner(i, w, generator); }, in);
        return checkpoint([&](const Variable& i) { return ++calls, inner(i, w * w, generator); }, h);
      },
      x));
  BOOST_CHECK_EQUAL(calls, 2);
  BOOST_CHECK(same_bytes(found.value(), expected.value()));
  w.set_value(zeros({6}));  // all levels still read the value of the first run
  const Gradients gradients = backward(found);
  BOOST_CHECK_EQUAL(calls, 6);  // one replay of the outer one, and one replay of each inner one
  BOOST_CHECK(same_bytes(gradients.of(x), backward(expected).of(x)));
  BOOST_CHECK(allclose(gradients.of(w), backward(expected).of(w), 1e-6, 1e-7));  // sums in another order
}

BOOST_AUTO_TEST_CASE(of_several_results_some_may_be_unused_and_integers_are_constants) {
  const Variable x = leaf({3.0, 1.0, 2.0});
  const auto f = [](const Variable& in) {
    const SortedVariables sorted = sort(in);
    return std::vector<Variable>{sorted.values * 2.0, Variable(sorted.indices), exp(in), in};
  };
  const std::vector<Variable> y = checkpoint(f, x);
  BOOST_REQUIRE_EQUAL(y.size(), 4U);
  BOOST_CHECK(!y[1].requires_grad());
  expect(y[1].value(), {1.0, 2.0, 0.0});
  expect(backward(sum(y[0] * leaf({1.0, 10.0, 100.0}))).of(x), {200.0, 2.0, 20.0});
  expect(backward(sum(y[3] * 4.0) + sum(y[0])).of(x), {6.0, 6.0, 6.0});
}

BOOST_AUTO_TEST_CASE(a_pass_on_another_thread_without_recording_gives_the_same) {
  Net net;
  const Variable x(some_input(), RequiresGrad::yes);
  const Variable loss = net(x, true);
  const Tensor expected = backward(loss).of(x);
  Tensor found;
  std::thread([&] {
    const NoGradGuard no_grad;
    found = backward(loss).of(x);
    BOOST_CHECK(!grad_enabled());
  }).join();
  BOOST_CHECK(same_bytes(found, expected));
}

BOOST_AUTO_TEST_CASE(passes_at_the_same_time_replay_each_for_itself_while_parameters_change) {
  Net net;
  const Variable x(some_input(), RequiresGrad::yes);
  const Variable loss = net(x, true);
  const Tensor expected = backward(loss).of(x);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) right += same_bytes(backward(loss).of(x), expected) ? 1 : 0;
    });
  }
  for (int i = 0; i < 100; ++i) {
    for (const Variable& parameter : net.parameters()) parameter.set_value(zeros(parameter.shape()));
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_CHECK_EQUAL(right.load(), 150);
}

BOOST_AUTO_TEST_CASE(a_parameter_that_another_thread_replaces_has_one_value_for_the_whole_function) {
  const Variable w = leaf(2.0);
  const Variable x = leaf(1.0);
  const Variable y = checkpoint(
      [&](const Variable& in) {
        const Variable first = in * w;
        if (!recomputing()) w.set_value(scalar(5.0));
        return first * w;
      },
      x);
  expect(y.value(), 4.0);
  expect(backward(y).of(x), 4.0);
  expect(w.value(), 5.0);
}

BOOST_AUTO_TEST_CASE(a_parameter_that_was_frozen_since_keeps_its_value_and_its_gradient) {
  const Variable w = leaf(3.0);
  const Variable x = leaf(2.0);
  const auto f = [&](const Variable& in) { return in * in * w; };
  const auto nested = [&](const Variable& in) { return checkpoint(f, in); };
  for (const Variable& y : {checkpoint(f, x), checkpoint(nested, x)}) {
    const auto expect_both = [&] {
      const Gradients gradients = backward(y);
      expect(gradients.of(x), 12.0);  // 2 x w
      expect(gradients.of(w), 4.0);   // x^2
    };
    w.set_requires_grad(RequiresGrad::no);
    expect_both();
    w.set_value(scalar(100.0));
    expect_both();
    w.set_requires_grad(RequiresGrad::yes);
    expect_both();
    w.set_value(scalar(3.0));
  }
}

BOOST_AUTO_TEST_CASE(a_constant_that_became_a_parameter_since_stays_a_constant) {
  const Variable w(scalar(3.0));
  const Variable x = leaf(2.0);
  const auto f = [&](const Variable& in) { return in * in * w; };
  const auto nested = [&](const Variable& in) { return checkpoint(f, in); };
  for (const Variable& y : {checkpoint(f, x), checkpoint(nested, x)}) {
    w.set_requires_grad(RequiresGrad::yes);
    const Gradients gradients = backward(y);
    expect(gradients.of(x), 12.0);  // 2 x w
    BOOST_CHECK_EQUAL(gradients.size(), 1U);
    w.set_requires_grad(RequiresGrad::no);
  }
}

BOOST_AUTO_TEST_CASE(a_function_may_make_parameters_and_constants_of_its_own) {
  const Variable w = leaf(3.0);
  const Variable x = leaf(2.0);
  const Variable y = checkpoint(
      [&](const Variable& in) {
        const EnableGradGuard enable_grad;
        Variable h = in;
        for (int i = 0; i < 200; ++i) h = h + Variable(scalar(0.5)) * 0.0;  // more constants than are kept
        const Variable z(in.value());
        z.set_requires_grad(RequiresGrad::yes);
        return h * Variable(grad(z * z * w, z)) * w;  // 2 z w is a constant
      },
      x);
  expect(y.value(), 72.0);  // 2 * (2*2*3) * 3
  const Gradients gradients = backward(y);
  expect(gradients.of(x), 36.0);  // (2*2*3) * 3
  expect(gradients.of(w), 24.0);  // 2 * (2*2*3)
}

BOOST_AUTO_TEST_CASE(a_module_that_averages_what_it_sees_sees_it_once) {
  Generator generator(5);
  nn::BatchNorm1d plain(4);
  nn::BatchNorm1d norm(4);
  const Variable x(randn({8, 4}, generator), RequiresGrad::yes);
  const Tensor expected = backward(sum(tanh(plain(x)))).of(x);
  const Tensor found = backward(sum(checkpoint([&](const Variable& in) { return tanh(norm(in)); }, x))).of(x);
  BOOST_CHECK(same_bytes(found, expected));
  const auto buffers = norm.named_buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    BOOST_CHECK(same_bytes(buffers[i].second.value(), plain.named_buffers()[i].second.value()));
  }
}

BOOST_AUTO_TEST_CASE(the_function_runs_once_in_forward_and_once_per_pass) {
  int calls = 0;
  const Variable x = leaf({1.0, 2.0});
  std::vector<bool> again;
  const Variable y = checkpoint(
      [&](const Variable& in) {
        ++calls;
        again.push_back(recomputing());
        return exp(in) * in;
      },
      x);
  BOOST_CHECK_EQUAL(calls, 1);
  const Variable loss = sum(y * y);
  (void)backward(loss);
  (void)backward(loss);
  BOOST_CHECK_EQUAL(calls, 3);
  BOOST_TEST(again == (std::vector<bool>{false, true, true}), boost::test_tools::per_element());
  BOOST_CHECK(!recomputing());
}

BOOST_AUTO_TEST_CASE(without_a_gradient_to_compute_it_is_the_function_alone) {
  const Variable x = leaf({1.0});
  const auto f = [](const Variable& in) { return in * 2.0; };
  BOOST_CHECK(!checkpoint(f, x.detach()).requires_grad());
  const NoGradGuard no_grad;
  const Variable y = checkpoint(f, x);
  BOOST_CHECK(!y.requires_grad());
  expect(y.value(), {2.0});
}

BOOST_AUTO_TEST_CASE(grad_ends_at_results_and_inputs_of_a_checkpoint) {
  const Variable x = leaf(2.0);
  const Variable h = x * 3.0;
  const Variable y = checkpoint([](const Variable& in) { return in * in; }, h);
  expect(grad(y, h), 12.0);
  expect(grad(y * 5.0, y), 5.0);
}

BOOST_AUTO_TEST_CASE(only_inputs_that_need_a_gradient_are_asked_for_it) {
  const Variable x = leaf(2.0);
  const Variable w = leaf(3.0);
  int asked = 0;
  const auto f = [&](const Variable& a, const Variable& b) {
    return custom_op("probe", mul(a.value(), b.value()), {a, b},
                     [&](const Tensor& gradient, std::span<const Edge> needed) {
                       if (needed[0]) ++asked;
                       return std::vector<Tensor>{needed[0] ? mul(gradient, 3.0) : Tensor(),
                                                  needed[1] ? mul(gradient, 2.0) : Tensor()};
                     });
  };
  expect(grad(checkpoint(f, x, w), w), 2.0);
  BOOST_CHECK_EQUAL(asked, 0);
}

BOOST_AUTO_TEST_CASE(a_received_variable_that_the_function_reads_gets_its_gradient) {
  const auto recv = RecvFn::make(1);
  const Variable received = RecvFn::variable(recv, 0, scalar(2.0));
  const Variable x = leaf(3.0);
  const Variable y = checkpoint([&](const Variable& in) { return in * received; }, x);
  struct Keep final : GradientSink {
    void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor> gradients) override {
      last = std::move(gradients);
    }
    std::vector<Tensor> last;
  } sink;
  GraphTask task;
  BOOST_CHECK_EQUAL(task.mark(y).size(), 1U);
  task.feed(y, scalar(1.0));
  task.run(sink);
  BOOST_CHECK(task.finished());
  BOOST_REQUIRE_EQUAL(sink.last.size(), 1U);
  expect(sink.last[0], 3.0);
  expect(task.take_gradients().of(x), 2.0);
}

BOOST_AUTO_TEST_CASE(a_released_checkpoint_lets_go_of_its_function_and_its_inputs) {
  const auto held = std::make_shared<int>(1);
  const Variable x = leaf({2.0});
  const Variable y = checkpoint([held](const Variable& in) { return in * in; }, x * 3.0);
  expect(backward(sum(y), {.graph = Graph::release}).of(x), {36.0});
  BOOST_CHECK_EQUAL(held.use_count(), 1);
  expect_throw<TensorError>([&] { (void)backward(sum(y)); },
                            "[backward] checkpoint: an earlier backward pass released its graph");
}

BOOST_AUTO_TEST_CASE(a_replay_that_does_something_else_fails_the_pass) {
  const Variable x = leaf({2.0, 3.0});
  const Variable w = leaf({1.0, 1.0});
  const Variable h = w * 2.0;
  const auto message_of = [&](auto f) {
    try {
      (void)backward(sum(checkpoint(f, x)));
    } catch (const BackwardError& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  BOOST_CHECK_EQUAL(message_of([](const Variable& in) {
                      if (recomputing()) throw std::runtime_error("out of luck");
                      return in * in;
                    }),
                    "[backward] checkpoint: out of luck");
  BOOST_CHECK_EQUAL(message_of([](const Variable& in) {
                      return recomputing() ? concat(std::vector<Variable>{in, in}) : in * in;
                    }),
                    "[backward] checkpoint: the function gave f64 (4) as result 0, f64 (2) before");
  BOOST_CHECK_EQUAL(message_of([&](const Variable& in) { return recomputing() ? in * w : in * in; }),
                    "[backward] checkpoint: the function read a variable that it did not read before");
  BOOST_CHECK_EQUAL(message_of([&](const Variable& in) { return recomputing() ? in * h : in * in; }),
                    "[backward] checkpoint: the function read a variable that it did not read before");
  const auto two_or_one = [](const Variable& in) { return std::vector<Variable>(recomputing() ? 2 : 1, in * in); };
  expect_throw<BackwardError>([&] { (void)backward(sum(checkpoint(two_or_one, x)[0])); },
                              "[backward] checkpoint: the function gave 2 results, 1 before");
}

BOOST_AUTO_TEST_CASE(what_the_function_throws_in_forward_is_thrown_and_leaves_no_trace) {
  const Variable x = leaf({2.0});
  BOOST_CHECK_THROW((void)checkpoint([](const Variable&) -> Variable { throw std::runtime_error("no"); }, x),
                    std::runtime_error);
  BOOST_CHECK(grad_enabled());
  BOOST_CHECK((x * x).requires_grad());
}

BOOST_AUTO_TEST_CASE(inputs_and_parameters_that_were_written_to_fail_the_pass) {
  const Variable x = leaf({2.0});
  const Variable w = leaf({3.0});
  const auto f = [&](const Variable& in) { return in * w; };
  const Variable first = sum(checkpoint(f, x));
  const Variable second = sum(checkpoint(f, leaf({1.0})));
  const NoGradGuard no_grad;
  add_(x, 1.0);
  expect_throw<BackwardError>(
      [&] { (void)backward(first); },
      "[backward] checkpoint: a value that it saved, f64 (1), was written to afterwards: version 2, "
      "saved at version 1");
  add_(w, 1.0);
  BOOST_CHECK_THROW((void)backward(second), BackwardError);
}

BOOST_AUTO_TEST_CASE(writes_into_inputs_and_parameters_are_refused_as_outside) {
  const Variable x = leaf({2.0});
  const Variable w = leaf({3.0});
  const Variable counter(scalar(0.0));
  const std::string into = "writes into a variable that requires a gradient: do it under a NoGradGuard";
  const std::string from =
      "the other operand requires a gradient, which it would not get: detach() it, or do it under a NoGradGuard";
  using Function = std::function<void(const Variable&)>;
  const std::vector<std::pair<Function, std::string>> writes{
      {[&](const Variable&) { add_(w, 1.0); }, "[add_] " + into},
      {[&](const Variable& in) { zero_(in); }, "[zero_] " + into},
      {[&](const Variable&) {
         fill_(reshape(w, {1, 1}), 1.0);
       },
       "[fill_] " + into},
      {[&](const Variable& in) { mul_(in.select(0, 0), 2.0); }, "[mul_] " + into},
      {[&](const Variable&) { add_(counter, w); }, "[add_] " + from},
      {[&](const Variable& in) { copy_(counter, in); }, "[copy_] " + from}};
  for (const auto& [write, text] : writes) {
    const auto f = [&write = write, &w](const Variable& in) {
      write(in);
      return in * w;
    };
    expect_throw<TensorError>([&] { (void)f(x); }, text);
    expect_throw<TensorError>([&] { (void)checkpoint(f, x); }, text);
    expect_throw<TensorError>([&] { (void)checkpoint([&](const Variable& in) { return checkpoint(f, in); }, x); },
                              text);
    expect(x.value(), {2.0});
    expect(w.value(), {3.0});
    expect(counter.value(), 0.0);
  }
}

BOOST_AUTO_TEST_CASE(a_function_may_write_into_constants_and_under_a_guard) {
  const Variable x = leaf({2.0});
  const Variable w = leaf({3.0});
  const Variable counter(scalar(0.0)), average(zeros({1}, DType::f64));
  const Variable y = checkpoint(
      [&](const Variable& in) {
        if (!recomputing()) {
          add_(counter, 1.0);
          add_(average, in.detach(), 0.5);
          const NoGradGuard no_grad;
          add_(average, w);
        }
        const Variable own(zeros({1}, DType::f64));
        fill_(own, 4.0);
        return in * w * own;
      },
      x);
  expect(counter.value(), 1.0);
  expect(average.value(), {4.0});  // 2 / 2 + 3
  expect(backward(sum(y)).of(x), {12.0});
  BOOST_CHECK(grad_enabled());
}

BOOST_AUTO_TEST_CASE(a_long_chain_of_functions_that_hold_one_another_is_released) {
  const Variable x = leaf(1.0);
  for (const bool reads : {true, false}) {
    Variable y = x;
    for (int i = 0; i < 100'000; ++i) y = checkpoint([y, reads](const Variable& in) { return reads ? y * in : in; }, x);
    BOOST_CHECK(y.requires_grad());
    y = Variable();  // recursion over the graph would overflow the stack here
  }
}

BOOST_AUTO_TEST_SUITE_END()
