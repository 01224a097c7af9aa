// Adjacent elements that are read and written together, 16 bytes at a time, so that a large tensor takes as long as its
// memory and not as its offsets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "tensor/cuda/place.h"
#include "tensor/cuda/strided.h"
#include "tensor/kernels/host_device.h"

namespace troupe::cuda {

template <class T>
inline constexpr std::uint32_t kPackSize = 16 / sizeof(T);

template <class T>
struct alignas(16) Pack {
  T values[kPackSize<T>];
};

/// The types whose kernels have a second form, for packs.
template <class T>
inline constexpr bool kHasPacks = std::is_same_v<T, float>;

/// Smaller walks take as long without packs.
inline constexpr std::uint32_t kPackedNumelMin = 1 << 16;

/// An operand of a walk over packs.
template <class T>
struct PackedOperand {
  Place place;           ///< null data: the operand is `number`
  bool repeats = false;  ///< one element is the operand of a whole pack
  T number = {};

  /// `offset`: of the pack in packs, or of the element that repeats.
  [[nodiscard]] TROUPE_HOST_DEVICE Pack<T> at(std::uint32_t offset) const {
    if (place.data != nullptr && !repeats) return element<Pack<T>>(place, offset);
    const T value = place.data == nullptr ? number : element<T>(place, offset);
    Pack<T> pack;
    for (T& one : pack.values) one = value;
    return pack;
  }
};

template <std::size_t N>
struct Packs {
  Strided<N> walk;                       ///< over packs; see PackedOperand::at() for its offsets
  std::array<bool, N> repeats{};         ///< by operand
  Strided<N> rest;                       ///< over elements: the last ones of a walk along one dimension
  std::array<std::int64_t, N> starts{};  ///< of `rest`, in elements
};

/// Returns the packs of a large walk over operands of type T, of which the first is written; nullopt if its elements
/// are not adjacent in memory, aligned and unconverted. Operands without data are numbers.
template <class T, std::size_t N>
std::optional<Packs<N>> packs_of(const Strided<N>& walk, const std::array<Place, N>& places) {
  const auto inner = static_cast<std::size_t>(walk.rank) - 1;
  const std::uint32_t size = inner == 0 ? walk.numel : walk.sizes[inner].divisor;
  const std::uint32_t left = size % kPackSize<T>;
  if (walk.numel < kPackedNumelMin || (inner > 0 && left != 0)) return std::nullopt;
  Packs<N> packs;
  packs.walk = walk;
  packs.walk.sizes[inner] = FastDivisor(size / kPackSize<T>);
  packs.walk.numel = walk.numel / kPackSize<T>;
  for (std::size_t n = 0; n < N; ++n) {
    if (places[n].data == nullptr) continue;
    if (places[n].dtype != dtype_of<T>) return std::nullopt;
    packs.repeats[n] = n > 0 && walk.strides[inner][n] == 0;
    if (packs.repeats[n]) continue;
    if (walk.strides[inner][n] != 1 || reinterpret_cast<std::uintptr_t>(places[n].data) % sizeof(Pack<T>) != 0)
      return std::nullopt;
    for (std::size_t d = 0; d < inner; ++d) {
      if (walk.strides[d][n] % kPackSize<T> != 0) return std::nullopt;
      packs.walk.strides[d][n] /= kPackSize<T>;
    }
  }
  packs.rest = walk;
  packs.rest.numel = left;
  if (left != 0) packs.rest.sizes[0] = FastDivisor(left);
  for (std::size_t n = 0; n < N; ++n) packs.starts[n] = std::int64_t{walk.strides[inner][n]} * (size - left);
  return packs;
}

}  // namespace troupe::cuda
