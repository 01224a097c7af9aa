// Tensors of another device for tests of checks, on machines without that device.
#pragma once

#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace troupe::testing {

/// Returns the elements of `x` as a tensor whose device() is `device`, although its memory is that of `x`.
/// REQUIRES: what is tested throws before it reads an element.
inline Tensor said_to_be_on(Device device, const Tensor& x) {
  return Tensor::from_storage(Storage::adopt(x.freeze(), device), x.shape(), x.strides(), 0, x.dtype());
}

}  // namespace troupe::testing
