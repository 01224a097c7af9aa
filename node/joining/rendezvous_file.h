// A file through which the nodes of one cluster find each other when none is designated as the first.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "actors/link.h"
#include "messages/error.h"

namespace troupe {

/// How a seed address names a RendezvousFile: "file:/shared/run".
inline constexpr std::string_view kRendezvousFile = "file:";

struct RendezvousContent;

/// The nodes through which others can join, one line each:
///
///   troupe-rendezvous 1 mnist                                                the cluster
///   0123456789abcdef0123456789abcdef ps0 tcp://127.0.0.1:40123               incarnation, name, address
///
/// Only members and the first node are listed. If none of the listed nodes listens, the file is left over from a
/// cluster that has ended, and the next node takes it over. A writer holds the file's lock (flock) and replaces the
/// file (rename), so it is complete at any time. Whether nodes listen is tested without the lock. REQUIRES: all joining
/// nodes see the same file and can reach the addresses in it.
///
/// Thread rule: any number of objects, threads and processes. Both members block, at most until `due`.
class RendezvousFile {
 public:
  /// Returns for each address, until `due`, whether a node may listen there; see listening.h.
  using Probe =
      std::function<std::vector<bool>(const std::vector<std::string>& addresses, std::optional<TimePoint> due)>;

  RendezvousFile(std::filesystem::path path, std::string cluster_id, Probe probe);

  /// Returns the nodes to join through; empty: the cluster had no node, and `self` is now listed as its first. Errors:
  /// bad_argument (names the file: it belongs to another living cluster, does not exist, or cannot be opened), timeout
  /// (another process keeps it locked, or nodes in it answer too late), storage_full.
  [[nodiscard]] Result<std::vector<Peer>> join_or_found(const Peer& self, std::optional<TimePoint> due) const;

  /// Adds `self`, a member: others may join through it. Errors as join_or_found.
  [[nodiscard]] Result<Unit> add(const Peer& self, std::optional<TimePoint> due) const;

 private:
  class Lock;
  /// Of lines of the file: whether a node may listen there.
  using Listening = std::map<std::pair<std::string, Incarnation>, bool>;
  [[nodiscard]] Result<std::vector<Peer>> take_place(const Peer& self, const std::vector<Peer>& living,
                                                     const RendezvousContent& content) const;
  [[nodiscard]] Result<RendezvousContent> read() const;
  [[nodiscard]] Result<Unit> replace(const RendezvousContent& content) const;
  [[nodiscard]] Error failure(ErrorCode code, std::string message) const;

  const std::filesystem::path path_;
  const std::string cluster_id_;
  const Probe probe_;
};

}  // namespace troupe
