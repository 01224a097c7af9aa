// The optimizer shards of one node: the parameters it owns, their rules' state, and the steps of all DistOptimizers.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "actors/node_core.h"
#include "autograd/variable.h"

namespace troupe::detail {

/// Thread rule: any thread may call any member; none blocks.
class Shards {
 public:
  explicit Shards(NodeCore& node);
  ~Shards();
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  /// Everything named Shard.
  void handle(Delivery delivery);

  /// Ends the shards of optimizers that lived there.
  void peer_down(const Peer& peer, const Error& why);

  /// Fails what waits, ends all shards and refuses new ones.
  void stop(const Error& why);

  /// Shards that are alive here.
  [[nodiscard]] std::size_t size() const;

  /// For a shard actor: the parameters it asked for.
  void found(const OptimizerId& optimizer, Result<std::vector<Variable>> parameters);

 private:
  class Directory;
  const std::unique_ptr<Directory> directory_;
};

}  // namespace troupe::detail
