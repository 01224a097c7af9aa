// Properties of every operation on variables: any layout of the inputs, one element, no elements.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "autograd/ops/attention.h"
#include "autograd/ops/ctc_loss.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/nn.h"
#include "autograd/ops/norm.h"
#include "autograd/ops/rnn.h"
#include "tensor/create.h"
#include "tensor/device.h"
#include "tensor/error.h"
#include "tests/autograd/expect.h"
#include "tests/support/gpu.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops)

namespace {

constexpr std::int64_t kN = -1;  // in a shape: replaced by the size under test, which may be 0

struct Operation {
  std::string name;
  std::vector<Shape> shapes;
  std::function<Variable(Inputs)> function;
};

Device device_of(Inputs inputs) { return inputs.front().value().device(); }

Tensor indices(Inputs inputs, std::int64_t count, std::int64_t bound) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back((i * 5 + 1) % bound);
  return from_values<std::int64_t>(values, {count}).to(device_of(inputs));
}

/// Returns a boolean tensor in which every third element is true.
Tensor some_hold(Inputs inputs, const Shape& shape) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) values.push_back(i % 3 == 0 ? 1 : 0);
  return from_values<std::int64_t>(values, shape).to(DType::boolean).to(device_of(inputs));
}

Operation of_elements(std::string name, Variable (*function)(const Variable&)) {
  return {std::move(name), {{kN, 2, 3}}, [function](Inputs v) { return function(v[0]); }};
}

Operation of_pairs(std::string name, Variable (*function)(const Variable&, const Variable&)) {
  return {std::move(name), {{kN, 2, 3}, {2, 1}}, [function](Inputs v) { return function(v[0], v[1]); }};
}

// A row a line, as far as it fits.
// clang-format off
std::vector<Operation> elementwise_operations() {
  return {
      of_pairs("add", add), of_pairs("sub", sub), of_pairs("mul", mul), of_pairs("div", div), of_pairs("pow", pow),
      of_pairs("maximum", maximum), of_pairs("minimum", minimum),
      of_elements("neg", neg), of_elements("abs", abs), of_elements("exp", exp), of_elements("log", log),
      of_elements("expm1", expm1), of_elements("log1p", log1p), of_elements("sqrt", sqrt), of_elements("rsqrt", rsqrt),
      of_elements("sin", sin), of_elements("cos", cos), of_elements("erf", erf), of_elements("tanh", tanh),
      of_elements("sigmoid", sigmoid), of_elements("relu", relu), of_elements("silu", silu),
          of_elements("relu6", relu6),
      of_elements("square", square), of_elements("reciprocal", reciprocal), of_elements("frac", frac),
          of_elements("erfc", erfc),
      of_elements("exp2", exp2), of_elements("log2", log2), of_elements("log10", log10), of_elements("atan", atan),
      of_elements("sinh", sinh), of_elements("cosh", cosh), of_elements("asinh", asinh), of_elements("sign", sign),
      of_elements("floor", floor), of_elements("ceil", ceil), of_elements("round", round), of_elements("trunc", trunc),
      of_pairs("atan2", atan2), of_pairs("hypot", hypot), of_pairs("logaddexp", logaddexp), of_pairs("xlogy", xlogy),
      of_pairs("fmod", fmod), of_pairs("remainder", remainder), of_pairs("floor_divide", floor_divide),
          of_pairs("copysign", copysign),
      of_pairs("clamp_min", clamp_min), of_pairs("clamp_max", clamp_max),
      {"fmod of a number", {{kN, 2, 3}}, [](Inputs v) { return fmod(v[0], 0.35); }},
      {"remainder of a number", {{kN, 2, 3}}, [](Inputs v) { return remainder(v[0], -0.35); }},
      {"number's remainder", {{kN, 2, 3}}, [](Inputs v) { return remainder(-2.0, v[0]); }},
      {"floor_divide by a number", {{kN, 2, 3}}, [](Inputs v) { return floor_divide(v[0], 0.35); }},
      {"xlogy of a number", {{kN, 2, 3}}, [](Inputs v) { return xlogy(v[0], 2.5) + xlogy(2.5, v[0]); }},
      {"copysign of a number", {{kN, 2, 3}}, [](Inputs v) { return copysign(v[0], -2.0); }},
      {"clamp_min of a number", {{kN, 2, 3}}, [](Inputs v) { return clamp_min(v[0], 0.5); }},
      {"clamp_max of a number", {{kN, 2, 3}}, [](Inputs v) { return clamp_max(v[0], 1.5); }},
      {"lerp", {{kN, 2, 3}, {2, 1}}, [](Inputs v) { return lerp(v[0], v[1], 0.3); }},
      {"lerp of weights", {{kN, 2, 3}, {2, 1}, {3}}, [](Inputs v) { return lerp(v[0], v[1], v[2]); }},
      {"addcmul", {{kN, 2, 3}, {2, 1}, {3}}, [](Inputs v) { return addcmul(v[0], v[1], v[2], 0.5); }},
      {"addcdiv", {{kN, 2, 3}, {2, 1}, {3}}, [](Inputs v) { return addcdiv(v[0], v[1], v[2], 0.5); }},
      {"tan", {{kN, 2, 3}}, [](Inputs v) { return tan(v[0] / 2.0); }},
      {"asin", {{kN, 2, 3}}, [](Inputs v) { return asin(v[0] / 2.0); }},
      {"acos", {{kN, 2, 3}}, [](Inputs v) { return acos(v[0] / 2.0); }},
      {"acosh", {{kN, 2, 3}}, [](Inputs v) { return acosh(v[0] + 1.0); }},
      {"atanh", {{kN, 2, 3}}, [](Inputs v) { return atanh(v[0] / 2.0); }},
      {"logit", {{kN, 2, 3}}, [](Inputs v) { return logit(v[0] / 2.0); }},
      {"logit with eps", {{kN, 2, 3}}, [](Inputs v) { return logit(v[0], 0.3); }},
      {"nan_to_num", {{kN, 2, 3}}, [](Inputs v) { return nan_to_num(v[0]); }},
      {"gelu", {{kN, 2, 3}}, [](Inputs v) { return gelu(v[0]); }},
      {"softplus", {{kN, 2, 3}}, [](Inputs v) { return softplus(v[0], 2.0); }},
      {"leaky_relu", {{kN, 2, 3}}, [](Inputs v) { return leaky_relu(v[0] - 1.0, 0.2); }},
      {"elu", {{kN, 2, 3}}, [](Inputs v) { return elu(v[0] - 1.0, 1.5); }},
      of_elements("selu", selu), of_elements("mish", mish), of_elements("softsign", softsign),
      of_elements("tanhshrink", tanhshrink), of_elements("hardsigmoid", hardsigmoid),
          of_elements("hardswish", hardswish),
      {"celu", {{kN, 2, 3}}, [](Inputs v) { return celu(v[0] - 1.0, 1.5); }},
      {"softshrink", {{kN, 2, 3}}, [](Inputs v) { return softshrink(v[0]); }},
      {"hardshrink", {{kN, 2, 3}}, [](Inputs v) { return hardshrink(v[0]); }},
      {"threshold", {{kN, 2, 3}}, [](Inputs v) { return threshold(v[0], 1.0, 5.0); }},
      {"prelu", {{kN, 2, 3}, {2}}, [](Inputs v) { return prelu(v[0] - 1.0, v[1]); }},
      {"glu", {{kN, 2, 4}}, [](Inputs v) { return glu(v[0]); }},
      {"hardtanh", {{kN, 2, 3}}, [](Inputs v) { return hardtanh(v[0], 0.5, 1.5); }},
      {"clamp", {{kN, 2, 3}}, [](Inputs v) { return clamp(v[0], 0.5, 1.5); }},
      {"pow of a number", {{kN, 2, 3}}, [](Inputs v) { return pow(v[0], 2.5); }},
      {"number minus", {{kN, 2, 3}}, [](Inputs v) { return 2.0 - v[0]; }},
      {"number over", {{kN, 2, 3}}, [](Inputs v) { return 2.0 / v[0]; }},
      {"where", {{kN, 2, 3}, {3}}, [](Inputs v) { return where(some_hold(v, v[0].shape()), v[0], v[1]); }},
      {"log_sigmoid", {{kN, 2, 3}}, [](Inputs v) { return log_sigmoid(v[0] - 1.0); }},
      {"masked_select", {{kN, 2, 3}}, [](Inputs v) { return masked_select(v[0], some_hold(v, v[0].shape())); }},
      {"masked_select of copies", {{kN, 1, 3}}, [](Inputs v) { return masked_select(v[0], some_hold(v, {4, 1})); }},
      {"masked_fill", {{kN, 2, 3}}, [](Inputs v) { return masked_fill(v[0], some_hold(v, v[0].shape()), 7.0); }},
  };
}

std::vector<Operation> reductions() {
  return {
      {"sum", {{kN, 2, 3}}, [](Inputs v) { return sum(v[0], {0, 2}); }},
      {"sum of all", {{kN, 2, 3}}, [](Inputs v) { return sum(v[0]); }},
      {"prod", {{kN, 2, 3}}, [](Inputs v) { return prod(v[0], {1}, KeepDim::yes); }},
      {"mean", {{kN, 2, 3}}, [](Inputs v) { return mean(v[0], {1, 2}); }},
      {"max", {{kN, 2, 3}}, [](Inputs v) { return max(v[0], {2}); }},
      {"min", {{kN, 2, 3}}, [](Inputs v) { return min(v[0], {1}); }},
      {"var", {{kN, 2, 3}}, [](Inputs v) { return var(v[0], {1, 2}); }},
      {"stddev", {{kN, 2, 3}}, [](Inputs v) { return stddev(v[0], {2}, 0); }},
      {"norm", {{kN, 2, 3}}, [](Inputs v) { return norm(v[0], 3, {1}); }},
      {"norm of all", {{kN, 2, 3}}, [](Inputs v) { return norm(v[0]); }},
      {"logsumexp", {{kN, 2, 3}}, [](Inputs v) { return logsumexp(v[0], {1, 2}); }},
      {"cumsum", {{kN, 2, 3}}, [](Inputs v) { return cumsum(v[0], 1); }},
      {"cumsum over the batch", {{kN, 2, 3}}, [](Inputs v) { return cumsum(v[0], 0); }},
      {"cumprod", {{kN, 2, 3}}, [](Inputs v) { return cumprod(v[0], 2); }},
      {"cumprod over the batch", {{kN, 2, 3}}, [](Inputs v) { return cumprod(v[0], 0); }},
      {"cummax", {{kN, 2, 3}}, [](Inputs v) { return cummax(v[0], 1).values; }},
      {"cummin", {{kN, 2, 3}}, [](Inputs v) { return cummin(v[0], 0).values; }},
      {"median", {{kN, 2, 3}}, [](Inputs v) { return median(v[0], 2).values; }},
      {"quantile", {{kN, 2, 3}}, [](Inputs v) { return quantile(v[0], {0.3, 0.7}, 2); }},
      {"softmax", {{kN, 2, 3}}, [](Inputs v) { return softmax(v[0], 1); }},
      {"log_softmax", {{kN, 2, 3}}, [](Inputs v) { return log_softmax(v[0]); }},
      {"softmin", {{kN, 2, 3}}, [](Inputs v) { return softmin(v[0], 1); }},
      {"sort", {{kN, 2, 3}}, [](Inputs v) { return sort(v[0], 1, Order::descending).values; }},
      {"topk", {{kN, 2, 3}}, [](Inputs v) { return topk(v[0], 2).values; }},
  };
}

std::vector<Operation> arrangements() {
  return {
      {"reshape", {{kN, 2, 3}}, [](Inputs v) { return reshape(v[0], {v[0].shape()[0] * 3, 2}); }},
      {"flatten", {{kN, 2, 3}}, [](Inputs v) { return flatten(v[0], 1); }},
      {"transpose", {{kN, 2, 3}}, [](Inputs v) { return transpose(v[0], 0, 2); }},
      {"permute", {{kN, 2, 3}}, [](Inputs v) { return permute(v[0], std::vector<int>{1, 2, 0}); }},
      {"squeeze", {{kN, 1, 3}}, [](Inputs v) { return squeeze(v[0], 1); }},
      {"unsqueeze", {{kN, 2, 3}}, [](Inputs v) { return unsqueeze(v[0], 1); }},
      {"expand", {{kN, 1, 3}}, [](Inputs v) { return expand(v[0], {v[0].shape()[0], 4, 3}); }},
      {"slice", {{kN, 2, 3}}, [](Inputs v) { return slice(v[0], 2, 0, 3, 2); }},
      {"select", {{kN, 2, 3}}, [](Inputs v) { return select(v[0], 1, 1); }},
      {"narrow", {{kN, 2, 3}}, [](Inputs v) { return narrow(v[0], 2, 1, 2); }},
      {"split", {{kN, 2, 3}}, [](Inputs v) { return split(v[0], 2, 2)[1]; }},
      {"chunk", {{kN, 2, 4}}, [](Inputs v) { return chunk(v[0], 2, 2)[0]; }},
      {"concat", {{kN, 2, 3}, {kN, 2, 1}}, [](Inputs v) { return concat(v, 2); }},
      {"concat with itself", {{kN, 2, 3}, {2, 2, 3}}, [](Inputs v) { return concat(v, 0); }},
      {"stack", {{kN, 2, 3}, {kN, 2, 3}}, [](Inputs v) { return stack(v, 1); }},
      {"flip", {{kN, 2, 3}}, [](Inputs v) { return flip(v[0], {0, 2}); }},
      {"roll", {{kN, 2, 3}}, [](Inputs v) { return roll(roll(v[0], 2, 0), -1, 2); }},
      {"repeat", {{kN, 1, 3}}, [](Inputs v) { return repeat(v[0], {2, 2, 3, 1}); }},
      {"pad", {{kN, 2, 3}}, [](Inputs v) { return pad(v[0], {1, 2, 0, 1}); }},
      {"pad", {{kN, 2, 3}}, [](Inputs v) { return pad(v[0], {1, 2, 0, 1}, PadMode::reflect); }},
      {"tril", {{kN, 2, 3}}, [](Inputs v) { return tril(v[0]); }},
      {"triu", {{kN, 2, 3}}, [](Inputs v) { return triu(v[0], 1); }},
      {"index_select", {{kN, 2, 3}}, [](Inputs v) { return index_select(v[0], 2, indices(v, 5, 3)); }},
      {"gather", {{kN, 2, 3}},
       [](Inputs v) { return gather(v[0], 2, indices(v, v[0].shape()[0] * 4, 3).reshape({v[0].shape()[0], 2, 2})); }},
      {"scatter_add", {{4, 3}, {kN, 3}},
       [](Inputs v) { return scatter_add(v[0], 0, indices(v, v[1].shape().numel(), 4).reshape(v[1].shape()), v[1]); }},
      {"scatter", {{4, 3}, {kN, 3}},
       [](Inputs v) { return scatter(v[0], 0, indices(v, v[1].shape().numel(), 4).reshape(v[1].shape()), v[1]); }},
      {"scatter of a number", {{4, 3}, {kN}},
       [](Inputs v) { return scatter(v[0], 0, indices(v, v[1].shape()[0], 4).reshape({-1, 1}), 0.5) * sum(v[1]); }},
      {"take_along_dim", {{kN, 2, 3}},
       [](Inputs v) { return take_along_dim(v[0], indices(v, 2, 3).reshape({1, 1, 2}), 2); }},
      {"index_fill", {{kN, 2, 3}}, [](Inputs v) { return index_fill(v[0], 2, indices(v, 2, 3), 0.5); }},
      {"index_copy", {{4, 3}, {kN, 3}},
       [](Inputs v) { return index_copy(v[0], 0, indices(v, v[1].shape()[0], 4), v[1]); }},
      {"masked_scatter", {{kN, 2, 3}, {kN, 3}},
       [](Inputs v) { return masked_scatter(v[0], some_hold(v, v[0].shape()), v[1]); }},
      {"index_add", {{4, 3}, {kN, 3}},
       [](Inputs v) { return index_add(v[0], 0, indices(v, v[1].shape()[0], 4), v[1]); }},
      {"embedding", {{4, 3}, {kN}},
       [](Inputs v) { return embedding(v[0], indices(v, v[1].shape()[0], 4)) * unsqueeze(v[1], 1); }},
      {"embedding_bag", {{4, 3}, {kN}},
       [](Inputs v) {
         return embedding_bag(v[0], indices(v, v[1].shape()[0], 4), from_values<std::int64_t>({0}).to(device_of(v)),
             {.mode = BagMode::sum}, v[1]);
       }},
  };
}

std::vector<Operation> diagonals_and_grids() {
  return {
      {"diagonal", {{kN, 2, 3}}, [](Inputs v) { return diagonal(v[0], 1, 1, 2); }},
      {"diagonal over the batch", {{kN, 2, 3}}, [](Inputs v) { return diagonal(v[0], 0, -1, 0); }},
      {"diag_embed", {{kN, 2}}, [](Inputs v) { return diag_embed(v[0], -1, 0, 2); }},
      {"diag", {{kN}}, [](Inputs v) { return diag(v[0], 1); }},
      {"diag of a matrix", {{kN, 3}}, [](Inputs v) { return diag(v[0]); }},
      {"trace", {{kN, 3}}, [](Inputs v) { return trace(v[0]); }},
      {"unbind", {{kN, 2, 3}}, [](Inputs v) { return unbind(v[0], -1)[1]; }},
      {"movedim", {{kN, 2, 3}}, [](Inputs v) { return movedim(v[0], {0, 1}, {1, 2}); }},
      {"unflatten", {{kN, 6}}, [](Inputs v) { return unflatten(v[0], 1, {2, -1}); }},
      {"expand_as", {{kN, 2, 3}, {2, 1}}, [](Inputs v) { return expand_as(v[1], v[0]) * v[0]; }},
      {"broadcast_to", {{kN, 1, 3}}, [](Inputs v) { return broadcast_to(v[0], {2, v[0].shape()[0], 2, 3}); }},
      {"tile", {{kN, 2, 3}}, [](Inputs v) { return tile(v[0], {3, 2}); }},
      {"repeat_interleave", {{kN, 2, 3}}, [](Inputs v) { return repeat_interleave(v[0], 2, 0); }},
      {"repeat_interleave by counts", {{kN, 2, 3}},
       [](Inputs v) { return repeat_interleave(v[0], indices(v, 3, 4), 2); }},
      {"vstack", {{kN, 3}, {3}}, [](Inputs v) { return vstack(v); }},
      {"hstack", {{kN, 3}, {kN, 2}}, [](Inputs v) { return hstack(v); }},
      {"meshgrid", {{kN}, {3}},
       [](Inputs v) { const auto grid = meshgrid(v, MeshOrder::xy); return grid[0] * grid[1]; }},
      {"diff", {{kN, 2, 3}}, [](Inputs v) { return diff(v[0], 2, 2); }},
      {"diff over the batch", {{kN, 2, 3}}, [](Inputs v) { return diff(v[0], 2, 0); }},
  };
}

std::vector<Operation> products() {
  return {
      {"matmul", {{kN, 2, 3}, {3, 4}}, [](Inputs v) { return matmul(v[0], v[1]); }},
      {"matmul of many columns", {{2, 3}, {3, kN}}, [](Inputs v) { return matmul(v[0], v[1]); }},
      {"matmul over the batch", {{2, kN}, {kN, 3}}, [](Inputs v) { return matmul(v[0], v[1]); }},
      {"bmm", {{kN, 2, 3}, {kN, 3, 2}}, [](Inputs v) { return bmm(v[0], v[1]); }},
      {"baddbmm", {{4}, {kN, 2, 3}, {kN, 3, 4}}, [](Inputs v) { return baddbmm(v[0], v[1], v[2], 0.5, 2.0); }},
      {"addmm", {{4}, {kN, 3}, {3, 4}}, [](Inputs v) { return addmm(v[0], v[1], v[2], 0.5, 2.0); }},
      {"tensordot", {{kN, 2, 3}, {3, 4, 2}}, [](Inputs v) { return tensordot(v[0], v[1], {1, 2}, {2, 0}); }},
      {"kron", {{kN, 2}, {3, 2}}, [](Inputs v) { return kron(v[0], v[1]); }},
      {"cross", {{kN, 3}, {3}}, [](Inputs v) { return cross(v[0], v[1]); }},
      {"cdist", {{kN, 3}, {2, 3}}, [](Inputs v) { return cdist(v[0], v[1]); }},
      {"cdist by sizes", {{kN, 3}, {2, 3}}, [](Inputs v) { return cdist(v[0], v[1], 1.0); }},
      {"dot", {{kN}, {kN}}, [](Inputs v) { return dot(v[0], v[1]); }},
      {"mv", {{kN, 3}, {3}}, [](Inputs v) { return mv(v[0], v[1]); }},
      {"outer", {{kN}, {3}}, [](Inputs v) { return outer(v[0], v[1]); }},
      {"einsum", {{kN, 2, 3}, {kN, 3, 4}}, [](Inputs v) { return einsum("bij,bjk->bki", v); }},
      {"cosine_similarity", {{kN, 3}, {3}}, [](Inputs v) { return cosine_similarity(v[0], v[1]); }},
      {"pairwise_distance", {{kN, 3}, {3}}, [](Inputs v) { return pairwise_distance(v[0], v[1]); }},
      {"normalize", {{kN, 3}}, [](Inputs v) { return normalize(v[0]); }},
      {"linear", {{kN, 3}, {4, 3}, {4}}, [](Inputs v) { return linear(v[0], v[1], v[2]); }},
  };
}

std::vector<Operation> layers() {
  return {
      {"conv1d", {{kN, 2, 5}, {4, 1, 3}, {4}},
       [](Inputs v) { return conv1d(v[0], v[1], v[2], {.stride = 2, .padding = 1, .groups = 2}); }},
      {"conv2d", {{kN, 2, 4, 5}, {3, 2, 2, 3}, {3}},
       [](Inputs v) { return conv2d(v[0], v[1], v[2], {.stride = {1, 2}, .padding = {1, 0}}); }},
      {"conv_transpose1d", {{kN, 2, 3}, {2, 3, 2}, {3}},
       [](Inputs v) { return conv_transpose1d(v[0], v[1], v[2], {.stride = 2}); }},
      {"conv_transpose2d", {{kN, 2, 3, 2}, {2, 2, 2, 2}},
       [](Inputs v) { return conv_transpose2d(v[0], v[1], {}, {.stride = {2, 1}}); }},
      {"max_pool1d", {{kN, 2, 6}}, [](Inputs v) { return max_pool1d(v[0]); }},
      {"max_pool2d", {{kN, 2, 4, 5}},
       [](Inputs v) { return max_pool2d(v[0], {.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 0}}); }},
      {"adaptive_max_pool2d", {{kN, 1, 5, 4}}, [](Inputs v) { return adaptive_max_pool2d(v[0], {2, 3}); }},
      {"avg_pool1d", {{kN, 2, 6}}, [](Inputs v) { return avg_pool1d(v[0], {.kernel = 3, .stride = 2, .padding = 1}); }},
      {"avg_pool2d", {{kN, 2, 4, 4}}, [](Inputs v) { return avg_pool2d(v[0]); }},
      {"adaptive_avg_pool1d", {{kN, 2, 5}}, [](Inputs v) { return adaptive_avg_pool1d(v[0], 3); }},
      {"adaptive_avg_pool2d", {{kN, 1, 5, 4}}, [](Inputs v) { return adaptive_avg_pool2d(v[0], {2, 3}); }},
      {"pixel_shuffle", {{kN, 4, 2, 3}}, [](Inputs v) { return pixel_shuffle(v[0], 2); }},
      {"pixel_unshuffle", {{kN, 1, 2, 4}}, [](Inputs v) { return pixel_unshuffle(v[0], 2); }},
      {"interpolate", {{kN, 2, 3, 2}},
       [](Inputs v) { return interpolate(v[0], {.size = {5, 3}, .mode = InterpolateMode::bilinear}); }},
      {"interpolate nearest", {{kN, 2, 5}}, [](Inputs v) { return interpolate(v[0], {.scale = {1.5}}); }},
      {"unfold", {{kN, 2, 3, 4}}, [](Inputs v) { return unfold(v[0], {.kernel = {2, 2}, .padding = {1, 0}}); }},
      {"fold", {{kN, 8, 4}}, [](Inputs v) { return fold(v[0], {3, 3}, {.kernel = {2, 2}}); }},
      {"batch_norm", {{kN, 2, 3}, {2}, {2}},
       [](Inputs v) {
         const RunningStatistics running{full({2}, 0.5, DType::f64, device_of(v)),
             full({2}, 2.0, DType::f64, device_of(v))};
         return batch_norm(v[0], running, v[1], v[2], {.statistics = NormStatistics::running}).output;
       }},
      {"layer_norm", {{kN, 2, 3}, {3}, {3}}, [](Inputs v) { return layer_norm(v[0], {3}, v[1], v[2]); }},
      {"group_norm", {{kN, 4, 3}, {4}, {4}}, [](Inputs v) { return group_norm(v[0], 2, v[1], v[2]); }},
      {"instance_norm", {{kN, 2, 4}, {2}, {2}}, [](Inputs v) { return instance_norm(v[0], v[1], v[2]); }},
      {"lstm", {{2, kN, 3}, {8, 3}, {8, 2}, {8}, {8}},
       [](Inputs v) { return lstm(v[0], {v[1], v[2], v[3], v[4]}).output; }},
      {"gru", {{2, kN, 3}, {6, 3}, {6, 2}, {6}, {6}},
       [](Inputs v) { return gru(v[0], {v[1], v[2], v[3], v[4]}, {}, TimeDirection::reverse).output; }},
      {"rnn", {{2, kN, 3}, {2, 3}, {2, 2}, {2}, {2}},
       [](Inputs v) { return rnn(v[0], {v[1], v[2], v[3], v[4]}).output; }},
      {"scaled_dot_product_attention", {{kN, 4, 3}, {kN, 5, 3}, {kN, 5, 2}},
       [](Inputs v) { return scaled_dot_product_attention(v[0], v[1], v[2], {.causal = true}); }},
      {"scaled_dot_product_attention with a learned mask", {{kN, 4, 3}, {kN, 5, 3}, {kN, 5, 2}, {4, 5}},
       [](Inputs v) { return scaled_dot_product_attention(v[0], v[1], v[2], v[3]); }},
      {"dropout", {{kN, 2, 3}},
       [](Inputs v) {
         Generator generator(3);
         return dropout(v[0], 0.4, generator);
       }},
      {"dropout2d", {{kN, 2, 3, 2}},
       [](Inputs v) {
         Generator generator(3);
         return dropout2d(v[0], 0.4, generator);
       }},
  };
}

std::vector<Operation> losses() {
  const Reduction total = Reduction::sum;
  return {
      {"nll_loss", {{kN, 4}}, [=](Inputs v) { return nll_loss(v[0], indices(v, v[0].shape()[0], 4), total); }},
      {"cross_entropy", {{kN, 4}},
       [=](Inputs v) { return cross_entropy(v[0], indices(v, v[0].shape()[0], 4), total); }},
      {"smoothed cross_entropy", {{kN, 4}},
       [](Inputs v) {
         return cross_entropy(v[0], indices(v, v[0].shape()[0], 4),
             {.reduction = Reduction::none, .label_smoothing = 0.2});
       }},
      {"mse_loss", {{kN, 3}, {kN, 3}}, [=](Inputs v) { return mse_loss(v[0], v[1], total); }},
      {"l1_loss", {{kN, 3}, {kN, 3}}, [=](Inputs v) { return l1_loss(v[0], v[1], total); }},
      {"smooth_l1_loss", {{kN, 3}, {kN, 3}},
       [=](Inputs v) { return smooth_l1_loss(v[0], v[1], {.beta = 0.5, .reduction = total}); }},
      {"huber_loss", {{kN, 3}, {kN, 3}},
       [=](Inputs v) { return huber_loss(v[0], v[1], {.delta = 0.5, .reduction = total}); }},
      {"bce_loss", {{kN, 3}, {kN, 3}},
       [=](Inputs v) { return bce_loss(v[0] / 2.0, v[1] / 2.0, {.reduction = total}); }},
      {"bce_with_logits", {{kN, 3}, {kN, 3}},
       [=](Inputs v) { return bce_with_logits(v[0], v[1], {.reduction = total}); }},
      {"margin_ranking_loss", {{kN, 3}, {kN, 3}},
       [=](Inputs v) { return margin_ranking_loss(v[0], v[1], ones({3}, DType::f32, device_of(v)),
           {.margin = 0.3, .reduction = total}); }},
      {"hinge_embedding_loss", {{kN, 3}},
       [=](Inputs v) { return hinge_embedding_loss(v[0], from_values<double>({1, -1, -1}).to(device_of(v)),
           {.reduction = total}); }},
      {"cosine_embedding_loss", {{kN, 3}, {kN, 3}},
       [=](Inputs v) { return cosine_embedding_loss(v[0], v[1], full({v[0].shape()[0]}, -1.0, DType::f32, device_of(v)),
           {.margin = 0.3, .reduction = total}); }},
      {"triplet_margin_loss", {{kN, 3}, {kN, 3}, {kN, 3}},
       [=](Inputs v) { return triplet_margin_loss(v[0], v[1], v[2], {.swap = true, .reduction = total}); }},
      {"soft_margin_loss", {{kN, 3}},
       [=](Inputs v) { return soft_margin_loss(v[0], neg(ones(v[0].shape(), DType::f32, device_of(v))), total); }},
      {"multi_margin_loss", {{kN, 4}},
       [=](Inputs v) { return multi_margin_loss(v[0], indices(v, v[0].shape()[0], 4), {.p = 2, .reduction = total}); }},
      {"poisson_nll_loss", {{kN, 3}},
       [=](Inputs v) { return poisson_nll_loss(v[0], from_values<double>({0, 1, 4}).to(device_of(v)),
           {.full = true, .reduction = total}); }},
      {"gaussian_nll_loss", {{kN, 3}, {kN, 3}, {kN, 1}},
       [=](Inputs v) { return gaussian_nll_loss(v[0], v[1], v[2], {.reduction = total}); }},
      {"ctc_loss", {{4, kN, 3}},
       [=](Inputs v) {
         const Shape n{v[0].shape()[1]};
         return ctc_loss(v[0], ones({n[0], 2}, DType::i64, device_of(v)), full(n, 4, DType::i64, device_of(v)),
             full(n, 2, DType::i64, device_of(v)),
             {.reduction = total});
       }},
      {"kl_div", {{kN, 3}, {kN, 3}}, [](Inputs v) { return kl_div(v[0], v[1], {.reduction = KlDivReduction::sum}); }},
  };
}
// clang-format on

std::vector<Operation> all_operations() {
  std::vector<Operation> all;
  for (const auto& family : {elementwise_operations(), reductions(), arrangements(), diagonals_and_grids(), products(),
                             layers(), losses()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

/// Returns distinct values from 0.2 to 1.8.
std::vector<Tensor> values_for(const Operation& operation, std::int64_t n) {
  std::vector<Tensor> values;
  std::uint64_t seed = 5;
  for (const Shape& wanted : operation.shapes) {
    std::vector<std::int64_t> sizes(wanted.begin(), wanted.end());
    std::replace(sizes.begin(), sizes.end(), kN, n);
    Generator generator(seed++);
    values.push_back(uniform(Shape(sizes), 0.2, 1.8, generator, DType::f64));
  }
  return values;
}

std::vector<Variable> leaves(const std::vector<Tensor>& values) {
  std::vector<Variable> variables;
  for (const Tensor& value : values) variables.emplace_back(value, RequiresGrad::yes);
  return variables;
}

std::vector<int> reversed(const Tensor& x) {
  std::vector<int> dims;
  for (int dim = x.dim(); dim-- > 0;) dims.push_back(dim);
  return dims;
}

/// Returns the same values with the first dimension contiguous in memory.
Tensor column_major(const Tensor& x) {
  const std::vector<int> dims = reversed(x);
  return x.permute(dims).contiguous().permute(dims);
}

/// Returns the same values with other numbers before, between and behind them in memory.
Tensor scattered(const Tensor& x) {
  std::vector<std::int64_t> sizes(x.shape().begin(), x.shape().end());
  sizes.back() = 2 * sizes.back() + 1;
  Tensor memory = full(Shape(sizes), 1e6, DType::f64);
  Tensor view = memory.slice(-1, 1, sizes.back(), 2);
  view.copy_from(x);
  return view;
}

struct Outcome {
  Tensor value;
  std::vector<Tensor> gradients;
};

Outcome outcome_of(const Operation& operation, const std::vector<Tensor>& values) {
  const std::vector<Variable> inputs = leaves(values);
  const Gradients gradients = gradients_of(operation.function, inputs);
  Outcome outcome{operation.function(inputs).value(), {}};
  for (const Variable& input : inputs) outcome.gradients.push_back(gradients.of(input));
  return outcome;
}

void expect_near(const std::string& what, const Tensor& got, const Tensor& expected) {
  const bool fits = got.defined() && got.shape() == expected.shape() && allclose(got, expected, 1e-12, 1e-12);
  BOOST_CHECK_MESSAGE(fits, what << ":\n" << got << "\nis not\n" << expected);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_operation_gives_the_same_for_any_layout_of_its_inputs) {
  for (const Operation& operation : all_operations()) {
    const std::vector<Tensor> values = values_for(operation, 3);
    const Outcome expected = outcome_of(operation, values);
    for (Tensor (*layout)(const Tensor&) : {column_major, scattered}) {
      std::vector<Tensor> views;
      std::transform(values.begin(), values.end(), std::back_inserter(views), layout);
      const Outcome found = outcome_of(operation, views);
      expect_near(operation.name, found.value, expected.value);
      for (std::size_t i = 0; i < values.size(); ++i) {
        expect_near(operation.name + ", gradient " + std::to_string(i), found.gradients[i], expected.gradients[i]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_operation_has_its_values_and_gradients_on_a_gpu,
                     *boost::unit_test::label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1})) {
  for (const Operation& operation : all_operations()) {
    BOOST_TEST_CONTEXT(operation.name) {
      const std::vector<Tensor> values = values_for(operation, 3);
      std::vector<Tensor> there;
      for (const Tensor& value : values) there.push_back(value.to(Device::cuda()));
      const Outcome expected = outcome_of(operation, values);
      try {
        const Outcome found = outcome_of(operation, there);
        BOOST_TEST((found.value.device() == Device::cuda()));
        expect_near(operation.name, found.value.to(Device::cpu()), expected.value);
        for (std::size_t i = 0; i < values.size(); ++i) {
          BOOST_TEST_REQUIRE(found.gradients[i].defined() == expected.gradients[i].defined());
          if (!expected.gradients[i].defined()) continue;
          BOOST_TEST((found.gradients[i].device() == Device::cuda()));
          expect_near(operation.name + ", gradient " + std::to_string(i), found.gradients[i].to(Device::cpu()),
                      expected.gradients[i]);
        }
      } catch (const TensorError& error) {
        BOOST_ERROR(operation.name << ": " << error.what());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_operation_has_its_gradient_for_a_batch_of_one_and_of_three) {
  for (const Operation& operation : all_operations()) {
    for (const std::int64_t n : {1, 3}) {
      const GradcheckResult result = gradcheck(operation.function, leaves(values_for(operation, n)));
      BOOST_CHECK_MESSAGE(result.ok, operation.name << " of " << n << ": " << result.worst);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_operation_takes_an_empty_batch) {
  for (const Operation& operation : all_operations()) {
    BOOST_TEST_CONTEXT(operation.name) {
      const std::vector<Tensor> values = values_for(operation, 0);
      const Outcome none = outcome_of(operation, values);
      BOOST_TEST(none.value.dim() == outcome_of(operation, values_for(operation, 3)).value.dim());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Tensor& gradient = none.gradients[i];
        if (!gradient.defined()) continue;
        BOOST_TEST(gradient.shape() == values[i].shape());
        BOOST_TEST(all(isfinite(gradient)).item() == 1.0);
        // An empty result depends on no input.
        if (none.value.numel() == 0) BOOST_TEST(all(eq(gradient, 0.0)).item() == 1.0);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
