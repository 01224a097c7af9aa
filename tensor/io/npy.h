// NumPy's file of one array.
#pragma once

#include <filesystem>

#include "tensor/io/file_error.h"
#include "tensor/tensor.h"

namespace troupe {

/// Returns the array of a .npy file (format versions 1 to 3, little endian), in memory of its own. An array in Fortran
/// order keeps it: its first stride is 1. Other dtypes than Troupe's are refused.
/// Throws FileError, of bytes that are wrong with their place: `[npy] w.npy: at byte 8: header of 118 bytes, 40 are
/// left`. Nothing is allocated before the file's size has been found to allow it.
/// Format: NumPy's NEP 1, "A simple file format for NumPy arrays".
[[nodiscard]] Tensor read_npy(const std::filesystem::path& file);

/// Writes `x`, in row-major order, as the .npy file that `numpy.load` reads. An existing file is replaced in one
/// moment. Throws FileError, DTypeError `[npy] NumPy has no dtype for: bf16`, TensorError if `x` is undefined.
void write_npy(const std::filesystem::path& file, const Tensor& x);

}  // namespace troupe
