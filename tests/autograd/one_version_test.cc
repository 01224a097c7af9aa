#include "autograd/one_version.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/anomaly.h"
#include "autograd/checkpoint.h"
#include "autograd/engine.h"
#include "autograd/nn/attention.h"
#include "autograd/nn/rnn.h"
#include "autograd/nn/transformer.h"
#include "autograd/nn/transformer_decoder.h"
#include "autograd/ops.h"
#include "autograd/ops/activation.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/image.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/margin_loss.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/nn.h"
#include "autograd/ops/products.h"
#include "autograd/ops/rnn.h"
#include "autograd/reads.h"
#include "tensor/create.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(one_version)

using detail::as_it_is;
using detail::one_version_of;
using Operation = std::function<Variable(const Variable&)>;

/// Simulates another thread that replaces a variable's value after every read of this thread.
class Racing final : public detail::Reader {
 public:
  explicit Racing(const Variable& raced) : raced_(raced), guard_(*this) {}

  [[nodiscard]] Tensor value_of(const std::shared_ptr<const void>& identity, const Edge&, Tensor now) override {
    if (identity.get() == raced_.id()) raced_.set_value(version(++versions_, now));
    return now;
  }
  [[nodiscard]] Generator& generator_for(Generator& generator) override { return generator; }

  [[nodiscard]] static Tensor version(int number, const Tensor& like) {
    Generator drawn(static_cast<std::uint64_t>(number) + 100);
    return add(rand(like.shape(), drawn, like.dtype()), 0.5);
  }
  [[nodiscard]] int versions() const { return versions_; }

 private:
  const Variable raced_;
  int versions_ = 0;
  detail::ReaderGuard guard_;
};

bool equal(const Tensor& a, const Tensor& b) { return a.shape() == b.shape() && all(eq(a, b)).item<bool>(); }

/// Returns the result of `operation` for the present value of `leaf`, and the leaf's gradient of its sum.
std::pair<Tensor, Tensor> outcome(const Operation& operation, const Variable& leaf) {
  const Variable result = operation(leaf);
  return {result.value(), backward(sum(result)).of(leaf)};
}

/// Returns whether `operation` reads one version of its input, forward and backward, while another thread replaces it.
bool sees_one_version(const Operation& operation, const Shape& shape) {
  const Variable leaf(Racing::version(0, zeros(shape, DType::f64)), RequiresGrad::yes);
  std::pair<Tensor, Tensor> found;
  int versions = 0;
  {
    Racing racing(leaf);
    found = outcome(operation, leaf);
    versions = racing.versions();
  }
  BOOST_TEST_REQUIRE(versions > 0);
  for (int i = 0; i <= versions; ++i) {
    const Variable still(Racing::version(i, zeros(shape, DType::f64)), RequiresGrad::yes);
    const auto wanted = outcome(operation, still);
    if (equal(found.first, wanted.first) && equal(found.second, wanted.second)) return true;
  }
  return false;
}

Tensor drawn(const Shape& shape) { return Racing::version(1000, zeros(shape, DType::f64)); }
Variable constant(const Shape& shape) { return Variable(drawn(shape)); }

struct Case {
  std::string name;
  Shape shape;
  Operation operation;
};

std::vector<Case> operations() {
  const Tensor signs = from_values<double>({1.0, -1.0});
  return {
      {"mul", {2, 3}, [](const Variable& x) { return mul(x, x); }},
      {"softplus", {2, 3}, [](const Variable& x) { return softplus(x); }},
      {"gelu", {2, 3}, [](const Variable& x) { return gelu(x); }},
      {"cosine_similarity",
       {2, 3},
       [](const Variable& x) {
         return cosine_similarity(x, constant({2, 3}));
       }},
      {"cosine_similarity by the second",
       {2, 3},
       [](const Variable& x) {
         return cosine_similarity(constant({2, 3}), x);
       }},
      {"normalize", {2, 3}, [](const Variable& x) { return normalize(x); }},
      {"bilinear",
       {2, 3},
       [](const Variable& x) {
         return bilinear(x, x, constant({4, 3, 3}), {});
       }},
      {"local_response_norm", {1, 3, 2}, [](const Variable& x) { return local_response_norm(x, 2); }},
      {"einsum",
       {2, 3},
       [](const Variable& x) {
         return einsum("ij,kj->ik", {x, x});
       }},
      {"einsum of three",
       {2, 2},
       [](const Variable& x) {
         return einsum("ij,jk,kl->il", {x, constant({2, 2}), x});
       }},
      {"tensordot", {2, 3}, [](const Variable& x) { return tensordot(x, x, {1}, {1}); }},
      {"vstack",
       {3},
       [](const Variable& x) {
         return vstack(std::vector<Variable>{x, x});
       }},
      {"hstack",
       {},
       [](const Variable& x) {
         return hstack(std::vector<Variable>{x, x});
       }},
      {"meshgrid",
       {3},
       [](const Variable& x) {
         const std::vector<Variable> grids = meshgrid(std::vector<Variable>{x, x});
         return mul(grids[0], grids[1]);
       }},
      {"kron", {2, 2}, [](const Variable& x) { return kron(x, x); }},
      {"cross",
       {2, 3},
       [](const Variable& x) {
         return cross(x, constant({2, 3}));
       }},
      {"cdist", {2, 3}, [](const Variable& x) { return cdist(x, x, 1.0); }},
      {"quantile", {5}, [](const Variable& x) { return quantile(x, 0.3); }},
      {"quantile along", {2, 5}, [](const Variable& x) { return quantile(x, 0.3, 1); }},
      {"interpolate",
       {1, 1, 2, 2},
       [](const Variable& x) {
         return interpolate(x, {.size = {4, 4}, .mode = InterpolateMode::bilinear});
       }},
      {"masked_scatter",
       {4},
       [](const Variable& x) {
         return masked_scatter(x, from_values<bool>({true, false, true, false}), x);
       }},
      {"poisson_nll_loss", {2}, [](const Variable& x) { return poisson_nll_loss(x, drawn({2})); }},
      {"gaussian_nll_loss", {2}, [](const Variable& x) { return gaussian_nll_loss(x, constant({2}), x); }},
      {"hinge_embedding_loss",
       {2},
       [signs](const Variable& x) { return hinge_embedding_loss(x, signs, {.margin = 5.0}); }},
      {"cosine_embedding_loss",
       {2, 3},
       [signs](const Variable& x) {
         return cosine_embedding_loss(x, constant({2, 3}), signs);
       }},
      {"triplet_margin_loss",
       {2, 3},
       [](const Variable& x) {
         return triplet_margin_loss(x, constant({2, 3}), mul(constant({2, 3}), 2.0), {.margin = 5.0});
       }},
  };
}

/// Modules with generators of their own, so that two runs draw the same numbers.
std::vector<Case> modules() {
  return {
      {"lstm",
       {1, 2},
       [](const Variable& x) {
         Generator generator(1);
         nn::Lstm lstm(3, 2, generator, {.dtype = DType::f64});
         return lstm.forward(constant({4, 3}), x, x).output;
       }},
      {"lstm of one step",
       {2, 2},
       [](const Variable& x) {
         const RnnParameters parameters{constant({8, 3}), constant({8, 2}), {}, {}};
         return lstm(constant({1, 2, 3}), parameters, x, x).output;
       }},
      {"rnn",
       {4, 3},
       [](const Variable& x) {
         Generator generator(1);
         nn::Rnn rnn(3, 2, generator, {.bidirectional = true, .dtype = DType::f64});
         return rnn.forward(unsqueeze(x, 1)).output;
       }},
      {"rnn of a batch",
       {4, 1, 3},
       [](const Variable& x) {
         Generator generator(1);
         nn::Rnn rnn(3, 2, generator, {.bidirectional = true, .dtype = DType::f64});
         return rnn.forward(x).output;
       }},
      {"attention",
       {2, 1, 4},
       [](const Variable& x) {
         Generator generator(1);
         nn::MultiheadAttention attention(4, 2, generator, {.dtype = DType::f64});
         return attention.forward(x, x, constant({2, 1, 4})).output;
       }},
      {"encoder layer",
       {2, 1, 4},
       [](const Variable& x) {
         Generator generator(1);
         nn::TransformerEncoderLayer layer(4, 2, generator, {.feedforward = 4, .dropout = 0.0, .dtype = DType::f64});
         return mul(layer.forward(x), constant({2, 1, 4}));
       }},
      {"decoder",
       {2, 1, 4},
       [](const Variable& x) {
         Generator generator(1);
         nn::TransformerDecoder decoder(4, 2, 2, generator, {.feedforward = 4, .dropout = 0.0, .dtype = DType::f64});
         return mul(decoder.forward(x, x), constant({2, 1, 4}));
       }},
  };
}

BOOST_AUTO_TEST_CASE(operations_see_one_version_of_a_variable_that_is_set_meanwhile) {
  for (const Case& one : operations()) BOOST_TEST(sees_one_version(one.operation, one.shape), one.name);
}

BOOST_AUTO_TEST_CASE(modules_see_one_version_of_an_input_that_is_set_meanwhile) {
  for (const Case& one : modules()) BOOST_TEST(sees_one_version(one.operation, one.shape), one.name);
}

BOOST_AUTO_TEST_CASE(attention_sees_one_version_of_its_weight) {
  Generator generator(1);
  nn::MultiheadAttention attention(4, 2, generator, {.bias = nn::Bias::no, .dtype = DType::f64});
  const Variable weight = attention.parameters()[0];
  BOOST_TEST_REQUIRE((weight.shape() == Shape{12, 4}));
  const auto run = [&] {
    return attention.forward(constant({2, 1, 4}), mul(constant({2, 1, 4}), 2.0), mul(constant({2, 1, 4}), 3.0))
        .output.value();
  };
  Tensor found;
  int versions = 0;
  {
    Racing racing(weight);
    found = run();
    versions = racing.versions();
  }
  bool is_one = false;
  for (int i = 1; i <= versions; ++i) {
    weight.set_value(Racing::version(i, weight.value()));
    is_one = is_one || equal(found, run());
  }
  generator = Generator(1);
  weight.set_value(
      nn::MultiheadAttention(4, 2, generator, {.bias = nn::Bias::no, .dtype = DType::f64}).parameters()[0].value());
  BOOST_TEST((is_one || equal(found, run())));
}

BOOST_AUTO_TEST_CASE(what_is_read_stays_and_its_gradient_goes_where_that_of_the_variable_goes) {
  const Variable w(from_values<double>({1.0, 2.0}), RequiresGrad::yes);
  const Variable c(from_values<double>({3.0, 4.0}));
  const auto [then, again, fixed] = one_version_of(w, w, c);
  BOOST_TEST(same(then, again));
  w.set_value(from_values<double>({10.0, 20.0}));
  c.set_value(from_values<double>({30.0, 40.0}));
  const Variable y = mul(then, fixed);
  BOOST_TEST(equal(y.value(), from_values<double>({3.0, 8.0})));  // 1*3, 2*4
  BOOST_TEST(equal(backward(sum(y)).of(w), from_values<double>({3.0, 4.0})));
  BOOST_TEST(!fixed.requires_grad());
  BOOST_TEST(!as_it_is(Variable()).defined());
  BOOST_TEST(same(as_it_is(y), y));  // the value of a non-leaf never changes
  const NoGradGuard none;
  BOOST_TEST(!as_it_is(w).requires_grad());
}

BOOST_AUTO_TEST_CASE(what_is_read_in_a_checkpoint_gives_its_gradient_once) {
  const Variable w(from_values<double>({1.0, 2.0}), RequiresGrad::yes);
  const Variable x(from_values<double>({3.0, 4.0}), RequiresGrad::yes);
  const auto by_w = [&w](const Variable& in) { return mul(normalize(w, 2.0, 0), in); };
  const Gradients plain = backward(sum(by_w(x)));
  const Gradients replayed = backward(sum(checkpoint(by_w, x)));
  BOOST_TEST(equal(replayed.of(w), plain.of(w)));
  BOOST_TEST(equal(replayed.of(x), plain.of(x)));
}

BOOST_AUTO_TEST_CASE(what_is_read_in_a_checkpoint_that_records_gives_its_gradient_once) {
  std::vector<Case> all = operations();
  for (Case& one : modules()) all.push_back(std::move(one));
  for (const Case& one : all) {
    const Variable w(Racing::version(0, zeros(one.shape, DType::f64)), RequiresGrad::yes);
    const Variable x(full({}, 2.0, DType::f64), RequiresGrad::yes);
    const auto by_w = [&](const Variable& in) {
      const EnableGradGuard enable_grad;
      return mul(sum(one.operation(w)), in);
    };
    const Gradients plain = backward(by_w(x));
    const Gradients replayed = backward(checkpoint(by_w, x));
    BOOST_TEST(equal(replayed.of(w), plain.of(w)), one.name);
    BOOST_TEST(equal(replayed.of(x), plain.of(x)), one.name);
  }
}

BOOST_AUTO_TEST_CASE(a_leaf_that_is_nan_is_no_anomaly_of_an_operation) {
  const Variable w(from_values<double>({std::numeric_limits<double>::quiet_NaN()}), RequiresGrad::yes);
  const AnomalyGuard guard;
  BOOST_CHECK_NO_THROW(static_cast<void>(as_it_is(w)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
