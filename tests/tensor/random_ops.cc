#include "tests/tensor/random_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/nn.h"
#include "tensor/ops/norm.h"

namespace troupe::testing {
namespace {

using Ops = std::vector<RandomOp>;

RandomOp unary(std::string name, Tensor (*f)(const Tensor&)) {
  return {name, [=](const Tensor& x, Dice&) { return Step{name, {x}, [f](const Operands& in) { return f(in[0]); }}; }};
}

/// An operation with a second operand that broadcasts, on either side, of any dtype.
RandomOp binary(std::string name, Tensor (*f)(const Tensor&, const Tensor&)) {
  return {name, [=](const Tensor& x, Dice& dice) {
            const DType dtype = dice.one_in(3) ? random_dtype(dice) : x.dtype();
            const Tensor y = random_tensor(random_partner(x.shape(), dice), dtype, dice);
            const Operands operands = dice.one_in(3) ? Operands{y, x} : Operands{x, y};
            return Step{name, operands, [f](const Operands& in) { return f(in[0], in[1]); }};
          }};
}

/// An operation with a second operand of the same shape and dtype.
RandomOp pairwise(std::string name, Tensor (*f)(const Tensor&, const Tensor&)) {
  return {name, [=](const Tensor& x, Dice& dice) {
            const Tensor y = random_tensor(x.shape(), x.dtype(), dice);
            return Step{name, {x, y}, [f](const Operands& in) { return f(in[0], in[1]); }};
          }};
}

RandomOp with_number(std::string name, Tensor (*f)(const Tensor&, double)) {
  return {name, [=](const Tensor& x, Dice& dice) {
            const double y = is_floating(x.dtype()) ? dice.real(-2.0, 2.0) : static_cast<double>(dice.between(0, 3));
            return Step{fmt::format("{} {}", name, y), {x}, [=](const Operands& in) { return f(in[0], y); }};
          }};
}

/// An operation along one dimension.
RandomOp along(std::string name, Tensor (*f)(const Tensor&, int)) {
  return {name, [=](const Tensor& x, Dice& dice) {
            const int dim = dice.dim_of(x);
            return Step{fmt::format("{} along {}", name, dim), {x}, [=](const Operands& in) { return f(in[0], dim); }};
          }};
}
RandomOp pairwise_along(std::string name, Tensor (*f)(const Tensor&, const Tensor&, int)) {
  return {name, [=](const Tensor& x, Dice& dice) {
            const int dim = dice.dim_of(x);
            const Tensor y = random_tensor(x.shape(), x.dtype(), dice);
            return Step{fmt::format("{} along {}", name, dim), {x, y}, [=](const Operands& in) {
                          return f(in[0], in[1], dim);
                        }};
          }};
}

/// A reduction over some of the dimensions.
RandomOp reducing(std::string name, std::function<Tensor(const Tensor&, const Axes&, KeepDim)> f) {
  return {name, [=](const Tensor& x, Dice& dice) {
            std::vector<int> axes = dice.order(x.dim());
            axes.resize(static_cast<std::size_t>(dice.between(x.dim() > 0 ? 1 : 0, x.dim())));
            const KeepDim keep = dice.one_in(3) ? KeepDim::yes : KeepDim::no;
            return Step{fmt::format("{} over ({})", name, fmt::join(axes, ", ")), {x}, [=](const Operands& in) {
                          return f(in[0], axes, keep);
                        }};
          }};
}

/// An operation whose `with(x, dice)` draws all further arguments and returns the Step.
template <class With>
RandomOp special(std::string name, With with) {
  return {std::move(name), with};
}

/// Returns random indices below `size`; no indices if `size` is 0.
Tensor places(const Shape& shape, std::int64_t size, Dice& dice) {
  if (size == 0) return random_tensor({0}, DType::i64, dice);
  Tensor index = Tensor::empty(shape, dice.one_in(2) ? DType::i64 : DType::i32);
  for (std::int64_t k = 0; k < index.numel(); ++k) {
    const std::int64_t place = dice.between(0, size - 1);
    if (index.dtype() == DType::i64) index.mutable_data<std::int64_t>()[static_cast<std::size_t>(k)] = place;
    else index.mutable_data<std::int32_t>()[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(place);
  }
  return scattered(index, dice);
}

DType floating(const Tensor& x) { return promote_to_floating(x.dtype()); }

void add_elementwise(Ops& ops) {
  ops.insert(ops.end(),
             {unary("neg", neg),
              unary("abs", abs),
              unary("sign", sign),
              unary("floor", floor),
              unary("ceil", ceil),
              unary("round", round),
              unary("trunc", trunc),
              unary("frac", frac),
              unary("square", square),
              unary("reciprocal", reciprocal),
              unary("isinf", isinf),
              unary("nan_to_num", [](const Tensor& x) { return nan_to_num(x, {.posinf = 9.0, .neginf = -9.0}); }),
              unary("exp", exp),
              unary("exp2", exp2),
              unary("expm1", expm1),
              unary("log1p", log1p),
              unary("log", log),
              unary("log2", log2),
              unary("log10", log10),
              unary("logit", [](const Tensor& x) { return logit(x, 0.01); }),
              unary("tan", tan),
              unary("asin", asin),
              unary("acos", acos),
              unary("atan", atan),
              unary("sinh", sinh),
              unary("cosh", cosh),
              unary("asinh", asinh),
              unary("acosh", acosh),
              unary("atanh", atanh),
              unary("erfc", erfc),
              unary("sqrt", sqrt),
              unary("rsqrt", rsqrt),
              unary("sin", sin),
              unary("cos", cos),
              unary("erf", erf),
              unary("tanh", tanh),
              unary("sigmoid", sigmoid),
              unary("relu", relu),
              unary("silu", silu),
              unary("relu6", relu6),
              unary("isnan", isnan),
              unary("isfinite", isfinite),
              unary("logical_not", logical_not),
              unary("gelu", [](const Tensor& x) { return gelu(x); }),
              unary("gelu tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); }),
              unary("softplus", [](const Tensor& x) { return softplus(x, 2.0); }),
              unary("leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.1); }),
              unary("elu", [](const Tensor& x) { return elu(x); }),
              unary("selu", selu),
              unary("mish", mish),
              unary("softsign", softsign),
              unary("tanhshrink", tanhshrink),
              unary("hardsigmoid", hardsigmoid),
              unary("hardswish", hardswish),
              unary("celu", [](const Tensor& x) { return celu(x, 0.5); }),
              unary("softshrink", [](const Tensor& x) { return softshrink(x); }),
              unary("hardshrink", [](const Tensor& x) { return hardshrink(x); }),
              unary("threshold", [](const Tensor& x) { return threshold(x, 0.0, 1.0); }),
              unary("prelu", [](const Tensor& x) { return prelu(x, full({1}, 0.5)); }),
              unary("clamp", [](const Tensor& x) { return clamp(x, 1.0, 2.0); }),
              unary("clone", [](const Tensor& x) { return x.clone(); }),
              unary("contiguous", [](const Tensor& x) { return x.contiguous(); }),
              unary("given up", [](const Tensor& x) { return (x + x) * x - x; })});
  ops.insert(ops.end(), {binary("add", add),
                         binary("sub", sub),
                         binary("mul", mul),
                         binary("div", div),
                         binary("maximum", maximum),
                         binary("minimum", minimum),
                         binary("pow", pow),
                         binary("eq", eq),
                         binary("fmod", fmod),
                         binary("remainder", remainder),
                         binary("floor_divide", floor_divide),
                         binary("atan2", atan2),
                         binary("hypot", hypot),
                         binary("logaddexp", logaddexp),
                         binary("xlogy", xlogy),
                         binary("copysign", copysign),
                         binary("clamp_min", clamp_min),
                         binary("clamp_max", clamp_max),
                         binary("bitwise_and", bitwise_and),
                         binary("bitwise_or", bitwise_or),
                         binary("bitwise_xor", bitwise_xor),
                         binary("bitwise_left_shift", bitwise_left_shift),
                         binary("bitwise_right_shift", bitwise_right_shift),
                         binary("isclose", [](const Tensor& a, const Tensor& b) { return isclose(a, b, 0.1, 0.1); }),
                         binary("lerp", [](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.3); }),
                         binary("ne", ne),
                         binary("lt", lt),
                         binary("le", le),
                         binary("gt", gt),
                         binary("ge", ge),
                         binary("logical_and", logical_and),
                         binary("logical_or", logical_or),
                         binary("logical_xor", logical_xor),
                         binary("add given up", [](const Tensor& a, const Tensor& b) { return a.clone() + b; })});
  ops.insert(ops.end(), {with_number("add", add), with_number("sub", sub), with_number("mul", mul),
                         with_number("div", div), with_number("maximum", maximum), with_number("minimum", minimum),
                         with_number("fmod", fmod), with_number("remainder", remainder), with_number("xlogy", xlogy),
                         with_number("floor_divide", floor_divide), with_number("bitwise_xor", bitwise_xor),
                         with_number("pow", pow), with_number("eq", eq), with_number("lt", lt), with_number("ge", ge)});
  ops.insert(ops.end(),
             {pairwise("relu_backward", relu_backward), pairwise("tanh_backward", tanh_backward),
              pairwise("sigmoid_backward", sigmoid_backward), pairwise("silu_backward", silu_backward),
              pairwise("gelu_backward", [](const Tensor& g, const Tensor& x) { return gelu_backward(g, x); }),
              pairwise("elu_backward", [](const Tensor& g, const Tensor& x) { return elu_backward(g, x); }),
              pairwise("mish_backward", mish_backward), pairwise("hardswish_backward", hardswish_backward),
              pairwise("softplus_backward", [](const Tensor& g, const Tensor& x) { return softplus_backward(g, x); })});
  ops.push_back(special("where", [](const Tensor& x, Dice& dice) {
    const Tensor condition = random_tensor(random_partner(x.shape(), dice), DType::boolean, dice);
    const Tensor y = random_tensor(random_partner(x.shape(), dice), x.dtype(), dice);
    return Step{"where", {condition, x, y}, [](const Operands& in) { return where(in[0], in[1], in[2]); }};
  }));
  ops.push_back(special("three operands", [](const Tensor& x, Dice& dice) {
    const Tensor y = random_tensor(random_partner(x.shape(), dice), x.dtype(), dice);
    const Tensor z = random_tensor(random_partner(x.shape(), dice), x.dtype(), dice);
    const std::int64_t which = dice.between(0, 2);
    return Step{fmt::format("three operands {}", which), {x, y, z}, [which](const Operands& in) {
                  if (which == 0) return lerp(in[0], in[1], in[2]);
                  return which == 1 ? addcmul(in[0], in[1], in[2], 2.0) : addcdiv(in[0], in[1], in[2], 0.5);
                }};
  }));
  ops.push_back(special("to", [](const Tensor& x, Dice& dice) {
    const DType dtype = random_dtype(dice);
    return Step{fmt::format("to {}", name_of(dtype)), {x}, [=](const Operands& in) { return in[0].to(dtype); }};
  }));
  ops.push_back(special("axpby_into", [](const Tensor& x, Dice& dice) {
    const Tensor y = random_tensor(x.shape(), x.dtype(), dice);
    return Step{"axpby_into", {x, y}, [](const Operands& in) {
                  Tensor out = Tensor::empty(in[0].shape(), in[0].dtype());
                  axpby_into(out, 0.5, in[0], -2.0, in[1]);
                  return out;
                }};
  }));
}

void add_reductions(Ops& ops) {
  ops.insert(
      ops.end(),
      {reducing("sum", [](const Tensor& x, const Axes& a, KeepDim k) { return sum(x, a, k); }),
       reducing("prod", [](const Tensor& x, const Axes& a, KeepDim k) { return prod(x, a, k); }),
       reducing("mean", [](const Tensor& x, const Axes& a, KeepDim k) { return mean(x, a, k); }),
       reducing("max", [](const Tensor& x, const Axes& a, KeepDim k) { return max(x, a, k); }),
       reducing("min", [](const Tensor& x, const Axes& a, KeepDim k) { return min(x, a, k); }),
       reducing("any", [](const Tensor& x, const Axes& a, KeepDim k) { return any(x, a, k); }),
       reducing("all", [](const Tensor& x, const Axes& a, KeepDim k) { return all(x, a, k); }),
       reducing("count_nonzero", [](const Tensor& x, const Axes& a, KeepDim k) { return count_nonzero(x, a, k); }),
       reducing("var", [](const Tensor& x, const Axes& a, KeepDim k) { return var(x, a, 1, k); }),
       reducing("stddev", [](const Tensor& x, const Axes& a, KeepDim k) { return stddev(x, a, 0, k); }),
       reducing("norm", [](const Tensor& x, const Axes& a, KeepDim k) { return norm(x, 3, a, k); }),
       reducing("logsumexp", [](const Tensor& x, const Axes& a, KeepDim k) { return logsumexp(x, a, k); })});
  ops.insert(
      ops.end(),
      {along("argmax", [](const Tensor& x, int dim) { return argmax(x, dim); }),
       along("argmin", [](const Tensor& x, int dim) { return argmin(x, dim, KeepDim::yes); }), along("cumsum", cumsum),
       along("cumsum_backward", cumsum_backward),
       along("median", [](const Tensor& x, int dim) { return median(x, dim).values; }),
       along("median indices", [](const Tensor& x, int dim) { return median(x, dim, KeepDim::yes).indices; }),
       along("quantile", [](const Tensor& x, int dim) { return quantile(x, 0.3, dim); }), along("cumprod", cumprod),
       along("cummax", [](const Tensor& x, int dim) { return cummax(x, dim).values; }),
       along("cummin indices", [](const Tensor& x, int dim) { return cummin(x, dim).indices; }),
       along("sort", [](const Tensor& x, int dim) { return sort(x, dim).values; }),
       along("sort down", [](const Tensor& x, int dim) { return sort(x, dim, Order::descending).values; }),
       along("argsort", [](const Tensor& x, int dim) { return argsort(x, dim); }),
       along("topk", [](const Tensor& x, int dim) { return topk(x, (x.size(dim) + 1) / 2, dim).values; }),
       along("topk indices", [](const Tensor& x, int dim) { return topk(x, x.size(dim) / 2, dim).indices; })});
  ops.insert(ops.end(), {unary("sum of all", sum), unary("max of all", max), unary("min of all", min),
                         unary("mean of all", mean), unary("prod of all", prod), unary("var of all", var)});
}

void add_arrangements(Ops& ops) {
  ops.insert(ops.end(), {along("flip", [](const Tensor& x, int dim) { return flip(x, dim); }),
                         along("split", [](const Tensor& x, int dim) { return split(x, 2, dim).back(); }),
                         along("chunk", [](const Tensor& x, int dim) { return chunk(x, 2, dim).front(); }),
                         unary("flatten", [](const Tensor& x) { return flatten(x); }),
                         unary("reshape",
                               [](const Tensor& x) {
                                 return reshape(x, {-1, x.dim() > 0 ? x.size(0) : 1});
                               }),
                         unary("tril", [](const Tensor& x) { return tril(x, 1); }),
                         unary("triu", [](const Tensor& x) { return triu(x); }),
                         unary("one_hot", [](const Tensor& x) { return one_hot(x.to(DType::i64), 5); }),
                         pairwise_along("concat",
                                        [](const Tensor& x, const Tensor& y, int dim) {
                                          return concat({x, y, x}, dim);
                                        }),
                         pairwise_along("stack", [](const Tensor& x, const Tensor& y, int dim) {
                           return stack({y, x}, dim);
                         })});
  ops.push_back(special("pad", [](const Tensor& x, Dice& dice) {
    std::vector<std::int64_t> amounts;
    for (std::int64_t dims = dice.between(0, x.dim()); dims > 0; --dims) {
      amounts.insert(amounts.end(), {dice.between(-1, 2), dice.between(0, 2)});
    }
    return Step{fmt::format("pad by ({})", fmt::join(amounts, ", ")), {x}, [=](const Operands& in) {
                  return pad(in[0], amounts, 1.0);
                }};
  }));
  ops.push_back(special("pad", [](const Tensor& x, Dice& dice) {
    const PadMode mode = dice.one_in(2) ? PadMode::replicate : PadMode::circular;
    std::vector<std::int64_t> amounts;
    for (int dim = x.dim() - 1; dim >= 0 && !dice.one_in(3); --dim) {
      const std::int64_t most = std::min(x.size(dim), std::int64_t{2});
      amounts.insert(amounts.end(), {dice.between(0, most), dice.between(0, most)});
    }
    return Step{fmt::format("pad by its own ({})", fmt::join(amounts, ", ")), {x}, [=](const Operands& in) {
                  return pad(in[0], amounts, mode);
                }};
  }));
  ops.push_back(special("sum_to", [](const Tensor& x, Dice& dice) {
    Shape shape = x.shape();
    while (!shape.empty() && dice.one_in(3)) shape.erase(0);
    for (int d = 0; d < shape.size(); ++d) shape[d] = dice.one_in(2) ? 1 : shape[d];
    return Step{
        fmt::format("sum_to {}", to_string(shape)), {x}, [=](const Operands& in) { return sum_to(in[0], shape); }};
  }));
}

void add_diagonals_and_grids(Ops& ops) {
  ops.insert(
      ops.end(),
      {along("unbind", [](const Tensor& x, int dim) { return x.size(dim) == 0 ? x : unbind(x, dim).back(); }),
       along("movedim", [](const Tensor& x, int dim) { return movedim(x, dim, 0); }),
       along("unflatten",
             [](const Tensor& x, int dim) {
               return unflatten(x, dim, {1, -1, 1});
             }),
       along("repeat_interleave", [](const Tensor& x, int dim) { return repeat_interleave(x, 2, dim); }),
       along("diff", [](const Tensor& x, int dim) { return diff(x, 1, dim); }),
       unary("diff twice", [](const Tensor& x) { return diff(x, 2); }),
       unary("diag_embed", [](const Tensor& x) { return diag_embed(x, 1); }),
       unary("diag", [](const Tensor& x) { return diag(x, -1); }),
       unary("trace", trace),
       unary("tile", [](const Tensor& x) { return tile(x, {2}); }),
       unary("vstack",
             [](const Tensor& x) {
               return vstack({x, x});
             }),
       unary("hstack",
             [](const Tensor& x) {
               return hstack({x, x});
             }),
       unary("unique", [](const Tensor& x) { return unique(x).values; }),
       unary("unique inverse", [](const Tensor& x) { return unique(x).inverse; }),
       unary("unique counts", [](const Tensor& x) { return unique(x).counts; }),
       unary("bincount", [](const Tensor& x) { return bincount(clamp(flatten(x).to(DType::i16), 0, 9), {}, 3); }),
       unary("histc", [](const Tensor& x) { return histc(x, 4, -2.0, 2.0); }),
       pairwise("searchsorted",
                [](const Tensor& x, const Tensor& y) { return searchsorted(sort(x).values, y, Side::right); }),
       pairwise("bucketize", [](const Tensor& x, const Tensor& y) { return bucketize(x, sort(flatten(y)).values); }),
       pairwise("kron", [](const Tensor& x, const Tensor& y) { return x.dim() > 3 ? x : kron(x, y.slice(-1, 0, 2)); }),
       pairwise_along("cross", [](const Tensor& x, const Tensor& y, int dim) { return cross(x, y, dim); }),
       pairwise("meshgrid", [](const Tensor& x, const Tensor& y) {
         return meshgrid({x, y}, MeshOrder::xy)[1];
       })});
  ops.push_back(special("diagonal", [](const Tensor& x, Dice& dice) {
    const std::int64_t offset = dice.between(-2, 2);
    const int dim0 = dice.dim_of(x);
    const int dim1 = dice.dim_of(x);
    return Step{fmt::format("diagonal {} of {} and {}", offset, dim0, dim1), {x}, [=](const Operands& in) {
                  return diagonal(in[0], offset, dim0, dim1);
                }};
  }));
  ops.push_back(special("repeat_interleave by counts", [](const Tensor& x, Dice& dice) {
    const int dim = dice.dim_of(x);
    const Tensor counts = places({x.dim() > 0 ? x.size(dim) : 0}, 3, dice);
    return Step{fmt::format("repeat_interleave by counts along {}", dim), {x, counts}, [=](const Operands& in) {
                  return repeat_interleave(in[0], in[1], dim);
                }};
  }));
}

void add_indexing(Ops& ops) {
  ops.push_back(special("index_select", [](const Tensor& x, Dice& dice) {
    const int dim = dice.dim_of(x);
    const Tensor index = places({dice.between(0, 5)}, x.dim() > 0 ? x.size(dim) : 0, dice);
    return Step{fmt::format("index_select along {}", dim), {x, index}, [=](const Operands& in) {
                  return index_select(in[0], dim, in[1]);
                }};
  }));
  ops.push_back(special("index_select_backward", [](const Tensor& x, Dice& dice) {
    const int dim = dice.dim_of(x);
    Shape shape = x.shape();
    const Tensor index = places({x.dim() > 0 ? x.size(dim) : 0}, 4, dice);
    if (x.dim() > 0) shape[normalize_dim("test", dim, x.shape())] = 4;
    return Step{fmt::format("index_select_backward along {}", dim), {x, index}, [=](const Operands& in) {
                  return index_select_backward(in[0], dim, in[1], shape);
                }};
  }));
  for (const std::string name : {"gather", "scatter_add", "scatter"}) {
    ops.push_back(special(name, [name](const Tensor& x, Dice& dice) {
      const int dim = dice.dim_of(x);
      Shape shape = x.shape();
      for (int d = 0; d < shape.size(); ++d) shape[d] -= dice.one_in(3) && shape[d] > 0 ? 1 : 0;
      if (x.dim() > 0) shape[normalize_dim("test", dim, x.shape())] = dice.between(0, 5);
      const Tensor index = places(shape, x.dim() > 0 ? x.size(dim) : 0, dice);
      const std::string text = fmt::format("{} along {}", name, dim);
      if (name == "gather")
        return Step{text, {x, index}, [=](const Operands& in) { return gather(in[0], dim, in[1]); }};
      const Tensor source = random_tensor(shape, x.dtype(), dice);
      return Step{text, {x, index, source}, [=](const Operands& in) {
                    return name == "scatter" ? scatter(in[0], dim, in[1], in[2])
                                             : scatter_add(in[0], dim, in[1], in[2]);
                  }};
    }));
  }
  ops.push_back(special("index_copy", [](const Tensor& x, Dice& dice) {
    const int dim = dice.dim_of(x);
    const Tensor index = places({dice.between(0, 4)}, x.dim() > 0 ? x.size(dim) : 0, dice);
    Shape shape = x.shape();
    if (x.dim() > 0) shape[normalize_dim("test", dim, x.shape())] = index.numel();
    const Tensor source = random_tensor(shape, x.dtype(), dice);
    return Step{fmt::format("index_copy along {}", dim), {x, index, source}, [=](const Operands& in) {
                  return index_copy(in[0], dim, in[1], in[2]);
                }};
  }));
  ops.push_back(special("index_fill", [](const Tensor& x, Dice& dice) {
    const int dim = dice.dim_of(x);
    const Tensor index = places({dice.between(0, 4)}, x.dim() > 0 ? x.size(dim) : 0, dice);
    return Step{fmt::format("index_fill along {}", dim), {x, index}, [=](const Operands& in) {
                  return index_fill(in[0], dim, in[1], 1.0);
                }};
  }));
  ops.push_back(special("masked_scatter", [](const Tensor& x, Dice& dice) {
    const Tensor mask = random_tensor(x.shape(), DType::boolean, dice);
    const Tensor source = random_tensor(x.shape(), x.dtype(), dice);
    return Step{
        "masked_scatter", {x, mask, source}, [](const Operands& in) { return masked_scatter(in[0], in[1], in[2]); }};
  }));
  ops.push_back(special("masked_fill", [](const Tensor& x, Dice& dice) {
    Shape shape = x.shape();
    while (!shape.empty() && dice.one_in(4)) shape.erase(0);
    const Tensor mask = random_tensor(shape, DType::boolean, dice);
    return Step{"masked_fill", {x, mask}, [](const Operands& in) { return masked_fill(in[0], in[1], 1.0); }};
  }));
  ops.push_back(special("embedding", [](const Tensor& x, Dice& dice) {
    const Tensor index = places(random_shape(dice), x.dim() > 0 ? x.size(0) : 0, dice);
    return Step{"embedding", {x, index}, [](const Operands& in) { return embedding(in[0], in[1]); }};
  }));
  ops.push_back(special("embedding_backward", [](const Tensor& x, Dice& dice) {
    Shape shape = x.shape();
    if (!shape.empty()) shape.erase(shape.size() - 1);
    const Tensor index = places(shape, 3, dice);
    return Step{
        "embedding_backward", {x, index}, [](const Operands& in) { return embedding_backward(in[0], in[1], 3); }};
  }));
}

/// Returns a right factor for `x` (..., m, k): (..., k, n), a vector, or a matrix without batch.
Tensor right_factor(const Tensor& x, Dice& dice) {
  const std::int64_t inner = x.dim() > 0 ? x.size(-1) : 1;
  Shape shape = x.shape();
  if (shape.size() < 2 || dice.one_in(3)) shape = Shape{inner, inner};
  shape[shape.size() - 2] = inner;
  shape[shape.size() - 1] = dice.between(1, 5);
  if (dice.one_in(5)) shape = Shape{inner};
  return random_tensor(shape, x.dtype(), dice);
}

/// A matrix product. `rank` is the rank of both factors, or -1 for any rank.
RandomOp product(std::string name, int rank, Tensor (*f)(const Tensor&, const Tensor&)) {
  return {name, [=](const Tensor& x, Dice& dice) {
            Shape shape;
            for (int d = 0; d < rank; ++d) shape.push_back(dice.between(1, 6));
            const Tensor left = rank < 0 || x.dim() == rank ? x : random_tensor(shape, x.dtype(), dice);
            Tensor right = right_factor(left, dice);
            if (rank > 0 && right.dim() != rank)
              right = rank == 1 ? right.select(1, 0) : random_tensor(left.transpose().shape(), x.dtype(), dice);
            return Step{name, {left, right}, [f](const Operands& in) { return f(in[0], in[1]); }, Agreement::rounded};
          }};
}

void add_products(Ops& ops) {
  ops.insert(ops.end(),
             {product("matmul", -1, matmul), product("bmm", 3, bmm), product("dot", 1, dot), product("outer", 1, outer),
              product("mv", 2, [](const Tensor& x, const Tensor& y) { return mv(x, y.select(1, 0)); }),
              product("tensordot", -1,
                      [](const Tensor& x, const Tensor& y) { return tensordot(x, y, -1, y.dim() > 1 ? -2 : -1); }),
              product("cdist", 2, [](const Tensor& x, const Tensor& y) { return cdist(x, y.transpose()); }),
              product("einsum", -1, [](const Tensor& x, const Tensor& y) {
                return einsum("...ij,...jk->...ik", {x, y});
              })});
  ops.push_back(special("addmm", [](const Tensor& x, Dice& dice) {
    const Tensor left = x.dim() == 2 ? x : random_tensor({dice.between(1, 9), dice.between(0, 9)}, x.dtype(), dice);
    const Tensor right = random_tensor({left.size(1), dice.between(1, 9)}, x.dtype(), dice);
    const Tensor added = random_tensor({right.size(1)}, x.dtype(), dice);
    return Step{"addmm",
                {added, left, right},
                [](const Operands& in) { return addmm(in[0], in[1], in[2]); },
                Agreement::rounded};
  }));
  ops.push_back(special("baddbmm", [](const Tensor& x, Dice& dice) {
    const Tensor left = x.dim() == 3 ? x : random_tensor({2, dice.between(1, 9), dice.between(0, 9)}, x.dtype(), dice);
    const Tensor right = random_tensor({left.size(0), left.size(2), dice.between(1, 9)}, x.dtype(), dice);
    const Tensor added = random_tensor({right.size(2)}, x.dtype(), dice);
    return Step{"baddbmm",
                {added, left, right},
                [](const Operands& in) { return baddbmm(in[0], in[1], in[2], 0.5, 2.0); },
                Agreement::rounded};
  }));
  for (const bool transposed : {false, true}) {
    const char* const name = transposed ? "conv_transpose2d" : "conv2d";
    ops.push_back(special(name, [=](const Tensor& x, Dice& dice) {
      const Tensor image = x.dim() == 4 ? x : random_tensor({2, dice.between(1, 4), 5, 4}, floating(x), dice);
      const Shape weights = transposed ? Shape{image.size(1), 3, 3, 2} : Shape{3, image.size(1), 3, 2};
      const Tensor weight = random_tensor(weights, floating(image), dice);
      const Size2d padding{dice.between(0, 1), dice.between(0, 1)};
      return Step{name,
                  {image, weight},
                  [=](const Operands& in) {
                    return transposed ? conv_transpose2d(in[0], in[1], {}, {.padding = padding})
                                      : conv2d(in[0], in[1], {}, {.padding = padding});
                  },
                  Agreement::rounded};
    }));
  }
}

void add_layers(Ops& ops) {
  ops.insert(
      ops.end(),
      {along("softmax", [](const Tensor& x, int dim) { return softmax(x, dim); }),
       along("softmin", [](const Tensor& x, int dim) { return softmin(x, dim); }),
       along("glu",
             [](const Tensor& x, int dim) {
               return glu(concat({x, x}, dim), dim);
             }),
       along("normalize", [](const Tensor& x, int dim) { return normalize(x, 2.0, dim); }),
       along("log_softmax", [](const Tensor& x, int dim) { return log_softmax(x, dim); }),
       pairwise_along("softmax_backward",
                      [](const Tensor& g, const Tensor& y, int dim) { return softmax_backward(g, y, dim); }),
       pairwise_along("log_softmax_backward",
                      [](const Tensor& g, const Tensor& y, int dim) { return log_softmax_backward(g, y, dim); }),
       pairwise("mse_loss", [](const Tensor& x, const Tensor& y) { return mse_loss(x, y); }),
       pairwise("l1_loss", [](const Tensor& x, const Tensor& y) { return l1_loss(x, y, Reduction::none); }),
       pairwise("bce_with_logits", [](const Tensor& x, const Tensor& y) { return bce_with_logits(x, y); }),
       pairwise("soft_margin_loss", [](const Tensor& x, const Tensor& y) { return soft_margin_loss(x, y); }),
       pairwise("hinge_embedding_loss",
                [](const Tensor& x, const Tensor& y) { return hinge_embedding_loss(x, sign(y)); }),
       pairwise("triplet_margin_loss", [](const Tensor& x, const Tensor& y) { return triplet_margin_loss(x, y, y); }),
       pairwise("cross_entropy", [](const Tensor& x, const Tensor& y) { return cross_entropy(x, y); }),
       unary("batch_norm", [](const Tensor& x) { return batch_norm(x).norm.output; }),
       unary("layer_norm", [](const Tensor& x) { return layer_norm(x, {x.size(-1)}).output; }),
       unary("group_norm", [](const Tensor& x) { return group_norm(x, 1).output; })});
  const auto pooling = [&](const char* name, Tensor (*pool)(const Tensor&)) {
    ops.push_back(special(name, [=](const Tensor& x, Dice& dice) {
      const Tensor image = x.dim() == 4 ? x : random_tensor({2, 3, dice.between(2, 5), 5}, floating(x), dice);
      return Step{name, {image}, [=](const Operands& in) { return pool(in[0]); }};
    }));
  };
  pooling("max_pool2d", [](const Tensor& x) { return max_pool2d(x, {.padding = {1, 1}}).output; });
  pooling("avg_pool2d", [](const Tensor& x) { return avg_pool2d(x, {.stride = {1, 1}}); });
  pooling("interpolate", [](const Tensor& x) {
    return interpolate(x, {.size = {4, 7}, .mode = InterpolateMode::bilinear});
  });
  pooling("interpolate nearest", [](const Tensor& x) { return interpolate(x, {.scale = {1.5}}); });
  pooling("unfold", [](const Tensor& x) { return unfold(x, {.kernel = {2, 3}, .padding = {1, 1}}); });
  pooling("pixel_shuffle", [](const Tensor& x) { return pixel_shuffle(concat({x, x, x, x}, 1), 2); });
  pooling("adaptive_avg_pool2d", [](const Tensor& x) { return adaptive_avg_pool2d(x, {2, 2}); });
  ops.push_back(special("nll_loss", [](const Tensor& x, Dice& dice) {
    Shape shape = x.shape();
    if (shape.size() > 1) shape.erase(1);
    const Tensor target = places(shape, x.dim() > 1 ? x.size(1) : 0, dice);
    return Step{"nll_loss", {x, target}, [](const Operands& in) { return nll_loss(in[0], in[1], Reduction::none); }};
  }));
}

}  // namespace

Ops random_ops() {
  Ops ops;
  add_elementwise(ops);
  add_reductions(ops);
  add_arrangements(ops);
  add_diagonals_and_grids(ops);
  add_indexing(ops);
  add_products(ops);
  add_layers(ops);
  return ops;
}

}  // namespace troupe::testing
