// One stream for each GPU: everything that this process does there happens in the order in which it was asked for,
// whichever thread asked. A tensor that one thread hands to another needs no event, and memory that is freed while
// kernels still use it serves the kernels that come after them. Only what reads the bytes on the CPU waits.
#pragma once

#include <string>
#include <string_view>

#include "tensor/device.h"

struct CUstream_st;  // what a cudaStream_t points to

namespace troupe::cuda {

/// Makes a GPU the calling thread's own, and gives it back the former.
class OnGpu {
 public:
  /// Throws DeviceError `[op] cuda:1: invalid device ordinal`.
  OnGpu(std::string_view op, int index);
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  int former_ = 0;
};

/// Returns the stream of GPU `index`, made when it is asked for the first time, and never destroyed. Any thread.
/// Throws DeviceError `[stream] cuda:0: out of memory`.
[[nodiscard]] CUstream_st* stream_of(int index);

/// Throws DeviceError `[op] cuda:0: invalid argument` unless `status`, a cudaError_t, is success; clears it for the
/// thread.
void require_success(std::string_view op, int index, int status);

/// Waits until everything that was asked of GPU `index` before this call is done. Any thread.
/// Throws DeviceError if something of that failed.
void synchronize(int index);

}  // namespace troupe::cuda
