// The optimizer shards of one node: the parameters it owns, their rules' state, and the steps of all DistOptimizers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/shards/step_ledger.h"
#include "autograd/variable.h"

namespace troupe::detail {

struct OwnerAnswered;

/// Thread rule: any thread may call any member; none blocks.
class Shards {
 public:
  explicit Shards(NodeCore& node);
  ~Shards();
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  /// Everything named Shard.
  void handle(Delivery delivery);

  /// The shards of optimizers that lived there end, as soon as no other owner needs to know of a step.
  void peer_down(const Peer& peer, const Error& why);

  /// Fails what waits, ends all shards and refuses new ones.
  void stop(const Error& why);

  /// Shards that are alive here.
  [[nodiscard]] std::size_t size() const;

  // For shard actors. Ignored if the shard has ended.
  /// The parameters that it asked for.
  void found(const OptimizerId& optimizer, Result<std::vector<Variable>> parameters);
  /// What another owner answered.
  void answered(const OptimizerId& optimizer, OwnerAnswered answer);
  /// After `pause`, asks the question, or applies what was decided.
  void try_again(const OptimizerId& optimizer, std::optional<StepLedger::Question> question, Duration pause);
  /// Nobody needs the shard any more.
  void over(const OptimizerId& optimizer);

 private:
  class Directory;
  const std::unique_ptr<Directory> directory_;
};

}  // namespace troupe::detail
