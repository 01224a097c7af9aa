// One node's part of one context: boundaries, gradients, backward passes, and its end. Plain rules: no CAF, no clock;
// one thread at a time. Rules CX-1 to CX-5, CX-7 and CX-9 of PROTOCOLS.md.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "actors/contexts/backward_pass.h"
#include "actors/contexts/context_ledger.h"
#include "actors/contexts/pass_plan.h"
#include "actors/contexts/unused_boundary.h"

namespace troupe::detail {

/// Returns the error of a context that ended because its participant `node` is down.
[[nodiscard]] Error ended_by_death(const ContextId& context, const NodeName& node, const Error& why);

/// Returns the error of a context of which the node that `why` names has lost a part.
[[nodiscard]] Error ended_by_failure(const ContextId& context, const Error& why);

/// Returns the error of a context that its creator released, or never opened.
[[nodiscard]] Error not_alive(const ContextId& context);

class ContextParticipant {
 public:
  /// Receives the outcome of a pass. Returns false if the outcome is no longer awaited: then a complete pass is taken
  /// back.
  using PassDone = std::function<bool(Result<Unit>)>;

  /// The services that a participant needs from its node, for itself and for its passes. Their results arrive as
  /// events, never before the call returns.
  class Callbacks : public BackwardPass::Callbacks {
   public:
    /// Calls `pass_due` at `due`, unless the pass is reported ended before.
    virtual void wake_at(const PassId& pass, TimePoint due) = 0;
    virtual void pass_ended(const PassId& pass) = 0;
  };

  ContextParticipant(ContextId context, NodeName self, Callbacks& callbacks);
  ContextParticipant(const ContextParticipant&) = delete;
  ContextParticipant& operator=(const ContextParticipant&) = delete;

  void add_peer(const NodeName& node);
  void record_send(const BoundaryId& boundary, std::shared_ptr<const SendFn> send, const NodeName& peer,
                   std::string what = {});

  /// `reducer` takes part in the passes that begin here from now on, unless an earlier reducer diverts it. A second
  /// time changes nothing.
  void attach(std::shared_ptr<GradientReducer> reducer);

  /// Starts `pass`, an id of this node; `done` is called once.
  void begin(const PassId& pass, PassPlan plan, std::optional<TimePoint> due, const PassDone& done);

  // Messages of other context actors. `due` is the requester's deadline.
  void mark(const NodeName& from, std::uint64_t request, const msg::BackwardMark& mark, std::optional<TimePoint> due,
            BackwardPass::MarkAnswer answer);
  void run(const NodeName& from, const msg::BackwardRun& message);
  void gradients(const NodeName& from, msg::BackwardGradients message);
  void finished(const NodeName& from, const msg::BackwardFinished& message);
  void release_graph(const NodeName& from, const msg::BackwardRelease& message, BackwardPass::ReleaseAnswer answer);

  // Results of the calls to Callbacks. An answer that names a dead peer aborts the context.
  void mark_answered(const PassId& pass, const NodeName& by, std::uint64_t number, Result<msg::BackwardMarked> answer);
  void roots_found(const PassId& pass, Result<std::vector<Variable>> roots);
  void released(const PassId& pass, const NodeName& by);
  void pool_done(std::shared_ptr<GraphWork> work);
  void reduced(const PassId& pass, Result<Gradients> gradients);
  void pass_due(const PassId& pass);
  void pass_cancelled(const PassId& pass);

  /// Returns the sums so far, or why the context ended early.
  [[nodiscard]] Result<Gradients> gradients() const;
  [[nodiscard]] Result<Tensor> gradient(const Variable& leaf) const;

  /// Returns which boundaries of this node have values without a gradient in `pass`, by default the last one that was
  /// begun here and succeeded; or why the context ended early.
  [[nodiscard]] Result<UnusedHere> unused(const std::optional<PassId>& pass) const;

  /// `node` is down: aborts the context if that node participates in it.
  void peer_down(const NodeName& node, const Error& why);

  /// There was no memory for a word of `from` about a pass, perhaps gradients, perhaps a failure: aborts the context.
  /// Returns false, and does nothing, if `from` does not participate.
  [[nodiscard]] bool word_lost(const NodeName& from, const Error& why);

  /// Fails everything, now and later, with `why`, and notifies all participants; `from` sent the notification. Only the
  /// first error counts. One of another code is the cause of the context_aborted that all are told. Throws
  /// std::bad_alloc; then it must be called again.
  void abort(const Error& why, const NodeName& from);

  /// The creator has released the context, as `from` reported: notifies the others and fails what still waits. Throws
  /// std::bad_alloc; then it must be called again.
  void release(const NodeName& from);

  /// Fails what still waits and notifies no one.
  void stop(const Error& why);

  [[nodiscard]] const ContextId& id() const { return context_; }
  [[nodiscard]] const ContextLedger& ledger() const { return ledger_; }
  [[nodiscard]] const std::optional<Error>& aborted() const { return aborted_; }
  /// Returns the number of passes that run here or wait for their turn.
  [[nodiscard]] std::size_t pass_count() const { return passes_.size() + waiting_.size(); }

 private:
  struct Waiting {
    PassId pass;
    PassPlan plan;
    std::optional<TimePoint> due;
    PassDone done;
  };
  struct Pass {
    std::unique_ptr<BackwardPass> rules;
    PassDone done;  // at its root only
  };
  using Passes = std::map<PassId, Pass>;

  /// Returns this node's part of the pass, made if the message's route makes this node take part; null if there is none
  /// or the route is refused.
  [[nodiscard]] BackwardPass* find_or_begin(const NodeName& from, const msg::BackwardGradients& message);
  /// Returns why this node cannot follow the message's route.
  [[nodiscard]] std::optional<Error> objection(const NodeName& from, const msg::BackwardGradients& message) const;
  /// Returns true if no pass of another node may begin here.
  [[nodiscard]] bool has_too_many_passes() const;
  [[nodiscard]] Error too_many_passes() const;
  Pass& make_pass(const PassId& pass, BackwardPass::Mode mode, std::optional<TimePoint> due, PassDone done);
  [[nodiscard]] BackwardPass* find(const PassId& pass);
  [[nodiscard]] bool is_over(const PassId& pass) const;
  void note_over(const PassId& pass);
  /// After every event of `pass`: if it has ended, answers its waiters, forgets it and starts the next.
  void settle(const PassId& pass);
  /// The pass has ended and is not in `passes_`: its waiter and its reducers are told.
  void end(const PassId& pass, Pass& ended);
  void begin_next();
  /// Fails a pass that was begun here with `waiting` while it waits for its turn, else with `running`.
  void give_up(const PassId& pass, const Error& waiting, const Error& running);
  /// A complete pass of this node counts nowhere.
  void take_back(const PassId& pass, BackwardPass& rules);
  /// The last pass started here is complete and its caller knows: its participants need not keep it apart.
  void settle_last_complete();
  /// The whole pass is complete. If too many wait in the ledger for others to be so, the roots of those are told again
  /// that this node's part is done (CX-9).
  void settle_complete(const PassId& pass);
  /// Returns whether the pass was the last one that began here, and may still be kept apart.
  [[nodiscard]] bool is_last_complete(const PassId& pass) const;
  void fail_all(const Error& error);
  [[nodiscard]] Error context_error(ErrorCode code, std::string message) const;

  const ContextId context_;
  const NodeName self_;
  Callbacks& callbacks_;
  ContextLedger ledger_;
  BackwardPass::Reducers reducers_;
  Passes passes_;
  std::deque<Waiting> waiting_;
  struct Complete {
    PassId pass;
    std::set<NodeName> participants;
  };
  std::optional<Complete> last_complete_;   // of the passes started here
  std::optional<PassId> last_success_;      // of these, the last one that counts
  std::map<NodeName, std::uint64_t> over_;  // per root: serial of its latest pass known to have ended
  std::optional<Error> aborted_;
};

}  // namespace troupe::detail
