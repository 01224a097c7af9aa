// The optimizer shards of one node: the parameters it owns, their rules' state, and the steps of all DistOptimizers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/future.h"
#include "actors/shards/step_ledger.h"
#include "autograd/variable.h"
#include "messages/all.h"
#include "messages/ids.h"
#include "messages/optim.h"
#include "tensor/tensor.h"

namespace troupe::detail {

struct OwnerAnswered;
class ShardParameters;
struct SharedShard;

/// The messages to a shard's actor.
using ShardWords = msg::MessageList<msg::ShardCreate, msg::ShardJoin, msg::ShardPrepare, msg::ShardCommit,
                                    msg::ShardAbort, msg::ShardStep, msg::ShardLoad, msg::ShardSave, msg::ShardWait,
                                    msg::ShardQuery, msg::ShardReleased>;

/// Thread rule: any thread may call any member; none blocks.
class Shards {
 public:
  explicit Shards(NodeCore& node);
  ~Shards();
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  /// Hands a ShardCreate to the shard's actor, which it makes. Refused without ValueRight::owns.
  void create(const OptimizerId& optimizer, Delivery delivery);

  /// Hands a ShardJoin to the shard's actor, which it makes. Refused without ValueRight::owns.
  void join(const OptimizerId& optimizer, Delivery delivery);

  /// Hands a ShardQuery, which any node may send, to the shard's actor. Without one the outcome of `step` is unknown.
  void query(const OptimizerId& optimizer, const StepId& step, Delivery delivery);

  /// Hands any other of the ShardWords to the shard's actor. Without one a ShardReleased is remembered: a ShardCreate
  /// or ShardJoin that it has overtaken is refused. A ShardSave is refused without ValueRight::reads.
  void hand_on(const OptimizerId& optimizer, Delivery delivery);

  /// Ends the shards of optimizers that lived there, as soon as no other owner needs to know of a step.
  void peer_down(const Peer& peer, const Error& why);

  /// Fails pending requests, ends all shards and refuses new ones.
  void stop(const Error& why);

  /// Returns the number of shards on this node.
  [[nodiscard]] std::size_t size() const;

  /// A gradient of one of the shard's parameters is final in a pass of the context: see ShardParameters::prepare_early.
  void prepare_early(const OptimizerId& optimizer, const ContextId& context, const msg::StepSettings& settings,
                     const Variable& leaf, const Tensor& gradient);
  /// What was prepared so is not used.
  void drop_early(const OptimizerId& optimizer, const ContextId& context);

  /// Calls `read` on the pool, between changes of the shard's parameters. Errors: step_not_applied if the optimizer has
  /// no shard, resource_exhausted, what `read` throws.
  [[nodiscard]] Future<void> read(const OptimizerId& optimizer, std::function<void(const ShardParameters&)> read) const;

  // For shard actors.
  /// The shard of `optimizer` has these parameters.
  void keep(const OptimizerId& optimizer, const std::shared_ptr<SharedShard>& shared);
  /// Returns the parameters of the shard of `optimizer`; null if it has ended.
  [[nodiscard]] std::shared_ptr<SharedShard> shared_by(const OptimizerId& optimizer) const;

  // For shard actors. Ignored if the shard has ended.
  /// The requested parameters have been found.
  void found(const OptimizerId& optimizer, Result<std::vector<Variable>> parameters);
  /// Another owner has answered.
  void answered(const OptimizerId& optimizer, OwnerAnswered answer);
  /// After `pause`, asks the question, or applies what was decided.
  void try_again(const OptimizerId& optimizer, std::optional<StepLedger::Question> question, Duration pause);
  /// The shard is no longer needed.
  void over(const OptimizerId& optimizer);

 private:
  class Directory;
  const std::unique_ptr<Directory> directory_;
};

}  // namespace troupe::detail
