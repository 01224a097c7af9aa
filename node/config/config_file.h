// A cluster file as it stands: known keys with their raw values and places, and what is unknown in it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "node/config/settings.h"

namespace troupe::detail {

/// A value that somebody gave, and where.
struct GivenSetting {
  RawSetting value;
  Origin origin;
};
using GivenSettings = std::map<std::string, GivenSetting, std::less<>>;

/// One thing that is wrong: "<origin>: <what>".
struct ConfigProblem {
  Origin origin;
  std::string what;  ///< "role.comand: unknown key, did you mean "command"?"
};

struct GivenRole {
  Origin origin;           ///< its [[role]]
  GivenSettings settings;  ///< by key: "count"
};

struct GivenConfig {
  GivenSettings settings;  ///< by full key: "cluster.port"
  std::vector<GivenRole> roles;
  std::vector<ConfigProblem> problems;
};

/// Returns what stands in `file`. Only names are checked here, no values. Never throws for what the file holds.
[[nodiscard]] GivenConfig read_config_file(const std::string& file);

/// Returns "unknown section, did you mean ...".
[[nodiscard]] std::string unknown_section(std::string_view section);

/// Returns "unknown key, did you mean ...", or the keys that there are if none is close.
[[nodiscard]] std::string unknown_key(std::string_view section, std::string_view key);

/// Returns the keys of "cluster", "node", "pool", "peer" or "role"; empty for an unknown section.
[[nodiscard]] std::vector<SettingSpec> specs_of(std::string_view section);

}  // namespace troupe::detail
