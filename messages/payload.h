// The container of user values in a message: arguments of a call, or its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/frame.h"
#include "messages/ids.h"
#include "messages/route.h"

namespace troupe::msg {

/// A handle of an RRef inside a payload. The receiver makes its user handle from it and notifies the owner
/// (RRefForked).
struct RRefHandout {
  RRefId rref;
  ForkId fork;     ///< made by the sender for the receiver's handle
  NodeName owner;  ///< the node that owns the value
  Incarnation owner_incarnation;
  NodeName parent;   ///< the node whose handle stays until RRefForkAck
  std::string type;  ///< of the value, for error texts
  friend bool operator==(const RRefHandout&, const RRefHandout&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(rref, fork, owner, owner_incarnation, parent, type);
  }
};

/// The graph leaves the sender here, by a SendFn on the sender and a RecvFn on the receiver, both of this id.
struct BoundaryHeader {
  ContextId context;
  BoundaryId id;
  std::uint32_t slots = 0;               ///< variables in the payload that require a gradient
  std::optional<RouteLegs> beyond = {};  ///< all that a pass uses once it comes here; nullopt: unknown
  friend bool operator==(const BoundaryHeader&, const BoundaryHeader&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context, id, slots, beyond);
  }
};

/// Values of user types, encoded. The body stays opaque until the thread that needs the values decodes them (archive.h,
/// `from_payload`); references and the boundary are visible to the runtime before that.
struct Payload {
  Frame bytes;                             ///< the values, one after the other
  Frames tensors;                          ///< bytes of the tensors among them
  std::vector<RRefHandout> refs;           ///< in the order in which the values contain them
  std::optional<BoundaryHeader> boundary;  ///< present if any variable among them requires a gradient in a context
};

}  // namespace troupe::msg
