// NumPy's .npy files of one array.
#pragma once

#include "tensor/io/file_error.h"
#include "tensor/io/file_path.h"
#include "tensor/tensor.h"

namespace troupe {

/// Maps the array of a .npy file (format versions 1 to 3, little endian) into memory: no element is read before it is
/// used, booleans excepted. The mapping is read-only and lives as long as the tensor; a write moves the tensor and its
/// views to fresh memory, and the file never changes. An array in Fortran order keeps that layout: its first stride
/// is 1. One that is misaligned for its dtype is copied at once. Dtypes that Troupe does not have are refused.
/// REQUIRES: no process truncates or changes the file in place while the tensor lives; an access beyond the new end
/// kills this process. `numpy.save` to the same name does so: clone() the tensor and release it before. Replacing the
/// file, as write_npy() does, is safe.
/// Throws FileError with the first invalid byte: `[npy] w.npy: at byte 8: header of 118 bytes, 40 are left`. Every
/// length is checked against the file's size before anything is allocated.
/// Format: NumPy's NEP 1, "A simple file format for NumPy arrays".
[[nodiscard]] Tensor read_npy(const FilePath& file);

/// Writes `x`, in row-major order, as a .npy file for `numpy.load`. Replaces an existing file atomically and keeps
/// its mode.
/// Throws FileError, DTypeError `[npy] NumPy has no dtype for: bf16`, TensorError if `x` is undefined, ValueError
/// `[npy] (0, 1099511627776, 1099511627776) is too large` if the product of the sizes other than 0 overflows.
void write_npy(const FilePath& file, const Tensor& x);

}  // namespace troupe
