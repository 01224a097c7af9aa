// The exception for tensor files.
#pragma once

#include "tensor/error.h"

namespace troupe {

/// A file cannot be read or written, or its content is invalid. The text names the format, the file and the first
/// invalid byte: `[npy] w.npy: at byte 8: header of 118 bytes, 40 are left`.
class FileError : public TensorError {
 public:
  using TensorError::TensorError;
};

}  // namespace troupe
