// Makes text of other processes safe to print on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace troupe::detail {

/// Returns `text` with control characters as "\x1b": names and messages of peers and files must not command the
/// terminal. Newlines and tabs stay.
[[nodiscard]] std::string visible_text(std::string_view text);

/// As visible_text, on one line: newlines, carriage returns and tabs are spaces.
[[nodiscard]] std::string visible_line(std::string_view text);

}  // namespace troupe::detail
