// The parts that the members of a collective send each other in its operations, as one member receives them: the
// position of each part, which members are in another operation, and which members are awaited.
//
// Members perform the same operations in the same order. Each part carries the number of its operation and the sender's
// description of it, so members that disagree notice it with the first part. The receiver takes a part only when it
// wants the part: a member is never further ahead of another than the parts that it has under way. So a member that has
// performed an operation owes the others nothing, and may leave. A member that has no part for the member before it (by
// rank) sends that member the description alone: otherwise two members that disagree could wait for each other.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "messages/frame.h"

namespace troupe::detail {

/// The position of a part; travels beside its bytes.
struct PartPlace {
  std::uint64_t operation = 0;  ///< number within the collective, from 1
  std::string what;             ///< "all_reduce sum of f32 (2, 3)"
  std::uint64_t slot = 0;       ///< number of the exchange within the operation
  std::uint64_t index = 0;      ///< number of the part from its sender to this member in that slot, from 0
  template <class Archive>
  void serialize(Archive& ar) {
    ar(operation, what, slot, index);
  }
};

/// A plain class: one thread at a time. Its functions may throw std::bad_alloc. No answer that it keeps is destroyed
/// then, which would answer the sender under the caller's lock; drop() returns them.
class CollectiveInbox {
 public:
  /// Called once, with null when the part is taken, or with the Error if it never will be.
  using Answer = std::function<void(const Error*)>;

  /// A part of the present operation that this member wants.
  struct Wanted {
    std::size_t from = 0;
    std::uint64_t slot = 0;
    std::uint64_t index = 0;
    friend auto operator<=>(const Wanted&, const Wanted&) = default;
  };

  /// `names` by rank; this member is number `self`.
  CollectiveInbox(std::vector<NodeName> names, std::size_t self) : names_(std::move(names)), self_(self) {}

  /// This member starts the next operation. The Error names a member that describes it differently.
  [[nodiscard]] std::optional<Error> begin(std::string what);

  /// This member has performed the operation. The Error names a member that sent more parts than the operation has.
  [[nodiscard]] std::optional<Error> end();

  /// Returns the position of the next part for member `to`. REQUIRES: an operation is under way.
  [[nodiscard]] PartPlace next_place(std::size_t to, std::uint64_t slot);

  /// This member wants the next part from `from`. REQUIRES: an operation is under way.
  [[nodiscard]] Wanted want(std::size_t from, std::uint64_t slot);

  /// The most operations by which the member after this one may be ahead of it. Only operations without parts allow
  /// that.
  static constexpr std::uint64_t kAheadMax = 1024;

  /// The most bytes, all together, of the descriptions of operations that this member has not started.
  static constexpr std::size_t kAheadBytesMax = 1 << 20;

  /// The most untaken parts of one member. An algorithm has only a few parts under way.
  static constexpr std::size_t kUntakenMax = 1024;

  /// Member `from` sent the description `place` of its operation. Returns an Error if this member describes the
  /// operation differently, if `from` is not the member after this one, or if `from` is too far ahead.
  [[nodiscard]] std::optional<Error> told(std::size_t from, PartPlace place);

  /// A part from member `from` arrived. Returns an Error if this member is in another operation, if too many parts of
  /// `from` are untaken, or if another part of that place is here; the caller then calls `answer`.
  [[nodiscard]] std::optional<Error> came(std::size_t from, PartPlace place, Frame bytes, Answer answer);

  /// Returns the bytes; nullopt if they have not arrived.
  [[nodiscard]] std::optional<Frame> take(const Wanted& wanted);

  /// Member `who` sends and takes nothing any more.
  void left(std::size_t who, Error why) { left_.emplace(who, std::move(why)); }

  /// Returns why `who` has left; null if it has not.
  [[nodiscard]] const Error* absence(std::size_t who) const;

  /// Returns why a part that this member wants will never arrive; null if all wanted parts may still arrive.
  [[nodiscard]] const Error* lost() const;

  /// Returns the members whose wanted parts have not arrived.
  [[nodiscard]] std::set<std::size_t> awaited() const;

  /// Returns the answers for parts taken since the last call. The caller calls them when it holds no lock.
  [[nodiscard]] std::vector<Answer> taken() { return std::exchange(taken_, {}); }

  /// Forgets every part and description; returns the answers for those not taken.
  [[nodiscard]] std::vector<Answer> drop();

  [[nodiscard]] std::uint64_t operation() const { return operation_; }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  struct Part {
    Frame bytes;
    Answer answer;  // null once it has been called
  };
  struct Early {
    std::size_t from = 0;
    PartPlace place;
    Part part;
  };

  /// The member by rank that tells this one its operations.
  [[nodiscard]] std::size_t after() const { return (self_ + 1) % names_.size(); }
  [[nodiscard]] Error mismatch(std::size_t with, const PartPlace& place) const;
  [[nodiscard]] Error refused(ErrorCode code, std::size_t from, std::string message) const;
  [[nodiscard]] std::optional<Error> compare(std::size_t with, const PartPlace& place);
  [[nodiscard]] bool has(std::size_t from, const PartPlace& place) const;
  [[nodiscard]] std::size_t untaken(std::size_t from) const;
  void put(std::size_t from, const PartPlace& place, Part& part);
  void mark_taken(Part& part);

  const std::vector<NodeName> names_;
  const std::size_t self_;
  std::uint64_t operation_ = 0;  // the last one started
  bool under_way_ = false;       // true until it is performed
  std::string what_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> sent_;       // by member and slot, in this operation
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> asked_for_;  // likewise
  std::set<Wanted> wanted_;                                                   // and not taken out yet
  std::map<Wanted, Part> here_;                                               // of this operation, wanted or not
  std::list<Early> early_;                            // of later operations, in order of arrival
  std::map<std::uint64_t, std::string> unconfirmed_;  // this member's, by operation, until confirmed
  std::map<std::uint64_t, PartPlace> told_early_;     // of later operations, by the member after this one
  std::size_t told_early_bytes_ = 0;                  // of their descriptions
  std::map<std::size_t, Error> left_;
  std::vector<Answer> taken_;
};

}  // namespace troupe::detail
