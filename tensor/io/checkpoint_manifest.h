// The manifest of a checkpoint: the list of its files. A JSON text that ends with a hash of itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::detail {

/// A .safetensors file of a checkpoint.
struct ManifestFile {
  std::string name;         ///< in the checkpoint's directory
  std::string part;         ///< the part of the checkpoint that it belongs to
  std::uint64_t bytes = 0;  ///< its size
  std::uint64_t hash = 0;   ///< XXH64 of its bytes
  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

/// The largest manifest in bytes: longer ones are not read.
inline constexpr std::size_t kManifestBytesMax = std::size_t{4} << 20;

/// Returns the text. Its last line is the XXH64 of all bytes before it. Throws ValueError `[checkpoint] the name of
/// a part is not UTF-8`, and if the text is longer than kManifestBytesMax.
[[nodiscard]] std::string format_manifest(std::span<const ManifestFile> files);

/// `where` is the prefix of error texts: "[checkpoint] run/manifest.json". Throws FileError: `... at byte 40: the hash
/// of the text before is 0123456789abcdef, not fedcba9876543210`; `...: not a file name: "../w"`.
[[nodiscard]] std::vector<ManifestFile> parse_manifest(const std::string& where, std::string_view text);

}  // namespace troupe::detail
