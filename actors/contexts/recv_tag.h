// The record of a boundary's other end in a RecvFn of a distributed graph.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "autograd/boundary.h"
#include "messages/ids.h"
#include "messages/route.h"

namespace troupe::detail {

/// The tag of every RecvFn that a message made: the destination of its gradients.
struct RecvTag {
  ContextId context;
  BoundaryId boundary;
  NodeName peer;                              ///< holds the SendFn
  std::optional<msg::RouteLegs> beyond = {};  ///< the boundaries beyond this one; nullopt: `peer` did not tell
};

/// Returns the vertex for `count` variables that `tag.peer` sent.
[[nodiscard]] inline std::shared_ptr<const RecvFn> make_recv(RecvTag tag, std::uint32_t count) {
  return RecvFn::make(count, std::make_shared<const RecvTag>(std::move(tag)));
}

/// Returns the destination of the gradients of `recv`; null if make_recv did not make it.
[[nodiscard]] inline const RecvTag* tag_of(const RecvFn& recv) { return static_cast<const RecvTag*>(recv.tag().get()); }

}  // namespace troupe::detail
