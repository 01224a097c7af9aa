// Selects an update rule by the type of its options.
#pragma once

#include <memory>
#include <string_view>
#include <variant>

#include "optim/adadelta.h"
#include "optim/adagrad.h"
#include "optim/adam.h"
#include "optim/adamax.h"
#include "optim/adamw.h"
#include "optim/asgd.h"
#include "optim/nadam.h"
#include "optim/radam.h"
#include "optim/rmsprop.h"
#include "optim/rprop.h"
#include "optim/sgd.h"
#include "optim/sparse_adam.h"

namespace troupe::optim {

/// The options of any one rule, for callers that do not construct the rule themselves.
using RuleOptions =
    std::variant<SgdOptions, AdamOptions, AdamWOptions, AdagradOptions, AdadeltaOptions, RMSpropOptions, AdamaxOptions,
                 RpropOptions, NAdamOptions, RAdamOptions, AsgdOptions, SparseAdamOptions>;

/// Returns the rule's name: "sgd".
[[nodiscard]] std::string_view rule_name(const RuleOptions& options);

/// Returns the rule with these options and no states. Throws ValueError as their check().
[[nodiscard]] std::unique_ptr<Optimizer> make_rule(const RuleOptions& options);

}  // namespace troupe::optim
