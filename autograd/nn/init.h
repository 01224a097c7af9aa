// Initial values of parameters. All randomness comes from the generator that the caller passes.
//
// A function that takes a shape returns a tensor. A function whose name ends in `_` sets the value of a leaf, in its
// dtype and on its device: `xavier_uniform_(layer.weight(), generator)`. Names and formulas are those of torch.nn.init.
#pragma once

#include <cstdint>

#include "autograd/variable.h"
#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe::nn {

/// Returns the number of inputs of one output of a weight (out, in, ...), and the number of outputs of one input: `in`
/// and `out` times the receptive field. Throws ShapeError `[fan_in] a weight has at least 2 dimensions: (3)`.
[[nodiscard]] std::int64_t fan_in(const Shape& weight);
[[nodiscard]] std::int64_t fan_out(const Shape& weight);

/// The nonlinearity that follows a layer.
enum class Nonlinearity : std::uint8_t { linear, sigmoid, tanh, relu, leaky_relu, selu };

/// Returns the scale of weights that keeps the variance of values through the nonlinearity: 1, 1, 5/3, sqrt(2), sqrt(2
/// / (1 + slope^2)), 3/4, in the order of the enumerators. `slope` is that of leaky_relu.
[[nodiscard]] double gain_of(Nonlinearity nonlinearity, double slope = 0.01);

/// Returns a weight that is uniform in +-gain * sqrt(6 / (fan_in + fan_out)), or normal with standard deviation gain *
/// sqrt(2 / (fan_in + fan_out)). Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward
/// neural networks", 2010.
[[nodiscard]] Tensor xavier_uniform(const Shape& weight, Generator& generator, double gain = 1.0,
                                    DType dtype = DType::f32);
[[nodiscard]] Tensor xavier_normal(const Shape& weight, Generator& generator, double gain = 1.0,
                                   DType dtype = DType::f32);

enum class Fan : std::uint8_t { in, out };

/// Options of kaiming_*.
struct KaimingOptions {
  double slope = 0.0;  ///< of leaky_relu
  Fan fan = Fan::in;   ///< in: keeps the variance of values; out: of gradients
  Nonlinearity nonlinearity = Nonlinearity::leaky_relu;
};

/// Returns a weight that is uniform in +-gain * sqrt(3 / fan), or normal with standard deviation gain / sqrt(fan). The
/// default gain is that of relu. Source: He et al., "Delving deep into rectifiers", 2015, equations 10 and 14.
[[nodiscard]] Tensor kaiming_uniform(const Shape& weight, Generator& generator, const KaimingOptions& options = {},
                                     DType dtype = DType::f32);
[[nodiscard]] Tensor kaiming_normal(const Shape& weight, Generator& generator, const KaimingOptions& options = {},
                                    DType dtype = DType::f32);

/// Returns a weight (out, rest) whose rows, or columns if it has more rows than columns, are orthogonal vectors of
/// length `gain`, uniformly distributed. Computed in f64. Source: Saxe et al., "Exact solutions to the nonlinear
/// dynamics of learning", 2014.
/// Throws ShapeError `[orthogonal] a weight has at least 2 dimensions: (3)`.
[[nodiscard]] Tensor orthogonal(const Shape& weight, Generator& generator, double gain = 1.0, DType dtype = DType::f32);

/// Options of trunc_normal(). The limits have the unit of the values.
struct TruncNormalOptions {
  double mean = 0.0;
  double std = 1.0;
  double low = -2.0;
  double high = 2.0;
};

/// Returns normal values truncated to [low, high]. Throws ValueError `[trunc_normal] std is not above 0: 0` or
/// `[trunc_normal] low is not below high: 2, 2`, also if mean or std is not finite, or the limits are 1e150 std from
/// the mean.
[[nodiscard]] Tensor trunc_normal(const Shape& shape, Generator& generator, const TruncNormalOptions& options = {},
                                  DType dtype = DType::f32);

/// Returns values uniform in +-1 / sqrt(inputs): the initialisation of torch.nn.Linear and Conv2d.
[[nodiscard]] Tensor uniform_by_fan_in(const Shape& shape, std::int64_t inputs, Generator& generator,
                                       DType dtype = DType::f32);

// Set the value of a leaf. Thread-safe as Variable::set_value().

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
