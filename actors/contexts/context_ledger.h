// One node's record of one context: its participants, the boundaries to them, the gradients found. Plain state: no CAF,
// no clock; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "actors/contexts/unused_boundary.h"
#include "autograd/boundary.h"
#include "autograd/gradients.h"
#include "messages/ids.h"

namespace troupe {

class ContextLedger {
 public:
  explicit ContextLedger(NodeName self) : self_(std::move(self)) {}

  /// Adds a participant. Calls of a node to itself add none.
  void add_peer(const NodeName& node);
  [[nodiscard]] const std::set<NodeName>& peers() const noexcept { return peers_; }

  /// Records this node's end of a boundary to `peer`.
  void record_send(const BoundaryId& boundary, std::shared_ptr<const SendFn> send, const NodeName& peer,
                   std::string what);

  /// Returns this node's end of `boundary`; null if unknown.
  [[nodiscard]] std::shared_ptr<const SendFn> find_send(const BoundaryId& boundary) const;
  /// As above; null also if it does not lead to `peer`.
  [[nodiscard]] std::shared_ptr<const SendFn> find_send(const BoundaryId& boundary, const NodeName& peer) const;
  [[nodiscard]] std::size_t send_count() const noexcept { return sends_.size(); }
  /// Returns whether destroying this node's part of the graph takes at most some ten microseconds and no user code.
  [[nodiscard]] bool is_short_to_destroy() const;

  /// This node's part of `pass` is done, with these gradients. They count from now on.
  void add_gradients(const PassId& pass, Gradients gradients);

  /// The number of values with a gradient, by boundary of this node.
  using GradientCounts = std::map<BoundaryId, std::uint32_t>;

  /// This node's part of `pass` is done. Of each root's passes the last two are remembered: the last one may be taken
  /// back.
  void note_used(const PassId& pass, GradientCounts counts);

  /// Returns the number of roots of which passes are remembered.
  [[nodiscard]] std::size_t remembered_roots() const noexcept { return uses_.size(); }

  /// Returns this node's boundaries that have values without a gradient in `pass`: all if it took no part.
  [[nodiscard]] std::vector<UnusedBoundary> unused(const PassId& pass) const;

  /// The whole pass is complete: its gradients can no longer be taken back.
  void settle(const PassId& pass);

  /// Returns the passes on which settled ones wait, because they were done earlier; empty unless a multiple of
  /// kHeldUp settled ones wait, so that a caller that asks after each `settle` hears of them once in so many.
  [[nodiscard]] std::vector<PassId> holding_up() const;
  static constexpr std::ptrdiff_t kHeldUp = 8;

  /// The pass failed on some node: removes its gradients. Does nothing if there are none, or it was settled.
  void take_back(const PassId& pass);

  /// Returns the sum over all passes that count, in the order in which they were done here.
  [[nodiscard]] Gradients gradients() const;
  [[nodiscard]] Tensor gradient(const Variable& leaf) const;

  /// Returns the number of passes whose gradients may still be taken back.
  [[nodiscard]] std::size_t kept_apart() const noexcept { return passes_.size(); }

 private:
  struct Send {
    std::shared_ptr<const SendFn> fn;
    NodeName peer;
    std::string what;  // the message that carried the values
  };
  struct PassUse {
    PassId pass;
    GradientCounts counts;
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
  std::map<NodeName, std::vector<PassUse>> uses_;  // by root, the older one first
  Gradients sum_;                                  // of settled passes
  std::vector<PassGradients> passes_;              // later ones, the oldest first; the first one is not settled
};

}  // namespace troupe
