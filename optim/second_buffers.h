// The memory that next values are written into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::optim {

/// For each parameter its last value, whose memory is used again once nobody reads it. One owner at a time: not safe
/// for several threads at once.
class SecondBuffers {
 public:
  explicit SecondBuffers(std::size_t parameters) : spare_(parameters) {}

  /// Returns a contiguous tensor like `current` in memory that nobody else sees; its elements are anything.
  [[nodiscard]] Tensor take(std::size_t index, const Tensor& current);

  /// The same with the elements of `current`, but in `rows` (i64 (n), ascending), which the caller writes. If `current`
  /// is what followed the kept value, and nobody wrote to either, only the rows are copied in which they differ.
  [[nodiscard]] Tensor take_equal(std::size_t index, const Tensor& current, const Tensor& rows);

  /// Keeps `last`, which was read until now, and perhaps still is.
  void give(std::size_t index, Tensor last) { spare_[index] = {.last = std::move(last)}; }

  /// The same, of which `following` differs in these rows alone: i64 (n), ascending.
  void give(std::size_t index, Tensor last, const Tensor& following, const Tensor& rows);

 private:
  struct Spare {
    Tensor last;
    std::uint64_t last_version = 0;
    Tensor following{};  ///< undefined: anything may have
    std::uint64_t following_version = 0;
    Tensor rows{};
  };
  std::vector<Spare> spare_;
};

}  // namespace troupe::optim
