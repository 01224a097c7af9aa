#include "actors/shards/state_names.h"

#include <fmt/format.h>

#include <charconv>

namespace troupe::detail {
namespace {

/// Takes `prefix` off the front of `text`. Returns whether it was there.
bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Takes a number and the dot behind it off the front of `text`.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || digits == text.size() || text[digits] != '.') return std::nullopt;
  if (digits > 1 && text.front() == '0') return std::nullopt;  // one name for each number
  text.remove_prefix(digits + 1);
  return number;
}

}  // namespace

std::optional<StateName> parse_state_name(std::string_view name) {
  if (!take_prefix(name, "groups.")) return std::nullopt;
  const auto group = take_number(name);
  if (!group) return std::nullopt;
  if (!take_prefix(name, "parameters.")) return StateName{*group, std::nullopt, std::string(name)};
  const auto place = take_number(name);
  if (!place) return std::nullopt;
  return StateName{*group, place, std::string(name)};
}

std::string group_prefix(std::size_t group) { return fmt::format("groups.{}.", group); }

std::string value_name(std::size_t group, std::size_t place) {
  return fmt::format("groups.{}.parameters.{}.value", group, place);
}

}  // namespace troupe::detail
