// All that the nodes of conformance tests serve. One registry for each name, the same in every process.
#pragma once

#include "actors/function_registry.h"
#include "messages/ids.h"

namespace troupe::testing {

/// Returns the functions that node `name` serves.
FunctionRegistry functions_of(const NodeName& name);

}  // namespace troupe::testing
