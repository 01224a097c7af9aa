// The exception for tensor files.
#pragma once

#include <string>

#include "tensor/error.h"

namespace troupe {

/// A file cannot be read or written, or its content is invalid. The text names the format, the file and the first
/// invalid byte: `[npy] w.npy: at byte 8: header of 118 bytes, 40 are left`.
class FileError : public TensorError {
 public:
  using TensorError::TensorError;
};

/// The disk is full, or a quota is used up: `[file] run/manifest.json.new: No space left on device`.
class StorageFullError : public FileError {
 public:
  using FileError::FileError;
};

namespace detail {

/// Throws the FileError for an errno: `[file] a/b: Permission denied` with `where` "[file] a/b".
[[noreturn]] void fail_with(const std::string& where, int error);

}  // namespace detail

}  // namespace troupe
