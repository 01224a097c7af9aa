// Which libzmq this process has loaded, which may be another one than it was compiled with.
#pragma once

#include <compare>
#include <functional>
#include <string_view>

#include "messages/error.h"

namespace troupe {

struct ZmqVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  friend auto operator<=>(const ZmqVersion&, const ZmqVersion&) = default;
};

/// Returns what the loaded library says of itself.
[[nodiscard]] ZmqVersion loaded_zmq_version();

/// Refuses a libzmq below 4.3.2, in which strangers can run code of their own before they are authenticated
/// (CVE-2019-13132), with bad_argument. Below 4.3.3 strangers can use up its memory (CVE-2020-15166): then `warn` gets
/// a line. It may be empty.
[[nodiscard]] Result<Unit> check_zmq_version(const ZmqVersion& loaded,
                                             const std::function<void(std::string_view line)>& warn);

}  // namespace troupe
