// What is said about a vertex after it was made, which few vertices need.
#pragma once

#include "autograd/hooks.h"

namespace troupe::detail {

struct VertexNotes {
  HookList hooks;
};

}  // namespace troupe::detail
