// A directory of one job step that only this user can open: small files, each complete from the moment it has its name.
//
// Nothing in it is trusted for its name alone: directory and files must belong to this user and be closed to all
// others, links are refused, sizes have limits. The directory is opened anew for each operation, and files are looked
// for in its list: over NFS that asks the server, where an open by name may be answered from what was true a minute
// ago.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "node/file_descriptor.h"

namespace troupe::detail {

/// Something in the directory is not as it must be, or the system refuses; the text names the path and the reason.
class JobDirectoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thread rule: any number of objects, threads and processes, on any number of hosts; two may not write one name. All
/// members throw JobDirectoryError.
class JobDirectory {
 public:
  /// Makes the directory, and those above it, if it is not there. Those that it makes have mode 0700.
  explicit JobDirectory(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Returns the names of all files; none if there is no directory.
  [[nodiscard]] std::set<std::string> names() const;

  /// Returns the bytes of a file; nullopt if there is none. A file that is a link, is no regular file, belongs to
  /// another user, can be opened by others, or has more than `size_max` bytes is an error.
  [[nodiscard]] std::optional<std::string> read(const std::string& name, std::size_t size_max) const;

  /// Makes a file of mode 0600, or replaces it: readers see all of the former one or all of the new one.
  void write(const std::string& name, std::string_view text) const;

  /// Renames a file; one that has the new name already is replaced.
  void rename(const std::string& from, const std::string& to) const;

  /// Deletes the files and the directory. What cannot be deleted stays.
  void remove() const noexcept;

 private:
  [[nodiscard]] FileDescriptor open() const;
  [[noreturn]] void fail(const std::string& name, std::string_view what) const;

  std::filesystem::path path_;
};

}  // namespace troupe::detail
