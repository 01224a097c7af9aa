// First values of parameters. All randomness comes from the generator that was passed in.
#pragma once

#include <cstdint>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe::nn {

/// How many inputs one output of a weight (out, in, ...) sees: in x the receptive field.
/// Throws ShapeError `[fan_in] a weight has at least 2 dimensions: (3)`.
[[nodiscard]] std::int64_t fan_in(const Shape& weight);

/// Uniform in +-gain * sqrt(3 / fan_in) with gain = sqrt(2 / (1 + slope^2)), for layers followed by a (leaky) relu of
/// that slope. Source: He et al., "Delving deep into rectifiers", 2015, equations 10 and 14.
[[nodiscard]] Tensor kaiming_uniform(const Shape& weight, Generator& generator, double slope = 0.0,
                                     DType dtype = DType::f32);

/// Uniform in +-1 / sqrt(inputs): the start of weights and biases in torch.nn.Linear and Conv2d.
[[nodiscard]] Tensor uniform_by_fan_in(const Shape& shape, std::int64_t inputs, Generator& generator,
                                       DType dtype = DType::f32);

}  // namespace troupe::nn
