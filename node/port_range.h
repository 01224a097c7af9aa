// Ports that a firewall lets through.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// TCP or UDP ports from `low` to `high`, both included.
struct PortRange {
  std::uint16_t low = 0;
  std::uint16_t high = 0;

  /// Parses "LOW-HIGH" in decimal digits. Returns nullopt unless 1 <= LOW <= HIGH <= 65535.
  [[nodiscard]] static std::optional<PortRange> parse(std::string_view text);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] int size() const { return high - low + 1; }
  friend bool operator==(const PortRange&, const PortRange&) = default;
};

}  // namespace troupe
