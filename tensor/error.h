// What tensor functions throw when a caller broke their contract. Every text reads `[op] what: the values`.
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

/// A device does not exist in this build or on this machine, or two tensors are on different ones.
class DeviceError : public TensorError {
 public:
  using TensorError::TensorError;
};

/// A value is outside what the function is defined for: `[dropout_mask] probability outside [0, 1): 1.5`.
class ValueError : public TensorError {
 public:
  using TensorError::TensorError;
};

}  // namespace troupe
