// The contents of a cluster file: known keys with their raw values and origins, and unknown keys as problems.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "node/config/settings.h"

namespace troupe::detail {

/// A raw value and its origin.
struct GivenSetting {
  RawSetting value;
  Origin origin;
};
using GivenSettings = std::map<std::string, GivenSetting, std::less<>>;

/// One error: "<origin>: <what>".
struct ConfigProblem {
  Origin origin;
  std::string what;  ///< "role.comand: unknown key, did you mean "command"?"
};

/// One [[role]] or [[host]].
struct GivenTable {
  Origin origin;           ///< of its [[...]] line
  GivenSettings settings;  ///< by key: "count"
};

struct GivenConfig {
  GivenSettings settings;  ///< by full key: "cluster.port"
  std::vector<GivenTable> roles;
  std::vector<GivenTable> hosts;
  std::vector<ConfigProblem> problems;
};

/// Returns the contents of `file`. Checks names only, not values. Never throws for the file's contents.
[[nodiscard]] GivenConfig read_config_file(const std::string& file);

/// Returns "unknown section, did you mean ...".
[[nodiscard]] std::string unknown_section(std::string_view section);

/// Returns "unknown key, did you mean ...", or the existing keys if none is close.
[[nodiscard]] std::string unknown_key(std::string_view section, std::string_view key);

/// Returns the keys of "cluster", "node", "pool", "peer", "role" or "host"; empty for an unknown section.
[[nodiscard]] std::vector<SettingSpec> specs_of(std::string_view section);

}  // namespace troupe::detail
