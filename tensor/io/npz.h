// NumPy's .npz archives of several arrays.
#pragma once

#include <cstdint>

#include "tensor/io/file_error.h"
#include "tensor/io/file_path.h"
#include "tensor/io/named_tensors.h"

namespace troupe {

/// Compression of the members of an archive.
enum class Compression : std::uint8_t { none, deflate };

/// Reads the arrays of a .npz file, as `numpy.savez` and `numpy.savez_compressed` write it, in the order of the file.
/// Names lose their ".npy". Each array follows the rules of read_npy(), in fresh memory.
/// Throws FileError, also for a wrong checksum: `[npz] a.npz: Zip archive inconsistent`, or with the byte in the
/// unpacked member: `[npz] a.npz: w.npy: at byte 8: header of 118 bytes, 40 are left`.
[[nodiscard]] NamedTensors read_npz(const FilePath& file);

/// Writes `arrays` as a .npz file for `numpy.load`. Replaces an existing file atomically and keeps its mode; equal
/// arrays give equal files. Throws FileError; ValueError `[npz] name given twice: w`, `[npz] name of 65532 bytes, at
/// most 65531`, `[npz] name that is not UTF-8: "\xff"`, `[npz] control character in a name: "a\x00"`, also for an empty
/// name; ValueError, DTypeError and TensorError as write_npy().
void write_npz(const FilePath& file, const NamedTensors& arrays, Compression compression = Compression::none);

}  // namespace troupe
