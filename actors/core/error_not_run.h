// The error of a request that was refused before any of it ran.
#pragma once

#include <string>
#include <utility>

#include "messages/error.h"

namespace troupe::detail {

/// Returns `error`, which now says that nothing ran.
[[nodiscard]] inline Error not_run(Error error) {
  error.execution = Execution::never;
  return error;
}

[[nodiscard]] inline Error error_not_run(ErrorCode code, std::string message) {
  return not_run(make_error(code, std::move(message)));
}

}  // namespace troupe::detail
