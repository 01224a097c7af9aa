// The two layers above a cluster file: the environment and the command line.
#pragma once

#include <span>
#include <string>

#include "node/config/config_file.h"
#include "node/config/settings.h"

namespace troupe::detail {

/// Lays every TROUPE__SECTION__KEY of `variables` over `config`; TROUPE__ROLE__<NAME>__KEY for a role, in whose name
/// any character but letters and digits is written as _. What names nothing becomes a problem of `config`.
void lay_over(GivenConfig& config, const Variables& variables);

/// Lays every "section.key=value" of `overrides` over `config`, a later one over an earlier one; "role.<name>.<key>"
/// for a role. What names nothing becomes a problem of `config`.
void lay_over(GivenConfig& config, std::span<const std::string> overrides);

}  // namespace troupe::detail
