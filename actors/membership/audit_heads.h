// The heads of audit logs, which nodes keep for each other: rule MB-14 of PROTOCOLS.md.
//
// Each line of an audit log has the hash of the line before it. A process that can write to the file could still
// rewrite all lines from one on. It cannot change the copies of the last line, the head, that other nodes keep.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "actors/link.h"
#include "messages/ids.h"
#include "messages/membership.h"

namespace troupe::detail {

/// Chooses the witnesses of this node's log: the peers that are sent its head, each head once. One witness is on
/// another host, if any peer is; the others follow from the names, so that every node is a witness of about as many
/// others. Also decides which heads of peers this node keeps. A plain class: one thread at a time.
class AuditHeads {
 public:
  static constexpr std::size_t kWitnesses = 3;

  /// How many heads of one peer are kept at once, and one more after each kKeptEvery. A node sends its head every ten
  /// seconds at most, when it has a new witness, and when it leaves.
  static constexpr int kKeptAtOnce = 4;
  static constexpr std::chrono::seconds kKeptEvery{5};
  /// The same for the heads of all peers together; heads beyond these bounds are not kept.
  static constexpr int kKeptOfAllAtOnce = 128;
  static constexpr std::chrono::milliseconds kKeptOfAllEvery{250};

  explicit AuditHeads(Peer self) : self_(std::move(self)) {}

  /// Each returns the peers to which head() must be sent now.
  [[nodiscard]] std::vector<NodeLife> peer_up(const Peer& peer);
  [[nodiscard]] std::vector<NodeLife> peer_down(const NodeLife& peer);
  [[nodiscard]] std::vector<NodeLife> changed(const msg::AuditHead& head);

  /// Returns the head of this node's log. REQUIRES: `changed` was called.
  [[nodiscard]] const msg::AuditHead& head() const { return *head_; }

  /// Returns whether this node keeps the head `told` of `from`: `from` is up, the line is later than the one it sent
  /// before, and neither `from`, in all its lives, nor all peers together send heads too often.
  [[nodiscard]] bool keeps(const NodeLife& from, const msg::AuditHead& told, TimePoint now);

 private:
  struct Known {
    Peer peer;
    std::uint64_t told = 0;  ///< the last line of this node that it was sent
    std::uint64_t said = 0;  ///< the last line of its log that this node keeps
  };
  [[nodiscard]] std::vector<NodeLife> untold();

  const Peer self_;
  std::optional<msg::AuditHead> head_;
  std::map<NodeName, Known> up_;
  std::map<NodeName, TimePoint> paid_until_;  // each kept head adds kKeptEvery; past times are erased
  TimePoint all_paid_until_;
};

}  // namespace troupe::detail
