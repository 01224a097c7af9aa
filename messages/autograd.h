// One backward pass over a context: the messages between context actors. Gradients flow along the boundaries that
// participate, and only along them. Where the root knows these (route.h), the first gradients for a node tell it; else
// they are marked first, in a wave that ends by Dijkstra-Scholten acknowledgement.
#pragma once

#include <optional>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"
#include "messages/message_info.h"
#include "messages/route.h"
#include "tensor/tensor.h"

namespace troupe::msg {

/// These boundaries and values of the receiver participate in the pass. Request, from a context actor whose marked part
/// of the graph reaches them -> the context actor with their SendFns, or the values; answered by BackwardMarked.
/// Idempotent: marking twice is marking once, but each request is answered.
struct BackwardMark {
  static constexpr MessageInfo kInfo{0x0301, "BackwardMark", Kind::request, Sender::knower};
  ContextId context;
  PassId pass;
  NodeName root;                       ///< started the pass; receives BackwardFinished
  std::vector<BoundaryId> boundaries;  ///< their SendFns are at the receiver
  std::vector<RRefId> roots;           ///< values at the receiver from which the pass starts with gradient 1
  bool retain_graph = false;           ///< keep what backward needs for a further pass
  bool only_inputs = false;            ///< variables that no mark names as inputs keep no gradient
  std::vector<RRefId> inputs = {};     ///< values at the receiver that keep their gradients; from the root
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context, pass, root, boundaries, roots, retain_graph, only_inputs, inputs);
  }
};

/// All that one BackwardMark reached is marked, on the receiver and beyond. Reply to it: sent at once by a context
/// actor that is already part of the wave, otherwise when its own marks are answered. `participants` are the nodes
/// newly reached below. A second one is dropped.
struct BackwardMarked {
  static constexpr MessageInfo kInfo{0x0302, "BackwardMarked", Kind::reply, Sender::answerer};
  ContextId context;
  PassId pass;
  std::vector<NodeName> participants;
  std::optional<Error> error;  ///< why the pass cannot run: an unknown boundary, a dead peer
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context, pass, participants, error);
  }
};

/// Marking is complete: start at your own roots. Notification, root -> each participant. Idempotent: a pass starts
/// once.
struct BackwardRun {
  static constexpr MessageInfo kInfo{0x0303, "BackwardRun", Kind::notification, Sender::maker};
  ContextId context;
  PassId pass;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context, pass);
  }
};

/// The gradients of one boundary, one per slot; an undefined tensor means that none flows there. Notification, node of
/// the RecvFn -> node of the SendFn. Idempotent by (pass, boundary); may overtake BackwardRun. In a pass without marks,
/// `route` makes the receiver take part; it is there unless the sender knows that the receiver has it.
struct BackwardGradients {
  static constexpr MessageInfo kInfo{0x0304, "BackwardGradients", Kind::notification, Sender::knower};
  ContextId context;
  PassId pass;
  BoundaryId boundary;
  std::vector<Tensor> gradients;
  std::optional<BackwardRoute> route = {};
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context, pass, boundary, gradients, route);
  }
};

/// `participant` has finished its part in the pass, or failed; from the root: the whole pass is complete. Notification,
/// participant -> root; a failure, or from the root, -> all participants. Idempotent by (pass, participant).
struct BackwardFinished {
  static constexpr MessageInfo kInfo{0x0305, "BackwardFinished", Kind::notification, Sender::knower};
  ContextId context;
  PassId pass;
  NodeName participant;
  std::optional<Error> error;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context, pass, participant, error);
  }
};

/// The context ended early; every operation on it fails with `error`, which names the cause. Notification, the
/// detecting node -> every participant it knows. Idempotent: the first error stays.
struct ContextAborted {
  static constexpr MessageInfo kInfo{0x0306, "ContextAborted", Kind::notification, Sender::knower};
  ContextId context;
  Error error;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context, error);
  }
};

/// The context's creator has released it: drop its part of the graph and its gradients. Notification, context actor ->
/// the peers it exchanged boundaries with, which forward it. Idempotent: an unknown context is not an error.
struct ContextReleased {
  static constexpr MessageInfo kInfo{0x0307, "ContextReleased", Kind::notification, Sender::knower};
  ContextId context;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context);
  }
};

/// The sender participates in the context, which another node named, and cannot tell whether it has ended.
/// Notification, context actor's node -> creator, which answers with ContextReleased if the context has ended.
/// Idempotent.
struct ContextEntered {
  static constexpr MessageInfo kInfo{0x0308, "ContextEntered", Kind::notification, Sender::member};
  ContextId context;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context);
  }
};

/// The pass is complete on all nodes: release what the vertices that ran have saved, on the receiver. Request, root ->
/// each participant of a pass that does not retain its graph; answered by BackwardReleased. Idempotent: a pass that the
/// receiver has forgotten was released.
struct BackwardRelease {
  static constexpr MessageInfo kInfo{0x0309, "BackwardRelease", Kind::request, Sender::maker};
  ContextId context;
  PassId pass;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(context, pass);
  }
};

/// The graph of the pass is released at the sender. Reply to BackwardRelease. A second one is dropped.
struct BackwardReleased {
  static constexpr MessageInfo kInfo{0x030a, "BackwardReleased", Kind::reply, Sender::answerer};
  PassId pass;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(pass);
  }
};

}  // namespace troupe::msg
