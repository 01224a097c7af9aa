// What is done when a GPU has no memory for a request: the memory that it keeps is given back, and the request is made
// once more. Includes no CUDA header.
#pragma once

#include <functional>

namespace troupe::cuda {

/// The memory of one GPU, as a request that has found none sees it. Thread-safe as its functions are.
struct Room {
  std::function<void()> make;        ///< waits for the GPU and gives back all memory that it keeps unused
  std::function<bool()> is_lacking;  ///< less is free than a library of NVIDIA needs to start
};

/// Returns the status of `request()`. If that has found no memory, as `is_full(status)` says, makes room, requests once
/// more and returns the status of that.
template <class Request, class IsFull>
[[nodiscard]] auto with_room(const Room& room, const Request& request, const IsFull& is_full) {
  const auto status = request();
  if (!is_full(status)) return status;
  room.make();
  return request();
}

}  // namespace troupe::cuda
