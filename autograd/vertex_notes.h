// What is said about a vertex after it was made, which few vertices need.
#pragma once

#include <optional>

#include "autograd/hooks.h"
#include "autograd/watch.h"

namespace troupe::detail {

struct VertexNotes {
  HookList hooks;
  std::optional<Watched> watched;  ///< set while the vertex is made, if ever
};

}  // namespace troupe::detail
