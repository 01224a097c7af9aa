// The parameters of one optimizer on this node.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/caf.h"
#include "actors/node_core.h"
#include "actors/shard_part.h"
#include "actors/strand.h"

namespace troupe::detail {

struct ShardWordCame {
  Delivery delivery;
};
struct ParametersFound {
  Result<std::vector<Variable>> parameters;
};
struct StopShard {
  Error why;
};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ShardWordCame)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ParametersFound)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::StopShard)

namespace troupe::detail {

/// Takes the words about one optimizer in the order they come; a ShardPart (shard_part.h), which has the rules, does the
/// work on the node's strand for parameters. What comes before the parameters exist waits for them.
/// Name: "<node>/shard/<creator>.<serial>".  Spawned by: Shards on ShardCreate.  Ends: on ShardReleased or StopShard;
/// work that is already on the strand is still done and answered. A handler that throws fails the shard: every later word is
/// answered with what it threw.
using ShardActor = caf::typed_actor<caf::reacts_to<ShardWordCame>,    //
                                    caf::reacts_to<ParametersFound>,  //
                                    caf::reacts_to<StopShard>>;

class ShardState {
 public:
  static inline const char* name = "shard";

  void begin(NodeCore& node, std::shared_ptr<Strand> strand, OptimizerId optimizer);
  /// Returns whether the shard goes on.
  [[nodiscard]] bool handle(const Delivery& delivery);
  void found(Result<std::vector<Variable>> parameters);
  void stop(const Error& why);
  /// Everything that waits and everything that comes fails with `why`.
  void fail(Error why);

 private:
  void create(const Delivery& delivery, const msg::ShardCreate& message);
  void serve(const Delivery& delivery);
  [[nodiscard]] Error own_error(Error error) const;
  using Reply = std::function<void(const ReturnAddress&, msg::AnyMessage)>;
  [[nodiscard]] Reply when_told() const;
  /// Runs `work` on the part and answers with what it returns.
  template <class Work>
  void on_strand(const ReturnAddress& answer, Work work, const Reply& reply = &ReturnAddress::answer);

  NodeCore* node_ = nullptr;  // owns the actor's host
  std::shared_ptr<Strand> strand_;
  OptimizerId optimizer_;
  std::unique_ptr<optim::Optimizer> rule_;  // until the parameters are found
  std::vector<RRefId> parameters_;
  std::shared_ptr<ShardPart> part_;         // used on the strand only
  std::optional<Error> failure_;            // why there will be no part
  bool created_ = false;
  std::vector<Delivery> parked_;
};

ShardActor::behavior_type shard_actor(ShardActor::stateful_pointer<ShardState> self, NodeCore* node,
                                      std::shared_ptr<Strand> strand, OptimizerId optimizer);

}  // namespace troupe::detail
