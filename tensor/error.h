// Exceptions of tensor functions, thrown if the caller breaks a contract. Every text reads `[op] what: the values`.
#pragma once

#include <stdexcept>

namespace troupe {

/// Base of all exceptions of this folder.
class TensorError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Shapes, strides or axes do not fit: `[matmul] inner sizes differ: (8, 4) x (5, 1)`.
class ShapeError : public TensorError {
 public:
  using TensorError::TensorError;
};

/// A dtype does not fit: `[data] dtype is f32, not f64`.
class DTypeError : public TensorError {
 public:
  using TensorError::TensorError;
};

/// An index is outside its range: `[select] index out of range: 5 of 3`.
class IndexError : public TensorError {
 public:
  using TensorError::TensorError;
};

/// A device is not available in this build or on this machine, or two operands are on different devices.
class DeviceError : public TensorError {
 public:
  using TensorError::TensorError;
};

/// A device has not that much memory: `[allocate] 4096 bytes on cuda:0: out of memory`.
class DeviceMemoryError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// A value is outside the function's domain: `[dropout_mask] probability outside [0, 1): 1.5`.
class ValueError : public TensorError {
 public:
  using TensorError::TensorError;
};

}  // namespace troupe
