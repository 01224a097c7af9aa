// The autograd contexts that this node takes part in: one context actor each, found by the context's id.
//
// A context exists here from the first call, boundary or backward pass of it that concerns this node until its creator
// releases it, the creator dies, or this node stops. What is left of it then is a tombstone: late messages do not make it
// again, and a peer that still sends some is told ContextReleased. Memory of tombstones is bounded: where it has a gap, the
// context is made again, and its creator is asked.
// Thread rule: any thread may call any member; none blocks or runs user code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "actors/clock.h"
#include "actors/core/node_core.h"
#include "actors/core/query.h"
#include "actors/future.h"
#include "actors/link.h"
#include "actors/core/reports.h"
#include "autograd/boundary.h"
#include "autograd/gradients.h"
#include "messages/ids.h"

namespace troupe::detail {

struct ContextNews;

/// Where a backward pass begins, each with gradient 1.
struct PassRoots {
  std::vector<Variable> local;                      ///< of the node that begins the pass, in the user's order
  std::map<NodeName, std::vector<RRefId>> remote;   ///< values that other nodes own, in the user's order
};

class Contexts {
 public:
  explicit Contexts(NodeCore& node);
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  /// A new context of this node's own. It ends with `release`. Throws RemoteError{shutting_down} after `stop`.
  [[nodiscard]] ContextId open();

  /// Ends a context of this node's own on every node that takes part. Whoever still waits for something of it gets
  /// context_aborted. Unknown ids are ignored.
  void release(const ContextId& context);

  /// A call of `context` is about to leave for `to`, or came from `from`: that node takes part from now on. Returns why the
  /// call is to be refused, if so: `from` has brought as many contexts as it may, and this one is not here.
  void called(const ContextId& context, const NodeName& to);
  [[nodiscard]] std::optional<Error> joined(const ContextId& context, const NodeName& from);

  /// A boundary to `peer`; before the message that carries it leaves.
  void record_send(const ContextId& context, const BoundaryId& boundary, std::shared_ptr<const SendFn> send,
                   const NodeName& peer);

  /// A boundary from `peer`; `recv`, made by make_recv, knows its other end.
  void record_recv(const ContextId& context, const BoundaryId& boundary, const std::shared_ptr<const RecvFn>& recv,
                   const NodeName& peer);

  /// Adds one backward pass from `roots` to the context's gradients on every node; done when all are complete. Passes
  /// begun on one node run one after the other, in the order they were begun. Errors: context_aborted, timeout at `due`,
  /// bad_argument for a root without gradient, remote_exception if an operation's backward threw.
  [[nodiscard]] Future<void> backward(const ContextId& context, PassRoots roots, std::optional<TimePoint> due);

  /// The gradients of this node's leaves, summed over the passes so far; none if the context never was here. Error
  /// context_aborted if it ended early or was released.
  [[nodiscard]] Future<Gradients> gradients(const ContextId& context);

  /// The same of one leaf; undefined if none reached it.
  [[nodiscard]] Future<Tensor> gradient(const ContextId& context, const Variable& leaf);

  /// A message for a context actor: every Backward... and Context... word.
  void handle(Delivery delivery);

  /// Ends what `peer` created and aborts what it took part in.
  void peer_down(const Peer& peer, const Error& why);

  /// Fails and ends everything, now and later, with `why`. Tells nobody: peers notice that the node is gone.
  void stop(const Error& why);

  /// Contexts that are alive here.
  [[nodiscard]] std::size_t size() const;

  /// The contexts that are alive here, in no order.
  void list(const Query<OpenContext>::ReplySlot& slot) const;

  /// Backward passes that run or wait here.
  [[nodiscard]] std::size_t passes() const;

  /// For context actors: so many passes more, or fewer, run or wait.
  void passes_changed(std::int64_t by);

  /// For context actors: what they asked for has come back. Ignored if the context has ended.
  void tell(const ContextId& context, ContextNews news);

 private:
  class Directory;
  const std::unique_ptr<Directory> directory_;
};

}  // namespace troupe::detail
