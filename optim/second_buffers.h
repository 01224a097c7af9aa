// The memory that next values are written into.
#pragma once

#include <cstddef>
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

  /// Keeps `last`, which was read until now, and perhaps still is.
  void give(std::size_t index, Tensor last) { spare_[index] = std::move(last); }

 private:
  std::vector<Tensor> spare_;
};

}  // namespace troupe::optim
