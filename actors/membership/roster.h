// Who is in the cluster and which place each has: the rules by which newcomers are let in.
//
// The member that has been in longest lets newcomers in. Everybody keeps the same list, so when that one goes, the next
// goes on. Rules MB-2 to MB-4 of PROTOCOLS.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"
#include "messages/membership.h"

namespace troupe::detail {

/// "trainer" of "trainer12": the role of a node that was given none.
[[nodiscard]] std::string role_of_name(std::string_view name);

/// A plain class: one thread at a time.
class Roster {
 public:
  /// This node lets others into a new world of that size; 0: any number, now and later.
  void open(std::uint32_t world_size) { world_size_ = world_size; }

  /// Lets `join` in, and gives it its rank if that can be known. The Error says who or what is in the way: bad_argument for
  /// another world size or a rank that is taken or out of range, resource_exhausted when the world is complete. The same
  /// life again changes nothing; a new life of a name takes the place of the former.
  [[nodiscard]] std::optional<Error> admit(const msg::MemberJoin& join);

  /// All who are expected are in, and each has its rank.
  [[nodiscard]] bool complete() const;

  /// A member that was let in elsewhere, or this node in a world that was complete from the start. Returns false for an
  /// earlier life than the one that is known.
  bool learn(const msg::Member& member);

  /// That life of the member is over: its name and its rank are free.
  /// Returns false if it was not known.
  bool remove(const NodeName& name, Incarnation incarnation);
  void remove_at(std::string_view address);

  /// The member of that name that has a rank.
  [[nodiscard]] const msg::Member* find(const NodeName& name) const;

  /// Who of `living` lets newcomers in: the one that has been in longest; nobody if none is known here.
  [[nodiscard]] std::optional<NodeName> coordinator(const std::vector<NodeName>& living) const;

  /// All that have a rank, by name.
  [[nodiscard]] std::vector<msg::Member> members() const;

  /// The change that came last; each admission is one.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  struct Entry {
    msg::Member member;
    std::optional<std::uint32_t> rank;  // `member.rank` once it has one
  };
  [[nodiscard]] const Entry* holder(std::uint32_t rank) const;
  [[nodiscard]] std::optional<Error> refusal(const msg::MemberJoin& join) const;
  void give_ranks();

  std::map<NodeName, Entry> entries_;
  std::uint32_t world_size_ = 0;
  std::uint64_t epoch_ = 0;
};

}  // namespace troupe::detail
