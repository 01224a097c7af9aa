#include "tensor/cpu/direct_convolution.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vectorized.h"

namespace troupe::cpu {
namespace {

// Results of one row that are computed together: one vector of AVX-512, or several of a smaller instruction set.
constexpr std::size_t kVectorBytes = 64;
template <class T>
struct Vector {
  T lanes __attribute__((vector_size(kVectorBytes)));
};
std::int64_t lanes_of(DType dtype) { return static_cast<std::int64_t>(kVectorBytes / size_of(dtype)); }

// Channels that share each loaded pixel.
constexpr std::int64_t kChannels = 4;

/// The images with their padding, and where each filter element reads: the result at row i and column j is the sum of
/// filter[t] * image[i * pitch + j + offsets[t]].
template <class T>
class PaddedImages {
 public:
  PaddedImages(const T* x, const ConvSizes& s)
      : pitch_(s.in[1] + 2 * s.padding[1]), rows_(s.in[0] + 2 * s.padding[0]), channels_(s.inputs), data_(x) {
    for (std::int64_t c = 0; c < s.inputs; ++c) {
      for (std::int64_t i = 0; i < s.kernel[0]; ++i) {
        for (std::int64_t j = 0; j < s.kernel[1]; ++j) {
          offsets_.push_back((c * rows_ + i * s.dilation[0]) * pitch_ + j * s.dilation[1]);
        }
      }
    }
    if (s.padding != Size2d{0, 0}) pad(x, s);
  }

  [[nodiscard]] std::int64_t pitch() const { return pitch_; }
  [[nodiscard]] const T* image(std::int64_t index) const { return data_ + index * channels_ * rows_ * pitch_; }
  [[nodiscard]] const std::vector<std::int64_t>& offsets() const { return offsets_; }

 private:
  void pad(const T* x, const ConvSizes& s) {
    const std::int64_t plane = rows_ * pitch_;
    padded_ = Tensor::empty({s.images * channels_ * plane}, dtype_of<T>);
    T* const padded = mutable_elements<T>(padded_);
    parallel_for(s.images * channels_, plane, [&](std::int64_t begin, std::int64_t end) {
      std::fill(padded + begin * plane, padded + end * plane, T{0});
      for (std::int64_t channel = begin; channel < end; ++channel) {
        T* const first = padded + channel * plane + s.padding[0] * pitch_ + s.padding[1];
        for (std::int64_t row = 0; row < s.in[0]; ++row) {
          std::copy_n(x + channel * s.in_pixels() + row * s.in[1], s.in[1], first + row * pitch_);
        }
      }
    });
    data_ = padded;
  }

  std::int64_t pitch_;
  std::int64_t rows_;
  std::int64_t channels_;
  const T* data_;
  Tensor padded_;
  std::vector<std::int64_t> offsets_;
};

/// Computes `channels` neighbouring channels of the results of one image. `bias` is null or has an element for each.
template <std::int64_t channels, class T>
void convolve_channels(T* y, const T* image, const T* filter, const T* bias, const PaddedImages<T>& images,
                       const ConvSizes& s) {
  vectorized([
    =, offsets = images.offsets().data(), pitch = images.pitch(), depth = s.depth(), rows = s.out[0], width = s.out[1]
  ]() __attribute__((always_inline)) {
    constexpr auto kLanes = static_cast<std::int64_t>(kVectorBytes / sizeof(T));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t begin = 0; begin < width; begin += kLanes) {
        // The last vector ends with the row, and computes some results a second time.
        const std::int64_t column = std::min(begin, width - kLanes);
        std::array<Vector<T>, channels> sums{};
        for (std::int64_t c = 0; c < channels; ++c) sums[c].lanes += bias == nullptr ? T{0} : bias[c];
        for (std::int64_t t = 0; t < depth; ++t) {
          Vector<T> pixels;
          std::memcpy(&pixels, image + row * pitch + column + offsets[t], sizeof pixels);
          for (std::int64_t c = 0; c < channels; ++c) sums[c].lanes += pixels.lanes * filter[c * depth + t];
        }
        for (std::int64_t c = 0; c < channels; ++c) {
          std::memcpy(y + (c * rows + row) * width + column, &sums[c], sizeof sums[c]);
        }
      }
    }
  });
}

}  // namespace

bool direct_takes(const ConvSizes& sizes, DType dtype) {
  return sizes.stride == Size2d{1, 1} && sizes.groups == 1 && sizes.out[1] >= lanes_of(dtype);
}

void direct_convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvSizes& s) {
  dispatch_floating("convolve", y.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const results = mutable_elements<T>(y);
    const T* const filters = elements<T>(weight);
    const T* const biases = bias.defined() ? elements<T>(bias) : nullptr;
    const PaddedImages<T> images(elements<T>(x), s);
    const auto convolve = [&]<std::int64_t channels>(std::integral_constant<std::int64_t, channels>, std::int64_t n,
                                                     std::int64_t output) {
      convolve_channels<channels>(results + (n * s.outputs + output) * s.out_pixels(), images.image(n),
                                  filters + output * s.depth(), biases == nullptr ? nullptr : biases + output, images,
                                  s);
    };
    const std::int64_t blocks = (s.outputs + kChannels - 1) / kChannels;
    parallel_for(s.images * blocks, kChannels * s.depth() * s.out_pixels(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t output = i % blocks * kChannels;
        if (output + kChannels <= s.outputs) {
          convolve(std::integral_constant<std::int64_t, kChannels>{}, i / blocks, output);
          continue;
        }
        for (; output < s.outputs; ++output) convolve(std::integral_constant<std::int64_t, 1>{}, i / blocks, output);
      }
    });
  });
}

}  // namespace troupe::cpu
