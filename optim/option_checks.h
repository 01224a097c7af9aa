// Checks of options that several rules share. For the sources of this folder.
#pragma once

#include <string_view>

namespace troupe::optim {

/// Throws ValueError `[sgd] lr is not a number >= 0: -0.1` unless 0 <= value < infinity.
void require_not_negative(std::string_view rule, std::string_view option, double value);

/// Throws ValueError `[adam] beta1 is not a number in [0, 1): 1` unless 0 <= value < 1.
void require_share(std::string_view rule, std::string_view option, double value);

/// Throws ValueError `[rmsprop] alpha is not a number in [0, 1]: 2` unless 0 <= value <= 1.
void require_part(std::string_view rule, std::string_view option, double value);

/// Throws ValueError `[sgd] dampening is not a number: inf` unless it is finite.
void require_number(std::string_view rule, std::string_view option, double value);

}  // namespace troupe::optim
