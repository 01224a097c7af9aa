// One backward pass on one node. The tracker decides what to do next, the graph task does it on the pool, and this
// class connects the two. Plain rules: no CAF, no clock; one thread at a time.
//
// The graph task is either in this object or with one pool job; events that arrive until it is back are queued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/clock.h"
#include "actors/contexts/backward_tracker.h"
#include "actors/contexts/context_ledger.h"
#include "actors/contexts/gradient_reducer.h"
#include "actors/contexts/graph_work.h"
#include "actors/contexts/pass_plan.h"
#include "messages/all.h"

namespace troupe::detail {

/// The part of one backward pass on this node: takes the events of the pass and tells the node what to do.
class BackwardPass {
 public:
  /// Answers one BackwardMark; called exactly once.
  using MarkAnswer = std::function<void(msg::BackwardMarked)>;
  /// Answers one BackwardRelease; called exactly once.
  using ReleaseAnswer = std::function<void(Result<msg::BackwardReleased>)>;

  /// The services that a pass needs from its node. Their results arrive as events, never before the call returns.
  class Callbacks {
   public:
    virtual ~Callbacks() = default;
    /// Sends a request that may take until `due`, to that life of `to` or, if nullopt, to the present one; its answer
    /// arrives at `mark_answered` with `number`.
    virtual void send_mark(const NodeName& to, const std::optional<Incarnation>& life, std::uint64_t number,
                           msg::BackwardMark mark, std::optional<TimePoint> due) = 0;
    /// Sends a request that may take until `due`; its answer arrives at `released_by`.
    virtual void send_release(const NodeName& to, msg::BackwardRelease release, std::optional<TimePoint> due) = 0;
    virtual void notify(const NodeName& to, msg::AnyMessage message) = 0;
    /// Requests values of this node; they arrive at `roots_found`.
    virtual void find_roots(const PassId& pass, std::vector<RRefId> roots) = 0;
    /// Runs the work on the pool; it returns to `pool_done`.
    virtual void run_on_pool(std::shared_ptr<GraphWork> work) = 0;
    /// Calls `finish` of the reducer; its result arrives at `reduced`.
    virtual void reduce(const PassId& pass, const std::shared_ptr<GradientReducer>& reducer, Gradients gradients) = 0;
    /// A peer sent a message that is not allowed now; it changed nothing.
    virtual void refused(const Error& error) = 0;
  };

  using Reducers = std::vector<std::shared_ptr<GradientReducer>>;

  /// What all nodes of a pass have in common.
  struct Mode {
    bool only_inputs = false;  ///< variables that are not inputs keep no gradient
    Graph graph = Graph::keep;
    friend bool operator==(const Mode&, const Mode&) = default;
  };

  /// Other nodes have until `due` to answer. `ledger` has the ends of the boundaries and receives the gradients, once
  /// each of `reducers` has replaced them, one after the other.
  BackwardPass(ContextId context, PassId pass, Mode mode, NodeName self, std::optional<TimePoint> due,
               ContextLedger& ledger, Callbacks& callbacks, Reducers reducers = {});

  /// Tells the reducers that the pass begins here; once, before any event. May throw: `abandon` then tells those that
  /// were told.
  void begin();

  /// Starts the pass, at its root node. Without marks if this node knows its boundaries.
  void start(PassPlan plan);

  /// BackwardMark arrived as request number `request`. REQUIRES: this node knows the boundaries that it names.
  void mark(const NodeName& from, std::uint64_t request, const msg::BackwardMark& mark, MarkAnswer answer);
  void mark_answered(std::uint64_t number, const msg::BackwardMarked& marked);
  void run();
  /// BackwardGradients arrived. REQUIRES: this node knows the boundaries of the message's route to which it sent.
  void gradients(const NodeName& from, msg::BackwardGradients message);
  /// BackwardFinished arrived from `participant`, with or without an error.
  void finished(const NodeName& participant, const std::optional<Error>& error);

  /// The roots of the mark that asked for them, and then its inputs.
  void roots_found(Result<std::vector<Variable>> found);
  void pool_done(std::shared_ptr<GraphWork> work);
  void reduced(Result<Gradients> gradients);

  /// BackwardRelease arrived from the root: releases the graph of this node on the pool. Refused before this node's
  /// part is done, and in a pass that keeps its graph.
  void release(ReleaseAnswer answer);
  /// `node` has released its graph, or cannot say so any more.
  void released_by(const NodeName& node);

  /// The pass has failed here: notifies the other participants. A pass that is complete and releases its graph ends in
  /// success, without waiting for the others.
  void fail(const Error& error);

  /// The context ends: answers pending requests with `error` and sends nothing else. If it throws, reducers that were
  /// not told are told by the next call.
  void abandon(const Error& error);

  /// The pass is complete, and its caller has taken it, or has given it up: tells the reducers.
  void taken();
  void given_up(const Error& why);

  /// Returns what all nodes of the pass have in common.
  [[nodiscard]] const Mode& mode() const { return mode_; }
  /// Returns how the pass ended: complete (only at the pass's root; then it is `taken` or `given_up`) or failed;
  /// nullopt while it runs. Events after the end change nothing.
  [[nodiscard]] const std::optional<Result<Unit>>& outcome() const { return outcome_; }
  [[nodiscard]] const BackwardTracker& tracker() const { return tracker_; }

 private:
  struct Start {};
  using Step = std::variant<backward_actions::Walk, Start, FeedSend, ReleaseGraph>;

  void perform(const backward_actions::Actions& actions);
  /// As perform, without settling.
  void take(const backward_actions::Actions& actions);
  /// Returns whether the message's route may be followed, and follows it.
  [[nodiscard]] bool take_route(const NodeName& from, const msg::BackwardGradients& message);
  [[nodiscard]] std::optional<msg::RouteLegs> known_route() const;
  /// Returns the error of a route, which peers have sent, that has a boundary which this node never sent.
  [[nodiscard]] std::optional<Error> lie_in(const msg::RouteLegs& route) const;
  void follow(msg::RouteLegs legs);
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

  /// After every event: passes the graph task to a pool job if there are steps to take, reports the end when none are
  /// left.
  void settle();
  [[nodiscard]] bool waits_for_roots() const;
  [[nodiscard]] bool waits_for_others() const;
  /// Passes the gradients to the next reducer; after the last one the part of this node is done.
  void reduce();
  [[nodiscard]] GraphStep graph_step(const backward_actions::Walk& walk) const;
  [[nodiscard]] GraphStep graph_step(const Start& start) const;
  [[nodiscard]] GraphStep graph_step(FeedSend& feed) const;
  [[nodiscard]] GraphStep graph_step(const ReleaseGraph& release) const;
  [[nodiscard]] Result<backward_actions::BoundariesByPeer> peers_of(
      const std::vector<std::shared_ptr<const RecvFn>>& reached) const;
  [[nodiscard]] Error own_error(ErrorCode code, std::string message) const;
  /// Tells the reducers that have begun and were not told: each once. One whose call throws is told by the next call.
  void tell_reducers(const Result<Unit>& verdict);
  void end(Result<Unit> outcome);

  const ContextId context_;
  const PassId pass_;
  const Mode mode_;
  const NodeName self_;
  const std::optional<TimePoint> due_;
  ContextLedger& ledger_;
  Callbacks& callbacks_;
  BackwardTracker tracker_;

  std::shared_ptr<GraphWork> work_;  // null while a pool job has it
  std::deque<Step> steps_;           // for the next job
  bool graph_finished_ = true;       // as of the last job
  Gradients gradients_;
  ContextLedger::GradientCounts with_gradient_;  // of the boundaries that were fed
  const Reducers reducers_;
  std::size_t begun_count_ = 0;  // of reducers_, the first so many have begun
  std::size_t told_count_ = 0;   // of these, the first so many know how the pass ended
  std::size_t reduced_count_ = 0;

  bool has_roots_ = false;                           // or inputs
  std::optional<std::vector<Variable>> roots_;       // this node's roots; nullopt until they are found
  std::vector<Variable> inputs_;                     // this node's; found with the roots
  std::vector<RRefId> input_ids_;                    // of inputs_, at other nodes than the root
  bool restricted_ = false;                          // the graph task knows the inputs
  PassPlan plan_;                                    // at the root: the remote part
  std::shared_ptr<const msg::BackwardRoute> route_;  // null if the boundaries are marked
  std::set<NodeName> know_route_;                    // the root, and nodes that have sent gradients
  std::map<std::pair<NodeName, std::uint64_t>, MarkAnswer> unanswered_;
  std::optional<Result<Unit>> outcome_;

  enum class Release : std::uint8_t { none, runs, done };
  Release release_ = Release::none;             // of this node's graph
  std::set<NodeName> unreleased_;               // at the root
  std::vector<ReleaseAnswer> release_answers_;  // at other nodes, while it runs
};

}  // namespace troupe::detail
