#include "optim/option_checks.h"

#include <fmt/format.h>

#include <cmath>

#include "tensor/error.h"

namespace troupe::optim {

void require_not_negative(std::string_view rule, std::string_view option, double value) {
  if (value >= 0.0 && std::isfinite(value)) return;
  throw ValueError(fmt::format("[{}] {} is not a number >= 0: {}", rule, option, value));
}

void require_share(std::string_view rule, std::string_view option, double value) {
  if (value >= 0.0 && value < 1.0) return;
  throw ValueError(fmt::format("[{}] {} is not a number in [0, 1): {}", rule, option, value));
}

void require_part(std::string_view rule, std::string_view option, double value) {
  if (value >= 0.0 && value <= 1.0) return;
  throw ValueError(fmt::format("[{}] {} is not a number in [0, 1]: {}", rule, option, value));
}

void require_number(std::string_view rule, std::string_view option, double value) {
  if (!std::isfinite(value)) throw ValueError(fmt::format("[{}] {} is not a number: {}", rule, option, value));
}

void require_positive(std::string_view rule, std::string_view option, std::int64_t value) {
  if (value <= 0) throw ValueError(fmt::format("[{}] {} is not above 0: {}", rule, option, value));
}

void require_momentum_or_none(std::string_view rule, bool had_momentum, double momentum) {
  if (had_momentum == (momentum != 0.0)) return;
  throw ValueError(
      fmt::format("[{}] momentum {} for a rule that was made with{}", rule, momentum, had_momentum ? "" : "out"));
}

void refuse_momentum(std::string_view rule) { throw ValueError(fmt::format("[{}] has no momentum", rule)); }

}  // namespace troupe::optim
