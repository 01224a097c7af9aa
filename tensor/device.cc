#include "tensor/device.h"

#include <fmt/format.h>

#include <charconv>

#include "tensor/cuda/memory.h"
#include "tensor/error.h"

namespace troupe {

Device Device::parse(std::string_view text) {
  constexpr std::string_view kCuda = "cuda";
  if (text == "cpu") return cpu();
  if (text == kCuda) return cuda();
  if (text.starts_with("cuda:")) {
    const std::string_view digits = text.substr(kCuda.size() + 1);
    const char* const last = digits.data() + digits.size();
    std::int16_t index = 0;
    const auto [end, error] = std::from_chars(digits.data(), last, index);
    if (error == std::errc{} && end == last && index >= 0) return cuda(index);
  }
  throw DeviceError(fmt::format("[device] not a device: {}", text));
}

std::string to_string(Device device) {
  return device.kind == DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

int gpu_count() { return cuda::device_count(); }

std::string why_unavailable(Device device) {
  return device.kind == DeviceKind::cpu ? std::string() : cuda::why_unavailable(device.index);
}

void synchronize(Device device) {
  require_available("synchronize", device);
  if (device.kind == DeviceKind::cuda) cuda::synchronize(device.index);
}

void require_available(std::string_view op, Device device) {
  if (device.kind == DeviceKind::cpu) return;
  if (const std::string why = why_unavailable(device); !why.empty()) {
    throw DeviceError(fmt::format("[{}] {} is not available: {}", op, to_string(device), why));
  }
}

}  // namespace troupe
