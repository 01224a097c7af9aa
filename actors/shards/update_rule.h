// How an optimizer's rule travels: its name and its options, encoded.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "messages/error.h"
#include "optim/optimizer.h"
#include "optim/rule_options.h"

namespace troupe::detail {

struct UpdateRule {
  std::string name;
  std::vector<std::byte> options;
};

[[nodiscard]] UpdateRule rule_of(const optim::RuleOptions& options);

/// Makes the rule with no state. Errors: bad_argument for options that the rule refuses or a rule that this program does
/// not know, decode.
[[nodiscard]] Result<std::unique_ptr<optim::Optimizer>> make_rule(const UpdateRule& rule);

}  // namespace troupe::detail
