// What a RecvFn of a distributed graph knows about its other end.
#pragma once

#include <memory>
#include <utility>

#include "autograd/boundary.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Kept as the tag of every RecvFn that a message made: where its gradients go.
struct RecvTag {
  ContextId context;
  BoundaryId boundary;
  NodeName peer;  ///< holds the SendFn
};

/// The vertex for `count` variables that came from `tag.peer`.
[[nodiscard]] inline std::shared_ptr<const RecvFn> make_recv(RecvTag tag, std::uint32_t count) {
  return RecvFn::make(count, std::make_shared<const RecvTag>(std::move(tag)));
}

/// Where the gradients of `recv` go. Null if it was not made by make_recv.
[[nodiscard]] inline const RecvTag* tag_of(const RecvFn& recv) {
  return static_cast<const RecvTag*>(recv.tag().get());
}

}  // namespace troupe::detail
