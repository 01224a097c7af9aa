// Where the program of a command is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "node/config/settings.h"

namespace troupe::detail {

/// Returns whether this process can run the file at `path`.
[[nodiscard]] bool is_program(const std::filesystem::path& path);

/// Returns the program called `name` on PATH of `variables`; nullopt if there is none. Relative entries of PATH are
/// left out.
[[nodiscard]] std::optional<std::filesystem::path> find_on_path(std::string_view name, const Variables& variables);

}  // namespace troupe::detail
