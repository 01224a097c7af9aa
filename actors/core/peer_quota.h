// How many things of one kind a node keeps for each of its peers, and how many it may.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "actors/core/node_life.h"
#include "messages/error.h"

namespace troupe::detail {

/// A thing counts as long as a copy of its token lives, whatever ends it; tokens may outlive the object.
/// Thread rule: any thread may call any member and drop any token.
class PeerQuota {
 public:
  using Token = std::shared_ptr<const void>;  ///< null for what the node itself has: that is not counted

  /// Counted beyond `max` by words that cannot be refused. They come ahead of calls that are still on their way, of which
  /// there are fewer: a peer that gets there does not keep to the rules.
  static constexpr std::size_t kUnrefusedMax = 262'144;

  /// `what` is counted, in the plural, and `key` is where `max` is set: both are for errors.
  PeerQuota(NodeName self, std::string_view what, std::string_view key, std::size_t max);
  PeerQuota(const PeerQuota&) = delete;
  PeerQuota& operator=(const PeerQuota&) = delete;

  /// One more of `peer`. Errors: resource_exhausted, `ran: never`.
  [[nodiscard]] Result<Token> take(const NodeLife& peer);

  struct Counted {
    Token token;
    bool is_too_much = false;  ///< give the peer up
  };
  /// One more, for a word that cannot be refused.
  [[nodiscard]] Counted take_unrefused(const NodeLife& peer);

  /// By name of a peer that has any, over all its lives.
  [[nodiscard]] std::map<NodeName, std::size_t> counts() const;

 private:
  using Counts = std::map<NodeLife, std::size_t>;
  struct Table {
    std::mutex mutex;
    Counts counts;  // guarded by mutex; none is 0
  };

  [[nodiscard]] Token token_of(Counts::iterator at) const;

  const NodeName self_;
  const std::string what_;
  const std::string key_;
  const std::size_t max_;
  const std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace troupe::detail
