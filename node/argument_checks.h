// Why a text cannot be the value of an option of the program `troupe`. Each returns an empty text if it can.
#pragma once

#include <string>

namespace troupe {

/// Seconds from `min` on, of an hour at most; not "nan".
[[nodiscard]] std::string refuse_but_seconds(double min, const std::string& text);

/// A number that is 0 or more; not "-1", of which others make a large one.
[[nodiscard]] std::string refuse_but_count(const std::string& text);

/// Any text but an empty one: a variable of a script that is not set is not meant.
[[nodiscard]] std::string refuse_empty(const std::string& text);

}  // namespace troupe
