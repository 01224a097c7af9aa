#include "actors/retry.h"

namespace troupe::detail {
bool may_repeat(const Error& error, Repeat repeat) {
  switch (error.code) {
    case ErrorCode::peer_down:
    case ErrorCode::peer_unreachable:
    case ErrorCode::peer_restarted:
    case ErrorCode::you_are_dead:
    case ErrorCode::not_joined:
    case ErrorCode::shutting_down:
    case ErrorCode::resource_exhausted:
    case ErrorCode::device_out_of_memory:
      return repeat == Repeat::even_if_run || (repeat == Repeat::if_not_run && error.execution == Execution::never);
    default: return false;
  }
}

}  // namespace troupe::detail
