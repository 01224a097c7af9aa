// The collectives in which this node participates: forms them, and dispatches messages to them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/collectives/collective_member.h"
#include "actors/collectives/partial_meetings.h"
#include "actors/core/node_core.h"
#include "actors/group.h"

namespace troupe::detail {

/// What a member brings to the barrier at which a collective is formed. Every member gets those of all, so its size is
/// bounded, however many members there are.
struct CollectiveIntroduction {
  /// The most names that are told one by one, for the error if members name others.
  static constexpr std::size_t kNamesMax = 16;

  CollectiveIntroduction() = default;
  /// For a member that has these names, in its order.
  CollectiveIntroduction(CollectiveEnd own, const std::vector<NodeName>& members);

  CollectiveEnd end;
  std::array<std::uint64_t, 2> order{};  ///< XXH3-128 of the names
  std::vector<NodeName> names;           ///< none if there are more than kNamesMax
  template <class Archive>
  void serialize(Archive& ar) {
    ar(end, order, names);
  }
};

/// Thread rule: any thread may call any member; only `form` waits.
class Collectives {
 public:
  explicit Collectives(NodeCore& node) : node_(node) {}

  /// Meets the other members of `group`; the n-th formation of one member meets the n-th of the others. Ranks are
  /// positions in the group's names, which all members must give in the same order. Throws as Group::barrier, and
  /// bad_argument.
  [[nodiscard]] std::shared_ptr<CollectiveMember> form(const Scope& scope, const Group& group);

  /// Handles a Call for collectives: a message of another member.
  void handle(const Delivery& delivery);

  /// Of this node, as a member.
  [[nodiscard]] PartialMeetings& partial_meetings() { return partial_meetings_; }

  /// Says at the present leaders what this node has met at those that are gone (MB-18). Without memory the node ends.
  void tell_met() noexcept;

  void peer_down(const Peer& peer, const Error& why);

  /// Fails every operation, now and later, with `why`.
  void stop(const Error& why);

 private:
  /// Meets the others as the member with that number, and returns their ends by rank.
  [[nodiscard]] std::vector<CollectiveEnd> meet(const Scope& scope, const std::vector<NodeName>& names,
                                                std::uint64_t number) const;
  [[nodiscard]] std::vector<std::shared_ptr<CollectiveMember>> members() const;

  NodeCore& node_;
  PartialMeetings partial_meetings_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;                                        // guarded by mutex_
  std::map<std::uint64_t, std::weak_ptr<CollectiveMember>> all_;  // guarded by mutex_; by the others' number for it
};

}  // namespace troupe::detail
