// One backward pass on one node: the tracker decides what comes next, the graph task does it on the pool, this class
// carries the one's decisions to the other. Plain rules: no CAF, no clock; one thread at a time.
//
// The graph task is either here or lent to one pool job; what arrives meanwhile waits.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/contexts/backward_tracker.h"
#include "actors/contexts/graph_work.h"
#include "messages/all.h"

namespace troupe::detail {

class BackwardPass {
 public:
  /// Answers one BackwardMark; called exactly once.
  using MarkAnswer = std::function<void(msg::BackwardMarked)>;

  /// What a pass needs of its context. What these calls cause comes back as an event, never before the call returns.
  class Callbacks {
   public:
    virtual ~Callbacks() = default;
    /// Our end of a boundary that a mark named and `find_send` knew.
    virtual std::shared_ptr<const SendFn> send_of(const BoundaryId& boundary) = 0;
    /// Sends a request, whose answer comes to `mark_answered` with `number`.
    virtual void send_mark(const NodeName& to, std::uint64_t number, msg::BackwardMark mark) = 0;
    virtual void notify(const NodeName& to, msg::AnyMessage message) = 0;
    /// Asks for values this node owns; they come to `roots_found`.
    virtual void find_roots(const PassId& pass, std::vector<RRefId> roots) = 0;
    /// Runs the work on the pool; it comes back to `pool_done`.
    virtual void run_on_pool(std::shared_ptr<GraphWork> work) = 0;
    /// This node's part is done and found these.
    virtual void part_done(const PassId& pass, Gradients gradients) = 0;
    /// A peer sent what must not come now; it changed nothing.
    virtual void refused(const Error& error) = 0;
  };

  BackwardPass(ContextId context, PassId pass, NodeName self, Callbacks& callbacks);

  /// Root: begins at these.
  void start(std::vector<Variable> roots, std::map<NodeName, std::vector<RRefId>> remote_roots);

  /// BackwardMark came as request number `request`. The boundaries it names are known here.
  void mark(const NodeName& from, std::uint64_t request, const msg::BackwardMark& mark, MarkAnswer answer);
  void mark_answered(std::uint64_t number, const msg::BackwardMarked& marked);
  void run();
  void gradients(const NodeName& from, msg::BackwardGradients message);
  /// BackwardFinished came from `participant`, with an error or without.
  void finished(const NodeName& participant, const std::optional<Error>& error);

  void roots_found(Result<std::vector<Variable>> roots);
  void pool_done(std::shared_ptr<GraphWork> work);

  /// The pass has failed here: tells the others.
  void fail(const Error& error);

  /// The context ends: answers what waits for an answer, tells nobody.
  void abandon(const Error& error);

  /// How the pass ended: complete (at its root only) or failed. Later events change nothing.
  [[nodiscard]] const std::optional<Result<Unit>>& outcome() const { return outcome_; }
  [[nodiscard]] const BackwardTracker& tracker() const { return tracker_; }

 private:
  struct Start {};
  using Step = std::variant<backward_actions::Walk, Start, FeedSend>;

  void perform(const backward_actions::Actions& actions);
  void perform(const backward_actions::Walk& action);
  void perform(const backward_actions::SendMark& action);
  void perform(const backward_actions::AnswerMark& action);
  void perform(const backward_actions::SendRun& action);
  void perform(const backward_actions::Run& action);
  void perform(const backward_actions::Accept& action);
  void perform(const backward_actions::SendFinished& action);
  void perform(const backward_actions::SendFailed& action);
  void perform(const backward_actions::Complete& action);
  void perform(const backward_actions::Failed& action);
  void perform(const backward_actions::Refused& action);

  /// After every event: lends the graph task if there is something to do, reports when there is nothing left.
  void settle();
  [[nodiscard]] bool waits_for_roots() const;
  [[nodiscard]] GraphStep graph_step(Step step) const;
  [[nodiscard]] Result<backward_actions::BoundariesByPeer> peers_of(const std::vector<std::shared_ptr<const RecvFn>>& reached) const;
  [[nodiscard]] Error own_error(ErrorCode code, std::string message) const;
  void end(Result<Unit> outcome);

  const ContextId context_;
  const PassId pass_;
  const NodeName self_;
  Callbacks& callbacks_;
  BackwardTracker tracker_;

  std::shared_ptr<GraphWork> work_;  // null while lent
  std::deque<Step> steps_;           // for the next job
  bool graph_finished_ = true;       // as of the last job
  Gradients gradients_;

  bool has_roots_ = false;
  std::optional<std::vector<Variable>> roots_;  // own ones; nothing until they are found
  std::map<NodeName, std::vector<RRefId>> remote_roots_;
  std::map<std::pair<NodeName, std::uint64_t>, MarkAnswer> unanswered_;
  std::optional<Result<Unit>> outcome_;
};

}  // namespace troupe::detail
