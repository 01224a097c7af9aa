#include "node/joining/silence.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;

std::chrono::milliseconds checked(std::string_view what, Duration time, std::chrono::milliseconds min,
                                  std::chrono::milliseconds max) {
  const auto value = std::chrono::duration_cast<std::chrono::milliseconds>(time);
  if (value >= min && value <= max) return value;
  throw RemoteError(
      Error{.code = ErrorCode::bad_argument,
            .message = fmt::format("{} of {} ms is not in {} to {} ms", what, value.count(), min.count(), max.count()),
            .operation = "join",
            .execution = Execution::never});
}

}  // namespace

FailureDetectorOptions silence_of(const NodeOptions& options) {
  const Liveness& given = options.liveness;
  const bool are_far = options.keys || options.network == Network::keys || options.network == Network::trusted;
  FailureDetectorOptions silence = are_far ? silence_between_machines() : FailureDetectorOptions{};
  if (given.heartbeat != 0ms) silence.heartbeat_min = checked("liveness.heartbeat", given.heartbeat, 10ms, 10s);
  if (given.suspicion != 0ms) silence.suspicion = checked("liveness.suspicion", given.suspicion, 10ms, 60s);
  silence.heartbeat_max = std::max(silence.heartbeat_max, silence.heartbeat_min);
  silence.lease = checked("liveness.lease", given.lease, 1s, 24h);
  if (given.debug) silence.lease = kEndlessLease;
  silence.peers_min = std::max<std::size_t>(options.world_size, 1) - 1;
  return silence;
}

void check_stall_limit(const NodeOptions& options) {
  if (options.stall_limit) checked("stall_limit", *options.stall_limit, 1s, 24h);
}

}  // namespace troupe::detail
