// What one node knows of one context: who takes part, the boundaries to them, the gradients found. Plain state: no CAF,
// no clock; one thread at a time.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "autograd/boundary.h"
#include "autograd/gradients.h"
#include "messages/ids.h"

namespace troupe {

class ContextLedger {
 public:
  explicit ContextLedger(NodeName self) : self_(std::move(self)) {}

  /// `node` takes part. Calls of a node to itself make no peer.
  void add_peer(const NodeName& node);
  [[nodiscard]] const std::set<NodeName>& peers() const noexcept { return peers_; }

  /// Our end of a boundary to `peer`.
  void record_send(const BoundaryId& boundary, std::shared_ptr<const SendFn> send, const NodeName& peer);

  /// Our end of `boundary`, null if unknown.
  [[nodiscard]] std::shared_ptr<const SendFn> find_send(const BoundaryId& boundary) const;
  /// Likewise, null also if it does not lead to `peer`.
  [[nodiscard]] std::shared_ptr<const SendFn> find_send(const BoundaryId& boundary, const NodeName& peer) const;
  [[nodiscard]] std::size_t send_count() const noexcept { return sends_.size(); }

  /// This node's part of `pass` is done and found these. They count from now on.
  void add_gradients(const PassId& pass, Gradients gradients);

  /// The whole pass is complete: what it found here stays.
  void settle(const PassId& pass);

  /// The pass failed somewhere: what it found here does not count. Nothing if there is none, or it was settled.
  void take_back(const PassId& pass);

  /// The sum over all passes that count, in the order in which they were done here.
  [[nodiscard]] Gradients gradients() const;
  [[nodiscard]] Tensor gradient(const Variable& leaf) const;

  /// Gradients kept apart, of passes that may still be taken back.
  [[nodiscard]] std::size_t kept_apart() const noexcept { return passes_.size(); }

 private:
  struct Send {
    std::shared_ptr<const SendFn> fn;
    NodeName peer;
  };
  struct PassGradients {
    PassId pass;
    Gradients gradients;
    bool settled = false;
  };

  void fold();

  NodeName self_;
  std::set<NodeName> peers_;
  std::map<BoundaryId, Send> sends_;
  Gradients sum_;                      // of settled passes
  std::vector<PassGradients> passes_;  // later ones, oldest first; the first is not settled
};

}  // namespace troupe
