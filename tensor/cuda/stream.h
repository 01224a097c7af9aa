// One stream per GPU. All work of this process on a GPU runs in the order of the requests, whichever thread makes them.
// So passing a tensor to another thread needs no event, and memory that is freed while kernels still use it can serve
// later kernels. Only reads of the bytes on the CPU wait.
#pragma once

#include <string>
#include <string_view>

#include "tensor/cuda/room.h"
#include "tensor/device.h"

struct CUstream_st;  // target of a cudaStream_t

namespace troupe::cuda {

/// Makes a GPU the calling thread's current device; the destructor restores the former one if this process uses that: a
/// thread that has never chosen one is said to be on GPU 0.
class OnGpu {
 public:
  /// Throws DeviceError `[op] cuda:1: invalid device ordinal`.
  OnGpu(std::string_view op, int index);
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  const int index_;
  int former_ = 0;
};

/// Returns the stream of GPU `index`. It is created at the first call and never destroyed. Thread-safe. Throws
/// DeviceError `[stream] cuda:0: out of memory`.
[[nodiscard]] CUstream_st* stream_of(int index);

/// Returns the room of GPU `index`: its pool gives back the memory that was freed, after the work that may still use
/// it. Thread-safe. REQUIRES: GPU `index` is the thread's current device. Its functions throw as stream_of.
[[nodiscard]] Room room_of(int index);

/// Throws `text` as DeviceError, of the kind DeviceMemoryError if `status`, a cudaError_t, says that there is no
/// memory.
[[noreturn]] void throw_failure(int status, const std::string& text);

/// Throws as throw_failure() `[op] cuda:0: invalid argument` unless `status`, a cudaError_t, is success. Clears the
/// thread's error.
void require_success(std::string_view op, int index, int status);

}  // namespace troupe::cuda
