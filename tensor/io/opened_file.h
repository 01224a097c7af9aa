// Files that are open for reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::detail {

/// A regular file that is open for reading: its name may go to another file meanwhile. Opening never waits, as it would
/// for the writer of a pipe. Not thread-safe.
class OpenedFile {
 public:
  /// Throws FileError `[format] a.npy: No such file or directory`, `[format] /dev/zero: not a regular file`.
  OpenedFile(std::string_view format, const std::filesystem::path& file);
  /// As the constructor; returns nullopt if no file has that name.
  [[nodiscard]] static std::optional<OpenedFile> if_exists(std::string_view format, const std::filesystem::path& file);
  OpenedFile(OpenedFile&& other) noexcept;
  OpenedFile& operator=(OpenedFile&&) = delete;
  ~OpenedFile();

  /// Fills `into` with the next bytes. Throws FileError `[format] a.npy: cannot be read any further` if there are
  /// fewer.
  void read(std::span<std::byte> into);

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Returns the number of bytes that the file had when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Throws FileError `[format] a.npy: Input/output error`, for an error of `descriptor()`.
  [[noreturn]] void fail(int error) const;

 private:
  explicit OpenedFile(std::string where) noexcept : where_(std::move(where)) {}
  /// Returns the error that keeps the file from being opened, or 0.
  [[nodiscard]] int open(const std::filesystem::path& file);

  std::string where_;  ///< prefix of error texts: "[npy] w.npy"
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace troupe::detail
