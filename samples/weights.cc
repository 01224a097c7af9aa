#include "samples/weights.h"

#include <algorithm>
#include <cstddef>

#include "tensor/ops.h"

namespace samples {

double difference(const std::vector<troupe::Tensor>& a, const std::vector<troupe::Tensor>& b) {
  double off = 0;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    off = std::max(off, max(abs(a[i] - b[i])).item());
    largest = std::max(largest, max(abs(b[i])).item());
  }
  return off / largest;
}

}  // namespace samples
