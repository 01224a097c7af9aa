// Counts, and bounds, the things of one kind that a node keeps for each peer.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// A thing counts as long as a copy of its token lives. Tokens may outlive the PeerQuota. Thread rule: any thread may
/// call any member and drop any token.
class PeerQuota {
 public:
  /// Names the peer. Null for things of the node itself, which are not counted.
  using Token = std::shared_ptr<const NodeLife>;

  /// The bound on things of a peer that are counted beyond `max` because their control message cannot be refused. Each
  /// such message precedes a call that is still on its way, and fewer calls than this can be on their way. So a peer
  /// that reaches the bound has broken the protocol.
  static constexpr std::size_t kUnrefusedMax = 262'144;

  /// For error texts: `what` names the things, in the plural; `key` is the setting of `max`.
  PeerQuota(NodeName self, std::string_view what, std::string_view key, std::size_t max);
  PeerQuota(const PeerQuota&) = delete;
  PeerQuota& operator=(const PeerQuota&) = delete;

  /// Counts one more thing of `peer`. Errors: resource_exhausted, `ran: never`.
  [[nodiscard]] Result<Token> take(const NodeLife& peer);

  struct Counted {
    Token token;
    bool is_too_much = false;  ///< true: end the session with the peer
  };
  /// Counts one more thing, for a control message that cannot be refused.
  [[nodiscard]] Counted take_unrefused(const NodeLife& peer);

  /// Returns whether `peer` has at least half of what it may have.
  [[nodiscard]] bool is_half_used(const NodeLife& peer) const;

  /// Returns the counts by name of peer, over all its lives; peers without any are absent.
  [[nodiscard]] std::map<NodeName, std::size_t> counts() const;

 private:
  using Counts = std::map<NodeLife, std::size_t>;
  struct Table {
    std::mutex mutex;
    Counts counts;  // guarded by mutex; no count is 0
  };

  [[nodiscard]] Token token_of(Counts::iterator at) const;

  const NodeName self_;
  const std::string what_;
  const std::string key_;
  const std::size_t max_;
  const std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace troupe::detail
