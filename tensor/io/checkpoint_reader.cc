#define XXH_INLINE_ALL
#include "tensor/io/checkpoint_reader.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include "tensor/io/checkpoint_manifest.h"
#include "tensor/io/checkpoint_names.h"

namespace troupe::detail {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw FileError(fmt::format("[checkpoint] {}: {}", path, what));
}

[[noreturn]] void fail_missing(const std::string& path) { fail(path, std::generic_category().message(ENOENT)); }

std::vector<ManifestFile> listed_in(const std::string& directory, const MapFile& map) {
  const std::string manifest = path_in(directory, kManifestName);
  const std::optional<FrozenBytes> text = map(manifest);
  if (!text) fail_missing(manifest);
  return parse_manifest(fmt::format("[checkpoint] {}", manifest),
                        {reinterpret_cast<const char*>(text->bytes().data()), text->bytes().size()});
}

/// Returns the bytes of the files before the first that is missing.
std::vector<FrozenBytes> map_all(const std::string& directory, const std::vector<ManifestFile>& listed,
                                 const MapFile& map) {
  std::vector<FrozenBytes> mapped;
  for (const ManifestFile& file : listed) {
    std::optional<FrozenBytes> bytes = map(path_in(directory, file.name));
    if (!bytes) break;
    mapped.push_back(std::move(*bytes));
  }
  return mapped;
}

CheckpointFile parsed(const std::string& path, ManifestFile file, const FrozenBytes& bytes) {
  const std::size_t size = bytes.bytes().size();
  if (size != file.bytes) fail(path, fmt::format("{} bytes, the manifest says {}", size, file.bytes));
  const std::uint64_t hash = XXH64(bytes.bytes().data(), size, 0);
  if (hash != file.hash) fail(path, fmt::format("its hash is {:016x}, the manifest says {:016x}", hash, file.hash));
  return {std::move(file.part), path, parse_safetensors(fmt::format("[safetensors] {}", path), bytes)};
}

}  // namespace

std::vector<CheckpointFile> read_checkpoint(const FilePath& directory, const MapFile& map) {
  const std::string& where = directory.text();
  std::vector<ManifestFile> listed = listed_in(where, map);
  std::vector<FrozenBytes> mapped = map_all(where, listed, map);
  while (mapped.size() < listed.size()) {
    const std::string missing = path_in(where, listed[mapped.size()].name);
    std::vector<ManifestFile> now = listed_in(where, map);
    // A writer lists newer files, which may be none, before it removes these.
    if (!now.empty() && generation_of(now) <= generation_of(listed)) fail_missing(missing);
    listed = std::move(now);
    mapped = map_all(where, listed, map);
  }
  std::vector<CheckpointFile> files;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const std::string path = path_in(where, listed[i].name);
    files.push_back(parsed(path, std::move(listed[i]), mapped[i]));
  }
  return files;
}

}  // namespace troupe::detail
