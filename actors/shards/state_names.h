// The names of tensors in a saved state of an optimizer: "groups.0.adam.lr", "groups.0.parameters.3.exp_avg".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::detail {

struct StateName {
  std::size_t group = 0;
  std::optional<std::size_t> place;  ///< of the parameter in its group; nullopt: an option of the group's rule
  std::string rest;                  ///< "adam.lr", "exp_avg"
};

/// Returns the parts of a name; nullopt for a name of another form.
[[nodiscard]] std::optional<StateName> parse_state_name(std::string_view name);

/// Returns "groups.0.".
[[nodiscard]] std::string group_prefix(std::size_t group);

/// Returns "groups.0.parameters.3.value".
[[nodiscard]] std::string value_name(std::size_t group, std::size_t place);

}  // namespace troupe::detail
