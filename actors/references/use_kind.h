// What somebody does with a value while it holds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "actors/core/node_life.h"

namespace troupe::detail {

enum class UseKind : std::uint8_t {
  looks,    ///< at what does not change: takes no turn
  reads,    ///< in turn
  changes,  ///< in turn; copies of the value are out of date
};

/// A use as the owner of the value sees it.
struct UsePurpose {
  UsePurpose(UseKind k, std::string w = {}, std::optional<NodeLife> asker = {}) : kind(k), what(std::move(w)), asked_by(std::move(asker)) {}
  UseKind kind;
  std::string what;                  ///< for reports: "rpc forward for trainer0"
  std::optional<NodeLife> asked_by;  ///< who waits for the answer: a use that has not begun when it goes never will
  std::optional<NodeLife> info_of = asked_by;  ///< who asked for it: what is made here for that counts for it
};

}  // namespace troupe::detail
