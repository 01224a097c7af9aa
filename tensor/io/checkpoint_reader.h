// Reading a checkpoint's directory while a writer may replace the checkpoint.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tensor/io/checkpoint_files.h"
#include "tensor/io/file_path.h"
#include "tensor/storage.h"

namespace troupe::detail {

/// Returns the bytes of a file; nullopt if there is none. Throws FileError.
using MapFile = std::function<std::optional<FrozenBytes>(const std::string& path)>;

/// As read_checkpoint(), with the files that `map` gives: tests change the directory between two of them. Each file is
/// mapped once, and all of them before the first is read, so that a writer may remove their names. If one is missing,
/// the manifest is read again; each further attempt needs a newer checkpoint.
[[nodiscard]] std::vector<CheckpointFile> read_checkpoint(const FilePath& directory, const MapFile& map);

}  // namespace troupe::detail
