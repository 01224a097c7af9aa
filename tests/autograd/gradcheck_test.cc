#include "autograd/gradcheck.h"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autograd/checkpoint.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "autograd/record.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(gradcheck_itself)

namespace {

/// A graph of random operations in which any result is used any number of times, also not at all. All operations are
/// smooth and their results stay near 1, so that differences are accurate to six digits.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : generator_(seed) {
    for (const Shape& shape : {Shape{2, 3}, Shape{3}, Shape{}}) {
      inputs_.emplace_back(uniform(shape, -1.0, 1.0, generator_, DType::f64), RequiresGrad::yes);
      places_.push_back(inputs_.back());
    }
    while (steps_.size() < 16) {
      if (std::optional<Step> step = random_step()) {
        places_.push_back(run(*step, places_));
        steps_.push_back(std::move(*step));
      }
    }
    for (std::size_t i = 0; i < 4; ++i) ends_.push_back(any_place());
  }

  [[nodiscard]] std::span<const Variable> inputs() const { return inputs_; }

  /// Returns the sum of a few results, some of which may be operands of others.
  [[nodiscard]] Variable operator()(Inputs inputs) const {
    std::vector<Variable> places(inputs.begin(), inputs.end());
    for (const Step& step : steps_) places.push_back(run(step, places));
    Variable total = mean(places[ends_.front()]);
    for (const std::size_t end : ends_) total = total + mean(places[end] * places[end]);
    return total;
  }

 private:
  struct Step {
    std::function<Variable(const Variable&, const Variable&)> op;
    std::size_t a;
    std::size_t b;
  };

  static Variable run(const Step& step, const std::vector<Variable>& places) {
    return step.op(places[step.a], places[step.b]);
  }

  std::size_t any_place() { return generator_.below(places_.size()); }

  /// Returns no step if the drawn operation does not fit the drawn shapes.
  std::optional<Step> random_step() {
    const std::size_t a = any_place();
    const std::size_t b = any_place();
    const Shape x = places_[a].shape();
    const Shape y = places_[b].shape();
    const std::uint64_t kind = generator_.below(24);
    const bool is_matrix = x.size() == 2;
    if (kind < 9) {
      const auto op =
          std::array<Variable (*)(const Variable&), 9>{[](const Variable& v) { return tanh(v); },
                                                       [](const Variable& v) { return sigmoid(v) * 2.0; },
                                                       [](const Variable& v) { return exp(v * 0.3); },
                                                       [](const Variable& v) { return log1p(v * v); },
                                                       [](const Variable& v) { return sqrt(v * v + 1.0); },
                                                       [](const Variable& v) { return sin(v) + cos(v * 0.5); },
                                                       [](const Variable& v) { return erf(v); },
                                                       [](const Variable& v) { return silu(v) - softplus(v); },
                                                       [](const Variable& v) { return 1.0 / (v * v + 2.0); }}[kind];
      return Step{[op](const Variable& v, const Variable&) { return op(v); }, a, b};
    }
    switch (kind) {
      case 9: return broadcasting(x, y, a, b, [](const Variable& v, const Variable& w) { return v + w * 0.5; });
      case 10: return broadcasting(x, y, a, b, [](const Variable& v, const Variable& w) { return tanh(v) * w; });
      case 11: return broadcasting(x, y, a, b, [](const Variable& v, const Variable& w) { return v / (w * w + 1.5); });
      case 12:
        return broadcasting(x, y, a, b, [](const Variable& v, const Variable& w) { return pow(v * v + 0.5, sin(w)); });
      case 13:
        if (x.empty() || y.empty() || x[x.size() - 1] != y[y.size() == 1 ? 0 : y.size() - 2]) return {};
        return Step{[](const Variable& v, const Variable& w) { return matmul(v, w) * 0.5; }, a, b};
      case 14:
        if (x.empty() || x != y) return {};
        return Step{[](const Variable& v, const Variable& w) {
                      return slice(concat(std::array{v, w}), 0, 1, 4);
                    },
                    a, b};
      case 15:
        if (!is_matrix) return {};
        return Step{[](const Variable& v, const Variable&) { return transpose(v); }, a, b};
      case 16:
        if (!is_matrix) return {};
        return Step{[](const Variable& v, const Variable&) { return reshape(transpose(v), v.shape()); }, a, b};
      case 17:
        if (x.empty()) return {};
        return Step{[](const Variable& v, const Variable&) { return mean(v, {-1}) + logsumexp(v, {-1}); }, a, b};
      case 18:
        if (x.empty()) return {};
        return Step{[](const Variable& v, const Variable&) { return sum(v * v, {0}, KeepDim::yes) * 0.3; }, a, b};
      case 19:
        if (x.empty()) return {};
        return Step{[](const Variable& v, const Variable&) { return softmax(v, -1) + cumsum(v, 0) * 0.3; }, a, b};
      case 20:
        if (!is_matrix) return {};
        return Step{[](const Variable& v, const Variable&) { return select(v, 0, -1) + select(v, 0, 0); }, a, b};
      case 21:
        if (x.size() != 1) return {};
        return Step{[](const Variable& v, const Variable&) { return expand(v, {2, v.shape()[0]}) * 0.5; }, a, b};
      case 22: {
        const auto twice = [](const Variable& v) { return tanh(v) * v; };
        return Step{[twice](const Variable& v, const Variable&) { return checkpoint(twice, v); }, a, b};
      }
      default: {
        // The second operand is no input: the function reads it.
        return broadcasting(x, y, a, b, [](const Variable& v, const Variable& w) {
          return checkpoint([w](const Variable& in) { return in * sigmoid(w) + w; }, v);
        });
      }
    }
  }

  template <class Op>
  static std::optional<Step> broadcasting(const Shape& x, const Shape& y, std::size_t a, std::size_t b, Op op) {
    if (!broadcasts_to(x, y) && !broadcasts_to(y, x)) return {};
    return Step{op, a, b};
  }

  Generator generator_;
  std::vector<Variable> inputs_;
  std::vector<Variable> places_;  // the values while the graph is drawn
  std::vector<Step> steps_;
  std::vector<std::size_t> ends_;
};

/// Returns the gradients of `inputs` by a pass that cannot know the order in which contributions arrive.
std::vector<Tensor> gradients_of_a_late_pass(const Variable& root, Inputs inputs) {
  struct Nowhere final : GradientSink {
    void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override {}
  } sink;
  GraphTask task;
  task.mark(root);
  task.run(sink);
  task.feed(root, initial_gradient(root));
  task.run(sink);
  const Gradients gradients = task.take_gradients();
  std::vector<Tensor> found;
  for (const Variable& input : inputs) found.push_back(gradients.of(input));
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_right_gradient_passes_and_the_input_keeps_its_value) {
  const std::array<Variable, 1> inputs{leaf({0.5, -2.0})};
  BOOST_CHECK(gradcheck([](auto x) { return x[0] * x[0]; }, inputs));
  expect(inputs[0].value(), {0.5, -2.0});
}

BOOST_AUTO_TEST_CASE(a_wrong_gradient_fails_and_its_worst_element_is_named) {
  // The function is the identity; its backward multiplies by 1 for the first element and 2 for the second.
  auto wrong = [](std::span<const Variable> x) {
    return detail::record("wrong", x[0].value().clone(), detail::edges_of(x), [](const Tensor& g) {
      return mul(g, from_values<double>({1.0, 2.0}));
    });
  };
  const std::array<Variable, 1> inputs{leaf({0.5, -2.0})};
  const GradcheckResult result = gradcheck(wrong, inputs);
  BOOST_CHECK(!result);
  BOOST_CHECK_EQUAL(result.worst.substr(0, 28), "input 0, element 1: backward");
}

BOOST_AUTO_TEST_CASE(a_missing_gradient_counts_as_zero) {
  const std::array<Variable, 2> inputs{leaf(1.0), leaf(2.0)};
  BOOST_CHECK(gradcheck([](auto x) { return x[0] * 3.0; }, inputs));
  BOOST_CHECK(!gradcheck([](auto x) { return x[0] * x[1].detach(); }, inputs));
}

BOOST_AUTO_TEST_CASE(inputs_that_are_not_f64_are_refused) {
  const std::array<Variable, 1> inputs{Variable(scalar(1.0F), RequiresGrad::yes)};
  expect_throw<DTypeError>([&] { (void)gradcheck([](auto x) { return x[0]; }, inputs); },
                           "[gradcheck] input 0 is not f64: f32");
}

BOOST_AUTO_TEST_CASE(a_function_that_throws_leaves_the_inputs_as_they_were) {
  const std::array<Variable, 1> inputs{leaf({1.0, 2.0})};
  const auto above_two = [](Inputs x) {
    if (x[0].value().select(0, 1).item() > 2.0) throw std::runtime_error("too large");
    return x[0];
  };
  expect_throw<std::runtime_error>([&] { (void)gradcheck(above_two, inputs); }, "too large");
  expect(inputs[0].value(), {1.0, 2.0});
}

BOOST_AUTO_TEST_CASE(random_graphs_have_the_gradients_of_their_differences) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const RandomGraph graph(seed);
    const GradcheckResult result = gradcheck(graph, graph.inputs());
    BOOST_CHECK_MESSAGE(result.ok, "seed " << seed << ": " << result.worst);
  }
}

BOOST_AUTO_TEST_CASE(every_way_to_the_gradients_of_a_random_graph_gives_the_same_bits) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const RandomGraph graph(seed);
    const Variable root = graph(graph.inputs());
    const std::vector<Tensor> expected = grad(std::span(&root, 1), graph.inputs());
    const std::vector<Tensor> late = gradients_of_a_late_pass(root, graph.inputs());
    const auto& in = graph.inputs();
    const auto whole = [&](const Variable& a, const Variable& b, const Variable& c) {
      return graph(std::array{a, b, c});
    };
    const Variable checkpointed = checkpoint(whole, in[0], in[1], in[2]);
    const Gradients replayed = backward(checkpointed);
    const Gradients moved = backward(graph(graph.inputs()));
    const Gradients released = backward(root, {.graph = Graph::release});
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto same = [&](const char* way, const Tensor& found) {
        BOOST_CHECK_MESSAGE(same_bytes(found, expected[i]), "seed " << seed << ", input " << i << ", " << way);
      };
      same("late", late[i]);
      same("replayed", replayed.of(in[i]));
      same("moved", moved.of(in[i]));
      same("released", released.of(in[i]));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
