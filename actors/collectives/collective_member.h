// One member of a collective on its node: performs operations one after the other and moves their parts between its own
// thread and the other members. The implementation of `Collective` decides which parts, in which order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "actors/collectives/collective_inbox.h"
#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/scope.h"

namespace troupe::detail {

/// A message between members, in the arguments of a Call. The receiver answers it with an empty Reply: `part` when it
/// takes the part, `began` once it has met the other members, the other kinds at once. A receiver whose collective has
/// failed answers `part` and `began` with its failure.
struct CollectiveMessage {
  enum class Kind : std::uint8_t {
    part = 1,   ///< its bytes are the payload's only tensor frame; none if there are no bytes
    broke = 2,  ///< the operation of that number failed at the sender, with `why`; 0: no operation was under way
    left = 3,   ///< the sender has closed its end
    began = 4,  ///< the sender has started that operation and has no part of it for the receiver
  };
  Kind kind = Kind::part;
  std::uint64_t collective = 0;  ///< the receiver's number of the collective
  PartPlace place;
  std::optional<Error> why;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(kind, collective, place, why);
  }
};

/// A member's end of a collective, as the others address it.
struct CollectiveEnd {
  std::uint64_t number = 0;  ///< on its node, which numbers anew in each life
  Incarnation life;          ///< of its node
  template <class Archive>
  void serialize(Archive& ar) {
    ar(number, life);
  }
};

/// Returns the Error for the exception being handled, as one of `node`. Never throws, also without memory.
[[nodiscard]] Error own_failure(const NodeCore& node, std::string_view operation) noexcept;

/// Thread rule: any thread may call any member, but `send`, `wait`, `want` and `receive` only within the body of
/// `carry_out`, on its thread.
class CollectiveMember final : public std::enable_shared_from_this<CollectiveMember> {
 public:
  using Wanted = CollectiveInbox::Wanted;

  /// Identifies a part that was sent.
  enum class Sent : std::uint64_t {};

  /// `names` by rank; this node is number `self`.
  CollectiveMember(std::shared_ptr<NodeCore> node, std::vector<NodeName> names, std::size_t self);

  /// All members have met: `ends` are theirs, by rank. If this one has failed by now, tells the others. REQUIRES: no
  /// operation yet.
  void met(std::vector<CollectiveEnd> ends);

  [[nodiscard]] const std::vector<NodeName>& names() const { return names_; }
  [[nodiscard]] std::size_t rank() const { return self_; }
  [[nodiscard]] NodeCore& node() const { return *node_; }

  /// Returns a place in the order of operations.
  [[nodiscard]] std::uint64_t draw_turn();

  /// Runs `body` when all earlier turns are over. `operation` is its name; `what` describes all that members must agree
  /// on. An exception of the body, a lack of memory, the scope's end, and the loss of a part break the collective.
  /// Throws RemoteError.
  void carry_out(const Scope& scope, std::uint64_t turn, const std::string& operation, const std::string& what,
                 const std::function<void()>& body);

  /// Sends a part to member `to`.
  [[nodiscard]] Sent send(std::size_t to, std::uint64_t slot, Frame bytes);

  /// Waits until the part is taken. REQUIRES: called once for each.
  void wait(Sent sent);

  /// Announces that the next part from `from` is received here.
  [[nodiscard]] Wanted want(std::size_t from, std::uint64_t slot);

  /// Waits for the part and returns it.
  [[nodiscard]] Frame receive(const Wanted& wanted);

  /// Closes this node's end: its operations fail, and so do operations of other members that need it. A member that has
  /// failed keeps answering with its failure until the others know of it. Does not wait.
  void leave();

  /// Whether this member notifies the others of a failure.
  enum class Tell : std::uint8_t { nobody, others };

  /// Breaks the collective; only the first cause counts. Without memory to tell the others, the node ends.
  void fail(Error why, Tell tell) noexcept { fail(std::move(why), tell, std::nullopt); }

  /// Handles a message of another member, on the thread that received it.
  void handle(const Delivery& delivery, CollectiveMessage word);

  /// That life of a node is over. Before the members have met, the lives that take part are unknown: `met` checks them.
  void peer_down(const NodeLife& peer, const Error& why);

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// As above; `turn` failed, or, if nullopt, the one under way.
  void fail(Error why, Tell tell, std::optional<std::uint64_t> turn) noexcept;
  /// Sends the description of the present operation to the member before this one, unless a part carries it.
  void announce();
  [[nodiscard]] std::size_t before() const { return (self_ + names_.size() - 1) % names_.size(); }
  [[nodiscard]] Error error(ErrorCode code, const NodeName& peer, std::string message) const;
  [[nodiscard]] Error left_error(const NodeName& who) const;
  [[nodiscard]] std::optional<std::size_t> rank_of(const NodeName& name) const;
  void tell_others(CollectiveMessage word);
  void request(std::size_t to, CollectiveMessage word, Frames bytes, std::optional<TimePoint> due,
               AnswerHandler done) const;
  void handle_note(std::size_t from, CollectiveMessage word, const ReturnAddress& answer);
  void sent_ended(Sent sent, const Result<msg::AnyMessage>& answer);
  void announcement_ended(const Result<msg::AnyMessage>& answer);

  /// Waits until `done` holds. Throws the collective's failure; breaks the collective itself at `due`, or if a part
  /// cannot arrive.
  void wait_until(Lock& lock, std::uint64_t turn, const std::string& operation, std::optional<TimePoint> due,
                  const std::function<bool()>& done);
  void wait_in_operation(Lock& lock, const std::function<bool()>& done);

  // REQUIRES: the lock is held.
  void wake_all();
  [[nodiscard]] CollectiveMessage broke() const;
  [[nodiscard]] Error failure_of(std::uint64_t turn, const std::string& operation) const;
  [[nodiscard]] std::string awaited() const;

  const std::shared_ptr<NodeCore> node_;
  const std::vector<NodeName> names_;
  const std::size_t self_;
  const std::map<NodeName, std::size_t> other_ranks_;  // each part names its sender

  mutable std::mutex mutex_;
  std::vector<CollectiveEnd> ends_;           // guarded by mutex_; empty until the members have met
  std::vector<ReturnAddress> told_before_;    // guarded by mutex_: for `began` that came before the members had met
  CollectiveInbox parts_;                     // guarded by mutex_
  std::uint64_t next_turn_ = 0;               // guarded by mutex_
  std::uint64_t turn_ = 0;                    // guarded by mutex_: the present turn
  bool under_way_ = false;                    // guarded by mutex_: the present turn's body runs
  bool announced_ = false;                    // guarded by mutex_: the member before this one knows the operation
  std::optional<Error> failure_;              // guarded by mutex_: the first one
  std::optional<std::uint64_t> failed_turn_;  // guarded by mutex_: the one that failed; nullopt: none under way
  bool left_ = false;                         // guarded by mutex_: failure_ is that this node has closed its end
  bool tells_ = false;                        // guarded by mutex_: this member has begun to tell the others of failure_
  std::uint64_t next_sent_ = 0;               // guarded by mutex_
  std::map<Sent, std::pair<std::size_t, bool>> sent_;  // guarded by mutex_: receiver, and whether it is taken
  std::set<std::shared_ptr<WaitPoint>> waiting_;       // guarded by mutex_
  std::string operation_;                              // guarded by mutex_, as below: of the operation under way
  std::optional<TimePoint> due_;                       // guarded by mutex_
};

}  // namespace troupe::detail
