#include "tensor/cpu/gemm_convolution.h"

#include <algorithm>

#include "tensor/cpu/columns.h"
#include "tensor/cpu/elements.h"
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/parallel.h"

namespace troupe::cpu {
namespace {

// Columns of this many elements fit into a core's second-level cache.
constexpr std::int64_t kColumnElements = 1 << 18;
// A product with fewer columns than this is joined with those of other images.
constexpr std::int64_t kPixelsWanted = 256;

/// Calls `f(part)` for parts that cover all results.
template <class F>
void for_each_part(const ConvSizes& s, const F& f) {
  const std::int64_t row_elements = s.depth() * s.out[1];
  const std::int64_t rows = std::clamp<std::int64_t>(kColumnElements / row_elements, 1, s.out[0]);
  if (!s.is_pointwise() && rows < s.out[0]) {
    for (std::int64_t n = 0; n < s.images; ++n) {
      for (std::int64_t row = 0; row < s.out[0]; row += rows) f(ConvPart{n, 1, row, std::min(rows, s.out[0] - row)});
    }
    return;
  }
  const std::int64_t fit = std::max<std::int64_t>(1, kColumnElements / (row_elements * s.out[0]));
  const std::int64_t wanted = (kPixelsWanted + s.out_pixels() - 1) / s.out_pixels();
  const std::int64_t images = std::min(fit, wanted);
  for (std::int64_t n = 0; n < s.images; n += images) f(ConvPart{n, std::min(images, s.images - n), 0, s.out[0]});
}

/// The channels of one group of a part's images, as one matrix (channels, pixels of the part).
template <class T>
class ChannelMatrix {
 public:
  /// `data` is (n, groups * channels, pixels). Only a part of one image is a matrix without a copy.
  ChannelMatrix(T* data, std::int64_t channels, std::int64_t group, const ConvSizes& s, const ConvPart& part)
      : channels_(channels),
        images_(part.images),
        pixels_(part.rows * s.out[1]),
        plane_(s.out_pixels()),
        image_(s.groups * channels * plane_),
        first_(data + part.image * image_ + group * channels * plane_ + part.row * s.out[1]) {}

  [[nodiscard]] bool lies_as_matrix() const { return images_ == 1; }
  [[nodiscard]] MatrixRef<T> as_it_lies() const { return {first_, channels_, pixels_, plane_, 1}; }

  /// Calls `f(channel, pixels, row, count)` for each channel of each image: the address of its pixels, and of their row
  /// in a contiguous matrix.
  template <class M, class F>
  void for_each_stretch(M* matrix, const F& f) const {
    parallel_for(channels_, images_ * pixels_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        for (std::int64_t n = 0; n < images_; ++n) {
          f(c, first_ + n * image_ + c * plane_, matrix + (c * images_ + n) * pixels_, pixels_);
        }
      }
    });
  }

 private:
  std::int64_t channels_, images_, pixels_, plane_, image_;
  T* first_;
};

template <class T>
class GemmConvolution {
 public:
  explicit GemmConvolution(const ConvSizes& sizes) : s_(sizes) {
    for_each_part(s_, [&](const ConvPart& part) { pixels_max_ = std::max(pixels_max_, part.pixels(s_)); });
  }

  void forward(T* y, const T* x, const T* weight, const T* bias) {
    for_each_product([&](std::int64_t group, const ConvPart& part) {
      const MatrixRef<const T> columns = columns_of(x, group, part);
      const MatrixRef<const T> w = filters(weight, group);
      const T* const b = bias == nullptr ? nullptr : bias + group * s_.outputs;
      const ChannelMatrix<T> results(y, s_.outputs, group, s_, part);
      if (results.lies_as_matrix()) {
        const MatrixRef<T> to = results.as_it_lies();
        for (std::int64_t i = 0; b != nullptr && i < to.rows; ++i)
          std::fill_n(to.data + i * to.row_stride, to.cols, b[i]);
        return b == nullptr ? gemm(to, w, columns) : gemm_add(to, w, columns);
      }
      const MatrixRef<T> to = scratch(results_, s_.outputs, part);
      gemm(to, w, columns);
      results.for_each_stretch(to.data, [b](std::int64_t c, T* pixels, const T* from, std::int64_t count) {
        const T start = b == nullptr ? T{0} : b[c];
        for (std::int64_t i = 0; i < count; ++i) pixels[i] = start + from[i];
      });
    });
  }

  void backward_input(T* dx, const T* dy, const T* weight) {
    if (!s_.is_pointwise()) std::fill_n(dx, s_.images * s_.groups * s_.inputs * s_.in_pixels(), T{0});
    for_each_product([&](std::int64_t group, const ConvPart& part) {
      const MatrixRef<const T> g = results_of(dy, group, part);
      const MatrixRef<const T> w = filters(weight, group);
      const MatrixRef<const T> turned{w.data, w.cols, w.rows, 1, w.row_stride};
      if (!s_.is_pointwise()) {
        const MatrixRef<T> to = scratch(columns_, s_.depth(), part);
        gemm(to, turned, g);
        return add_columns(dx, to.data, s_, group, part);
      }
      const ChannelMatrix<T> inputs(dx, s_.inputs, group, s_, part);
      if (inputs.lies_as_matrix()) return gemm(inputs.as_it_lies(), turned, g);
      const MatrixRef<T> to = scratch(columns_, s_.inputs, part);
      gemm(to, turned, g);
      inputs.for_each_stretch(to.data, [](std::int64_t, T* pixels, const T* from, std::int64_t count) {
        std::copy_n(from, count, pixels);
      });
    });
  }

  void backward_weight(T* dw, const T* dy, const T* x) {
    for_each_product([&](std::int64_t group, const ConvPart& part) {
      const MatrixRef<const T> columns = columns_of(x, group, part);
      const MatrixRef<const T> turned{columns.data, columns.cols, columns.rows, 1, columns.row_stride};
      const MatrixRef<T> to{dw + group * s_.outputs * s_.depth(), s_.outputs, s_.depth(), s_.depth(), 1};
      const bool first = part.image == 0 && part.row == 0;
      const MatrixRef<const T> g = results_of(dy, group, part);
      first ? gemm(to, g, turned) : gemm_add(to, g, turned);
    });
  }

 private:
  template <class F>
  void for_each_product(const F& f) {
    for_each_part(s_, [&](const ConvPart& part) {
      for (std::int64_t group = 0; group < s_.groups; ++group) f(group, part);
    });
  }

  [[nodiscard]] MatrixRef<const T> filters(const T* weight, std::int64_t group) const {
    return {weight + group * s_.outputs * s_.depth(), s_.outputs, s_.depth(), s_.depth(), 1};
  }

  // Returns scratch memory for a matrix (rows, pixels of the part). Allocated once, for the largest part.
  [[nodiscard]] MatrixRef<T> scratch(Tensor& memory, std::int64_t rows, const ConvPart& part) const {
    if (!memory.defined()) memory = Tensor::empty({rows * pixels_max_}, dtype_of<T>);
    const std::int64_t pixels = part.pixels(s_);
    return {mutable_elements<T>(memory), rows, pixels, pixels, 1};
  }

  [[nodiscard]] MatrixRef<const T> columns_of(const T* x, std::int64_t group, const ConvPart& part) {
    if (s_.is_pointwise()) return channels_of(x, s_.inputs, group, part, columns_);
    const MatrixRef<T> columns = scratch(columns_, s_.depth(), part);
    fill_columns(columns.data, x, s_, group, part);
    return {columns.data, columns.rows, columns.cols, columns.row_stride, 1};
  }

  [[nodiscard]] MatrixRef<const T> results_of(const T* dy, std::int64_t group, const ConvPart& part) {
    return channels_of(dy, s_.outputs, group, part, results_);
  }

  [[nodiscard]] MatrixRef<const T> channels_of(const T* data, std::int64_t channels, std::int64_t group,
                                               const ConvPart& part, Tensor& memory) {
    const ChannelMatrix<const T> lying(data, channels, group, s_, part);
    if (lying.lies_as_matrix()) return lying.as_it_lies();
    const MatrixRef<T> to = scratch(memory, channels, part);
    lying.for_each_stretch(to.data, [](std::int64_t, const T* pixels, T* matrix, std::int64_t count) {
      std::copy_n(pixels, count, matrix);
    });
    return {to.data, to.rows, to.cols, to.row_stride, 1};
  }

  ConvSizes s_;
  std::int64_t pixels_max_ = 0;
  Tensor columns_;
  Tensor results_;
};

}  // namespace

void gemm_convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvSizes& sizes) {
  dispatch_floating("convolve", y.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(y);
    GemmConvolution<T>(sizes).forward(to, elements<T>(x), elements<T>(weight),
                                      bias.defined() ? elements<T>(bias) : nullptr);
  });
}

void gemm_convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const ConvSizes& sizes) {
  dispatch_floating("convolve", dx.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(dx);
    GemmConvolution<T>(sizes).backward_input(to, elements<T>(dy), elements<T>(weight));
  });
}

void gemm_convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const ConvSizes& sizes) {
  dispatch_floating("convolve", dw.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(dw);
    GemmConvolution<T>(sizes).backward_weight(to, elements<T>(dy), elements<T>(x));
  });
}

}  // namespace troupe::cpu
