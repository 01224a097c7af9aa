// The heads of audit logs, which nodes keep for each other: rule MB-14 of PROTOCOLS.md.
//
// Each line of an audit log has the hash of the line before it, but whoever can write to the file can write all of it
// anew from some line on. What other nodes know of its last line, the head, nobody changes there.
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

/// Which peers are witnesses of this node's log: they are told its head, each once. One is on another host, if there is
/// any; which ones else follows from the names, so that every node is a witness of about as many others. And which
/// heads of peers this node keeps. A plain class: one thread at a time.
class AuditHeads {
 public:
  static constexpr std::size_t kWitnesses = 3;

  /// A node tells its head every ten seconds at most, when it has a new witness, and when it leaves.
  static constexpr int kKeptAtOnce = 4;
  static constexpr std::chrono::seconds kKeptEvery{5};
  /// Of all peers together: what is beyond this is not kept.
  static constexpr int kKeptOfAllAtOnce = 128;
  static constexpr std::chrono::milliseconds kKeptOfAllEvery{250};

  explicit AuditHeads(Peer self) : self_(std::move(self)) {}

  /// Each returns the peers that are to be told `head()` now.
  [[nodiscard]] std::vector<NodeLife> peer_up(const Peer& peer);
  [[nodiscard]] std::vector<NodeLife> peer_down(const NodeLife& peer);
  [[nodiscard]] std::vector<NodeLife> changed(const msg::AuditHead& head);

  /// Returns that of this node's log. REQUIRES: `changed` was called.
  [[nodiscard]] const msg::AuditHead& head() const { return *head_; }

  /// Whether what `from` tells of its log is to be kept: it is up, the line is a later one than it told before, and
  /// neither it, with its former lives, nor all peers together tell too often.
  [[nodiscard]] bool keeps(const NodeLife& from, const msg::AuditHead& told, TimePoint now);

 private:
  struct Known {
    Peer peer;
    std::uint64_t told = 0;  ///< the line of this node that it knows
    std::uint64_t said = 0;  ///< its own line that this node knows
  };
  [[nodiscard]] std::vector<NodeLife> untold();

  const Peer self_;
  std::optional<msg::AuditHead> head_;
  std::map<NodeName, Known> up_;
  std::map<NodeName, TimePoint> paid_until_;  // each head that was kept moves it on; what is over is erased
  TimePoint all_paid_until_;
};

}  // namespace troupe::detail
