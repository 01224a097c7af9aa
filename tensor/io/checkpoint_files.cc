#define XXH_INLINE_ALL
#include "tensor/io/checkpoint_files.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tensor/io/extent.h"
#include "tensor/io/mapped_file.h"
#include "tensor/io/safetensors_header.h"

namespace troupe {
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kNewManifest = "manifest.json.new";

/// Returns the number with which names of a checkpoint's files begin; nullopt for other names.
std::optional<std::uint64_t> generation_of(std::string_view name) {
  std::uint64_t generation = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), generation);
  if (error != std::errc() || end == name.data() + name.size() || *end != '-' || !name.ends_with(".safetensors"))
    return std::nullopt;
  return generation;
}

/// Returns the beginning of a part's name with letters and digits only, for people who look into the directory.
std::string readable(std::string_view part) {
  std::string text(part.substr(0, 64));
  std::ranges::replace_if(
      text, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')); }, '_');
  return text;
}

std::string parent_of(const std::filesystem::path& directory) {
  const std::filesystem::path parent = directory.lexically_normal().parent_path();
  return parent.empty() ? "." : parent.string();
}

/// Returns the path of `name` in `directory`.
std::string path_in(const std::filesystem::path& directory, std::string_view name) {
  return (directory / name).string();
}

}  // namespace

struct CheckpointWriter::Hash {
  Hash() : state(XXH64_createState()) {
    if (state == nullptr || XXH64_reset(state, 0) == XXH_ERROR) throw std::bad_alloc();
  }
  ~Hash() { XXH64_freeState(state); }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;

  XXH64_state_t* const state;
};

CheckpointWriter::CheckpointWriter(std::shared_ptr<FileSystem> files, const FilePath& directory)
    : files_(std::move(files)), directory_(directory.text()) {
  if (files_->make_directory(directory_)) files_->sync_directory(parent_of(directory_));
  for (const std::string& name : files_->names_in(directory_)) {
    if (name == kNewManifest) files_->remove(path_in(directory_, name));  // of a writer that was ended
    if (const auto generation = generation_of(name)) generation_ = std::max(generation_, *generation + 1);
  }
}

CheckpointWriter::~CheckpointWriter() {
  open_.reset();
  if (committed_) return;
  for (const detail::ManifestFile& file : written_) {
    try {
      files_->remove(path_in(directory_, file.name));
    } catch (const FileError&) {
      // The next commit() removes it.
    }
  }
}

std::vector<std::size_t> CheckpointWriter::begin_file(std::string part, const std::vector<TensorPlan>& tensors,
                                                      const std::map<std::string, std::string>& metadata) {
  if (open_) throw std::logic_error("[checkpoint] the file before is open");
  detail::SafetensorsHeader header{{}, metadata};
  std::map<std::string, std::size_t> indices;
  for (const TensorPlan& tensor : tensors) {
    if (!detail::nbytes_of(tensor.shape, tensor.dtype))
      throw ValueError(fmt::format("[checkpoint] {} {} is too large", tensor.name, to_string(tensor.shape)));
    indices.emplace(tensor.name, indices.size());
    header.entries.push_back({tensor.name, tensor.dtype, tensor.shape, 0, 0});
  }
  const std::uint64_t size = detail::lay_out(header.entries);
  const std::string text = detail::format_safetensors_header(header);
  const std::uint64_t length = text.size();

  const std::string name = fmt::format("{}-{}-{}.safetensors", generation_, written_.size(), readable(part));
  open_ = files_->create(path_in(directory_, name));
  written_.push_back({name, std::move(part), 0, 0});
  hash_ = std::make_unique<Hash>();
  left_ = sizeof(length) + length + size;
  write(std::as_bytes(std::span(&length, 1)));
  write(std::as_bytes(std::span(text)));

  std::vector<std::size_t> order;
  for (const detail::SafetensorsEntry& entry : header.entries) order.push_back(indices.at(entry.name));
  return order;
}

void CheckpointWriter::write(std::span<const std::byte> bytes) {
  if (!open_ || bytes.size() > left_)
    throw std::logic_error("[checkpoint] more bytes than the tensors of the file have");
  open_->write(bytes);
  if (XXH64_update(hash_->state, bytes.data(), bytes.size()) == XXH_ERROR) throw std::bad_alloc();
  written_.back().bytes += bytes.size();
  left_ -= bytes.size();
}

void CheckpointWriter::end_file() {
  if (!open_ || left_ != 0) throw std::logic_error(fmt::format("[checkpoint] {} bytes of the file are missing", left_));
  open_->finish();
  open_.reset();
  written_.back().hash = XXH64_digest(hash_->state);
}

void CheckpointWriter::commit() {
  if (open_ || committed_) throw std::logic_error("[checkpoint] a file is open, or this was committed before");
  const std::string text = detail::format_manifest(written_);
  const auto manifest = files_->create(path_in(directory_, kNewManifest));
  manifest->write(std::as_bytes(std::span(text)));
  manifest->finish();
  files_->sync_directory(directory_);  // no file may be missing once the manifest has its name
  committed_ = true;                   // from here on a crash may leave this checkpoint
  files_->rename(path_in(directory_, kNewManifest), path_in(directory_, kManifest));
  files_->sync_directory(directory_);
  remove_all_but_these();
}

void CheckpointWriter::remove_all_but_these() noexcept {
  try {
    for (const std::string& name : files_->names_in(directory_)) {
      if (generation_of(name) && std::ranges::count(written_, name, &detail::ManifestFile::name) == 0)
        files_->remove(path_in(directory_, name));
    }
  } catch (const std::exception&) {
    // The next commit() removes what is left.
  }
}

std::vector<CheckpointFile> read_checkpoint(const FilePath& directory) {
  const std::string manifest = path_in(directory.text(), kManifest);
  const std::string where = fmt::format("[checkpoint] {}", manifest);
  std::vector<detail::ManifestFile> listed;
  {
    const FrozenBytes text = detail::map_file("checkpoint", manifest);
    listed = detail::parse_manifest(where, {reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()});
  }
  std::vector<CheckpointFile> files;
  for (detail::ManifestFile& file : listed) {
    const std::string path = path_in(directory.text(), file.name);
    const auto fail = [&](const std::string& what) { throw FileError(fmt::format("[checkpoint] {}: {}", path, what)); };
    {
      const FrozenBytes bytes = detail::map_file("checkpoint", path);
      if (bytes.bytes().size() != file.bytes)
        fail(fmt::format("{} bytes, the manifest says {}", bytes.bytes().size(), file.bytes));
      const std::uint64_t hash = XXH64(bytes.bytes().data(), bytes.bytes().size(), 0);
      if (hash != file.hash) fail(fmt::format("its hash is {:016x}, the manifest says {:016x}", hash, file.hash));
    }
    files.push_back({std::move(file.part), path, read_safetensors(path)});
  }
  return files;
}

bool has_checkpoint(const FilePath& directory) {
  std::error_code ignored;
  return std::filesystem::exists(path_in(directory.text(), kManifest), ignored);
}

}  // namespace troupe
