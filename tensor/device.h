// Devices: where the bytes of a tensor are stored.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// The numeric values are part of the wire format.
enum class DeviceKind : std::uint8_t { cpu = 1, cuda = 2 };

/// The CPU, or one GPU of this process. A plain value: constructing it does not initialise the device.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::int16_t index = 0;  ///< index of the GPU; 0 for the CPU

  [[nodiscard]] static constexpr Device cpu() noexcept { return {}; }
  [[nodiscard]] static constexpr Device cuda(std::int16_t index = 0) noexcept { return {DeviceKind::cuda, index}; }

  /// Parses "cpu", "cuda" (the first GPU) or "cuda:N".
  /// Throws DeviceError `[device] not a device: gpu0` for any other text.
  [[nodiscard]] static Device parse(std::string_view text);

  friend auto operator<=>(const Device&, const Device&) = default;
};

/// "cpu" or "cuda:0"
[[nodiscard]] std::string to_string(Device device);

/// Returns the number of GPUs this process can use; 0 without a driver or in a build without CUDA. Thread-safe.
[[nodiscard]] int gpu_count();

/// Returns why tensors cannot be on `device`: "built without CUDA", "this process has one GPU". Empty if they can.
/// Thread-safe.
[[nodiscard]] std::string why_unavailable(Device device);

/// Waits until all work that this process requested of `device` before this call is done: operations on a GPU return at
/// once. Thread-safe. Throws DeviceError if some of it failed. Source: `torch.cuda.synchronize`.
void synchronize(Device device);

/// Throws DeviceError `[op] cuda:0 is not available: built without CUDA` unless tensors can be on `device`. The text
/// ends with `why_unavailable(device)`.
void require_available(std::string_view op, Device device);

}  // namespace troupe
