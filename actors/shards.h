// The optimizer shards of one node: the parameters it owns, their rules' state, and the steps of all DistOptimizers.
#pragma once

#include <cstddef>
#include <memory>

#include "actors/node_core.h"

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

  void stop(const Error& why);

  [[nodiscard]] std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::detail
