// Memory-mapped files.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/storage.h"

namespace troupe::detail {

/// Maps the whole of `file` into memory, read-only. Releasing the last FrozenBytes unmaps it. REQUIRES: no process
/// truncates the file in place before that; an access beyond the new end kills this process (SIGBUS). Replacing the
/// file by another is safe. Throws FileError `[format] model.safetensors: No such file or directory`, `...: not a
/// regular file`.
[[nodiscard]] FrozenBytes map_file(std::string_view format, const std::filesystem::path& file);

/// As map_file(); returns nullopt if no file has that name.
[[nodiscard]] std::optional<FrozenBytes> map_file_if_exists(std::string_view format, const std::filesystem::path& file);

/// Returns the memory of elements that lie in a mapped file: it shares `bytes` if they are aligned for `dtype`, else it
/// is a copy.
[[nodiscard]] Storage storage_of(const FrozenBytes& bytes, DType dtype);

}  // namespace troupe::detail
