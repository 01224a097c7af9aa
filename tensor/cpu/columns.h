// The pixels under the filters of a convolution as columns of a matrix (im2col), so that the convolution is a matrix
// product.
#pragma once

#include <cstdint>

#include "tensor/cpu/conv_sizes.h"

namespace troupe::cpu {

/// A part of the results of a convolution: whole images, or rows of one image.
struct ConvPart {
  std::int64_t image;   ///< the first image
  std::int64_t images;  ///< 1 if the rows are not all rows of an image
  std::int64_t row;
  std::int64_t rows;

  [[nodiscard]] std::int64_t pixels(const ConvSizes& s) const { return images * rows * s.out[1]; }
};

/// Fills `columns` (depth, pixels of the part) from the channels of `group` of the images `x`. The padding is 0.
void fill_columns(float* columns, const float* x, const ConvSizes& sizes, std::int64_t group, const ConvPart& part);
void fill_columns(double* columns, const double* x, const ConvSizes& sizes, std::int64_t group, const ConvPart& part);

/// Adds every element of `columns` to the pixel of `x` from which fill_columns takes it.
void add_columns(float* x, const float* columns, const ConvSizes& sizes, std::int64_t group, const ConvPart& part);
void add_columns(double* x, const double* columns, const ConvSizes& sizes, std::int64_t group, const ConvPart& part);

}  // namespace troupe::cpu
