// The memory that receives next values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::optim {

/// Keeps the last value of each parameter and reuses its memory when no other handle of it exists. Not thread-safe: one
/// owner at a time.
class SecondBuffers {
 public:
  explicit SecondBuffers(std::size_t parameters);

  /// Returns a contiguous tensor of the shape, dtype and device of `current`, whose memory no other handle shares. Its
  /// elements are uninitialized.
  [[nodiscard]] Tensor take(std::size_t index, const Tensor& current);

  /// The same with the elements of `current`, except in `rows` (i64 (n), ascending), which the caller writes. If
  /// `current` followed the kept value and neither was written since, copies only the rows in which they differ.
  [[nodiscard]] Tensor take_equal(std::size_t index, const Tensor& current, const Tensor& rows);

  /// Keeps `last`, the value that a step replaced. Other handles may still read it.
  void give(std::size_t index, Tensor last) noexcept { spare_[index] = {.last = std::move(last)}; }

  /// The same, and records that `following` differs from `last` only in `rows`, i64 (n), ascending. Without memory
  /// for a copy of `rows`, only keeps `last`.
  void give(std::size_t index, Tensor last, const Tensor& following, const Tensor& rows) noexcept;

 private:
  struct Spare {
    Tensor last;
    std::uint64_t last_version = 0;
    Tensor following{};  ///< the value after `last`; undefined: not known
    std::uint64_t following_version = 0;
    Tensor rows{};
  };
  std::vector<Spare> spare_;
};

}  // namespace troupe::optim
