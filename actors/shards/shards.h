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

  /// Handles all messages named Shard...
  void handle(Delivery delivery);

  /// Ends the shards of optimizers that lived there, as soon as no other owner needs to know of a step.
  void peer_down(const Peer& peer, const Error& why);

  /// Fails pending requests, ends all shards and refuses new ones.
  void stop(const Error& why);

  /// Returns the number of shards on this node.
  [[nodiscard]] std::size_t size() const;

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
