// The autograd contexts in which this node participates: one context actor each, found by the context's id.
//
// A context exists on this node from its first call, boundary or backward pass here until its creator releases it, the
// creator dies, or this node stops. Then a tombstone is left: late messages do not make it again, and a peer that sends
// some gets ContextReleased. The memory of tombstones is bounded: if one is missing, the context is made again, and its
// creator is asked.
// Thread rule: any thread may call any member; none blocks or runs user code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/clock.h"
#include "actors/contexts/pass_plan.h"
#include "actors/contexts/unused_boundary.h"
#include "actors/core/node_core.h"
#include "actors/core/query.h"
#include "actors/core/reports.h"
#include "actors/future.h"
#include "actors/link.h"
#include "autograd/boundary.h"
#include "autograd/gradients.h"
#include "messages/all.h"
#include "messages/autograd.h"
#include "messages/ids.h"

namespace troupe::detail {

struct ContextNews;
struct ScopeState;
class GradientReducer;

/// The messages to a context's actor.
using ContextWords = msg::MessageList<msg::BackwardMark, msg::BackwardRun, msg::BackwardGradients,
                                      msg::BackwardFinished, msg::BackwardRelease>;

class Contexts {
 public:
  explicit Contexts(NodeCore& node);
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  /// Opens a new context of this node. It ends with `release`. Throws RemoteError{shutting_down} after `stop`.
  [[nodiscard]] ContextId open();

  /// Ends a context of this node on every participating node. Pending requests of it fail with context_aborted. Unknown
  /// ids are ignored.
  void release(const ContextId& context);

  /// A call of `context` will be sent to `to`, or arrived from `from`: that node participates from now on. Returns an
  /// error if the call must be refused: `from` has brought as many contexts as it may, and this one is not here.
  void called(const ContextId& context, const NodeName& to);
  [[nodiscard]] std::optional<Error> joined(const ContextId& context, const NodeName& from);

  /// Returns why the program cannot call `to` through `scope`, because `scope` is a copy of the scope of a DistContext
  /// that has ended. Otherwise nullopt. Functions that are still served in such a context go on.
  [[nodiscard]] std::optional<Error> ended_for(const ScopeState& scope, const NodeName& to) const;

  /// Returns whether the context was here and has ended, or the node has stopped.
  [[nodiscard]] bool has_ended(const ContextId& context) const;

  /// Records a boundary to `peer`; `what` is the message that carries it, for reports. REQUIRES: called before that
  /// message is sent.
  void record_send(const ContextId& context, const BoundaryId& boundary, std::shared_ptr<const SendFn> send,
                   const NodeName& peer, std::string what);

  /// A boundary of `context` arrived from `peer`, with a call that `joined` has recorded or an answer to a call that
  /// `called` has recorded. Notifies `peer` if the context has ended here; begins the context if it was never here.
  void received_from(const ContextId& context, const NodeName& peer);

  /// `reducer` takes part in the passes of the context on this node that begin from now on, unless an earlier reducer
  /// diverts it. Ignored if the context has ended.
  void attach(const ContextId& context, std::shared_ptr<GradientReducer> reducer);

  /// A pass of this node on `context` runs on this thread during the guard's lifetime, with its hooks.
  class PassHere {
   public:
    PassHere(const NodeCore& node, const ContextId& context) noexcept;
    ~PassHere();
    PassHere(const PassHere&) = delete;
    PassHere& operator=(const PassHere&) = delete;

   private:
    friend class Contexts;
    const NodeCore& node_;
    const ContextId& context_;
    const PassHere* const outer_;
  };
  /// Returns whether the caller is part of such a pass: another pass of this node on `context` would wait for it.
  [[nodiscard]] bool is_in_pass(const ContextId& context) const;

  /// Adds one backward pass to the context's gradients on every node. Completes `done` when all are complete. Passes
  /// started on one node run one after the other, in that order. Errors: context_aborted, timeout, cancelled,
  /// bad_argument for a root without gradient, remote_exception if an operation's backward threw. If `done` was
  /// completed before, the pass is taken back.
  void backward(const ContextId& context, PassPlan plan, PassLimits limits, Promise<void> done);

  /// Completes if the context goes on as far as this node knows, or was never here. Errors as gradients.
  [[nodiscard]] Future<void> alive(const ContextId& context);

  /// Returns the gradients of this node's leaves, summed over the passes so far; none if the context was never here.
  /// Error: context_aborted if it ended early or was released.
  [[nodiscard]] Future<Gradients> gradients(const ContextId& context);

  /// Returns the gradient of one leaf; undefined if none reached it. Errors as gradients.
  [[nodiscard]] Future<Tensor> gradient(const ContextId& context, const Variable& leaf);

  /// Returns which boundaries of this node have values that got no gradient in `pass`, by default the last one that was
  /// begun here and succeeded. Errors as gradients; bad_argument if there is no such pass.
  [[nodiscard]] Future<UnusedHere> unused(const ContextId& context, const std::optional<PassId>& pass);

  void handle(const NodeLife& from, const msg::ContextReleased& released);
  void handle(const NodeLife& from, const msg::ContextAborted& aborted);
  void handle(const NodeLife& from, const msg::ContextEntered& entered);

  /// Hands a BackwardMark to the context's actor. Its sender joins the context; an error answers it.
  void mark(const ContextId& context, Delivery delivery);

  /// Hands any other of the ContextWords to the context's actor, if there is one.
  void hand_on(const ContextId& context, Delivery delivery);

  /// There was no memory for a word of `from` about a pass; `actor` is the actor to which it was sent. Aborts the
  /// context if `from` participates in it, else ends the session with `from`. Returns false if `actor` names no
  /// context.
  [[nodiscard]] bool word_lost(std::string_view actor, const NodeLife& from, const Error& why);

  /// Ends the contexts that `peer` created and aborts those in which it participates.
  void peer_down(const Peer& peer, const Error& why);

  /// Fails and ends everything, now and later, with `why`. Notifies no one: peers notice that the node is gone.
  void stop(const Error& why);

  /// Returns the number of contexts that are open here.
  [[nodiscard]] std::size_t size() const;

  /// Replies with the contexts that are open here, in no order.
  void list(const Query<OpenContext>::ReplySlot& slot) const;

  /// Returns the number of backward passes that run or wait here.
  [[nodiscard]] std::size_t passes() const;

  /// For context actors: `by` more passes run or wait (fewer if negative).
  void passes_changed(std::int64_t by);

  /// For context actors: the answer to their request has arrived. Ignored if the context has ended.
  void tell(const ContextId& context, ContextNews news);

 private:
  class Directory;
  const std::unique_ptr<Directory> directory_;
};

}  // namespace troupe::detail
