// One node's part of one autograd context.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/contexts/context_participant.h"
#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/core/peer_events.h"
#include "actors/core/promise_guard.h"
#include "actors/core/stop_watch.h"

namespace troupe::detail {

struct PeerJoined {
  NodeName node;
};
struct SendRecorded {
  BoundaryId boundary;
  std::shared_ptr<const SendFn> send;
  NodeName peer;
  std::string what;
};
struct ReducerAttached {
  std::shared_ptr<GradientReducer> reducer;
};
struct PassAsked {
  PassPlan plan;
  PassLimits limits;
  std::shared_ptr<PromiseGuard<void>> answer;
};
struct AliveAsked {
  std::shared_ptr<PromiseGuard<void>> answer;
};
struct GradientsAsked {
  std::shared_ptr<PromiseGuard<Gradients>> answer;
};
struct GradientAsked {
  Variable leaf;
  std::shared_ptr<PromiseGuard<Tensor>> answer;
};
struct UnusedAsked {
  std::optional<PassId> pass;
  std::shared_ptr<PromiseGuard<UnusedHere>> answer;
};
struct ContextMessage {
  Delivery delivery;
};
struct AbortContext {
  Error error;
  NodeName from;
};
/// There was no memory for a word of `from` about a pass.
struct WordLost {
  NodeLife from;
  Error why;
};
struct ReleaseContext {
  NodeName from;
};
/// Asks for a description of the context's work.
struct DescribeContext {
  Query<OpenContext>::ReplySlot slot;
};
struct StopContext {
  Error why;
};

// Answers to the actor's own requests.
struct MarkAnswered {
  PassId pass;
  NodeName by;
  std::uint64_t number = 0;
  Result<msg::BackwardMarked> answer;
};
struct GraphReleased {
  PassId pass;
  NodeName by;
};
struct RootsFound {
  PassId pass;
  Result<std::vector<Variable>> roots;
};
struct PoolDone {
  std::shared_ptr<GraphWork> work;
};
struct PassReduced {
  PassId pass;
  Result<Gradients> gradients;
};
struct PassDue {
  PassId pass;
};
struct PassCancelled {
  PassId pass;
};
struct ContextNews {
  std::variant<MarkAnswered, GraphReleased, RootsFound, PoolDone, PassReduced, PassDue, PassCancelled> what;
};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::PeerJoined)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::SendRecorded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ReducerAttached)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::PassAsked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::AliveAsked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::GradientsAsked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::GradientAsked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::UnusedAsked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ContextMessage)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::AbortContext)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::WordLost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ReleaseContext)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::DescribeContext)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::StopContext)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ContextNews)

namespace troupe::detail {

/// Runs a ContextParticipant (context_participant.h), which has the rules.
/// Name: "<node>/context/<creator>.<serial>".  Spawned by: Contexts.  Ends: on ReleaseContext or StopContext, after
/// every pending request is answered. An exception of a handler aborts the context.
using ContextActor = caf::typed_actor<caf::reacts_to<ContextMessage>,   //
                                      caf::reacts_to<ContextNews>,      //
                                      caf::reacts_to<SendRecorded>,     //
                                      caf::reacts_to<PeerJoined>,       //
                                      caf::reacts_to<ReducerAttached>,  //
                                      caf::reacts_to<PassAsked>,        //
                                      caf::reacts_to<AliveAsked>,       //
                                      caf::reacts_to<GradientsAsked>,   //
                                      caf::reacts_to<GradientAsked>,    //
                                      caf::reacts_to<UnusedAsked>,      //
                                      caf::reacts_to<PeerDown>,         //
                                      caf::reacts_to<AbortContext>,     //
                                      caf::reacts_to<WordLost>,         //
                                      caf::reacts_to<ReleaseContext>,   //
                                      caf::reacts_to<DescribeContext>,  //
                                      caf::reacts_to<StopContext>>;

/// The node's services for the rules, by name: nothing here keeps the actor alive.
class ContextState : public ContextParticipant::Callbacks {
 public:
  static inline const char* name = "context";

  void begin(NodeCore& node, ContextId context);
  [[nodiscard]] ContextParticipant& part() { return *part_; }
  void handle(const PassAsked& asked);
  void handle(Delivery delivery);
  void handle(ContextNews news);
  void handle(const WordLost& lost);
  /// Aborts the context on all nodes: its part on this node is lost.
  void fail(Error why);
  /// The creator has released the context, as `from` reported: notifies the others and fails what still waits.
  void release(const NodeName& from);
  /// That release threw: notifies all again, or fails the node. The node knows the context no more, and nobody else
  /// notifies its peers.
  void fail_release(Error why, const NodeName& from) noexcept;
  /// Destroys the graph on the pool, if that may take long.
  void drop_part();
  void describe(const DescribeContext& question) const;
  /// Reports to the node how many passes run or wait here.
  void count_passes();

 private:
  void take(const Delivery& delivery, const msg::BackwardMark& mark);
  void take(const Delivery& delivery, const msg::BackwardRun& run);
  void take(const Delivery& delivery, msg::BackwardGradients& gradients);
  void take(const Delivery& delivery, const msg::BackwardFinished& finished);
  void take(const Delivery& delivery, const msg::BackwardRelease& release);
  void take(MarkAnswered& marked);
  void take(const GraphReleased& released);
  void take(RootsFound& found);
  void take(PoolDone& returned);
  void take(PassReduced& reduced);
  void take(const PassDue& due);
  void take(const PassCancelled& cancelled);

  void send_mark(const NodeName& to, const std::optional<Incarnation>& life, std::uint64_t number,
                 msg::BackwardMark mark, std::optional<TimePoint> due) override;
  void send_release(const NodeName& to, msg::BackwardRelease release, std::optional<TimePoint> due) override;
  void notify(const NodeName& to, msg::AnyMessage message) override;
  void find_roots(const PassId& pass, std::vector<RRefId> roots) override;
  void run_on_pool(std::shared_ptr<GraphWork> work) override;
  void reduce(const PassId& pass, const std::shared_ptr<GradientReducer>& reducer, Gradients gradients) override;
  void wake_at(const PassId& pass, TimePoint due) override;
  void pass_ended(const PassId& pass) override;
  void refused(const Error& error) override;

  NodeCore* node_ = nullptr;  // owns the actor's host
  ContextId context_;
  TimePoint began_;
  std::unique_ptr<ContextParticipant> part_;
  std::map<PassId, TimerId> timers_;
  std::map<PassId, std::unique_ptr<StopWatch>> watches_;  // of passes begun here that can be cancelled
  std::int64_t passes_ = 0;                               // as last reported to the node
};

ContextActor::behavior_type context_actor(ContextActor::stateful_pointer<ContextState> self, NodeCore* node,
                                          ContextId context);

}  // namespace troupe::detail
