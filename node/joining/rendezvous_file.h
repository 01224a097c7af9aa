// A file through which the nodes of one cluster find each other when nobody is told to be the first.
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

/// The nodes that can be joined, one line each:
///
///   troupe-rendezvous 1 mnist                                                the cluster
///   0123456789abcdef0123456789abcdef ps0 tcp://127.0.0.1:40123               incarnation, name, address
///
/// Only members stand there, and the first node. A file none of whose nodes listens any more is left over from a cluster
/// that has ended: the next node takes it. Whoever changes it holds its lock (flock) and replaces it (rename), so it is
/// whole at any time. Everybody who joins must see the same file and can reach the addresses in it.
///
/// Thread rule: any number of objects, threads and processes. Both members block, at most until `due`.
class RendezvousFile {
 public:
  /// Whether somebody may listen at an address; see listening.h.
  using Probe = std::function<bool(const std::string& address)>;

  RendezvousFile(std::filesystem::path path, std::string cluster_id, Probe probe);

  /// Returns the nodes to join through; none: the cluster has no node, `self` is its first and stands there now.
  /// Errors: bad_argument (names the file: it is of another living cluster, no such file, or cannot be opened), timeout
  /// (somebody keeps it locked), storage_full.
  [[nodiscard]] Result<std::vector<Peer>> join_or_found(const Peer& self, std::optional<TimePoint> due) const;

  /// `self` is a member: others may join through it. Errors likewise.
  [[nodiscard]] Result<Unit> add(const Peer& self, std::optional<TimePoint> due) const;

 private:
  struct Content;
  class Lock;
  [[nodiscard]] Result<Content> read() const;
  [[nodiscard]] Result<Unit> replace(const Content& content) const;
  [[nodiscard]] Error failure(ErrorCode code, std::string message) const;

  const std::filesystem::path path_;
  const std::string cluster_id_;
  const Probe probe_;
};

}  // namespace troupe
