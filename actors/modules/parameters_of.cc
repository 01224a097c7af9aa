#include "actors/modules/parameters_of.h"

namespace troupe {

std::vector<RRef<Variable>> parameters_of(Through through, const nn::Module& module) {
  std::vector<RRef<Variable>> references;
  for (const Variable& parameter : module.parameters()) references.emplace_back(through.scope, parameter, through.site);
  return references;
}

}  // namespace troupe
