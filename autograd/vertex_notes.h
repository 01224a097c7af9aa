// Data added to a vertex after it was made. Few vertices have any.
#pragma once

#include <optional>

#include "autograd/hooks.h"
#include "autograd/watch.h"

namespace troupe::detail {

struct VertexNotes {
  HookList hooks;
  std::optional<Watched> watched;  ///< set while the vertex is made, under an AnomalyGuard
};

}  // namespace troupe::detail
