// The actors of one kind on one node, found by id.
//
// An actor rests on lives of other nodes: on its creator's, on those of its users. When a life ends, `Lives` knows it first;
// then `end_created_by`, `created_by` and `all` say which actors are to be told. Under the same lock an actor is made only while its
// creator's life is not over: so each actor is either told of the death or never made. Who brings a later user looks at
// `Lives` again once the actor knows of it, and tells the actor itself if that life is over by then.
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

/// What a directory remembers of an id without an actor.
enum class Recall : std::uint8_t {
  unknown,   ///< it may still begin
  ended,     ///< it was here, or can no longer begin
  in_doubt,  ///< it may have been here: memory is bounded
};

/// For actors of which nothing comes late.
template <class Id>
struct NothingEnds {
  void add(const Id&) {}
  void drop_creator(const NodeLife&) {}
  [[nodiscard]] Recall recall(const Id&) const { return Recall::unknown; }
};

/// Whether a word can be refused for what its sender has here already.
enum class Refusal : std::uint8_t { may_be, never };

/// `Ended` remembers ids whose actors have ended. Nothing is sent under the lock: a receiver may run at once.
/// Thread rule: any thread may call any member.
template <class Id, class Handle, class Ended = NothingEnds<Id>>
class ActorDirectory {
 public:
  using Make = std::function<Handle(const Id&)>;

  struct Entered {
    Handle actor = {};      ///< null: it has ended, or everything has stopped, or it was refused
    bool in_doubt = false;  ///< made now, and may have ended here before
    std::optional<Error> refused = {};  ///< not made: its sender has as many as it may
    bool is_too_much = false;           ///< made, and its sender has more than any that keeps to the rules
  };

  /// `make` spawns an actor that runs with its first message. `lives` outlives the directory.
  ActorDirectory(const Lives& lives, Make make, Ended ended = {})
      : lives_(lives), make_(std::move(make)), ended_(std::move(ended)) {}

  [[nodiscard]] Handle find(const Id& id) const {
    std::lock_guard lock(mutex_);
    const auto at = actors_.find(id);
    return at == actors_.end() ? Handle() : at->second.actor;
  }

  /// The actor of an id that somebody speaks of; made unless it has ended.
  [[nodiscard]] Entered enter(const Id& id) { return enter_with(id, [](Entered&) { return PeerQuota::Token(); }); }

  /// The same for a word of `peer`: what is made for it counts for it while it is here.
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

  /// The actor of an id that this node gave just now. Null after `refuse`.
  [[nodiscard]] Handle begin(const Id& id) {
    std::lock_guard lock(mutex_);
    return stopped_ ? Handle() : actors_.emplace(id, Counted{make_(id), {}}).first->second.actor;
  }

  /// The id's time is over: no word makes an actor again. Returns the one that was there; null if there was none.
  Handle end(const Id& id) {
    std::lock_guard lock(mutex_);
    if (!lives_.is_over(id)) ended_.add(id);
    auto at = actors_.extract(id);
    return at.empty() ? Handle() : std::move(at.mapped().actor);
  }

  /// Takes out those that the life created. REQUIRES: `Lives` says that it is over.
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

  /// What the life created can no longer begin; what is there stays. REQUIRES: `Lives` says that it is over.
  void creator_gone(const NodeLife& life) {
    std::lock_guard lock(mutex_);
    ended_.drop_creator(life);
  }

  /// Those that the life created; they stay.
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
    for (const auto& [id, counted] : actors_) actors.push_back(counted.actor);
    return actors;
  }

  /// Nothing begins any more, for that reason.
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

  /// Whether no word about the id can begin anything.
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
    PeerQuota::Token token;  // of the peer by whose word it was made
  };

  template <class Count>
  Entered enter_with(const Id& id, Count count) {
    std::lock_guard lock(mutex_);
    if (const auto at = actors_.find(id); at != actors_.end()) return {.actor = at->second.actor};
    if (stopped_ || lives_.is_over(id)) return {};
    const Recall recall = ended_.recall(id);
    if (recall == Recall::ended) return {};
    Entered entered{.in_doubt = recall == Recall::in_doubt};
    PeerQuota::Token token = count(entered);
    if (!entered.refused) entered.actor = actors_.emplace(id, Counted{make_(id), std::move(token)}).first->second.actor;
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
