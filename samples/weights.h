// How far apart the weights of two trainings are, for samples that compare themselves with one process.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace samples {

/// Returns the largest difference of an element of `a` from that of `b`, relative to the largest of `b`. REQUIRES:
/// equally many tensors, of equal shapes; an element of `b` is not 0.
[[nodiscard]] double difference(const std::vector<troupe::Tensor>& a, const std::vector<troupe::Tensor>& b);

}  // namespace samples
