// Checks of options that several rules share. For the sources of this folder.
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::optim {

/// Throws ValueError `[sgd] lr is not a number >= 0: -0.1` unless 0 <= value < infinity.
void require_not_negative(std::string_view rule, std::string_view option, double value);

/// Throws ValueError `[adam] beta1 is not a number in [0, 1): 1` unless 0 <= value < 1.
void require_share(std::string_view rule, std::string_view option, double value);

/// Throws ValueError `[rmsprop] alpha is not a number in [0, 1]: 2` unless 0 <= value <= 1.
void require_part(std::string_view rule, std::string_view option, double value);

/// Throws ValueError `[step_lr] step_size is not above 0: 0` unless value > 0.
void require_positive(std::string_view rule, std::string_view option, std::int64_t value);

/// Throws ValueError `[sgd] dampening is not a number: inf` unless `value` is finite.
void require_number(std::string_view rule, std::string_view option, double value);

/// Throws ValueError `[sgd] momentum 0.5 for a rule that was made without` unless `had_momentum` equals (momentum !=
/// 0).
void require_momentum_or_none(std::string_view rule, bool had_momentum, double momentum);

/// Throws ValueError `[adagrad] has no momentum`.
[[noreturn]] void refuse_momentum(std::string_view rule);

}  // namespace troupe::optim
