// What the filters of a convolution see, as the columns of a matrix, so that the convolution is a product of matrices.
// Source: Chellapilla, Puri and Simard, "High performance convolutional neural networks for document processing", 2006.
#pragma once

#include <cstdint>

#include "tensor/cpu/conv_sizes.h"

namespace troupe::cpu {

/// Some of the results of a convolution: whole images, or rows of one image.
struct ConvPart {
  std::int64_t image;   ///< the first
  std::int64_t images;  ///< 1 where the rows are not all
  std::int64_t row;
  std::int64_t rows;

  [[nodiscard]] std::int64_t pixels(const ConvSizes& s) const { return images * rows * s.out[1]; }
};

/// Fills `columns` (depth, pixels of the part) from the channels of `group` of the images `x`; zeros in the padding.
void fill_columns(float* columns, const float* x, const ConvSizes& sizes, std::int64_t group, const ConvPart& part);
void fill_columns(double* columns, const double* x, const ConvSizes& sizes, std::int64_t group, const ConvPart& part);

/// Adds every element of `columns` to the pixel of `x` that fill_columns takes it from.
void add_columns(float* x, const float* columns, const ConvSizes& sizes, std::int64_t group, const ConvPart& part);
void add_columns(double* x, const double* columns, const ConvSizes& sizes, std::int64_t group, const ConvPart& part);

}  // namespace troupe::cpu
