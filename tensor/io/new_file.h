// Files that are written completely or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace troupe::detail {

/// A file that is written under a temporary name beside `path`: "model.safetensors.0.new". Readers of `path` see the
/// old file until commit(), then the complete new one. Without commit() the destructor removes the temporary file. A
/// symbolic link at `path` stays: its target is replaced. Not thread-safe.
class NewFile {
 public:
  /// Throws FileError `[format] model.safetensors.0.new: Permission denied` (as every function here) or
  /// `[format] /dev/null: not a regular file` (as commit()).
  NewFile(std::string format, std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes);

  /// Waits until the bytes are on the disk, then renames the file to `path`.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::string format_;
  std::filesystem::path path_;
  std::filesystem::path new_path_;
  int descriptor_ = -1;
};

/// Returns the path that a new file for `path` replaces: `path`, or the target if `path` is a symbolic link.
/// Throws FileError `[format] /dev/null: not a regular file` if a device, pipe or folder is there: renaming would
/// remove it.
[[nodiscard]] std::filesystem::path replaceable(const std::string& format, const std::filesystem::path& path);

}  // namespace troupe::detail
