// NumPy's file of several arrays.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tensor/io/file_error.h"
#include "tensor/io/named_tensors.h"

namespace troupe {

/// How the members of an archive are written.
enum class Compression : std::uint8_t { none, deflate };

/// Returns the arrays of a .npz file, as `numpy.savez` and `numpy.savez_compressed` write it, in the order of the file
/// and without the ".npy" of their names. What holds for read_npy() holds for each.
/// Throws FileError: `[npz] a.npz: Zip archive inconsistent`, or with the place inside the (unpacked) member:
/// `[npz] a.npz: w.npy: at byte 8: header of 118 bytes, 40 are left`. A wrong checksum is an error.
[[nodiscard]] NamedTensors read_npz(const std::filesystem::path& file);

/// Writes `arrays` as the .npz file that `numpy.load` reads. An existing file is replaced in one moment; equal arrays
/// give equal files. Throws FileError; ValueError `[npz] name given twice: w`, `[npz] not a name: `; DTypeError and
/// TensorError as write_npy().
void write_npz(const std::filesystem::path& file, const NamedTensors& arrays,
               Compression compression = Compression::none);

}  // namespace troupe
