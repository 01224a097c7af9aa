// The actors of one kind on one node, found by id.
//
// An actor depends on lives of other nodes: its creator's, and those of its users. `Lives` is the first to record the
// end of a life; then `end_created_by`, `created_by`, `all` and `ids` list the actors to notify. An actor is made only
// while its creator's life is not over, under the same lock: so each actor is either notified of the death or never
// made. A caller that adds a later user checks `Lives` again once the actor knows that user, and notifies the actor
// itself if the life is over by then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/core/lives.h"
#include "actors/core/peer_quota.h"
#include "messages/error.h"

namespace troupe::detail {

/// What a directory knows about an id without an actor.
enum class Recall : std::uint8_t {
  unknown,   ///< it may still begin
  ended,     ///< it existed, or can no longer begin
  in_doubt,  ///< it may have existed: the memory of ended ids is bounded
};

/// For actors that receive no late messages: remembers nothing.
template <class Id>
struct NothingEnds {
  void add(const Id&) {}
  void drop_creator(const NodeLife&) {}
  [[nodiscard]] Recall recall(const Id&) const { return Recall::unknown; }
};

/// Whether a control message may be refused because its sender has as many actors on this node as it may.
enum class Refusal : std::uint8_t { may_be, never };

/// `Ended` remembers the ids of ended actors. Nothing is sent under the lock: a receiver may run inside send.
/// Thread rule: any thread may call any member.
template <class Id, class Handle, class Ended = NothingEnds<Id>>
class ActorDirectory {
 public:
  using Make = std::function<Handle(const Id&)>;

  struct Entered {
    Handle actor = {};                  ///< null: it has ended, or was refused, or all actors are stopped
    bool in_doubt = false;              ///< made now, and may have existed before
    std::optional<Error> refused = {};  ///< set if it was not made: its sender has as many as it may
    bool is_too_much = false;           ///< made although its sender has more than any correct peer
  };

  /// `make` spawns an actor that first runs with its first message. REQUIRES: `lives` outlives the directory.
  ActorDirectory(const Lives& lives, Make make, Ended ended = {})
      : lives_(lives), make_(std::move(make)), ended_(std::move(ended)) {}

  [[nodiscard]] Handle find(const Id& id) const {
    std::lock_guard lock(mutex_);
    const auto at = actors_.find(id);
    return at == actors_.end() ? Handle() : at->second.give();
  }

  /// Returns whether `actor` is the actor of `id`. If so, what was sent to it before precedes the message that ends it.
  [[nodiscard]] bool has(const Id& id, const Handle& actor) const {
    std::lock_guard lock(mutex_);
    const auto at = actors_.find(id);
    return at != actors_.end() && at->second.actor == actor;
  }

  /// Returns the actor of an id that a message names; makes it unless it has ended.
  [[nodiscard]] Entered enter(const Id& id) {
    return enter_with(id, [](Entered&) { return PeerQuota::Token(); });
  }

  /// As above, for a control message of `peer`: an actor made now counts in `peer`'s quota while it exists.
  [[nodiscard]] Entered enter(const Id& id, const NodeLife& peer, PeerQuota& quota, Refusal refusal = Refusal::may_be) {
    return enter_with(id, [&](Entered& entered) {
      if (refusal == Refusal::never) {
        auto counted = quota.take_unrefused(peer);
        entered.is_too_much = counted.is_too_much;
        return std::move(counted.token);
      }
      auto token = quota.take(peer);
      if (!token) entered.refused = token.error();
      return token ? std::move(token).value() : PeerQuota::Token();
    });
  }

  /// Makes the actor of a new id of this node. Returns null after `refuse`.
  [[nodiscard]] Handle begin(const Id& id) {
    std::lock_guard lock(mutex_);
    return stopped_ ? Handle() : actors_.emplace(id, Counted{make_(id), {}}).first->second.actor;
  }

  /// Ends an id: no message makes its actor again. Returns the actor; null if there was none.
  Handle end(const Id& id) {
    std::lock_guard lock(mutex_);
    if (!lives_.is_over(id)) ended_.add(id);
    auto at = actors_.extract(id);
    return at.empty() ? Handle() : std::move(at.mapped().actor);
  }

  /// As end, for an id of which no message comes any more: it needs no memory.
  Handle remove(const Id& id) {
    std::lock_guard lock(mutex_);
    auto at = actors_.extract(id);
    return at.empty() ? Handle() : std::move(at.mapped().actor);
  }

  /// As end, but on a report without proof: a later message makes the actor again, in doubt.
  Handle end_in_doubt(const Id& id) {
    std::lock_guard lock(mutex_);
    if (!lives_.is_over(id)) ended_.doubt(id);
    auto at = actors_.extract(id);
    return at.empty() ? Handle() : std::move(at.mapped().actor);
  }

  /// Removes and returns the actors that the life created. REQUIRES: `Lives` says that it is over.
  [[nodiscard]] std::vector<std::pair<Id, Handle>> end_created_by(const NodeLife& life) {
    std::vector<std::pair<Id, Handle>> ended;
    std::lock_guard lock(mutex_);
    ended_.drop_creator(life);
    for (auto next = actors_.begin(); next != actors_.end();) {
      const auto at = next++;
      if (at->first.creator != life.name || at->first.incarnation != life.incarnation.low) continue;
      ended.emplace_back(at->first, std::move(at->second.actor));
      actors_.erase(at);
    }
    return ended;
  }

  /// Removes the actor of an id, which has handled `handled` messages, unless another message is on its way to it. A
  /// later message makes the actor anew. Returns whether it was removed. REQUIRES: a caller that gets the actor from
  /// this directory sends it at most one message; the actor has no other senders.
  [[nodiscard]] bool forget(const Id& id, std::uint64_t handled) {
    Handle forgotten;  // destroyed after the lock is released
    std::lock_guard lock(mutex_);
    const auto at = actors_.find(id);
    if (at == actors_.end() || at->second.given != handled) return false;
    forgotten = std::move(at->second.actor);
    actors_.erase(at);
    return true;
  }

  /// Removes and returns the actors that messages of the life made, except those whose creator is or was up here: the
  /// creator's death ends these, but nothing ends the actor of a creator that never comes up. A later message makes
  /// them anew.
  [[nodiscard]] std::vector<std::pair<Id, Handle>> forget_unmet_of(const NodeLife& life) {
    std::vector<std::pair<Id, Handle>> forgotten;
    std::lock_guard lock(mutex_);
    for (auto next = actors_.begin(); next != actors_.end();) {
      const auto at = next++;
      const PeerQuota::Token& token = at->second.token;
      if (!token || *token != life || lives_.has_met(at->first)) continue;
      forgotten.emplace_back(at->first, std::move(at->second.actor));
      actors_.erase(at);
    }
    return forgotten;
  }

  /// Prevents new actors of ids that the life created; existing ones stay. REQUIRES: `Lives` says that it is over.
  void creator_gone(const NodeLife& life) {
    std::lock_guard lock(mutex_);
    ended_.drop_creator(life);
  }

  /// Returns the actors that the life created; they stay.
  [[nodiscard]] std::vector<Handle> created_by(const NodeLife& life) const {
    std::vector<Handle> created;
    std::lock_guard lock(mutex_);
    for (const auto& [id, counted] : actors_) {
      if (id.creator == life.name && id.incarnation == life.incarnation.low) created.push_back(counted.actor);
    }
    return created;
  }

  [[nodiscard]] std::vector<Handle> all() const {
    std::vector<Handle> actors;
    std::lock_guard lock(mutex_);
    for (const auto& [id, counted] : actors_) actors.push_back(counted.give());
    return actors;
  }

  /// Returns the ids that have an actor.
  [[nodiscard]] std::vector<Id> ids() const {
    std::vector<Id> ids;
    std::lock_guard lock(mutex_);
    ids.reserve(actors_.size());
    for (const auto& [id, counted] : actors_) ids.push_back(id);
    return ids;
  }

  /// Returns the actors of the ids for which `is_wanted` returns true.
  template <class Predicate>
  [[nodiscard]] std::vector<Handle> all_of(const Predicate& is_wanted) const {
    std::vector<Handle> actors;
    std::lock_guard lock(mutex_);
    for (const auto& [id, counted] : actors_) {
      if (is_wanted(id)) actors.push_back(counted.give());
    }
    return actors;
  }

  /// Refuses every new actor from now on, with `why`.
  void refuse(const Error& why) {
    std::lock_guard lock(mutex_);
    if (!stopped_) stopped_ = why;
  }

  [[nodiscard]] std::vector<Handle> take_all() {
    std::vector<Handle> actors;
    std::lock_guard lock(mutex_);
    for (auto& [id, counted] : actors_) actors.push_back(std::move(counted.actor));
    actors_.clear();
    return actors;
  }

  [[nodiscard]] std::optional<Error> stopped() const {
    std::lock_guard lock(mutex_);
    return stopped_;
  }

  /// Returns true if no message about the id can make an actor.
  [[nodiscard]] bool has_ended(const Id& id) const {
    std::lock_guard lock(mutex_);
    return !actors_.contains(id) && (lives_.is_over(id) || ended_.recall(id) == Recall::ended);
  }

  [[nodiscard]] std::size_t size() const {
    std::lock_guard lock(mutex_);
    return actors_.size();
  }

 private:
  struct Counted {
    Handle actor;
    PeerQuota::Token token;  // of the peer whose message made the actor
    mutable std::uint64_t given = 0;

    [[nodiscard]] const Handle& give() const {
      ++given;
      return actor;
    }
  };

  template <class Count>
  Entered enter_with(const Id& id, Count count) {
    std::lock_guard lock(mutex_);
    if (const auto at = actors_.find(id); at != actors_.end()) return {.actor = at->second.give()};
    if (stopped_ || lives_.is_over(id)) return {};
    const Recall recall = ended_.recall(id);
    if (recall == Recall::ended) return {};
    Entered entered{.in_doubt = recall == Recall::in_doubt};
    PeerQuota::Token token = count(entered);
    if (!entered.refused)
      entered.actor = actors_.emplace(id, Counted{make_(id), std::move(token)}).first->second.give();
    return entered;
  }

  const Lives& lives_;
  const Make make_;
  mutable std::mutex mutex_;
  std::unordered_map<Id, Counted> actors_;  // guarded by mutex_, as the next two
  Ended ended_;
  std::optional<Error> stopped_;
};

}  // namespace troupe::detail
