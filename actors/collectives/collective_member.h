// One member of a collective on its node: carries out operations one after the other and moves their parts between its
// own thread and the other members. Which parts, in which order, is the business of who implements `Collective`.
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
#include <vector>

#include "actors/collectives/collective_inbox.h"
#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/scope.h"

namespace troupe::detail {

/// What they tell, in the arguments of a Call. Answered by an empty Reply: when a part is taken, at once for the rest.
struct CollectiveMessage {
  enum class Kind : std::uint8_t {
    part = 1,   ///< its bytes are the payload's only tensor frame; none if there are no bytes
    broke = 2,  ///< the operation of that number failed at the sender: `why`; 0 if it was in none
    left = 3,   ///< the sender has given up its end
    began = 4,  ///< the sender has begun that operation and has no part of it for the receiver
  };
  Kind kind = Kind::part;
  std::uint64_t collective = 0;  ///< by the receiver's count
  PartPlace place;
  std::optional<Error> why;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(kind, collective, place, why);
  }
};

/// Thread rule: any thread may call any member, but `send`, `wait_sent`, `want` and `receive` only within the body of
/// `carry_out`, on its thread.
class CollectiveMember final : public std::enable_shared_from_this<CollectiveMember> {
 public:
  using Wanted = CollectiveInbox::Wanted;

  /// A part that was sent.
  enum class Sent : std::uint64_t {};

  /// `names` by rank; this node is number `self`.
  CollectiveMember(std::shared_ptr<NodeCore> node, std::vector<NodeName> names, std::size_t self);

  /// All are there: `numbers` are those that the collective has on the other nodes, by rank. Before the first operation.
  void met(std::vector<std::uint64_t> numbers);

  [[nodiscard]] const std::vector<NodeName>& names() const { return names_; }
  [[nodiscard]] std::size_t rank() const { return self_; }
  [[nodiscard]] NodeCore& node() const { return *node_; }

  /// A place in the order of operations.
  [[nodiscard]] std::uint64_t draw_turn();

  /// Runs `body` when all earlier turns are over. `operation` is its name and `what` all that members must agree on. What
  /// the body throws, the scope's end and everything that keeps a part away break the collective. Throws RemoteError.
  void carry_out(const Scope& scope, std::uint64_t turn, const std::string& operation, const std::string& what,
                 const std::function<void()>& body);

  /// Sends a part to member `to`.
  [[nodiscard]] Sent send(std::size_t to, std::uint64_t slot, Frame bytes);

  /// Waits until it is taken. Once for each.
  void wait(Sent sent);

  /// Says that the next part from `from` has its place here.
  [[nodiscard]] Wanted want(std::size_t from, std::uint64_t slot);

  /// Waits for it.
  [[nodiscard]] Frame receive(const Wanted& wanted);

  /// This node gives its end up: operations fail here, and on the others when they need it. Waits for nobody.
  void leave();

  /// Whether the other members learn it from this one.
  enum class Tell : std::uint8_t { nobody, others };

  /// Breaks the collective; only the first cause counts.
  void fail(Error why, Tell tell) { fail(std::move(why), tell, std::nullopt); }

  /// From another member, on the thread that received it.
  void handle(const Delivery& delivery, CollectiveMessage word);

  void peer_down(const NodeName& peer, const Error& why);

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// The same; it was `turn` that failed, the one that is under way if nothing is said.
  void fail(Error why, Tell tell, std::optional<std::uint64_t> turn);
  /// Tells the member before this one what is under way, unless a part has told it.
  void announce();
  [[nodiscard]] std::size_t before() const { return (self_ + names_.size() - 1) % names_.size(); }
  [[nodiscard]] Error error(ErrorCode code, const NodeName& peer, std::string message) const;
  [[nodiscard]] Error left_error(const NodeName& who) const;
  [[nodiscard]] std::optional<std::size_t> rank_of(const NodeName& name) const;
  void tell_others(CollectiveMessage word) const;
  void request(std::size_t to, CollectiveMessage word, Frames bytes, std::optional<TimePoint> due, AnswerHandler done) const;
  void handle_note(std::size_t from, CollectiveMessage word);
  void sent_ended(Sent sent, const Result<msg::AnyMessage>& answer);

  /// Waits until `done` holds. Throws what broke the collective; breaks it itself at `due`, or if a part cannot come.
  void wait_until(Lock& lock, std::uint64_t turn, const std::string& operation, std::optional<TimePoint> due,
                  const std::function<bool()>& done);
  void wait_in_operation(Lock& lock, const std::function<bool()>& done);

  // With the lock held.
  void wake_all();
  [[nodiscard]] Error failure_of(std::uint64_t turn, const std::string& operation) const;
  [[nodiscard]] std::string awaited() const;

  const std::shared_ptr<NodeCore> node_;
  const std::vector<NodeName> names_;
  const std::size_t self_;

  mutable std::mutex mutex_;
  std::vector<std::uint64_t> numbers_;              // guarded by mutex_; empty until the members have met
  CollectiveInbox parts_;                           // guarded by mutex_
  std::uint64_t next_turn_ = 0;                     // guarded by mutex_
  std::uint64_t turn_ = 0;                          // guarded by mutex_: whose turn it is
  bool under_way_ = false;                          // guarded by mutex_: it is carried out
  bool announced_ = false;                          // guarded by mutex_: the member before this one knows what it is
  std::optional<Error> failure_;                    // guarded by mutex_: the first
  std::optional<std::uint64_t> failed_turn_;        // guarded by mutex_: whose failure it is; nothing if none was under way
  std::uint64_t next_sent_ = 0;                     // guarded by mutex_
  std::map<Sent, std::pair<std::size_t, bool>> sent_;  // guarded by mutex_: to whom, and whether it is taken
  std::set<std::shared_ptr<WaitPoint>> waiting_;    // guarded by mutex_
  std::string operation_;                           // guarded by mutex_: that is under way, as what follows
  std::optional<TimePoint> due_;                    // guarded by mutex_

};

}  // namespace troupe::detail
