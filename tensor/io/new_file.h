// Files that are there as a whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace troupe::detail {

/// A file being written under a name of its own beside `path`: "model.safetensors.0.new". Readers of `path` see the
/// old file until commit(), then the whole new one. Without commit() nothing remains. One thread at a time.
/// A `path` that is a link stays one: what it leads to is replaced.
class NewFile {
 public:
  /// Throws FileError `[format] model.safetensors.0.new: Permission denied`, like every function here, and
  /// `[format] /dev/null: not a regular file`, as commit() does.
  NewFile(std::string format, std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes);

  /// Waits until the bytes are on the disk, then gives the file its name.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::string format_;
  std::filesystem::path path_;
  std::filesystem::path new_path_;
  int descriptor_ = -1;
};

/// Returns the path of the file that takes its name from `path`: `path` itself, or where that leads to as a link.
/// Throws FileError `[format] /dev/null: not a regular file` if there is something else, which renaming would remove.
[[nodiscard]] std::filesystem::path replaceable(const std::string& format, const std::filesystem::path& path);

}  // namespace troupe::detail
