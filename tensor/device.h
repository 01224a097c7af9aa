// Where the bytes of a tensor are.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// The numbers are on the wire.
enum class DeviceKind : std::uint8_t { cpu = 1, cuda = 2 };

/// The CPU, or one GPU of this process. A value; naming a device does not touch it.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::int16_t index = 0;  ///< of the GPU; 0 for the CPU

  [[nodiscard]] static constexpr Device cpu() noexcept { return {}; }
  [[nodiscard]] static constexpr Device cuda(std::int16_t index = 0) noexcept { return {DeviceKind::cuda, index}; }

  /// Returns the device written as "cpu", "cuda" (the first GPU) or "cuda:N".
  /// Throws DeviceError `[device] not a device: gpu0` for anything else.
  [[nodiscard]] static Device parse(std::string_view text);

  friend auto operator<=>(const Device&, const Device&) = default;
};

/// "cpu" or "cuda:0"
[[nodiscard]] std::string to_string(Device device);

/// Returns how many GPUs this process can use; 0 also where there is no driver or no CUDA in this build. Any thread.
[[nodiscard]] int gpu_count();

/// Returns why tensors cannot be on `device`, or nothing: "built without CUDA", "this process has one GPU". Any thread.
[[nodiscard]] std::string why_unavailable(Device device);

/// Returns if tensors can be made on `device`.
/// Throws DeviceError `[op] cuda:0 is not available: built without CUDA` otherwise, or why else.
void require_available(std::string_view op, Device device);

}  // namespace troupe
