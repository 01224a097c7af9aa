// What the members of a collective send each other within one operation after the other, as one of them sees it: which
// part goes where, who is in another operation, whom this one waits for.
//
// Members carry out the same operations in the same order. Each part says in which of them it was sent and what its sender
// believes that operation to be, so members that disagree notice it by the first part. A part is taken when its receiver
// wants it, not before: no member runs ahead of another by more than the parts that it has under way. So who has carried
// out an operation owes no other member anything, and may leave. Who has no part for the member before it (by rank) tells
// it just what it believes: otherwise two that disagree could wait for each other.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "messages/frame.h"

namespace troupe::detail {

/// Where a part belongs; what travels beside its bytes.
struct PartPlace {
  std::uint64_t operation = 0;  ///< the how-manieth of the collective, from 1
  std::string what;             ///< "all_reduce sum of f32 (2, 3)"
  std::uint64_t slot = 0;       ///< which exchange within the operation
  std::uint64_t index = 0;      ///< the how-manieth that its sender sends to this member in that slot, from 0
  template <class Archive>
  void serialize(Archive& ar) {
    ar(operation, what, slot, index);
  }
};

/// A plain class: one thread at a time.
class CollectiveInbox {
 public:
  /// Answers the sender of a part, once: it is taken, or never will be.
  using Answer = std::function<void(const Error*)>;

  /// A part that this member wants, of the operation that it is in.
  struct Wanted {
    std::size_t from = 0;
    std::uint64_t slot = 0;
    std::uint64_t index = 0;
    friend auto operator<=>(const Wanted&, const Wanted&) = default;
  };

  /// `names` by rank; this member is number `self`.
  CollectiveInbox(std::vector<NodeName> names, std::size_t self) : names_(std::move(names)), self_(self) {}

  /// This member begins the next operation. The Error names a member that takes it for another.
  [[nodiscard]] std::optional<Error> begin(std::string what);

  /// This member has carried out the operation. The Error names a member that sent more than the operation has.
  [[nodiscard]] std::optional<Error> end();

  /// The place of the next part for member `to`. Requires an operation.
  [[nodiscard]] PartPlace next_place(std::size_t to, std::uint64_t slot);

  /// This member wants the next part from `from`. Requires an operation.
  [[nodiscard]] Wanted want(std::size_t from, std::uint64_t slot);

  /// Member `from`, whose turn it is to tell this one, is in the operation that `place` says. The Error says that it differs.
  [[nodiscard]] std::optional<Error> told(std::size_t from, PartPlace place);

  /// A part from member `from`. The Error says that this member is in another operation; then `answer` is the caller's.
  [[nodiscard]] std::optional<Error> came(std::size_t from, PartPlace place, Frame bytes, Answer answer);

  /// The bytes, once they are here; nothing before.
  [[nodiscard]] std::optional<Frame> take(const Wanted& wanted);

  /// Member `who` sends and takes nothing any more.
  void left(std::size_t who, Error why) { left_.emplace(who, std::move(why)); }

  /// Why `who` is not there any more; null if it is.
  [[nodiscard]] const Error* absence(std::size_t who) const;

  /// Why a part that this member wants will not come; null if all may.
  [[nodiscard]] const Error* lost() const;

  /// Who has not sent what this member wants.
  [[nodiscard]] std::set<std::size_t> awaited() const;

  /// Whom to tell that parts were taken: all since the last look. For the owner to call when it may.
  [[nodiscard]] std::vector<Answer> taken() { return std::exchange(taken_, {}); }

  /// Forgets every part; returns whom to tell that theirs is not taken.
  [[nodiscard]] std::vector<Answer> drop();

  [[nodiscard]] std::uint64_t operation() const { return operation_; }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  struct Part {
    Frame bytes;
    Answer answer;  // null once it is taken
  };
  struct Early {
    std::size_t from = 0;
    PartPlace place;
    Part part;
  };

  [[nodiscard]] Error mismatch(std::size_t with, const PartPlace& place) const;
  [[nodiscard]] std::optional<Error> compare(std::size_t with, const PartPlace& place);
  void put(std::size_t from, const PartPlace& place, Part part);

  const std::vector<NodeName> names_;
  const std::size_t self_;
  std::uint64_t operation_ = 0;  // the last that was begun
  bool under_way_ = false;       // it is not carried out yet
  std::string what_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> sent_;      // by member and slot, in this operation
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> asked_for_;  // likewise
  std::set<Wanted> wanted_;      // and not taken out
  std::map<Wanted, Part> here_;  // of this operation, wanted or not
  std::vector<Early> early_;     // of later operations, in order of arrival
  std::map<std::uint64_t, std::string> unconfirmed_;  // what this member believed, by operation, until the one after it agrees
  std::map<std::uint64_t, std::pair<std::size_t, PartPlace>> told_early_;  // of later operations
  std::map<std::size_t, Error> left_;
  std::vector<Answer> taken_;
};

}  // namespace troupe::detail
