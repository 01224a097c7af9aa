// A file through which the nodes of one cluster find each other when none is designated as the first.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "actors/link.h"
#include "messages/error.h"

namespace troupe {

struct RendezvousContent;

/// The nodes through which others can join, one line each:
///
///   troupe-rendezvous 1 mnist                                                the cluster
///   0123456789abcdef0123456789abcdef ps0 tcp://127.0.0.1:40123               incarnation, name, address
///
/// Only members and the first node are listed. If none of the listed nodes listens, the file is left over from a
/// cluster that has ended, and the next node takes it over. A writer holds the file's lock (flock) and replaces the
/// file (rename), so it is complete at any time. REQUIRES: all joining nodes see the same file and can reach the
/// addresses in it.
///
/// Thread rule: any number of objects, threads and processes. Both members block, at most until `due`.
class RendezvousFile {
 public:
  /// Returns whether a node may listen at an address; see listening.h.
  using Probe = std::function<bool(const std::string& address)>;

  RendezvousFile(std::filesystem::path path, std::string cluster_id, Probe probe);

  /// Returns the nodes to join through; empty: the cluster had no node, and `self` is now listed as its first. Errors:
  /// bad_argument (names the file: it belongs to another living cluster, does not exist, or cannot be opened), timeout
  /// (another process keeps it locked), storage_full.
  [[nodiscard]] Result<std::vector<Peer>> join_or_found(const Peer& self, std::optional<TimePoint> due) const;

  /// Adds `self`, a member: others may join through it. Errors as join_or_found.
  [[nodiscard]] Result<Unit> add(const Peer& self, std::optional<TimePoint> due) const;

 private:
  class Lock;
  [[nodiscard]] Result<RendezvousContent> read() const;
  [[nodiscard]] Result<Unit> replace(const RendezvousContent& content) const;
  [[nodiscard]] Error failure(ErrorCode code, std::string message) const;

  const std::filesystem::path path_;
  const std::string cluster_id_;
  const Probe probe_;
};

}  // namespace troupe
