// Draws from distributions that tensors describe. Every draw comes from the generator that is passed in, one after the
// other on the calling thread, so results depend neither on threads nor on the layout of the arguments. Nothing is drawn
// where an error is thrown. Results are where the arguments are, and the same on a GPU: what depends on tensors is drawn on
// the CPU and copied.
#pragma once

#include <cstdint>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe {

/// 1 with `probability`, else 0: element i is whether the generator's i-th uniform() is below it. Any dtype.
/// Throws ValueError `[bernoulli] probability outside [0, 1]: 1.5`.
[[nodiscard]] Tensor bernoulli(const Shape& shape, double probability, Generator& generator, DType dtype = DType::f32,
                               Device device = Device::cpu());
/// As above with a probability for each element, of the shape and floating dtype of `probabilities`.
[[nodiscard]] Tensor bernoulli(const Tensor& probabilities, Generator& generator);

/// Whether what was drawn may be drawn again.
enum class Replacement : std::uint8_t { no, yes };

/// `count` indices, each with a probability proportional to its weight, in the order drawn. Any dtype, summed in f64.
/// Shapes: weights (c) -> (count), or (rows, c) -> (rows, count); i64.
/// With replacement each takes one draw (inverse of the running sum of the weights). Without, each weight takes one: the
/// `count` first of exponential waiting times whose rates are the weights. Source: Efraimidis and Spirakis, "Weighted random
/// sampling with a reservoir", 2006.
/// Throws ShapeError `[multinomial] weights are not (c) or (rows, c): (2, 3, 4)`, ValueError `[multinomial] negative count:
/// -1`, `... weight is not a number from 0 on: -0.5`, `... all weights are 0: row 1`,
/// `... 3 draws from 2 weights above 0: row 0` without replacement.
[[nodiscard]] Tensor multinomial(const Tensor& weights, std::int64_t count, Generator& generator,
                                 Replacement replacement = Replacement::no);

/// An index for each line of the last dimension, with the probabilities softmax(logits): one draw each, as multinomial
/// with replacement. A logit of minus infinity is never drawn. Shapes: (..., c) -> (...), i64. Any dtype.
/// Throws ShapeError `[categorical] no classes: (2, 0)`, ValueError `[categorical] logit is not a number below infinity:
/// nan`, `[categorical] all logits are -inf: line 1`.
[[nodiscard]] Tensor categorical(const Tensor& logits, Generator& generator);

}  // namespace troupe
