// Elements of all dtypes in the memory of a device. Kernels read and write them as values of a compute dtype (i32, i64,
// f32, f64); a store rounds or wraps once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/kernels/host_device.h"
#include "tensor/tensor.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace troupe::cuda {

/// The first element of an operand of any layout, on any device.
struct Place {
  std::byte* data;
  DType dtype;

  [[nodiscard]] TROUPE_HOST_DEVICE Place from(std::int64_t element) const {
    return {data + element * static_cast<std::int64_t>(size_of(dtype)), dtype};
  }
};

/// Returns the place for writing. REQUIRES: called before read() of the operands that are read, because a write may
/// move the memory (storage.h).
inline Place written(Tensor& x) {
  Storage storage = x.storage();
  return Place{storage.mutable_data(), x.dtype()}.from(x.offset());
}
inline Place read(const Tensor& x) {
  return Place{const_cast<std::byte*>(x.storage().data()), x.dtype()}.from(x.offset());
}

/// Returns the address of the first element. REQUIRES: its type is T.
template <class T>
TROUPE_HOST_DEVICE T* address(const Place& x) {
  return reinterpret_cast<T*>(x.data);
}

/// Converts as Tensor::to(DType). On a GPU, 16-bit NaNs have no payload.
template <class To, class From>
TROUPE_HOST_DEVICE inline To convert_value(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_same_v<To, Half>) {
#ifdef __CUDA_ARCH__
    return Half::from_bits(__half_as_ushort(__float2half_rn(troupe::detail::cut_to_float(value))));
#else
    return Half(value);
#endif
  } else if constexpr (std::is_same_v<To, BFloat16>) {
#ifdef __CUDA_ARCH__
    return BFloat16::from_bits(__bfloat16_as_ushort(__float2bfloat16_rn(troupe::detail::cut_to_float(value))));
#else
    return BFloat16(value);
#endif
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // 2^digits as a From: the first value above the range.
    constexpr auto kHigh = static_cast<From>(std::uint64_t{1} << std::numeric_limits<To>::digits);
    if (value >= kHigh) return std::numeric_limits<To>::max();
    if (value >= static_cast<From>(std::numeric_limits<To>::min())) return static_cast<To>(value);
    return value < From{0} ? std::numeric_limits<To>::min() : To{0};
  } else {
    return static_cast<To>(value);
  }
}

TROUPE_HOST_DEVICE inline float value_of(Half x) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(x.bits));
#else
  return x;
#endif
}
TROUPE_HOST_DEVICE inline float value_of(BFloat16 x) { return troupe::detail::bfloat16_value(x.bits); }

template <class Stored>
TROUPE_HOST_DEVICE inline Stored& element(const Place& x, std::uint32_t i) {
  return reinterpret_cast<Stored*>(x.data)[i];
}

/// Returns element i as T. REQUIRES: T is the type of its compute_dtype.
template <class T>
TROUPE_HOST_DEVICE inline T load(const Place& x, std::uint32_t i) {
  if constexpr (std::is_same_v<T, float>) {
    if (x.dtype == DType::f16) return value_of(element<Half>(x, i));
    if (x.dtype == DType::bf16) return value_of(element<BFloat16>(x, i));
  }
  if constexpr (std::is_same_v<T, std::int32_t>) {
    switch (x.dtype) {
      case DType::boolean: return element<bool>(x, i) ? 1 : 0;
      case DType::u8: return element<std::uint8_t>(x, i);
      case DType::i8: return element<std::int8_t>(x, i);
      case DType::i16: return element<std::int16_t>(x, i);
      default: break;
    }
  }
  return element<T>(x, i);
}

/// Writes element i. REQUIRES: T is the type of its compute_dtype.
template <class T>
TROUPE_HOST_DEVICE inline void store(const Place& x, std::uint32_t i, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (x.dtype == DType::f16) {
      element<Half>(x, i) = convert_value<Half>(value);
      return;
    }
    if (x.dtype == DType::bf16) {
      element<BFloat16>(x, i) = convert_value<BFloat16>(value);
      return;
    }
  }
  if constexpr (std::is_same_v<T, std::int32_t>) {
    switch (x.dtype) {
      case DType::boolean: element<bool>(x, i) = value != 0; return;
      case DType::u8: element<std::uint8_t>(x, i) = static_cast<std::uint8_t>(value); return;
      case DType::i8: element<std::int8_t>(x, i) = static_cast<std::int8_t>(value); return;
      case DType::i16: element<std::int16_t>(x, i) = static_cast<std::int16_t>(value); return;
      default: break;
    }
  }
  element<T>(x, i) = value;
}

/// Writes element i, converted to its dtype, which may be any.
template <class T>
TROUPE_HOST_DEVICE inline void store_converted(const Place& x, std::uint32_t i, T value) {
  switch (x.dtype) {
    case DType::boolean: element<bool>(x, i) = convert_value<bool>(value); return;
    case DType::u8: element<std::uint8_t>(x, i) = convert_value<std::uint8_t>(value); return;
    case DType::i8: element<std::int8_t>(x, i) = convert_value<std::int8_t>(value); return;
    case DType::i16: element<std::int16_t>(x, i) = convert_value<std::int16_t>(value); return;
    case DType::i32: element<std::int32_t>(x, i) = convert_value<std::int32_t>(value); return;
    case DType::i64: element<std::int64_t>(x, i) = convert_value<std::int64_t>(value); return;
    case DType::f16: element<Half>(x, i) = convert_value<Half>(value); return;
    case DType::bf16: element<BFloat16>(x, i) = convert_value<BFloat16>(value); return;
    case DType::f32: element<float>(x, i) = convert_value<float>(value); return;
    case DType::f64: element<double>(x, i) = convert_value<double>(value); return;
  }
}

/// Calls f(std::type_identity<U>{}), where U is the unsigned integer of an element's size, for copies without
/// conversion.
template <class F>
void dispatch_bits(DType dtype, const F& f) {
  switch (size_of(dtype)) {
    case 1: return f(std::type_identity<std::uint8_t>{});
    case 2: return f(std::type_identity<std::uint16_t>{});
    case 4: return f(std::type_identity<std::uint32_t>{});
    default: return f(std::type_identity<std::uint64_t>{});
  }
}

}  // namespace troupe::cuda
