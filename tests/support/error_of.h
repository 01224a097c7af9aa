#pragma once

#include <stdexcept>

#include "actors/exceptions.h"

namespace troupe::testing {

/// Returns the Error of the RemoteError that `action` throws. The test case fails if it throws none.
template <class Action>
[[nodiscard]] Error error_of(Action action) {
  try {
    static_cast<void>(action());
  } catch (const RemoteError& error) {
    return error.error();
  }
  throw std::logic_error("expected a RemoteError, nothing was thrown");
}

}  // namespace troupe::testing
