// The parameters of one optimizer on this node.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/core/strand.h"
#include "actors/shards/shard_rules.h"

namespace troupe::detail {

struct ShardMessage {
  Delivery delivery;
};
struct ParametersFound {
  Result<std::vector<Variable>> parameters;
};
/// The optimizer's node is gone: no further message of it arrives.
struct DriverGone {
  Error why;
};
/// An owner's answer to this shard's question, or the Error.
struct OwnerAnswered {
  StepLedger::Question question;
  Result<msg::AnyMessage> answer;
};
/// Repeat what could not be done before.
struct TryAgain {
  std::optional<StepLedger::Question> question;  ///< to be asked; nullopt: apply what was decided
};
struct StopShard {
  Error why;
};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ShardMessage)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ParametersFound)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::DriverGone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::OwnerAnswered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::TryAgain)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::StopShard)

namespace troupe::detail {

/// Takes the messages about one optimizer in order of arrival. A ShardRules (shard_rules.h), which has the rules, does
/// the work on the node's strand for parameters. Messages that arrive before the parameters exist wait for them.
/// Name: "<node>/shard/<creator>.<serial>".  Spawned by: Shards on ShardCreate, and on ShardJoin: then it works on the
/// parameters of another handle's shard.  Ends: on StopShard, which Shards sends
/// when the optimizer was released or its node is gone and no other owner needs to know of a step; work already on the
/// strand is still done and answered. A message whose handler throws is answered with the exception, and so are all
/// later ones if the shard could not be made. An exception of any other handler ends the node: it can no longer tell
/// the other owners what it does.
using ShardActor = caf::typed_actor<caf::reacts_to<ShardMessage>,     //
                                    caf::reacts_to<ParametersFound>,  //
                                    caf::reacts_to<DriverGone>,       //
                                    caf::reacts_to<OwnerAnswered>,    //
                                    caf::reacts_to<TryAgain>,         //
                                    caf::reacts_to<StopShard>>;

/// The parameters and the pending answers. Used on the strand only.
class ShardWork;
struct SharedShard;

class ShardState {
 public:
  static inline const char* name = "shard";

  void begin(NodeCore& node, std::shared_ptr<Strand> strand, OptimizerId optimizer);
  void handle(const Delivery& delivery);
  void found(Result<std::vector<Variable>> parameters);
  void driver_gone(const Error& why) { end(why, std::nullopt); }
  void answered(const OwnerAnswered& answer);
  void try_again(const TryAgain& again);
  void stop(const Error& why);
  /// If there are no parameters yet, all waiting and later messages fail with `why`.
  void fail(Error why);

 private:
  void create(const Delivery& delivery, const msg::ShardCreate& message);
  void join(const Delivery& delivery, const msg::ShardJoin& message);
  /// The shard has its parameters.
  void begin_work(std::shared_ptr<SharedShard> shared);
  void serve_parked();
  void take(const Delivery& delivery, const msg::ShardCreate& create);
  void take(const Delivery& delivery, const msg::ShardJoin& join);
  void take(const Delivery& delivery, const msg::ShardReleased& released);
  template <class Message>
  void take(const Delivery& delivery, const Message& message) {
    take_in_turn(delivery, message);
  }
  /// Serves the message once there are parameters; fails it if there will be none.
  template <class Message>
  void take_in_turn(const Delivery& delivery, const Message& message);
  void serve(const Delivery& delivery, const msg::ShardCreate& create) const;
  void serve(const Delivery& delivery, const msg::ShardJoin& join) const;
  void serve(const Delivery& delivery, const msg::ShardPrepare& message);
  void serve(const Delivery& delivery, const msg::ShardCommit& message);
  void serve(const Delivery& delivery, const msg::ShardAbort& message);
  void serve(const Delivery& delivery, const msg::ShardStep& message);
  void serve(const Delivery& delivery, const msg::ShardLoad& message);
  void serve(const Delivery& delivery, const msg::ShardSave& message);
  void serve(const Delivery& delivery, const msg::ShardWait& message);
  void serve(const Delivery& delivery, const msg::ShardQuery& message);
  /// The optimizer sends nothing more; it knew all outcomes below `settled`.
  void end(const Error& why, std::optional<std::uint64_t> settled);
  [[nodiscard]] Error own_error(Error error) const;
  using Reply = std::function<void(const ReturnAddress&, msg::AnyMessage)>;
  static void reply_at_once(const ReturnAddress& to, msg::AnyMessage message) { to.answer(std::move(message)); }
  [[nodiscard]] Reply when_told() const;
  /// Runs `job` on the strand, later if the pool has no thread for it.
  void on_strand(std::function<void(ShardWork&)> job);
  /// Runs `work` on the parameters and answers with its result. If `step` was applied but the answer failed, the error
  /// says so (Execution::maybe): the requester must ask again.
  template <class Work>
  void answer_on_strand(const ReturnAddress& answer, Work work, const Reply& reply = &reply_at_once,
                        const std::optional<StepId>& step = std::nullopt);

  NodeCore* node_ = nullptr;  // owns the actor's host
  std::shared_ptr<Strand> strand_;
  OptimizerId optimizer_;
  std::vector<ShardParameters::Group> groups_;  // without their parameters; until these are found
  std::vector<RRefId> parameters_;              // of all groups, one after the other; until they are found
  std::shared_ptr<ShardWork> work_;             // null until the parameters are found
  std::optional<Error> failure_;                // why there will be no parameters
  bool created_ = false;
  std::vector<Delivery> parked_;
};

ShardActor::behavior_type shard_actor(ShardActor::stateful_pointer<ShardState> self, NodeCore* node,
                                      std::shared_ptr<Strand> strand, OptimizerId optimizer);

}  // namespace troupe::detail
