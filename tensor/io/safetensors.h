// Files of several tensors that can be used where they lie.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tensor/io/file_error.h"
#include "tensor/io/named_tensors.h"

namespace troupe {

/// What a .safetensors file holds.
struct Safetensors {
  NamedTensors tensors;  ///< as they lie in the file
  std::map<std::string, std::string> metadata;
};

/// Maps a .safetensors file into memory: no element is read before it is used, and the tensors share one read-only
/// mapping, which lives as long as any of them. Writing into one moves that one, and its views, to memory of its own;
/// the file never changes. Tensors whose place does not fit their dtype's alignment are copied at once. Whoever
/// shortens the file in place meanwhile kills this process; replacing it, as write_safetensors() does, is harmless.
/// Throws FileError, with the place of what is wrong:
/// `[safetensors] model.safetensors: at byte 1032: tensor "w" ends at 4096 of 2048`. Refused are headers longer than
/// the file, other JSON than the format's, unknown dtypes, names given twice, and tensors that overlap, leave gaps, end
/// outside, or whose size is not that of their shape.
/// Format: https://github.com/huggingface/safetensors, README "Format".
[[nodiscard]] Safetensors read_safetensors(const std::filesystem::path& file);

/// Writes a .safetensors file: tensors with wide elements first, then by name, hence all aligned. An existing file is
/// replaced in one moment; equal tensors give equal files. Throws FileError; ValueError `[safetensors] name given
/// twice: w` or `[safetensors] not a name: __metadata__`, also for text that is not UTF-8; TensorError if a tensor is
/// undefined.
void write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace troupe
