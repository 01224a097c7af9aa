// Which lives of nodes are over: one table per node, updated before any other part of the node is notified of a death.
// So a part that first registers something that depends on a life, and then checks this table, misses no death: either
// the table has it already, or the notification comes after the registration.
//
// The lives of one name form a sequence. Only the last one may be up; earlier lives stay over for good. Their order is
// the order in which they came up on this node and, where the cluster admitted them with an epoch, the order of epochs.
// One epoch orders nothing: two coordinators that did not hear of each other's changes give the same.
//
// What is forgotten here, a late word may bring back: an actor whose creator is over for all others, a fork that nobody
// releases. So is it on a node that came after that death, which never knew of it: such an actor ends with the peer
// that sent the word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "actors/link.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Memory is bounded, however many names there were and however many lives each has had. Thread rule: any thread may
/// call any member; only the router calls `begin` and `end`.
class Lives {
 public:
  /// The number of former lives of one name that are remembered by incarnation. Older ones are known by epoch only. A
  /// late word survives so many restarts of the life that it names: minutes, of a node that fails as soon as it starts.
  static constexpr std::size_t kFormerMax = 256;

  /// The number of names that are remembered although none of their lives is up. Whose last life ended first is
  /// forgotten first, with all its lives.
  static constexpr std::size_t kNamesOverMax = 4096;

  Lives() = default;
  Lives(const Lives&) = delete;
  Lives& operator=(const Lives&) = delete;

  /// Starts a session with that life; it becomes the last of its name. If the life is over, returns false and changes
  /// nothing. REQUIRES: no other life of the name is up.
  bool begin(const Peer& peer);  // NOLINT(modernize-use-nodiscard)

  /// Records that the life is over for this node. A life that is not the last of its name is over already.
  void end(const NodeLife& life, const Error& why);

  /// Records that the cluster admitted the life with change number `epoch`; 0: the world had all its members from the
  /// start. Returns false if a life of that name with a later epoch is known: then this one is over, even if it is up.
  [[nodiscard]] bool let_in(const NodeLife& life, std::uint64_t epoch);

  /// Returns what `let_in` would return, and records nothing: for a claim that a life makes about itself.
  [[nodiscard]] bool may_be_in(const NodeLife& life, std::uint64_t epoch) const;

  /// Returns whether the life is over; false for a life that was never up here, or is forgotten.
  [[nodiscard]] bool is_over(const NodeLife& life) const;

  /// Returns whether the life that made `id` is over.
  template <class Tag>
  [[nodiscard]] bool is_over(const CapabilityId<Tag>& id) const {
    return is_over(id.creator, id.incarnation);
  }

  /// Returns why the life is over; nullopt if it is not.
  [[nodiscard]] std::optional<Error> why_over(const NodeLife& life) const;

  /// Returns why the last life of the name is over; nullopt if it is up, or the name is unknown.
  [[nodiscard]] std::optional<Error> why_over(const NodeName& name) const;

  [[nodiscard]] bool is_up(const NodeLife& life) const;

  /// Returns whether the life is or was up here; false for one that is forgotten.
  [[nodiscard]] bool has_met(const NodeLife& life) const;

  /// Returns whether the life that made `id` is or was up here, as above.
  template <class Tag>
  [[nodiscard]] bool has_met(const CapabilityId<Tag>& id) const {
    return has_met(id.creator, id.incarnation);
  }

  /// Returns the life of that name that is up.
  [[nodiscard]] std::optional<Peer> up(const NodeName& name) const;

  /// Returns all lives that are up, by name. Looks at no others.
  [[nodiscard]] std::vector<Peer> up() const;

 private:
  struct Name;
  using Order = std::list<std::pair<const NodeName, Name>*>;  // entries of names_
  struct Name {
    Peer last;
    std::uint64_t epoch = 0;               // of the last life; 0: unknown
    std::uint64_t epoch_before = 0;        // the highest epoch of a former life
    std::optional<Error> over = {};        // of the last life
    std::vector<Incarnation> former = {};  // the latest kFormerMax lives; most names have none
    Order::iterator place = {};            // in over_ if `over` is set, else in up_
  };

  [[nodiscard]] static bool may_be_in(const Name& name, Incarnation life, std::uint64_t epoch);
  [[nodiscard]] bool is_over(const NodeName& creator, std::uint64_t incarnation_low) const;
  [[nodiscard]] bool has_met(const NodeName& creator, std::uint64_t incarnation_low) const;

  mutable std::mutex mutex_;
  std::map<NodeName, Name> names_;  // guarded by mutex_, as the next two
  Order up_;
  Order over_;  // whose last life ended first is first; at most kNamesOverMax
};

}  // namespace troupe::detail
