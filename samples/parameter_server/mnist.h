// Images of handwritten digits with their labels, in the files that MNIST comes in.
// IDX (Y. LeCun, "The MNIST database"): big-endian magic 0x00000803 (images) or 0x00000801 (labels), one 32-bit size
// per dimension, then one byte per element.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>

#include "tensor/tensor.h"

namespace samples {

/// n digits. Shapes: images (n, 28, 28) u8, 0 = background; labels (n) u8, each 0 to 9.
struct Digits {
  troupe::Tensor images;
  troupe::Tensor labels;

  [[nodiscard]] std::int64_t count() const { return labels.size(0); }
};

/// What to train on and what to measure with.
struct DigitData {
  Digits train;
  Digits test;
};

/// A file cannot be read, or is not what it should be; the text names the file and what was found in it.
class IdxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the files "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte" and
/// "t10k-labels-idx1-ubyte" of `directory`. Throws IdxError.
[[nodiscard]] DigitData read_mnist(const std::filesystem::path& directory);

/// Writes `data` as those four files and creates `directory` if need be. Throws IdxError.
void write_mnist(const DigitData& data, const std::filesystem::path& directory);

/// Reads one pair of files. Throws IdxError `images: 3 images but 4 labels in labels` and the like.
[[nodiscard]] Digits read_idx(const std::filesystem::path& images, const std::filesystem::path& labels);

/// Writes one pair of files. Throws IdxError.
void write_idx(const Digits& digits, const std::filesystem::path& images, const std::filesystem::path& labels);

/// What a network sees at once. Shapes: images (b, 1, 28, 28) f32 with about mean 0 and variance 1; labels (b) i64.
struct Batch {
  troupe::Tensor images;
  troupe::Tensor labels;
};

/// Returns the digits at `rows`, in this order. Throws IndexError `[batch] row out of range: 7 of 7`.
[[nodiscard]] Batch batch(const Digits& digits, std::span<const std::int64_t> rows);

}  // namespace samples
