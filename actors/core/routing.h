// The router's interface for core/.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/sessions/router_actor.h"

namespace troupe::detail {

struct NodeCore::Routing {
  /// Ends all parts but the router and the worker. Returns false if a part had no memory to fail what waits for it.
  [[nodiscard]] static bool end_parts(NodeCore& node, const Error& why) noexcept;
  /// Returns the Error of an answer that could not be sent; then nothing was sent, and `message` is unchanged.
  [[nodiscard]] static std::optional<Error> try_to_answer(NodeCore& node, const NodeLife& to, RequestId request,
                                                          msg::AnyMessage& message, const UndoList& undo);
  /// Stops the pool. Returns what it still runs at `due`, one line each.
  [[nodiscard]] static std::vector<std::string> stop_pool(const NodeCore& node, TimePoint due);
  /// Waits as a second call of NodeCore::stop().
  [[nodiscard]] static std::vector<std::string> wait_for_first_stop(const NodeCore& node, TimePoint due);

  RouterActor router;
  std::atomic<std::size_t> pending_requests{0};
  std::optional<Prepared<StopRouting>> stop_routing;  // from begin() to end(), which must end without memory, too
  std::atomic<bool> parts_told{true};                 // false: a part had no memory to fail what waits
  WaitPoint first_stop_ended;
  bool first_stop_in_own_job = false;  // written by the first stop(), read once first_stop_ended is signalled
};

}  // namespace troupe::detail
