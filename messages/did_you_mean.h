// What a name that is not known was probably meant to be, for the texts of errors.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Returns `, did you mean "port"?` for the closest of `known`, or nothing if none is close.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace troupe
