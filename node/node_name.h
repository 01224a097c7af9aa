// The rule for the names of nodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace troupe {

inline constexpr std::size_t kNodeNameMax = 127;
/// Of nodes that a file or a launcher names: a control socket has the name in its own, of at most 107 characters.
inline constexpr std::size_t kConfiguredNameMax = 64;
inline constexpr std::string_view kNodeNameRule = "1 to 127 of A-Z a-z 0-9 - _ : .";
inline constexpr std::string_view kConfiguredNameRule = "1 to 64 of A-Z a-z 0-9 - _ : .";

/// Returns whether `name` follows kNodeNameRule.
[[nodiscard]] inline bool is_valid_node_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == ':' || c == '.';
  };
  return !name.empty() && name.size() <= kNodeNameMax && std::ranges::all_of(name, allowed);
}

/// Returns whether `name` follows kConfiguredNameRule.
[[nodiscard]] inline bool is_valid_configured_name(std::string_view name) {
  return name.size() <= kConfiguredNameMax && is_valid_node_name(name);
}

}  // namespace troupe
