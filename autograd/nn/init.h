// First values of parameters. All randomness comes from the generator that was passed in.
//
// Functions that take a shape return a tensor; those with a `_` behind their name give a leaf such a value, in its
// dtype and on its device: `xavier_uniform_(layer.weight(), generator)`. Names and formulas are those of torch.nn.init.
#pragma once

#include <cstdint>

#include "autograd/variable.h"
#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe::nn {

/// How many inputs one output of a weight (out, in, ...) sees, and how many outputs one input reaches: `in` and `out`
/// times the receptive field. Throws ShapeError `[fan_in] a weight has at least 2 dimensions: (3)`.
[[nodiscard]] std::int64_t fan_in(const Shape& weight);
[[nodiscard]] std::int64_t fan_out(const Shape& weight);

/// What a layer's result goes through.
enum class Nonlinearity : std::uint8_t { linear, sigmoid, tanh, relu, leaky_relu, selu };

/// By how much weights are scaled so that values keep their size through the nonlinearity: 1, 1, 5/3, sqrt(2),
/// sqrt(2 / (1 + slope^2)), 3/4. `slope` is that of leaky_relu.
[[nodiscard]] double gain_of(Nonlinearity nonlinearity, double slope = 0.01);

/// Uniform in +-gain * sqrt(6 / (fan_in + fan_out)), normal with standard deviation gain * sqrt(2 / (fan_in +
/// fan_out)). Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
/// 2010.
[[nodiscard]] Tensor xavier_uniform(const Shape& weight, Generator& generator, double gain = 1.0,
                                    DType dtype = DType::f32);
[[nodiscard]] Tensor xavier_normal(const Shape& weight, Generator& generator, double gain = 1.0,
                                   DType dtype = DType::f32);

enum class Fan : std::uint8_t { in, out };

/// For which layers and which direction kaiming_* keeps sizes.
struct KaimingOptions {
  double slope = 0.0;  ///< of leaky_relu
  Fan fan = Fan::in;   ///< keeps the size of values, or of gradients
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
};

/// Uniform in +-gain * sqrt(3 / fan), normal with standard deviation gain / sqrt(fan); by default for layers followed
/// by relu. Source: He et al., "Delving deep into rectifiers", 2015, equations 10 and 14.
[[nodiscard]] Tensor kaiming_uniform(const Shape& weight, Generator& generator, const KaimingOptions& options = {},
                                     DType dtype = DType::f32);
[[nodiscard]] Tensor kaiming_normal(const Shape& weight, Generator& generator, const KaimingOptions& options = {},
                                    DType dtype = DType::f32);

/// A weight (out, rest) whose shorter side consists of vectors of length `gain`, orthogonal to each other, uniform
/// among all such. Computed in f64. Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning", 2014.
/// Throws ShapeError `[orthogonal] a weight has at least 2 dimensions: (3)`.
[[nodiscard]] Tensor orthogonal(const Shape& weight, Generator& generator, double gain = 1.0, DType dtype = DType::f32);

/// Where trunc_normal() cuts, in the same unit as the values.
struct TruncNormalOptions {
  double mean = 0.0;
  double std = 1.0;
  double low = -2.0;
  double high = 2.0;
};

/// Normal, but what would lie outside [low, high] is drawn again. Throws ValueError `[trunc_normal] std is not above 0:
/// 0` or
/// `[trunc_normal] low is not below high: 2, 2`.
[[nodiscard]] Tensor trunc_normal(const Shape& shape, Generator& generator, const TruncNormalOptions& options = {},
                                  DType dtype = DType::f32);

/// Uniform in +-1 / sqrt(inputs): the start of weights and biases in torch.nn.Linear and Conv2d.
[[nodiscard]] Tensor uniform_by_fan_in(const Shape& shape, std::int64_t inputs, Generator& generator,
                                       DType dtype = DType::f32);

// For leaves. Threads: as Variable::set_value().

void uniform_(const Variable& parameter, double low, double high, Generator& generator);
void normal_(const Variable& parameter, double mean, double std, Generator& generator);
void constant_(const Variable& parameter, double value);
void zeros_(const Variable& parameter);
void ones_(const Variable& parameter);
void xavier_uniform_(const Variable& parameter, Generator& generator, double gain = 1.0);
void xavier_normal_(const Variable& parameter, Generator& generator, double gain = 1.0);
void kaiming_uniform_(const Variable& parameter, Generator& generator, const KaimingOptions& options = {});
void kaiming_normal_(const Variable& parameter, Generator& generator, const KaimingOptions& options = {});
void orthogonal_(const Variable& parameter, Generator& generator, double gain = 1.0);
void trunc_normal_(const Variable& parameter, Generator& generator, const TruncNormalOptions& options = {});

}  // namespace troupe::nn
