// Which update rule, said by its options.
#pragma once

#include <variant>

#include "optim/adam.h"
#include "optim/sgd.h"

namespace troupe::optim {

/// The options of one rule: what is asked for by whoever does not make the rule himself.
using RuleOptions = std::variant<SgdOptions, AdamOptions>;

}  // namespace troupe::optim
