// The .npy format, for files and for members of an archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tensor/tensor.h"

namespace troupe::detail {

/// A sequential source of the bytes of a .npy file.
struct NpySource {
  std::string where;                               ///< prefix of error texts: "[npy] w.npy"
  std::uint64_t size = 0;                          ///< total number of bytes
  std::function<void(std::span<std::byte>)> read;  ///< fills the span with the next bytes, or throws FileError
};

/// Reads all of `source` into fresh memory, by the rules of read_npy().
[[nodiscard]] Tensor parse_npy(const NpySource& source);

/// As read_npy(), of a file that is mapped already. `where` is the prefix of error texts.
[[nodiscard]] Tensor parse_npy(const std::string& where, const FrozenBytes& mapped);

/// Returns the header that precedes the elements of `x` in its file. REQUIRES: `x` is contiguous.
[[nodiscard]] std::string npy_header(const Tensor& x);

/// Returns `x` contiguous and on the CPU, as its elements are written.
/// Throws DTypeError `[format] NumPy has no dtype for: bf16`, TensorError if `x` is undefined, ValueError as
/// write_npy().
[[nodiscard]] Tensor as_written_to_npy(std::string_view format, const Tensor& x);

}  // namespace troupe::detail
