// The names of files in a checkpoint's directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/io/checkpoint_manifest.h"

namespace troupe::detail {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kNewManifestName = "manifest.json.new";  ///< until it is renamed

/// Returns the name of file number `index`: "troupe-checkpoint-3-0-net.safetensors". Each checkpoint of a directory has
/// a larger `generation` than the one before.
[[nodiscard]] std::string checkpoint_file_name(std::uint64_t generation, std::size_t index, std::string_view part);

/// Returns the generation of the checkpoint that `name` belonged to; nullopt unless checkpoint_file_name() has made it:
/// other files in the directory are the user's.
[[nodiscard]] std::optional<std::uint64_t> generation_of(std::string_view name);

/// Returns the generation of a checkpoint's files, 0 if it has none. Earlier versions called them
/// "3-0-net.safetensors", a name that a user's file may have too unless the manifest lists it.
[[nodiscard]] std::uint64_t generation_of(std::span<const ManifestFile> files);

/// Returns the path of `name` in `directory`.
[[nodiscard]] std::string path_in(const std::string& directory, std::string_view name);

}  // namespace troupe::detail
