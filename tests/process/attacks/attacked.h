// A running node to attack, and a member that notices if that works.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "node/keys/key_ring.h"
#include "node/links/secret.h"
#include "node/node.h"
#include "tests/conformance/node_process.h"

namespace troupe::testing {

struct AttackedOptions {
  std::string transport = "tcp://127.0.0.1:*";
  Network network = Network::automatic;  ///< keys: every node has one
  std::string bind = {};                 ///< where the victim listens; any port if empty
  std::string advertise = {};            ///< what it says instead
  std::chrono::milliseconds lease = std::chrono::seconds(10);
};

/// The node "victim", in a process of its own, and the node "caller" in this one.
class Attacked {
 public:
  /// Returns when the two are connected. REQUIRES: created on the main thread, with which the process ends.
  explicit Attacked(const AttackedOptions& options = {});

  /// Ends both together. The test case fails if one does not end cleanly.
  ~Attacked();
  Attacked(const Attacked&) = delete;
  Attacked& operator=(const Attacked&) = delete;

  [[nodiscard]] Node& caller() { return *caller_; }
  [[nodiscard]] const ClusterSecret& secret() const { return secret_; }
  /// Returns the victim as the caller knows it.
  [[nodiscard]] Peer victim() const;
  [[nodiscard]] Peer caller_as_peer() const;
  /// Returns the key ring of the member "thief", which does not run.
  [[nodiscard]] const KeyRing& thiefs_ring() const { return rings_[2]; }
  [[nodiscard]] PublicKey victims_key() const { return rings_[1].own_keys().public_key(); }

  [[nodiscard]] const NodeProcess& victims_process() const { return *victim_process_; }

  /// Returns the node "thief", which joins them now. Throws as Node::join.
  [[nodiscard]] Node join_as_third() const;

  /// Checks that each node still calls the other, in the life that it had at first, and that none was ever down.
  void check_unharmed();

 private:
  [[nodiscard]] Peer peer(const NodeName& name) const;

  const ClusterSecret secret_ = ClusterSecret::random();
  const bool with_keys_;
  const std::vector<KeyRing> rings_;
  std::optional<Node> caller_;
  std::atomic<int> downs_ = 0;
  std::optional<NodeProcess> victim_process_;
  std::optional<Peer> victim_at_first_;
};

/// Calls the victim again and again on a thread of its own.
class CallLoad {
 public:
  explicit CallLoad(Node& caller);
  ~CallLoad();
  CallLoad(const CallLoad&) = delete;
  CallLoad& operator=(const CallLoad&) = delete;

  /// Waits until `calls` more have been answered. The test case fails after 10 s.
  void await(std::uint64_t calls) const;
  [[nodiscard]] std::uint64_t failed() const { return failed_; }  ///< or answered wrongly

 private:
  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> answered_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::thread thread_;
};

}  // namespace troupe::testing
