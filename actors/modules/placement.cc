#include "actors/modules/placement.h"

#include <charconv>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "tensor/error.h"

namespace troupe {
namespace {

constexpr std::string_view kRank = "rank:";

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument(
      fmt::format("[placement] \"{}\" {}: expected NODE, NODE/DEVICE or rank:N/DEVICE", text, why));
}

std::int64_t rank_of(std::string_view text, std::string_view digits) {
  std::int64_t rank = -1;
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, rank);
  if (error != std::errc{} || last != end || rank < 0) refuse(text, "has no rank of 0 or more after rank:");
  return rank;
}

Device device_of(std::string_view text, std::string_view device) {
  try {
    return Device::parse(device);
  } catch (const DeviceError&) {
    refuse(text, fmt::format("names the device \"{}\", which is none of cpu, cuda and cuda:N", device));
  }
}

}  // namespace

Placement Placement::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view node = text.substr(0, slash);
  if (node.empty()) refuse(text, "names no node");
  if (slash != std::string_view::npos && text.find('/', slash + 1) != std::string_view::npos) {
    refuse(text, "has more than one /");
  }
  Placement placement;
  if (node.starts_with(kRank)) {
    placement.rank = rank_of(text, node.substr(kRank.size()));
  } else {
    placement.node = node;
  }
  if (slash != std::string_view::npos) placement.device = device_of(text, text.substr(slash + 1));
  return placement;
}

}  // namespace troupe
