#include "node/port_range.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace troupe {
namespace {

/// Returns nullopt unless `digits` are those of 1 to 65535.
std::optional<std::uint16_t> port_number(std::string_view digits) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || number == 0) return std::nullopt;
  return number;
}

}  // namespace

std::optional<PortRange> PortRange::parse(std::string_view text) {
  const std::size_t middle = text.find('-');
  if (middle == std::string_view::npos) return std::nullopt;
  const auto low = port_number(text.substr(0, middle));
  const auto high = port_number(text.substr(middle + 1));
  if (!low || !high || *low > *high) return std::nullopt;
  return PortRange{*low, *high};
}

std::string PortRange::text() const { return fmt::format("{}-{}", low, high); }

}  // namespace troupe
