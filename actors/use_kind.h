// What somebody does with a value while it holds it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace troupe::detail {

enum class UseKind : std::uint8_t {
  looks,    ///< at what does not change: takes no turn
  reads,    ///< in turn
  changes,  ///< in turn; copies of the value are out of date
};

/// A use as the owner of the value sees it.
struct UsePurpose {
  UsePurpose(UseKind k, std::string w = {}) : kind(k), what(std::move(w)) {}
  UseKind kind;
  std::string what;  ///< for reports: "rpc forward for trainer0"
};

}  // namespace troupe::detail
