// What a use does with a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "actors/core/node_life.h"

namespace troupe::detail {

enum class UseKind : std::uint8_t {
  looks,    ///< reads only what never changes: takes no turn
  reads,    ///< in turn
  changes,  ///< in turn; afterwards copies of the value are out of date
};

/// A use, as the value's owner sees it.
struct UsePurpose {
  UsePurpose(UseKind k, std::string w = {}, std::optional<NodeLife> asker = {})
      : kind(k), what(std::move(w)), asked_by(std::move(asker)) {}
  UseKind kind;
  std::string what;                                ///< for reports: "rpc forward for trainer0"
  std::optional<NodeLife> asked_by;                ///< the requester; a use that has not started ends with its life
  std::optional<NodeLife> counted_for = asked_by;  ///< the requester in whose quota things made for the use count
};

}  // namespace troupe::detail
