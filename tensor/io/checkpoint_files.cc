#define XXH_INLINE_ALL
#include "tensor/io/checkpoint_files.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "tensor/io/checkpoint_names.h"
#include "tensor/io/checkpoint_reader.h"
#include "tensor/io/extent.h"
#include "tensor/io/mapped_file.h"
#include "tensor/io/safetensors_header.h"

namespace troupe {
namespace {

using detail::path_in;

/// Returns the directory that `directory` is made in: that of "run/" is ".".
std::string parent_of(const std::string& directory) {
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();  // without slashes at the end
  const std::filesystem::path parent = path.parent_path();
  return parent.empty() ? "." : parent.string();
}

/// Returns the files of the checkpoint in `directory`.
std::vector<detail::ManifestFile> listed_in(FileSystem& files, const std::string& directory) {
  const std::string manifest = path_in(directory, detail::kManifestName);
  try {
    return detail::parse_manifest(fmt::format("[checkpoint] {}", manifest),
                                  files.read(manifest, detail::kManifestBytesMax));
  } catch (const FileError&) {
    return {};  // a damaged checkpoint can be replaced, too
  }
}

}  // namespace

struct CheckpointWriter::OpenFile {
  OpenFile(std::unique_ptr<OutputFile> f, std::uint64_t bytes)
      : file(std::move(f)), hash(XXH64_createState()), left(bytes) {
    if (hash == nullptr || XXH64_reset(hash, 0) == XXH_ERROR) throw std::bad_alloc();
  }
  ~OpenFile() { XXH64_freeState(hash); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::unique_ptr<OutputFile> file;
  XXH64_state_t* const hash;
  std::uint64_t left;  ///< bytes that are not written yet
};

CheckpointWriter::CheckpointWriter(std::shared_ptr<FileSystem> files, const FilePath& directory)
    : files_(std::move(files)), directory_(directory.text()) {
  static_cast<void>(files_->make_directory(directory_));
  lock_ = files_->lock_directory(directory_);
  const std::vector<std::string> names = files_->names_in(directory_);
  // Without a manifest, whoever made the directory may not have synced its name.
  if (std::ranges::count(names, detail::kManifestName) == 0) files_->sync_directory(parent_of(directory_));
  for (const std::string& name : names) {
    if (name == detail::kNewManifestName) files_->remove(path_in(directory_, name));  // of a writer that was ended
    if (name == detail::kManifestName) replaced_ = listed_in(*files_, directory_);
    if (const auto generation = detail::generation_of(name)) generation_ = std::max(generation_, *generation + 1);
  }
  generation_ = std::max(generation_, detail::generation_of(replaced_) + 1);
}

CheckpointWriter::~CheckpointWriter() {
  open_.reset();
  if (committed_) return;
  for (const detail::ManifestFile& file : written_) remove(file.name);
  if (has_manifest_) remove(detail::kNewManifestName);
}

void CheckpointWriter::remove(std::string_view name) noexcept {
  try {
    files_->remove(path_in(directory_, name));
  } catch (const std::exception&) {
    // The next commit() removes it.
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

  const std::string name = detail::checkpoint_file_name(generation_, written_.size(), part);
  const std::vector<detail::ManifestFile> next{{name, part, 0, 0}};
  static_cast<void>(detail::format_manifest(next));  // refuses what the manifest cannot have before it is written
  std::unique_ptr<OutputFile> file = files_->create(path_in(directory_, name));
  written_.push_back({name, std::move(part), 0, 0});
  open_ = std::make_unique<OpenFile>(std::move(file), sizeof(length) + length + size);
  write(std::as_bytes(std::span(&length, 1)));
  write(std::as_bytes(std::span(text)));

  std::vector<std::size_t> order;
  for (const detail::SafetensorsEntry& entry : header.entries) order.push_back(indices.at(entry.name));
  return order;
}

void CheckpointWriter::write(std::span<const std::byte> bytes) {
  if (!open_ || bytes.size() > open_->left)
    throw std::logic_error("[checkpoint] more bytes than the tensors of the file have");
  open_->file->write(bytes);
  if (XXH64_update(open_->hash, bytes.data(), bytes.size()) == XXH_ERROR) throw std::bad_alloc();
  written_.back().bytes += bytes.size();
  open_->left -= bytes.size();
}

void CheckpointWriter::end_file() {
  const std::uint64_t left = open_ ? open_->left : 0;
  if (!open_ || left != 0) throw std::logic_error(fmt::format("[checkpoint] {} bytes of the file are missing", left));
  open_->file->finish();
  written_.back().hash = XXH64_digest(open_->hash);
  open_.reset();
}

void CheckpointWriter::commit() {
  if (open_ || committed_) throw std::logic_error("[checkpoint] a file is open, or this was committed before");
  const std::string text = detail::format_manifest(written_);
  const auto manifest = files_->create(path_in(directory_, detail::kNewManifestName));
  has_manifest_ = true;
  manifest->write(std::as_bytes(std::span(text)));
  manifest->finish();
  files_->sync_directory(directory_);  // no file may be missing once the manifest has its name
  check_written();
  committed_ = true;  // from here on a crash may leave this checkpoint
  try {
    files_->rename(path_in(directory_, detail::kNewManifestName), path_in(directory_, detail::kManifestName));
  } catch (const FileError&) {
    const std::vector<std::string> names = files_->names_in(directory_);
    committed_ = std::ranges::count(names, detail::kNewManifestName) == 0;  // NFS may rename and say that it did not
    throw;
  }
  files_->sync_directory(directory_);
  remove_earlier();
}

/// Where directories have no locks, another writer may have committed a newer checkpoint and removed these files.
void CheckpointWriter::check_written() const {
  const std::vector<std::string> names = files_->names_in(directory_);
  for (const detail::ManifestFile& file : written_) {
    if (!std::ranges::binary_search(names, file.name)) {
      throw FileError(
          fmt::format("[checkpoint] {}: removed before the checkpoint was complete", path_in(directory_, file.name)));
    }
  }
}

void CheckpointWriter::remove_earlier() noexcept {
  try {
    std::set<std::string_view> listed;
    std::set<std::string_view> kept;
    for (const detail::ManifestFile& file : replaced_) listed.insert(file.name);
    for (const detail::ManifestFile& file : written_) kept.insert(file.name);
    for (const std::string& name : files_->names_in(directory_)) {
      // No manifest lists the files of saves that were ended: only their names tell what they are.
      const auto generation = detail::generation_of(name);
      const bool is_earlier = generation && *generation < generation_;
      if ((is_earlier || listed.contains(name)) && !kept.contains(name)) remove(name);
    }
  } catch (const std::exception&) {
    // The next commit() removes what is left.
  }
}

std::vector<CheckpointFile> read_checkpoint(const FilePath& directory) {
  return detail::read_checkpoint(
      directory, [](const std::string& path) { return detail::map_file_if_exists("checkpoint", path); });
}

bool has_checkpoint(const FilePath& directory) {
  const std::string manifest = path_in(directory.text(), detail::kManifestName);
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(manifest, error);
  if (there.type() == std::filesystem::file_type::none)
    throw FileError(fmt::format("[checkpoint] {}: {}", manifest, error.message()));
  return std::filesystem::exists(there);
}

}  // namespace troupe
