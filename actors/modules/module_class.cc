#include "actors/modules/module_class.h"

#include "actors/calls/scope_state.h"

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

}  // namespace troupe::detail
