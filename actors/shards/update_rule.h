// An optimizer's rule on the wire: its name and its encoded options.
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

/// Makes the rule, without state. Errors: bad_argument for invalid options or a rule unknown to this program; decode.
[[nodiscard]] Result<std::unique_ptr<optim::Optimizer>> make_rule(const UpdateRule& rule);

}  // namespace troupe::detail
