// Which devices this process has.
#pragma once

#include <string>

#include "tensor/device.h"

namespace troupe {

/// Returns how many GPUs this process can use; 0 also where there is no driver or no CUDA in this build. Any thread.
[[nodiscard]] int gpu_count();

/// Returns why tensors cannot be on `device`, or nothing: "built without CUDA", "this process has one GPU". Any thread.
[[nodiscard]] std::string why_unavailable(Device device);

}  // namespace troupe
