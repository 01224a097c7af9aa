#include "tensor/cuda/event.h"

#include <cuda_runtime_api.h>

#include "tensor/cuda/stream.h"

namespace troupe::cuda {

Event::Event(int index) : index_(index) {
  const OnGpu gpu("event", index);
  require_success("event", index, cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
  const cudaError_t error = cudaEventRecord(event_, stream_of(index));
  if (error == cudaSuccess) return;
  static_cast<void>(cudaEventDestroy(event_));
  require_success("event", index, error);
}

Event::~Event() { static_cast<void>(cudaEventDestroy(event_)); }

bool Event::done() const {
  const cudaError_t error = cudaEventQuery(event_);
  if (error == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());  // else the check of the next launch would find it
    return false;
  }
  require_success("event", index_, error);
  return true;
}

void Event::synchronize() const { require_success("event", index_, cudaEventSynchronize(event_)); }

void Event::wait_on(int index) const {
  const OnGpu gpu("event", index);
  require_success("event", index, cudaStreamWaitEvent(stream_of(index), event_));
}

}  // namespace troupe::cuda
