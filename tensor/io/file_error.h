// What is thrown about files.
#pragma once

#include "tensor/error.h"

namespace troupe {

/// A file cannot be read or written, or does not hold what it should. The text names the format, the file and, where
/// bytes are wrong, the first of them: `[npy] w.npy: at byte 8: header of 118 bytes, 40 are left`.
class FileError : public TensorError {
 public:
  using TensorError::TensorError;
};

}  // namespace troupe
