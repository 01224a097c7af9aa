// What `troupe doctor` has found out about one thing of one host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe::detail {

enum class Mark : std::uint8_t {
  ok,
  warning,  ///< a cluster runs, but slower or for less long than it could
  problem,  ///< a cluster does not run
};

struct Finding {
  Mark mark = Mark::ok;
  std::string check;  ///< one word: "clock"
  std::string seen;   ///< the figure, one line
  std::string hint;   ///< what to do, one line; empty if all is well
  friend bool operator==(const Finding&, const Finding&) = default;
};

struct HostFindings {
  std::string host;
  std::vector<Finding> findings;
};

}  // namespace troupe::detail
