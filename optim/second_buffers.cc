#include "optim/second_buffers.h"

#include <atomic>

namespace troupe::optim {

Tensor SecondBuffers::take(std::size_t index, const Tensor& current) {
  Tensor spare = std::exchange(spare_[index], {});
  // A write into frozen memory would first copy what nobody needs.
  const bool usable = spare.defined() && spare.shape() == current.shape() && spare.dtype() == current.dtype() &&
                      spare.device() == current.device() && spare.is_contiguous() &&
                      spare.storage().size() == spare.nbytes() && spare.storage().handle_count() == 1 &&
                      !spare.storage().frozen();
  if (!usable) return Tensor::empty(current.shape(), current.dtype(), current.device());
  // The last reader's reads come before what is written next.
  std::atomic_thread_fence(std::memory_order_acquire);
  return spare;
}

}  // namespace troupe::optim
