// The resources that this machine offers to the processes that this process starts.
#pragma once

#include <cstdint>
#include <string_view>

#include "node/doctor/doctor_messages.h"

namespace troupe::detail {

/// Asks the system and loads libzmq, to ask it too. What cannot be found out is 0 or empty.
[[nodiscard]] HostFacts gather_facts();

/// Returns the bytes of one line of /proc/meminfo, "MemTotal" for example; 0 if `text` has none.
[[nodiscard]] std::uint64_t bytes_of_line(std::string_view text, std::string_view name);

}  // namespace troupe::detail
