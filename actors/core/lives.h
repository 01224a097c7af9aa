// Which lives of nodes are over: one table per node, updated before anybody else on that node hears of a death. So who
// registers something that rests on a life and then looks here misses no death: either the table knows it already, or
// the word of the death comes after what was registered.
//
// The lives of one name follow each other. Only the last one may be up; a life before it is over for good. Their order is
// the order in which they came up here and, where the cluster let them in with an epoch, the order of the epochs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "actors/core/node_life.h"
#include "actors/link.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Memory is per name, however many lives it has had. Thread rule: any thread may call any member; only the router calls
/// `begin` and `end`.
class Lives {
 public:
  /// Former lives of one name that are known by their incarnation. Older ones are known by their epoch alone.
  static constexpr std::size_t kFormerMax = 16;

  Lives() = default;
  Lives(const Lives&) = delete;
  Lives& operator=(const Lives&) = delete;

  /// A session with that life begins; it is the last of its name from now on. Returns false, and changes nothing, if the
  /// life is over. REQUIRES: no other life of the name is up.
  bool begin(const Peer& peer);  // NOLINT(modernize-use-nodiscard)

  /// That life is over for this node. A life that is not the last of its name is over already.
  void end(const NodeLife& life, const Error& why);

  /// The cluster let that life in as its change number `epoch`; 0: in a world whose members were there from the start.
  /// Returns false if a life of that name that was let in later is known: then this one is over, also if it is up.
  [[nodiscard]] bool let_in(const NodeLife& life, std::uint64_t epoch);

  /// Of a life that was never heard of: false.
  [[nodiscard]] bool is_over(const NodeLife& life) const;

  /// Whether the life that gave `id` is over.
  template <class Tag>
  [[nodiscard]] bool is_over(const SerialId<Tag>& id) const {
    return is_over(id.creator, id.incarnation);
  }

  /// Why that life is over; nothing if it is not.
  [[nodiscard]] std::optional<Error> why_over(const NodeLife& life) const;

  /// Why the last life of that name is over; nothing if it is up, or the name was never heard of.
  [[nodiscard]] std::optional<Error> why_over(const NodeName& name) const;

  [[nodiscard]] bool is_up(const NodeLife& life) const;

  /// Whether that life is or was up here; of one of more than kFormerMax lives ago: false.
  [[nodiscard]] bool has_met(const NodeLife& life) const;

  /// The life of that name that is up.
  [[nodiscard]] std::optional<Peer> up(const NodeName& name) const;

  /// All that are up, by name.
  [[nodiscard]] std::vector<Peer> up() const;

 private:
  struct Name {
    Peer last;
    std::uint64_t epoch = 0;         // of the last life; 0: not known
    std::uint64_t epoch_before = 0;  // the highest of a former life
    std::optional<Error> over;       // of the last life
    std::deque<Incarnation> former;  // the latest kFormerMax
  };

  [[nodiscard]] bool is_over(const NodeName& creator, std::uint64_t incarnation_low) const;

  mutable std::mutex mutex_;
  std::map<NodeName, Name> names_;  // guarded by mutex_
};

}  // namespace troupe::detail
