// Typed addresses of the first element of a tensor of any layout.
#pragma once

#include <array>
#include <cstddef>

#include "tensor/tensor.h"

namespace troupe::cpu {

template <class T>
const T* elements(const Tensor& x) {
  return reinterpret_cast<const T*>(x.bytes());
}

/// REQUIRES: called before `elements` of any tensor that may share the memory, because a write may move it (storage.h).
template <class T>
T* mutable_elements(Tensor& x) {
  return reinterpret_cast<T*>(x.mutable_bytes());
}

/// An element of `size` bytes that is copied without being interpreted.
template <std::size_t size>
struct alignas(size) Opaque {
  std::array<std::byte, size> bytes;
};

/// Calls `f(std::type_identity<Opaque<n>>{})`, where n is the size of an element of `dtype` in bytes.
template <class F>
void dispatch_opaque(DType dtype, const F& f) {
  switch (size_of(dtype)) {
    case 1: return f(std::type_identity<Opaque<1>>{});
    case 2: return f(std::type_identity<Opaque<2>>{});
    case 4: return f(std::type_identity<Opaque<4>>{});
    default: return f(std::type_identity<Opaque<8>>{});
  }
}

}  // namespace troupe::cpu
