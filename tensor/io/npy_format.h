// The bytes of a .npy file, wherever they lie: in a file or in an archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tensor/tensor.h"

namespace troupe::detail {

/// Where the bytes come from, front to back.
struct NpySource {
  std::string where;                               ///< how errors begin: "[npy] w.npy"
  std::uint64_t size = 0;                          ///< how many bytes there are
  std::function<void(std::span<std::byte>)> read;  ///< fills the span with the next bytes, or throws FileError
};

/// Reads all of `source`; see read_npy().
[[nodiscard]] Tensor parse_npy(const NpySource& source);

/// Returns what stands before the elements of the contiguous `x` in its file.
[[nodiscard]] std::string npy_header(const Tensor& x);

/// Returns `x` as its elements are written: contiguous, on the CPU, and of a dtype that NumPy has.
/// Throws DTypeError `[format] NumPy has no dtype for: bf16`, TensorError if `x` is undefined.
[[nodiscard]] Tensor as_written_to_npy(std::string_view format, const Tensor& x);

}  // namespace troupe::detail
