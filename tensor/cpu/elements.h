// Typed addresses of the first element of a tensor of any layout.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cpu {

template <class T>
const T* elements(const Tensor& x) {
  return reinterpret_cast<const T*>(x.bytes());
}

/// Take it before the `elements` of whatever may share the memory: a write may move it (storage.h).
template <class T>
T* mutable_elements(Tensor& x) {
  return reinterpret_cast<T*>(x.mutable_bytes());
}

}  // namespace troupe::cpu
