#include "tests/tensor/cuda/every_call.h"

#include "tensor/ops.h"
#include "tensor/ops/activation.h"
#include "tensor/ops/arrange.h"
#include "tensor/ops/attention.h"
#include "tensor/ops/bits.h"
#include "tensor/ops/conv.h"
#include "tensor/ops/ctc_loss.h"
#include "tensor/ops/distance.h"
#include "tensor/ops/division.h"
#include "tensor/ops/einsum.h"
#include "tensor/ops/embedding.h"
#include "tensor/ops/exponential.h"
#include "tensor/ops/histogram.h"
#include "tensor/ops/index.h"
#include "tensor/ops/inplace.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/nn.h"
#include "tensor/ops/norm.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/pool.h"
#include "tensor/ops/products.h"
#include "tensor/ops/quantile.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rnn.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/scan.h"
#include "tensor/ops/shape.h"
#include "tensor/ops/sort.h"
#include "tensor/ops/trigonometry.h"

namespace troupe::testing {
namespace {

// clang-format off
Calls arithmetic() {
  return {
      {"add", [](const Given& g) { return Results{add(g.x(), g.y()), add(g.x(), g.y(), 0.5), add(g.x(), 0.5),
       add(g.x(), g.y({3, 1}))}; }},
      {"sub", [](const Given& g) { return Results{sub(g.x(), g.y()), sub(g.x(), 0.5), sub(0.5, g.x())}; }},
      {"mul", [](const Given& g) { return Results{mul(g.x(), g.y()), mul(g.x(), 0.5)}; }},
      {"div", [](const Given& g) { return Results{div(g.x(), g.y()), div(g.x(), g.y(), Rounding::trunc),
       div(g.index({5}, 9), 4.0, Rounding::trunc), div(g.x(), 0.5), div(0.5, g.x())}; }},
      {"maximum", [](const Given& g) { return Results{maximum(g.x(), g.y()), maximum(g.x(), 0.5)}; }},
      {"minimum", [](const Given& g) { return Results{minimum(g.x(), g.y()), minimum(g.x(), 0.5)}; }},
      {"pow", [](const Given& g) { return Results{pow(g.x(), g.y()), pow(g.x(), 3.0)}; }},
      {"floor_divide", [](const Given& g) { return Results{floor_divide(g.signed_x(), g.y()),
       floor_divide(g.index({5}, 9), 3.0), floor_divide(g.index({5}, 9), g.index({5}, 9) + 1.0)}; }},
      {"fmod", [](const Given& g) { return Results{fmod(g.signed_x(), g.y()), fmod(g.signed_x(), 0.3),
       fmod(g.index({5}, 9), 4.0)}; }},
      {"remainder", [](const Given& g) { return Results{remainder(g.signed_x(), g.y()), remainder(g.signed_x(), 0.3),
       remainder(0.3, g.y()), remainder(g.index({5}, 9), -4.0)}; }},
      {"atan2", [](const Given& g) { return Results{atan2(g.signed_x(), g.y({3, 1}))}; }},
      {"hypot", [](const Given& g) { return Results{hypot(g.signed_x(), g.y())}; }},
      {"logaddexp", [](const Given& g) { return Results{logaddexp(g.signed_x(), g.y())}; }},
      {"xlogy", [](const Given& g) { return Results{xlogy(g.signed_x(), g.y()), xlogy(g.x(), 0.3), xlogy(0.3, g.x())};
       }},
      {"copysign", [](const Given& g) { return Results{copysign(g.y(), g.signed_x()), copysign(g.x(), -1.0)}; }},
      {"clamp_min", [](const Given& g) { return Results{clamp_min(g.x(), 0.3), clamp_min(g.x(), g.y())}; }},
      {"clamp_max", [](const Given& g) { return Results{clamp_max(g.x(), 0.3), clamp_max(g.x(), g.y())}; }},
      {"lerp", [](const Given& g) { return Results{lerp(g.x(), g.y(), 0.3), lerp(g.x(), g.y(), g.signed_x())}; }},
      {"addcmul", [](const Given& g) { return Results{addcmul(g.x(), g.y(), g.signed_x(), 0.5)}; }},
      {"addcdiv", [](const Given& g) { return Results{addcdiv(g.x(), g.signed_x(), g.y(), 0.5)}; }},
      {"isclose", [](const Given& g) { return Results{isclose(g.x(), g.y(), 0.3, 0.1)}; }},
      {"bitwise_and", [](const Given& g) { return Results{bitwise_and(g.index({5}, 9), g.index({5}, 7)),
       bitwise_and(g.index({5}, 9), 5.0), bitwise_and(g.flags(), gt(g.y(), 0.5))}; }},
      {"bitwise_or", [](const Given& g) { return Results{bitwise_or(g.index({5}, 9), g.index({5}, 7)),
       bitwise_or(g.index({5}, 9), 5.0)}; }},
      {"bitwise_xor", [](const Given& g) { return Results{bitwise_xor(g.index({5}, 9), g.index({5}, 7)),
       bitwise_xor(g.index({5}, 9), 5.0)}; }},
      {"bitwise_not", [](const Given& g) { return Results{bitwise_not(g.index({5}, 9)), bitwise_not(g.flags())}; }},
      {"bitwise_left_shift",
       [](const Given& g) { return Results{bitwise_left_shift(g.index({5}, 9), g.index({5}, 70)),
           bitwise_left_shift(g.index({5}, 9), 3.0)}; }},
      {"bitwise_right_shift",
       [](const Given& g) { return Results{bitwise_right_shift(g.index({5}, 900), g.index({5}, 70)),
           bitwise_right_shift(g.index({5}, 900), 3.0)}; }},
      {"clamp", [](const Given& g) { return Results{clamp(g.x(), 0.3, 0.6)}; }},
      {"where", [](const Given& g) { return Results{where(g.flags(), g.x(), g.y())}; }},
      {"axpby_into", [](const Given& g) { Tensor out = g.x(); axpby_into(out, 2.0, g.x(), 3.0, g.y());
       return Results{out}; }},
      {"add_into", [](const Given& g) { Tensor out = g.x(); add_into(out, g.y()); return Results{out}; }},
      {"scale_into", [](const Given& g) { Tensor out = g.x(); scale_into(out, 2.0); return Results{out}; }},
      {"add_", [](const Given& g) { return Results{add_(g.x(), g.y(), 2.0), add_(g.x(), 0.5)}; }},
      {"sub_", [](const Given& g) { return Results{sub_(g.x(), g.y(), 2.0), sub_(g.x(), 0.5)}; }},
      {"mul_", [](const Given& g) { return Results{mul_(g.x(), g.y()), mul_(g.x(), 0.5)}; }},
      {"div_", [](const Given& g) { return Results{div_(g.x(), g.y()), div_(g.x(), 0.5)}; }},
      {"clamp_", [](const Given& g) { return Results{clamp_(g.x(), 0.3, 0.6)}; }},
      {"fill_", [](const Given& g) { return Results{fill_(g.x(), 7.0)}; }},
      {"zero_", [](const Given& g) { return Results{zero_(g.x())}; }},
      {"copy_", [](const Given& g) { return Results{copy_(g.x(), g.y({3, 1}))}; }},
  };
}

Calls functions() {
  return {
      {"neg", [](const Given& g) { return Results{neg(g.x())}; }},
      {"abs", [](const Given& g) { return Results{abs(g.signed_x())}; }},
      {"sign", [](const Given& g) { return Results{sign(g.signed_x())}; }},
      {"floor", [](const Given& g) { return Results{floor(g.signed_x())}; }},
      {"ceil", [](const Given& g) { return Results{ceil(g.signed_x())}; }},
      {"round", [](const Given& g) { return Results{round(g.signed_x())}; }},
      {"exp", [](const Given& g) { return Results{exp(g.x())}; }},
      {"expm1", [](const Given& g) { return Results{expm1(g.x())}; }},
      {"log", [](const Given& g) { return Results{log(g.x())}; }},
      {"log1p", [](const Given& g) { return Results{log1p(g.x())}; }},
      {"sqrt", [](const Given& g) { return Results{sqrt(g.x())}; }},
      {"rsqrt", [](const Given& g) { return Results{rsqrt(g.x())}; }},
      {"sin", [](const Given& g) { return Results{sin(g.x())}; }},
      {"cos", [](const Given& g) { return Results{cos(g.x())}; }},
      {"erf", [](const Given& g) { return Results{erf(g.x())}; }},
      {"tanh", [](const Given& g) { return Results{tanh(g.x())}; }},
      {"trunc", [](const Given& g) { return Results{trunc(g.signed_x())}; }},
      {"frac", [](const Given& g) { return Results{frac(g.signed_x())}; }},
      {"square", [](const Given& g) { return Results{square(g.signed_x())}; }},
      {"reciprocal", [](const Given& g) { return Results{reciprocal(g.signed_x())}; }},
      {"exp2", [](const Given& g) { return Results{exp2(g.signed_x())}; }},
      {"log2", [](const Given& g) { return Results{log2(g.x())}; }},
      {"log10", [](const Given& g) { return Results{log10(g.x())}; }},
      {"logit", [](const Given& g) { return Results{logit(g.x()), logit(g.signed_x(), 0.1)}; }},
      {"tan", [](const Given& g) { return Results{tan(g.signed_x())}; }},
      {"atan", [](const Given& g) { return Results{atan(g.signed_x())}; }},
      {"sinh", [](const Given& g) { return Results{sinh(g.signed_x())}; }},
      {"cosh", [](const Given& g) { return Results{cosh(g.signed_x())}; }},
      {"asinh", [](const Given& g) { return Results{asinh(g.signed_x())}; }},
      {"erfc", [](const Given& g) { return Results{erfc(g.signed_x())}; }},
      {"asin", [](const Given& g) { return Results{asin(g.x())}; }},
      {"acos", [](const Given& g) { return Results{acos(g.x())}; }},
      {"atanh", [](const Given& g) { return Results{atanh(g.x())}; }},
      {"acosh", [](const Given& g) { return Results{acosh(g.x() + 1.0)}; }},
      {"isinf", [](const Given& g) { return Results{isinf(log(g.flags()))}; }},
      {"nan_to_num", [](const Given& g) { return Results{nan_to_num(log(g.flags())),
       nan_to_num(log(g.signed_x()), {.nan = 2.0, .neginf = -3.0})}; }},
      {"eq", [](const Given& g) { return Results{eq(g.x(), g.x()), eq(g.x(), 0.5)}; }},
      {"ne", [](const Given& g) { return Results{ne(g.x(), g.x()), ne(g.x(), 0.5)}; }},
      {"lt", [](const Given& g) { return Results{lt(g.x(), g.y()), lt(g.x(), 0.5)}; }},
      {"le", [](const Given& g) { return Results{le(g.x(), g.y()), le(g.x(), 0.5)}; }},
      {"gt", [](const Given& g) { return Results{gt(g.x(), g.y()), gt(g.x(), 0.5)}; }},
      {"ge", [](const Given& g) { return Results{ge(g.x(), g.y()), ge(g.x(), 0.5)}; }},
      {"logical_and", [](const Given& g) { return Results{logical_and(g.flags(), gt(g.y(), 0.5))}; }},
      {"logical_or", [](const Given& g) { return Results{logical_or(g.flags(), gt(g.y(), 0.5))}; }},
      {"logical_xor", [](const Given& g) { return Results{logical_xor(g.flags(), gt(g.y(), 0.5))}; }},
      {"logical_not", [](const Given& g) { return Results{logical_not(g.flags())}; }},
      {"isnan", [](const Given& g) { return Results{isnan(log(g.signed_x()))}; }},
      {"isfinite", [](const Given& g) { return Results{isfinite(log(g.signed_x()))}; }},
  };
}

Calls activations() {
  return {
      {"sigmoid", [](const Given& g) { return Results{sigmoid(g.signed_x())}; }},
      {"relu", [](const Given& g) { return Results{relu(g.signed_x())}; }},
      {"gelu", [](const Given& g) { return Results{gelu(g.signed_x()), gelu(g.signed_x(), Gelu::tanh)}; }},
      {"silu", [](const Given& g) { return Results{silu(g.signed_x())}; }},
      {"softplus", [](const Given& g) { return Results{softplus(g.signed_x()), softplus(g.signed_x(), 2.0),
       softplus(g.signed_x(), 2.0, 1.0)}; }},
      {"leaky_relu", [](const Given& g) { return Results{leaky_relu(g.signed_x())}; }},
      {"elu", [](const Given& g) { return Results{elu(g.signed_x())}; }},
      {"hardtanh", [](const Given& g) { return Results{hardtanh(g.signed_x(), -0.5, 0.5)}; }},
      {"relu6", [](const Given& g) { return Results{relu6(g.signed_x())}; }},
      {"relu_backward", [](const Given& g) { return Results{relu_backward(g.y(), relu(g.signed_x()))}; }},
      {"tanh_backward", [](const Given& g) { return Results{tanh_backward(g.y(), g.x())}; }},
      {"sigmoid_backward", [](const Given& g) { return Results{sigmoid_backward(g.y(), g.x())}; }},
      {"gelu_backward", [](const Given& g) { return Results{gelu_backward(g.y(), g.signed_x()),
       gelu_backward(g.y(), g.signed_x(), Gelu::tanh)}; }},
      {"silu_backward", [](const Given& g) { return Results{silu_backward(g.y(), g.signed_x())}; }},
      {"softplus_backward", [](const Given& g) { return Results{softplus_backward(g.y(), g.signed_x(), 2.0)}; }},
      {"leaky_relu_backward", [](const Given& g) { return Results{leaky_relu_backward(g.y(), g.signed_x())}; }},
      {"elu_backward", [](const Given& g) { return Results{elu_backward(g.y(), g.signed_x())}; }},
      {"hardtanh_backward", [](const Given& g) { return Results{hardtanh_backward(g.y(), g.signed_x(), -0.5, 0.5)}; }},
      {"celu", [](const Given& g) { return Results{celu(g.signed_x(), 0.5)}; }},
      {"selu", [](const Given& g) { return Results{selu(g.signed_x())}; }},
      {"mish", [](const Given& g) { return Results{mish(g.signed_x())}; }},
      {"softsign", [](const Given& g) { return Results{softsign(g.signed_x())}; }},
      {"tanhshrink", [](const Given& g) { return Results{tanhshrink(g.signed_x())}; }},
      {"hardsigmoid", [](const Given& g) { return Results{hardsigmoid(g.signed_x() * 4.0)}; }},
      {"hardswish", [](const Given& g) { return Results{hardswish(g.signed_x() * 4.0)}; }},
      {"softshrink", [](const Given& g) { return Results{softshrink(g.signed_x())}; }},
      {"hardshrink", [](const Given& g) { return Results{hardshrink(g.signed_x())}; }},
      {"threshold", [](const Given& g) { return Results{threshold(g.signed_x(), 0.1, 2.0)}; }},
      {"prelu", [](const Given& g) { return Results{prelu(g.signed_x(), g.y({3}))}; }},
      {"glu", [](const Given& g) { return Results{glu(g.signed_x())}; }},
      {"celu_backward", [](const Given& g) { return Results{celu_backward(g.y(), g.signed_x(), 0.5)}; }},
      {"selu_backward", [](const Given& g) { return Results{selu_backward(g.y(), g.signed_x())}; }},
      {"mish_backward", [](const Given& g) { return Results{mish_backward(g.y(), g.signed_x())}; }},
      {"hardsigmoid_backward", [](const Given& g) { return Results{hardsigmoid_backward(g.y(), g.signed_x() * 4.0)}; }},
      {"hardswish_backward", [](const Given& g) { return Results{hardswish_backward(g.y(), g.signed_x() * 4.0)}; }},
      {"softshrink_backward", [](const Given& g) { return Results{softshrink_backward(g.y(), g.signed_x())}; }},
      {"hardshrink_backward", [](const Given& g) { return Results{hardshrink_backward(g.y(), g.signed_x())}; }},
      {"pairwise_distance", [](const Given& g) { return Results{pairwise_distance(g.x(), g.y())}; }},
      {"normalize", [](const Given& g) { return Results{normalize(g.x())}; }},
      {"bilinear", [](const Given& g) { return Results{bilinear(g.x(), g.y(), g.y({2, 4, 4}))}; }},
      {"local_response_norm", [](const Given& g) { return Results{local_response_norm(g.x().unsqueeze(0), 3)}; }},
      {"softmin", [](const Given& g) { return Results{softmin(g.x())}; }},
      {"log_sigmoid", [](const Given& g) { return Results{log_sigmoid(g.signed_x())}; }},
      {"softmax", [](const Given& g) { return Results{softmax(g.x()), softmax(g.x(), 0)}; }},
      {"log_softmax", [](const Given& g) { return Results{log_softmax(g.x()), log_softmax(g.x(), 0)}; }},
      {"softmax_backward", [](const Given& g) { return Results{softmax_backward(g.y(), softmax(g.x()))}; }},
      {"log_softmax_backward", [](const Given& g) { return Results{log_softmax_backward(g.y(), log_softmax(g.x()))}; }},
      {"dropout_mask", [](const Given& g) { Generator draws(5);
       return Results{dropout_mask({3, 5}, 0.5, draws, DType::f32, g.device)}; }},
  };
}

Calls reductions() {
  return {
      {"sum", [](const Given& g) { return Results{sum(g.x()), sum(g.x(), 1), sum(g.x(), {0, 2}, KeepDim::yes)}; }},
      {"prod", [](const Given& g) { return Results{prod(g.x()), prod(g.x(), 1)}; }},
      {"mean", [](const Given& g) { return Results{mean(g.x()), mean(g.x(), 1)}; }},
      {"max", [](const Given& g) { return Results{max(g.x()), max(g.x(), 1)}; }},
      {"min", [](const Given& g) { return Results{min(g.x()), min(g.x(), 1)}; }},
      {"argmax", [](const Given& g) { return Results{argmax(g.x(), 1), argmax(g.x())}; }},
      {"argmin", [](const Given& g) { return Results{argmin(g.x(), 1)}; }},
      {"any", [](const Given& g) { return Results{any(g.flags()), any(g.flags(), 1)}; }},
      {"all", [](const Given& g) { return Results{all(g.flags()), all(g.flags(), 1)}; }},
      {"var", [](const Given& g) { return Results{var(g.x()), var(g.x(), 1)}; }},
      {"stddev", [](const Given& g) { return Results{stddev(g.x()), stddev(g.x(), 1)}; }},
      {"norm", [](const Given& g) { return Results{norm(g.x()), norm(g.x(), 3.0, 1), norm(g.x(), 1.0)}; }},
      {"logsumexp", [](const Given& g) { return Results{logsumexp(g.x(), 1)}; }},
      {"sum_to", [](const Given& g) { return Results{sum_to(g.x(), {3, 1})}; }},
      {"cosine_similarity", [](const Given& g) { return Results{cosine_similarity(g.x(), g.y())}; }},
      {"cumsum", [](const Given& g) { return Results{cumsum(g.x(), 1)}; }},
      {"cumsum_backward", [](const Given& g) { return Results{cumsum_backward(g.x(), 1)}; }},
      {"cumprod", [](const Given& g) { return Results{cumprod(g.x(), 1)}; }},
      {"cummax", [](const Given& g) { const Sorted found = cummax(g.x(), 1);
       return Results{found.values, found.indices}; }},
      {"cummin", [](const Given& g) { const Sorted found = cummin(g.x(), 2);
       return Results{found.values, found.indices}; }},
      {"median", [](const Given& g) { const Sorted found = median(g.x(), 1);
       return Results{median(g.x()), found.values, found.indices}; }},
      {"quantile", [](const Given& g) { return Results{quantile(g.x(), 0.3), quantile(g.x(), {0.3, 0.7}, 1)}; }},
      {"count_nonzero", [](const Given& g) { return Results{count_nonzero(g.flags()), count_nonzero(g.flags(), 1)}; }},
      {"sort", [](const Given& g) { const Sorted found = sort(g.x(), 1); return Results{found.values, found.indices};
       }},
      {"argsort", [](const Given& g) { return Results{argsort(g.x(), 0, Order::descending)}; }},
      {"topk", [](const Given& g) { const Sorted found = topk(g.x(), 2); return Results{found.values, found.indices};
       }},
  };
}

Calls shapes() {
  return {
      {"reshape", [](const Given& g) { return Results{reshape(g.x().transpose(), {6, 4})}; }},
      {"transpose", [](const Given& g) { return Results{transpose(g.x(), 0, 1)}; }},
      {"permute", [](const Given& g) { return Results{permute(g.x(), std::vector<int>{2, 0, 1})}; }},
      {"squeeze", [](const Given& g) { return Results{squeeze(g.x({2, 1, 4}), 1), squeeze(g.x({2, 1, 4}))}; }},
      {"unsqueeze", [](const Given& g) { return Results{unsqueeze(g.x(), 1)}; }},
      {"expand", [](const Given& g) { return Results{expand(g.x({3, 1}), {2, 3, 4})}; }},
      {"flatten", [](const Given& g) { return Results{flatten(g.x(), 1)}; }},
      {"concat", [](const Given& g) { return Results{concat({g.x(), g.y()}, 1)}; }},
      {"stack", [](const Given& g) { return Results{stack({g.x(), g.y()}, 1)}; }},
      {"narrow", [](const Given& g) { return Results{narrow(g.x(), 1, 1, 2)}; }},
      {"split", [](const Given& g) { return split(g.x(), 2, 1); }},
      {"split_with_sizes", [](const Given& g) { return split_with_sizes(g.x(), {1, 2}, 1); }},
      {"chunk", [](const Given& g) { return chunk(g.x(), 2, 2); }},
      {"flip", [](const Given& g) { return Results{flip(g.x(), {0, 2})}; }},
      {"pad", [](const Given& g) { return Results{pad(g.x(), {1, 2, -1, 1}, 0.5)}; }},
      {"pad", [](const Given& g) {
         return Results{pad(g.x(), {1, 2, -1, 1}, PadMode::reflect), pad(g.x(), {1, 2, -1, 1}, PadMode::circular)};
       }},
      {"roll", [](const Given& g) { return Results{roll(g.x(), 2, 1), roll(g.x(), {1, 2}, {0, 1}), roll(g.x(), 3)}; }},
      {"repeat", [](const Given& g) { return Results{repeat(g.x(), {2, 1, 3})}; }},
      {"tril", [](const Given& g) { return Results{tril(g.x()), tril(g.x(), -1), tril(g.x(), 9)}; }},
      {"triu", [](const Given& g) { return Results{triu(g.x()), triu(g.x(), 1), triu(g.x(), -9)}; }},
  };
}

Calls diagonals_and_grids() {
  return {
      {"diagonal", [](const Given& g) { return Results{diagonal(g.x(), 1, 1, 2), diagonal(g.x(), -1, 2, 0)}; }},
      {"diag_embed", [](const Given& g) { return Results{diag_embed(g.x(), 1, 0, 2)}; }},
      {"diag", [](const Given& g) { return Results{diag(g.x({3})), diag(g.x({3, 4}), 1)}; }},
      {"trace", [](const Given& g) { return Results{trace(g.x({3, 4}))}; }},
      {"unbind", [](const Given& g) { return unbind(g.x(), 1); }},
      {"movedim", [](const Given& g) { return Results{movedim(g.x(), 0, 2)}; }},
      {"unflatten", [](const Given& g) { return Results{unflatten(g.x(), 2, {2, -1})}; }},
      {"expand_as", [](const Given& g) { return Results{expand_as(g.x({3, 1}), g.y())}; }},
      {"broadcast_to", [](const Given& g) { return Results{broadcast_to(g.x({3, 1}), {2, 3, 4})}; }},
      {"tile", [](const Given& g) { return Results{tile(g.x(), {2, 3})}; }},
      {"repeat_interleave", [](const Given& g) { return Results{repeat_interleave(g.x(), 2, 1),
       repeat_interleave(g.x(), g.index({3}, 4), 1)}; }},
      {"vstack", [](const Given& g) { return Results{vstack({g.x({4}), g.y({2, 4})})}; }},
      {"hstack", [](const Given& g) { return Results{hstack({g.x({2, 4}), g.y({2, 1})})}; }},
      {"meshgrid", [](const Given& g) { return meshgrid({g.x({3}), g.y({4})}, MeshOrder::xy); }},
      {"diff", [](const Given& g) { return Results{diff(g.x(), 2), diff(g.flags(), 1, 0)}; }},
  };
}

Calls by_index() {
  return {
      {"index_select", [](const Given& g) { return Results{index_select(g.x(), 1, g.index({5}, 3))}; }},
      {"index_select_backward",
       [](const Given& g) { return Results{index_select_backward(g.x({2, 5, 4}), 1, g.index({5}, 3), {2, 3, 4})}; }},
      {"one_hot", [](const Given& g) { return Results{one_hot(g.index({5}, 3), 3), one_hot(g.index({5}, 3))}; }},
      {"gather", [](const Given& g) { return Results{gather(g.x(), 1, g.index({2, 2, 4}, 3))}; }},
      {"scatter_add", [](const Given& g) { return Results{scatter_add(g.x(), 1, g.index({2, 2, 4}, 3), g.y())}; }},
      {"index_add", [](const Given& g) { return Results{index_add(g.x(), 1, g.index({5}, 3), g.y({2, 5, 4}))}; }},
      {"scatter", [](const Given& g) { return Results{scatter(g.x(), 1, g.index({2, 2, 4}, 3), g.y()),
       scatter(g.x(), 0, g.index({2, 2, 4}, 2), 7.0)}; }},
      {"take_along_dim", [](const Given& g) { return Results{take_along_dim(g.x(), g.index({2, 1, 4}, 3), 1)}; }},
      {"index_fill", [](const Given& g) { return Results{index_fill(g.x(), 1, g.index({5}, 3), 7.0)}; }},
      {"index_copy", [](const Given& g) { return Results{index_copy(g.x(), 1, g.index({5}, 3), g.y({2, 5, 4}))}; }},
      {"masked_scatter", [](const Given& g) { return Results{masked_scatter(g.x(), g.flags(), g.y())}; }},
      {"unique", [](const Given& g) { const Unique found = unique(g.index({3, 4}, 5));
       return Results{found.values, found.inverse, found.counts}; }},
      {"bincount", [](const Given& g) { return Results{bincount(g.index({9}, 5), {}, 7),
       bincount(g.index({9}, 5), g.x({9}))}; }},
      {"histc", [](const Given& g) { return Results{histc(g.x(), 7), histc(g.x(), 3, 0.0, 1.0)}; }},
      {"searchsorted", [](const Given& g) { return Results{searchsorted(sort(g.x()).values, g.y()),
       searchsorted(sort(g.x({9})).values, g.y(), Side::right)}; }},
      {"bucketize", [](const Given& g) { return Results{bucketize(g.x(), sort(g.y({9})).values)}; }},
      {"nonzero", [](const Given& g) { return Results{nonzero(g.flags())}; }},
      {"masked_select", [](const Given& g) { return Results{masked_select(g.x(), g.flags())}; }},
      {"masked_fill", [](const Given& g) { return Results{masked_fill(g.x(), g.flags(), 7.0)}; }},
      {"embedding", [](const Given& g) { return Results{embedding(g.x({5, 4}), g.index({2, 3}, 5))}; }},
      {"embedding_backward", [](const Given& g) { return Results{embedding_backward(g.x(), g.index({2, 3}, 5), 5)}; }},
      {"embedding_bag",
       [](const Given& g) {
         Results all;
         for (const BagMode mode : {BagMode::sum, BagMode::mean,
             BagMode::max}) all.push_back(embedding_bag(g.x({5, 4}), g.index({2, 3}, 5), {}, {.mode = mode}));
         return all;
       }},
  };
}

Calls losses() {
  return {
      {"nll_loss", [](const Given& g) { return Results{nll_loss(log(g.x()), g.index({2, 4}, 3)),
       nll_loss(log(g.x()), g.index({2, 4}, 3), Reduction::none)}; }},
      {"cross_entropy",
       [](const Given& g) {
         return Results{cross_entropy(g.x({5, 7}), g.index({5}, 7)),
             cross_entropy(g.x(), g.index({2, 4}, 3), Reduction::none),
                        cross_entropy(g.x({5, 7}), g.index({5}, 7), {.weight = g.y({7}), .label_smoothing = 0.1}),
                            cross_entropy(g.x({5, 7}), g.y({5, 7}))};
       }},
      {"mse_loss", [](const Given& g) { return Results{mse_loss(g.x(), g.y()),
       mse_loss(g.x(), g.y(), Reduction::none)}; }},
      {"l1_loss", [](const Given& g) { return Results{l1_loss(g.x(), g.y())}; }},
      {"smooth_l1_loss", [](const Given& g) { return Results{smooth_l1_loss(g.x(), g.y(), {.beta = 0.2})}; }},
      {"huber_loss", [](const Given& g) { return Results{huber_loss(g.x(), g.y(), {.delta = 0.2})}; }},
      {"bce_loss", [](const Given& g) { return Results{bce_loss(g.x(), g.y())}; }},
      {"bce_with_logits", [](const Given& g) { return Results{bce_with_logits(g.signed_x(), g.y())}; }},
      {"margin_ranking_loss",
       [](const Given& g) { return Results{margin_ranking_loss(g.x(), g.y(), sign(g.signed_x()), {.margin = 0.2})}; }},
      {"hinge_embedding_loss", [](const Given& g) { return Results{hinge_embedding_loss(g.x(), sign(g.signed_x()))}; }},
      {"cosine_embedding_loss",
       [](const Given& g) { return Results{cosine_embedding_loss(g.x({5, 4}), g.y({5, 4}), sign(g.signed_x({5})))}; }},
      {"triplet_margin_loss",
       [](const Given& g) { return Results{triplet_margin_loss(g.x({5, 4}), g.y({5, 4}), g.signed_x({5, 4}),
           {.swap = true})}; }},
      {"soft_margin_loss", [](const Given& g) { return Results{soft_margin_loss(g.x(), sign(g.signed_x()))}; }},
      {"multi_margin_loss", [](const Given& g) { return Results{multi_margin_loss(g.x({5, 7}), g.index({5}, 7),
       {.p = 2, .weight = g.y({7})})}; }},
      {"poisson_nll_loss", [](const Given& g) { return Results{poisson_nll_loss(g.x(), g.y() * 4.0, {.full = true}),
       poisson_nll_loss(g.x(), g.y(), {.log_input = false})}; }},
      {"gaussian_nll_loss", [](const Given& g) { return Results{gaussian_nll_loss(g.x(), g.y(), g.x({2, 3, 1}),
       {.full = true})}; }},
      {"ctc_loss", [](const Given& g) { return Results{ctc_loss(log(g.x({5, 2, 4})), g.index({2, 2}, 4),
       full({2}, 5, DType::i64, g.device), full({2}, 2, DType::i64, g.device))}; }},
      {"ctc_loss_backward",
       [](const Given& g) {
         const Tensor steps = full({2}, 5, DType::i64, g.device);
         const Tensor lengths = full({2}, 2, DType::i64, g.device);
         return Results{ctc_loss_backward(ones({}, DType::f32, g.device), log(g.x({5, 2, 4})), g.index({2, 2}, 4),
             steps, lengths)};
       }},
      {"kl_div", [](const Given& g) { return Results{kl_div(log(g.x()), g.y())}; }},
  };
}

Calls products() {
  return {
      {"matmul", [](const Given& g) { return Results{matmul(g.x(), g.y({4, 5})), matmul(g.x(), g.y({2, 4, 5}))}; }},
      {"bmm", [](const Given& g) { return Results{bmm(g.x(), g.y({2, 4, 5}))}; }},
      {"tensordot", [](const Given& g) { return Results{tensordot(g.x(), g.y({4, 5, 2}), {0, 2}, {2, 0}),
       tensordot(g.x(), g.y({3, 4}))}; }},
      {"kron", [](const Given& g) { return Results{kron(g.x(), g.y({2, 3}))}; }},
      {"cross", [](const Given& g) { return Results{cross(g.x(), g.y({2, 3, 1}), 1)}; }},
      {"cdist", [](const Given& g) { return Results{cdist(g.x(), g.y({2, 5, 4})), cdist(g.x({30, 4}), g.y({5, 4})),
       cdist(g.x(), g.y({5, 4}), 1.0)}; }},
      {"baddbmm", [](const Given& g) { return Results{baddbmm(g.x({3, 5}), g.x({2, 3, 4}), g.y({2, 4, 5}), 0.5, 2.0)};
       }},
      {"addmm", [](const Given& g) { return Results{addmm(g.x({3, 5}), g.x({3, 4}), g.y({4, 5}), 0.5, 2.0)}; }},
      {"dot", [](const Given& g) { return Results{dot(g.x({7}), g.y({7}))}; }},
      {"mv", [](const Given& g) { return Results{mv(g.x({3, 4}), g.y({4}))}; }},
      {"outer", [](const Given& g) { return Results{outer(g.x({3}), g.y({4}))}; }},
      {"einsum", [](const Given& g) { return Results{einsum("bij,bkj->bik", {g.x(), g.y({2, 5, 4})})}; }},
      {"scaled_dot_product_attention",
       [](const Given& g) { return Results{scaled_dot_product_attention(g.x({2, 3, 4}), g.y({2, 5, 4}),
           g.x({2, 5, 6}))}; }},
      {"scaled_dot_product_attention_forward",
       [](const Given& g) {
         const ScaledDotProductResult found = scaled_dot_product_attention_forward(g.x({2, 3, 4}), g.y({2, 5, 4}),
             g.x({2, 5, 6}), {}, nullptr);
         return Results{found.output, found.sums};
       }},
      {"scaled_dot_product_attention_backward",
       [](const Given& g) {
         const Tensor query = g.x({2, 3, 4});
         const Tensor key = g.y({2, 5, 4});
         const Tensor value = g.x({2, 5, 6});
         const ScaledDotProductOptions options{.mask = g.y({3, 5})};
         const ScaledDotProductResult forward = scaled_dot_product_attention_forward(query, key, value, options,
             nullptr);
         const ScaledDotProductGradients by = scaled_dot_product_attention_backward(g.y({2, 3, 6}), query, key, value,
             forward, options, {.mask = true});
         return Results{by.query, by.key, by.value, by.mask};
       }},
  };
}

Results of(const NormResult& found) { return {found.output, found.mean, found.var}; }
Results of(const NormGradients& by) { return {by.x, by.weight, by.bias}; }

Calls norms() {
  return {
      {"batch_norm", [](const Given& g) { return of(batch_norm(g.x(), {g.x({3}), g.y({3})}, g.x({3}), g.y({3})).norm);
       }},
      {"batch_norm_backward",
       [](const Given& g) { return of(batch_norm_backward(g.y(), g.x(), batch_norm(g.x(), {}, g.x({3})).norm,
           g.x({3}))); }},
      {"layer_norm", [](const Given& g) { return of(layer_norm(g.x(), {4}, g.x({4}), g.y({4}))); }},
      {"layer_norm_backward",
       [](const Given& g) { return of(layer_norm_backward(g.y(), g.x(), layer_norm(g.x(), {3, 4}), {3, 4})); }},
      {"group_norm", [](const Given& g) { return of(group_norm(g.x({2, 6, 4}), 2, g.x({6}), g.y({6}))); }},
      {"group_norm_backward",
       [](const Given& g) { return of(group_norm_backward(g.y({2, 6, 4}), g.x({2, 6, 4}),
           group_norm(g.x({2, 6, 4}), 2), 2)); }},
      {"instance_norm", [](const Given& g) { return of(instance_norm(g.x())); }},
  };
}

Calls convolutions() {
  return {
      {"conv2d", [](const Given& g) { return Results{conv2d(g.x({2, 4, 6, 5}), g.y({6, 2, 3, 2}), g.x({6}),
       {.stride = {2, 1}, .padding = {1, 0}, .groups = 2})}; }},
      {"conv2d_backward_input",
       [](const Given& g) { return Results{conv2d_backward_input(g.x({2, 6, 4, 4}), g.y({6, 4, 3, 2}), {2, 4, 6, 5})};
           }},
      {"conv2d_backward_weight",
       [](const Given& g) { return Results{conv2d_backward_weight(g.x({2, 6, 4, 4}), g.y({2, 4, 6, 5}), {6, 4, 3, 2})};
           }},
      {"conv1d", [](const Given& g) { return Results{conv1d(g.x({2, 4, 6}), g.y({5, 4, 3}), g.x({5}))}; }},
      {"conv_transpose2d", [](const Given& g) { return Results{conv_transpose2d(g.x({2, 4, 3, 3}), g.y({4, 5, 3, 2}),
       g.x({5}), {.stride = {2, 2}})}; }},
      {"conv_transpose1d", [](const Given& g) { return Results{conv_transpose1d(g.x({2, 4, 3}), g.y({4, 5, 3}),
       g.x({5}))}; }},
      {"max_pool2d", [](const Given& g) { const MaxPoolResult found = max_pool2d(g.x({2, 3, 6, 5}));
       return Results{found.output, found.where_max}; }},
      {"max_pool1d", [](const Given& g) { return Results{max_pool1d(g.x({2, 3, 6})).output}; }},
      {"adaptive_max_pool2d",
       [](const Given& g) { return Results{adaptive_max_pool2d(g.x({2, 3, 6, 5}), {4, 3}).output}; }},
      {"max_pool_backward", [](const Given& g) { return Results{max_pool_backward(g.y({2, 3, 3, 2}),
       max_pool2d(g.x({2, 3, 6, 5})).where_max, {2, 3, 6, 5})}; }},
      {"avg_pool2d", [](const Given& g) { return Results{avg_pool2d(g.x({2, 3, 6, 5}))}; }},
      {"pixel_shuffle", [](const Given& g) { return Results{pixel_shuffle(g.x({2, 8, 3, 2}), 2)}; }},
      {"pixel_unshuffle", [](const Given& g) { return Results{pixel_unshuffle(g.x({2, 3, 6, 4}), 2)}; }},
      {"interpolate",
       [](const Given& g) {
         return Results{interpolate(g.x({2, 3, 6, 5}), {.size = {9, 4}}),
             interpolate(g.x({2, 3, 6, 5}), {.scale = {1.5}, .mode = InterpolateMode::bilinear})};
       }},
      {"unfold", [](const Given& g) { return Results{unfold(g.x({2, 3, 6, 5}), {.kernel = {3, 2}, .padding = {1, 1}})};
       }},
      {"fold", [](const Given& g) { return Results{fold(g.x({2, 12, 16}), {6, 5}, {.kernel = {3, 2}})}; }},
      {"avg_pool2d_backward",
       [](const Given& g) { return Results{avg_pool2d_backward(g.y({2, 3, 3, 2}), {2, 3, 6, 5})}; }},
      {"avg_pool1d", [](const Given& g) { return Results{avg_pool1d(g.x({2, 3, 6}))}; }},
      {"avg_pool1d_backward", [](const Given& g) { return Results{avg_pool1d_backward(g.y({2, 3, 3}), {2, 3, 6})}; }},
      {"adaptive_avg_pool2d", [](const Given& g) { return Results{adaptive_avg_pool2d(g.x({2, 3, 6, 5}), {4, 3})}; }},
      {"adaptive_avg_pool2d_backward",
       [](const Given& g) { return Results{adaptive_avg_pool2d_backward(g.y({2, 3, 4, 3}), {2, 3, 6, 5})}; }},
      {"adaptive_avg_pool1d", [](const Given& g) { return Results{adaptive_avg_pool1d(g.x({2, 3, 6}), 4)}; }},
      {"adaptive_avg_pool1d_backward",
       [](const Given& g) { return Results{adaptive_avg_pool1d_backward(g.y({2, 3, 4}), {2, 3, 6})}; }},
  };
}

/// Of `gates` * 3 rows: of 3 hidden numbers, and as many inputs as `x` (5, 2, 4) has.
RnnWeights weights(const Given& g, std::int64_t gates) {
  return {g.signed_x({gates * 3, 4}), g.signed_x({gates * 3, 3}), g.x({gates * 3}), g.y({gates * 3})};
}

Calls recurrences() {
  return {
      {"lstm", [](const Given& g) { const RnnResult found = lstm(g.x({5, 2, 4}), weights(g, 4));
       return Results{found.output, found.hidden, found.cell}; }},
      {"gru", [](const Given& g) { return Results{gru(g.x({5, 2, 4}), weights(g, 3), {},
       TimeDirection::reverse).output}; }},
      {"rnn", [](const Given& g) { return Results{rnn(g.x({5, 2, 4}), weights(g, 1), g.y({2, 3})).output}; }},
      {"rnn_backward",
       [](const Given& g) {
         const RnnStepGradients by = rnn_backward({g.y({5, 2, 3}), {}, {}}, lstm(g.x({5, 2, 4}), weights(g, 4)).tape);
         return Results{by.hidden, by.cell, by.from_input};
       }},
      {"rnn_backward_input_weight",
       [](const Given& g) { return Results{rnn_backward_input_weight(g.x({5, 2, 12}), g.y({5, 2, 4}))}; }},
      {"rnn_backward_hidden_weight",
       [](const Given& g) { return Results{rnn_backward_hidden_weight(g.x({5, 2, 12}),
           lstm(g.y({5, 2, 4}), weights(g, 4)).tape)}; }},
  };
}
// clang-format on

}  // namespace

Calls every_call() {
  Calls all;
  for (const auto& family : {arithmetic, functions, activations, reductions, shapes, diagonals_and_grids, by_index,
                             losses, products, norms, convolutions, recurrences}) {
    const Calls calls = family();
    all.insert(all.end(), calls.begin(), calls.end());
  }
  return all;
}

}  // namespace troupe::testing
