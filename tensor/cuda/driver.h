// Functions of the driver that the runtime does not have. The runtime opens the driver, so that nothing links it.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace troupe::cuda {

/// Returns the driver's function; null if there is no driver, or it has none. `since`: the version of the driver's
/// interface that has it in this form. Usage: `driver_function<decltype(&cuMemFree)>("cuMemFree", 3020)`.
template <class Function>
[[nodiscard]] Function driver_function(const char* name, [[maybe_unused]] unsigned since) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, since, 0, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, 0);
#endif
  if (error == cudaSuccess) return reinterpret_cast<Function>(function);
  static_cast<void>(cudaGetLastError());  // a later call would return it
  return nullptr;
}

}  // namespace troupe::cuda
