// Files as memory.
#pragma once

#include <filesystem>
#include <string_view>

#include "tensor/storage.h"

namespace troupe::detail {

/// Maps the whole of `file` into memory, for reading only. The mapping ends with the last FrozenBytes of it. Whoever
/// shortens the file in place before that kills this process (SIGBUS); replacing it by another is harmless.
/// Throws FileError `[format] model.safetensors: No such file or directory`.
[[nodiscard]] FrozenBytes map_file(std::string_view format, const std::filesystem::path& file);

}  // namespace troupe::detail
