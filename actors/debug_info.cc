#include "actors/debug_info.h"

#include <fmt/format.h>

namespace troupe {

std::string DebugInfo::text() const {
  std::string text = fmt::format("node: {}\n", node.text());
  const auto line = [&text](std::string_view key, std::uint64_t value) { text += fmt::format("{}: {}\n", key, value); };
  line("owners", owners);
  line("forks", forks);
  line("pending_users", pending_users);
  line("pending_calls", pending_calls);
  line("served_calls", served_calls);
  line("contexts", contexts);
  line("backward_passes", backward_passes);
  line("shards", shards);
  line("pool_threads", pool_threads);
  line("threads_busy", threads_busy);
  line("threads_waiting", threads_waiting);
  line("threads_idle", threads_idle);
  if (!traffic) return text;
  for (const auto& [peer, counts] : *traffic) {
    line(fmt::format("traffic.{}.calls_sent", peer), counts.calls_sent);
    line(fmt::format("traffic.{}.calls_received", peer), counts.calls_received);
    line(fmt::format("traffic.{}.bytes_sent", peer), counts.bytes_sent);
    line(fmt::format("traffic.{}.bytes_received", peer), counts.bytes_received);
  }
  return text;
}

}  // namespace troupe
