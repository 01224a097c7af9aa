#include "actors/exceptions.h"

namespace troupe {

const Error* remote_error_of(const std::exception& exception) noexcept {
  const auto* origin = dynamic_cast<const RemoteOrigin*>(&exception);
  if (origin != nullptr) return &origin->error();
  const auto* remote = dynamic_cast<const RemoteError*>(&exception);
  return remote != nullptr ? &remote->error() : nullptr;
}

}  // namespace troupe
