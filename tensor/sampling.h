// Random draws from distributions that tensors describe. The calling thread takes every draw from `generator`, in
// sequence: results depend neither on the number of threads nor on the layout of the arguments. A function that throws
// draws nothing. Results are on the device of the arguments and equal on every device: draws that depend on a tensor
// are made on the CPU and copied.
#pragma once

#include <cstdint>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe {

/// Returns 1 with `probability`, else 0: element i is 1 if the generator's i-th uniform() is below `probability`.
/// Any dtype. Throws ValueError `[bernoulli] probability outside [0, 1]: 1.5`.
[[nodiscard]] Tensor bernoulli(const Shape& shape, double probability, Generator& generator, DType dtype = DType::f32,
                               Device device = Device::cpu());
/// As above with one probability per element. The result has the shape and dtype of `probabilities`, which is floating.
[[nodiscard]] Tensor bernoulli(const Tensor& probabilities, Generator& generator);

/// Whether an index that was drawn may be drawn again.
enum class Replacement : std::uint8_t { no, yes };

/// Returns `count` indices in the order drawn; the probability of an index is proportional to its weight.
/// Shapes: weights (c) -> (count), or (rows, c) -> (rows, count). Dtype: weights any, summed in f64; result i64.
/// With replacement every index takes one draw and inverts the running sum of the weights. Without replacement every
/// weight takes one draw: an exponential waiting time whose rate is the weight; the `count` shortest win. Source:
/// Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006.
/// Throws ShapeError `[multinomial] weights are not (c) or (rows, c): (2, 3, 4)`,
/// ValueError `[multinomial] negative count: -1`, `... weight is not a number from 0 on: -0.5`,
/// `... all weights are 0: row 1`, and without replacement `... 3 draws from 2 weights above 0: row 0`.
[[nodiscard]] Tensor multinomial(const Tensor& weights, std::int64_t count, Generator& generator,
                                 Replacement replacement = Replacement::no);

/// Returns one index per line of the last dimension, with the probabilities softmax(logits). Every line takes one draw,
/// as multinomial with replacement. An index with a logit of minus infinity is never drawn.
/// Shapes: (..., c) -> (...). Dtype: logits any, result i64.
/// Throws ShapeError `[categorical] no classes: (2, 0)`,
/// ValueError `[categorical] logit is not a number below infinity: nan`, `[categorical] all logits are -inf: line 1`.
[[nodiscard]] Tensor categorical(const Tensor& logits, Generator& generator);

}  // namespace troupe
