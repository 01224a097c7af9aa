#include "autograd/nn/image.h"

#include <utility>

#include "autograd/ops/image.h"

namespace troupe::nn {

Upsample::Upsample(InterpolateOptions options) : options_(std::move(options)) {}

Variable Upsample::forward(const Variable& x) { return interpolate(x, options_); }
Variable PixelShuffle::forward(const Variable& x) { return pixel_shuffle(x, factor_); }
Variable PixelUnshuffle::forward(const Variable& x) { return pixel_unshuffle(x, factor_); }
Variable Unfold::forward(const Variable& x) { return unfold(x, options_); }
Variable Fold::forward(const Variable& x) { return fold(x, size_, options_); }

}  // namespace troupe::nn
