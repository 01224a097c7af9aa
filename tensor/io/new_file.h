// Files that are written completely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace troupe::detail {

/// A file that is written under a temporary name beside `path`: "model.safetensors.0.new", or with less of a long name.
/// Readers of `path` see the old file until commit(), then the complete new one, which has the old one's mode, and its
/// owner and group where this process may set them. Without commit() the destructor removes the temporary file. A
/// symbolic link at `path` stays: its target is replaced. Not thread-safe.
class NewFile {
 public:
  /// Throws FileError `[format] model.safetensors.0.new: Permission denied` (as every function here),
  /// `[format] /dev/null: not a regular file` (as commit()) or, if kTemporaryMax such files are there, `[format]
  /// model.safetensors: 1000 temporary files are beside it, as model.safetensors.999.new`.
  NewFile(std::string format, std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// The next write() begins at byte `at`.
  void seek(std::uint64_t at);

  /// Waits until the bytes are on the disk, then renames the file to `path`.
  void commit();

  /// Of one path: those of concurrent writers and those that crashes left behind.
  static constexpr int kTemporaryMax = 1000;

  /// The rights to a file, as the system numbers them.
  struct Access {
    unsigned mode;
    unsigned owner;
    unsigned group;
  };

 private:
  void set_access(const Access& access);
  [[noreturn]] void fail(int error) const;

  std::string format_;
  std::filesystem::path path_;
  std::filesystem::path new_path_;
  std::optional<Access> replaced_;  ///< of the file that this one replaces
  int descriptor_ = -1;
};

}  // namespace troupe::detail
