// Who is in the cluster: joins through a seed, tells who is up and who went, and agrees on when all may leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/node_core.h"
#include "messages/membership.h"

namespace troupe::detail {

/// Thread rule: any thread may call any member; only the functions named wait_... block, through wait_point.h.
class Membership {
 public:
  explicit Membership(NodeCore& node);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// This node is the first of its cluster: others join through it.
  void found(std::uint32_t world_size);

  /// Joins the cluster through the node that listens at `seed`.
  void join(const std::string& seed, std::uint32_t world_size);

  /// Waits until `count` nodes (this one among them) are members and up, at most until `due`. The Error says who is
  /// there and what was refused: timeout, auth_failed, name_in_use, version_mismatch, peer_unreachable, peer_down.
  [[nodiscard]] std::optional<Error> wait_for_members(std::size_t count, std::optional<TimePoint> due);

  /// Says that this node's program is done and waits until all living members have said so and nothing is under way
  /// anywhere, at most until `due`. Serves meanwhile. The Error names who is missing. No limit: ends when all are done.
  [[nodiscard]] std::optional<Error> wait_for_agreement(std::optional<TimePoint> due);

  /// Calls `handler` on the pool for each peer that goes down from now on.
  void on_down(std::function<void(const Peer&, const Error&)> handler);

  [[nodiscard]] bool is_up(const NodeName& peer) const;

  /// The node of that name, this one included; nothing if it is not up.
  [[nodiscard]] std::optional<Peer> find(const NodeName& name) const;

  /// All members that are up, this node among them, by name.
  [[nodiscard]] std::vector<Peer> members() const;

  void handle(Delivery delivery);
  void peer_up(const Peer& peer);
  void peer_down(const Peer& peer, const Error& why);
  void connect_failed(const std::string& address, const Error& why);

  /// Ends every wait with `why`.
  void stop(const Error& why);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::detail
