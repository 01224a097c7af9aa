// The error of a request that was refused before any of it ran.
#pragma once

#include <string>
#include <utility>

#include "messages/error.h"

namespace troupe::detail {

[[nodiscard]] inline Error error_not_run(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  error.execution = Execution::never;
  return error;
}

}  // namespace troupe::detail
