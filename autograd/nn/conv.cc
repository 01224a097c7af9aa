#include "autograd/nn/conv.h"

#include <fmt/format.h>

#include <string_view>

#include "autograd/nn/init.h"
#include "autograd/ops/conv.h"
#include "tensor/error.h"

namespace troupe::nn {
namespace {

enum class Direction : std::uint8_t { forward, transposed };

struct Channels {
  std::int64_t in;
  std::int64_t out;
};

Shape filter_shape(std::string_view layer, const Channels& channels, Direction direction, const Shape& kernel,
                   std::int64_t groups) {
  bool fits = channels.in >= 1 && channels.out >= 1;
  for (const std::int64_t size : kernel) fits = fits && size >= 1;
  if (!fits) {
    throw ValueError(
        fmt::format("[{}] sizes below 1: {} -> {}, kernel {}", layer, channels.in, channels.out, to_string(kernel)));
  }
  if (groups < 1 || channels.in % groups != 0 || channels.out % groups != 0) {
    throw ValueError(
        fmt::format("[{}] channels do not divide into {} groups: {} -> {}", layer, groups, channels.in, channels.out));
  }
  Shape shape = direction == Direction::forward ? Shape{channels.out, channels.in / groups}
                                                : Shape{channels.in, channels.out / groups};
  for (const std::int64_t size : kernel) shape.push_back(size);
  return shape;
}

/// Returns initial values for the weight, or for its bias.
Tensor first_values(const Shape& shape, const Shape& weight, Generator& generator, DType dtype) {
  return uniform_by_fan_in(shape, fan_in(weight), generator, dtype);
}

}  // namespace

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel, Generator& generator,
               const Conv2dOptions& options, Bias bias, DType dtype)
    : options_(options) {
  const Shape shape =
      filter_shape("Conv2d", {in_channels, out_channels}, Direction::forward, {kernel[0], kernel[1]}, options.groups);
  weight_ = add_parameter("weight", first_values(shape, shape, generator, dtype));
  if (bias == Bias::yes) bias_ = add_parameter("bias", first_values({out_channels}, shape, generator, dtype));
}

Conv1d::Conv1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel, Generator& generator,
               const Conv1dOptions& options, Bias bias, DType dtype)
    : options_(options) {
  const Shape shape = filter_shape("Conv1d", {in_channels, out_channels}, Direction::forward, {kernel}, options.groups);
  weight_ = add_parameter("weight", first_values(shape, shape, generator, dtype));
  if (bias == Bias::yes) bias_ = add_parameter("bias", first_values({out_channels}, shape, generator, dtype));
}

ConvTranspose2d::ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel,
                                 Generator& generator, const ConvTranspose2dOptions& options, Bias bias, DType dtype)
    : options_(options) {
  const Shape shape = filter_shape("ConvTranspose2d", {in_channels, out_channels}, Direction::transposed,
                                   {kernel[0], kernel[1]}, options.groups);
  weight_ = add_parameter("weight", first_values(shape, shape, generator, dtype));
  if (bias == Bias::yes) bias_ = add_parameter("bias", first_values({out_channels}, shape, generator, dtype));
}

ConvTranspose1d::ConvTranspose1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel,
                                 Generator& generator, const ConvTranspose1dOptions& options, Bias bias, DType dtype)
    : options_(options) {
  const Shape shape =
      filter_shape("ConvTranspose1d", {in_channels, out_channels}, Direction::transposed, {kernel}, options.groups);
  weight_ = add_parameter("weight", first_values(shape, shape, generator, dtype));
  if (bias == Bias::yes) bias_ = add_parameter("bias", first_values({out_channels}, shape, generator, dtype));
}

Variable Conv2d::forward(const Variable& x) { return conv2d(x, weight_, bias_, options_); }
Variable Conv1d::forward(const Variable& x) { return conv1d(x, weight_, bias_, options_); }
Variable ConvTranspose2d::forward(const Variable& x) { return conv_transpose2d(x, weight_, bias_, options_); }
Variable ConvTranspose1d::forward(const Variable& x) { return conv_transpose1d(x, weight_, bias_, options_); }

}  // namespace troupe::nn
