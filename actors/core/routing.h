// The router's interface for core/.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/sessions/router_actor.h"

namespace troupe::detail {

struct NodeCore::Routing {
  /// Ends all parts but the router and the worker. Returns false if one had no memory to tell who waits.
  [[nodiscard]] static bool end_parts(NodeCore& node, const Error& why) noexcept;
  /// Returns the Error of an answer that could not be sent; then nothing was sent, and `message` is unchanged.
  [[nodiscard]] static std::optional<Error> try_to_answer(NodeCore& node, const NodeLife& to, RequestId request,
                                                          msg::AnyMessage& message);

  RouterActor router;
  std::atomic<std::size_t> pending_requests{0};
  std::optional<Prepared<StopRouting>> stop_routing;  // from begin() to end(), which must end without memory, too
  std::atomic<bool> parts_told{true};                 // false: some part got no memory to tell who waits
};

}  // namespace troupe::detail
