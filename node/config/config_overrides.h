// The two layers that override a cluster file: the environment and the command line.
#pragma once

#include <span>
#include <string>

#include "node/config/config_file.h"
#include "node/config/settings.h"

namespace troupe::detail {

/// Applies every TROUPE__SECTION__KEY of `variables` to `config`; TROUPE__ROLE__<NAME>__KEY for a role, in whose name
/// any character but letters and digits is written as _. An unknown key becomes a problem of `config`.
void lay_over(GivenConfig& config, const Variables& variables);

/// Applies every "section.key=value" of `overrides` to `config`, in order; "role.<name>.<key>" for a role. An unknown
/// key becomes a problem of `config`.
void lay_over(GivenConfig& config, std::span<const std::string> overrides);

}  // namespace troupe::detail
