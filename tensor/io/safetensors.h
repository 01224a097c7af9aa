// .safetensors files: several tensors, used in place through a memory mapping.
#pragma once

#include <map>
#include <string>

#include "tensor/io/file_error.h"
#include "tensor/io/file_path.h"
#include "tensor/io/named_tensors.h"
#include "tensor/storage.h"

namespace troupe {

/// The content of a .safetensors file.
struct Safetensors {
  NamedTensors tensors;  ///< in the order of the file
  std::map<std::string, std::string> metadata;
};

/// Maps a .safetensors file into memory. No element is read before it is used. The tensors share one read-only mapping,
/// which lives as long as any of them. A write to a tensor moves it and its views to fresh memory; the file never
/// changes. A tensor that is misaligned for its dtype is copied at once. REQUIRES: no process truncates the file in
/// place while a tensor lives; an access beyond the new end kills this process. Replacing it, as write_safetensors()
/// does, is safe. Throws FileError with the first invalid byte:
/// `[safetensors] model.safetensors: at byte 1032: tensor "w" ends at 4096 of 2048`. Refuses headers longer than the
/// file, JSON outside the format, unknown dtypes, duplicate names, and tensors that overlap, leave gaps, end outside
/// the file or whose size is not that of their shape.
/// Format: https://github.com/huggingface/safetensors, README "Format".
[[nodiscard]] Safetensors read_safetensors(const FilePath& file);

/// Writes a .safetensors file. Tensors with wide elements come first, then in order of names, so all are aligned.
/// Replaces an existing file atomically and keeps its mode; equal tensors give equal files.
/// Throws FileError; ValueError `[safetensors] name given twice: w` or `[safetensors] not a name: __metadata__`, also
/// for text that is not UTF-8, and `[safetensors] w (0, 1099511627776, 1099511627776) is too large` if the product of
/// the sizes other than 0 overflows; TensorError if a tensor is undefined.
void write_safetensors(const FilePath& file, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata);
void write_safetensors(const FilePath& file, const NamedTensors& tensors);

namespace detail {

/// As read_safetensors(), of a file that is mapped already. `where` is the prefix of error texts:
/// "[safetensors] model.safetensors".
[[nodiscard]] Safetensors parse_safetensors(const std::string& where, const FrozenBytes& mapped);

}  // namespace detail

}  // namespace troupe
