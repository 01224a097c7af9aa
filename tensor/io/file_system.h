// The operations on files of which a checkpoint is made. An interface, so that tests can fail or end a program at each.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/io/file_error.h"

namespace troupe {

/// A file that is being written. Without finish() its content is undefined. Every function throws FileError, if the
/// disk is full StorageFullError `[file] a/b: No space left on device`. Not thread-safe.
class OutputFile {
 public:
  OutputFile() = default;
  virtual ~OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  virtual void write(std::span<const std::byte> bytes) = 0;
  /// Waits until all bytes are on the disk.
  virtual void finish() = 0;
};

/// A directory that no other writer can lock as long as this object lives.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  virtual ~DirectoryLock() = default;
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
};

/// Directories and the files in them. What create(), rename() and remove() change in a directory may be lost in a
/// crash until sync_directory(). Every function throws FileError `[file] a/b: Permission denied`. Thread-safe.
class FileSystem {
 public:
  FileSystem() = default;
  virtual ~FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  /// Makes an empty file; an error if the name is taken.
  [[nodiscard]] virtual std::unique_ptr<OutputFile> create(const std::string& file) = 0;
  /// Gives a file another name, from which it removes the previous file at once.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& file) = 0;
  /// Makes a directory in one that exists; returns false if it exists already.
  virtual bool make_directory(const std::string& directory) = 0;
  /// Locks a directory that exists; an error if another writer, in this program or another, has locked it: `[file] run:
  /// another writer has locked it`. Null if its file system has no locks.
  [[nodiscard]] virtual std::unique_ptr<DirectoryLock> lock_directory(const std::string& directory) = 0;
  /// Returns the bytes of a file; an error if they are more than `size_max`.
  [[nodiscard]] virtual std::string read(const std::string& file, std::size_t size_max) = 0;
  /// Does nothing for a directory that can never be synced: its file system cannot, or this process may not read it.
  virtual void sync_directory(const std::string& directory) = 0;
  /// Returns the names in a directory, in alphabetical order.
  [[nodiscard]] virtual std::vector<std::string> names_in(const std::string& directory) = 0;
};

/// The files of this machine.
[[nodiscard]] std::shared_ptr<FileSystem> disk();

namespace detail {

/// Returns whether this error, of open() or fsync() for a directory, says that it can never be synced: EACCES, EINVAL
/// and EBADF, as for PostgreSQL. The others tell that a change may be lost.
[[nodiscard]] bool says_never_synced(int error) noexcept;

/// Returns whether this error of flock() says that the file system has no locks.
[[nodiscard]] bool says_never_locked(int error) noexcept;

}  // namespace detail

}  // namespace troupe
