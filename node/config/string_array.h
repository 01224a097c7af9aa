// An array of strings on one line, as TOML has it: ["sh", '-c', "printf \"x\""]. For overrides, which have no file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::detail {

/// Returns the strings of `text`, in double quotes with TOML's escapes or in single quotes without; nullopt if it has
/// another form. Bytes behind a backslash that TOML does not know are another form, too.
[[nodiscard]] std::optional<std::vector<std::string>> parse_string_array(std::string_view text);

}  // namespace troupe::detail
