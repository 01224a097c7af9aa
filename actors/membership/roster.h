// The members of the cluster and their ranks: the rules by which newcomers are admitted.
//
// The longest-standing member admits newcomers. Every member keeps the same list, so when that member goes, the next
// one continues. Rules MB-2 to MB-4 of PROTOCOLS.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"
#include "messages/membership.h"

namespace troupe::detail {

/// Returns the role of a node without one: "trainer" of "trainer12".
[[nodiscard]] std::string role_of_name(std::string_view name);

/// A plain class: one thread at a time.
class Roster {
 public:
  /// The most by which the epoch that a member claims may exceed the latest known one: more admissions than ever
  /// happen.
  static constexpr std::uint64_t kEpochsAheadMax = std::uint64_t{1} << 32;

  /// Lets this node admit others into a new world of that size; 0: any number, now and later. Members that request no
  /// rank get one once all members are there.
  void open(std::uint32_t world_size) {
    size_max_ = world_size;
    awaited_ = world_size;
  }

  /// Lets this node admit others into the free places of a world of that size, which was complete before. A newcomer
  /// gets its rank at once: other newcomers may join through it.
  void keep_to(std::uint32_t world_size) { size_max_ = world_size; }

  /// Admits `join`, and gives it its rank if that can be known. The Error names the obstacle: bad_argument for another
  /// world size or a rank that is taken or out of range, resource_exhausted when the world is complete. The same life
  /// again changes nothing; a new life of a name replaces the former.
  [[nodiscard]] std::optional<Error> admit(const msg::MemberJoin& join);

  /// Returns true if all expected members are admitted and each has its rank.
  [[nodiscard]] bool complete() const;

  /// Adds a member that was admitted elsewhere, or this node in a world that was complete from the start. Returns false
  /// for an earlier life than the known one.
  bool learn(const msg::Member& member);

  /// Adds `member`, which claims to be admitted elsewhere, and returns its place here: the known place if that life is
  /// known. Returns nullopt, and changes nothing, if another member that is not `is_lost` has the rank, if the epoch is
  /// too far ahead, if that life is known without a rank, or if a later life is known.
  std::optional<msg::Member> learn_from_itself(const msg::Member& member,
                                               const std::function<bool(const NodeName&)>& is_lost);

  /// Forgets all members and their epochs, before this node is a member: they were known from their own claims only.
  /// Returns them.
  std::vector<msg::Member> forget();

  /// That life of the member is over: frees its name and its rank. Returns false if it was unknown.
  bool remove(const NodeName& name, Incarnation incarnation);

  /// Returns the member of that name; null unless it has a rank.
  [[nodiscard]] const msg::Member* find(const NodeName& name) const;

  /// Returns the members that `admit` has given their ranks since the last call, by name.
  [[nodiscard]] std::vector<msg::Member> take_newcomers();

  /// Returns the one of those that are living that admits newcomers: the longest-standing; nullopt if none is known
  /// here. Asks for none that came after it.
  [[nodiscard]] std::optional<NodeName> coordinator(const std::function<bool(const NodeName&)>& is_living) const;

  /// Returns all members that have a rank, by name.
  [[nodiscard]] std::vector<msg::Member> members() const;

  /// Returns the number of the latest change; each admission is one.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  struct Entry {
    msg::Member member;
    std::optional<std::uint32_t> rank;  // `member.rank` once it has one
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  /// Returns who has the rank, `besides` excepted: who takes a lost member's rank has it together with that one.
  [[nodiscard]] const Entry* holder(std::uint32_t rank, const NodeName& besides = {}) const;
  [[nodiscard]] std::optional<Error> refusal(const msg::MemberJoin& join) const;
  void give_ranks();

  void set(Entry entry);
  void list(const Entry& entry);
  void unlist(const Entry& entry);

  std::map<NodeName, Entry> entries_;
  std::set<std::pair<std::uint64_t, NodeName>> by_epoch_;  // the entries
  std::set<std::pair<std::uint64_t, NodeName>> unranked_;  // those without a rank, by epoch
  std::set<std::pair<std::uint32_t, NodeName>> ranks_;     // of the others
  std::uint32_t first_free_ = 0;                           // no lower rank is free
  std::set<NodeName> newcomers_;                           // see take_newcomers
  std::uint32_t size_max_ = 0;                             // 0: any
  std::uint32_t awaited_ = 0;                              // members before which ranks are not given
  std::uint64_t epoch_ = 0;
};

}  // namespace troupe::detail
