#include "node/launch/node_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace troupe::detail {

int math_threads_of(int configured, int cores, int processes) {
  return configured > 0 ? configured : std::max(1, cores / std::max(1, processes));
}

Variables inherited_variables(Variables host, int math_threads) {
  std::erase_if(host, [](const auto& variable) { return variable.first.starts_with("TROUPE__"); });
  for (const char* stale : {"TROUPE_SECRET_FD", "TROUPE_SECRET_FILE", "TROUPE_KEYS_FD"}) host.erase(stale);
  const std::string threads = fmt::format("{}", math_threads);
  // A user's setting for the math libraries has priority.
  host.emplace("OMP_NUM_THREADS", threads);
  host.emplace("OMP_WAIT_POLICY", "passive");
  host.emplace("OPENBLAS_NUM_THREADS", threads);
  host.emplace("OPENBLAS_THREAD_TIMEOUT", "4");  // idle threads sleep after 2^4 cycles instead of spinning on
  host["TROUPE_MATH_THREADS"] = threads;
  return host;
}

}  // namespace troupe::detail
