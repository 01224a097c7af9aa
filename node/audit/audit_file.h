// The file of an audit log: only ever appended to, bounded, and never anything that somebody planted in its place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "messages/error.h"
#include "node/file_descriptor.h"

namespace troupe {

/// One process writes to a file at a time. When the next line would not fit, the file becomes PATH.1, in the place of
/// the former one, and a new one begins. One thread at a time.
class AuditFile {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{10} << 20;

  /// Opens the file, or makes it with mode 0600. A relative path begins at the working directory of now, also for
  /// PATH.1. Errors: bad_argument, naming the path (no such directory; it is a symbolic link, a FIFO or anything else
  /// but a regular file, of another user, with another name, others may write to it; another process has it open).
  [[nodiscard]] static Result<AuditFile> open(std::filesystem::path path, std::size_t bytes_max = kBytesMax);

  /// Returns the last lines that were there when it was opened, at most 64 KiB; those of PATH.1 if it was empty.
  [[nodiscard]] const std::string& tail() const { return tail_; }

  /// Writes `line`, which ends with a newline; behind a line that was cut off, on a new one. Errors: bad_argument,
  /// naming the path: then nothing of it is in the file.
  [[nodiscard]] Result<Unit> append(std::string_view line);

  /// Waits until the disk has all. Errors are ignored.
  void sync() const;

 private:
  AuditFile(std::filesystem::path path, std::size_t bytes_max) : path_(std::move(path)), bytes_max_(bytes_max) {}
  [[nodiscard]] std::string take_place(bool fresh);
  [[nodiscard]] std::string rotate();
  [[nodiscard]] std::filesystem::path former() const;

  std::filesystem::path path_;
  std::size_t bytes_max_ = kBytesMax;
  detail::FileDescriptor file_;
  std::size_t size_ = 0;
  bool cut_off_ = false;    ///< the file does not end with a newline
  bool left_over_ = false;  ///< part of a line is behind size_, since it could not be cut off
  std::string tail_;
};

}  // namespace troupe
