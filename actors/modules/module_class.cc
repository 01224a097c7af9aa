#include "actors/modules/module_class.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string>

#include "actors/calls/scope_state.h"
#include "actors/core/node_core.h"
#include "actors/core/type_name.h"
#include "actors/source_location.h"

namespace troupe::detail {

GeneratorState::GeneratorState(const Generator& generator)
    : seed(generator.seed()), stream(generator.stream()), blocks(Generator(generator).skip(0)) {}

Generator GeneratorState::generator() const {
  Generator same(seed, stream);
  same.skip(blocks);
  return same;
}

Device device_to_caller(const ScopeState& scope, Device home) {
  if (home == Device::cpu()) return home;
  return scope.answer_devices && scope.answer_devices->target(home) ? home : Device::cpu();
}

void warn_of_cut_graph(const ScopeState& scope, const std::type_info& module, const Variable& result) {
  if (scope.context || !result.defined() || !result.requires_grad() || result.is_leaf()) return;
  const std::string function = type_name(module) + "::forward";
  if (!scope.node->first_warning_at(SourceLocation::current(function.c_str(), 0))) return;
  spdlog::warn(
      "[{}] {} was called by {} outside a DistContext: no gradient comes back; call it through the context, or under a "
      "NoGradGuard",
      scope.node->name(), function, scope.caller);
}

}  // namespace troupe::detail
