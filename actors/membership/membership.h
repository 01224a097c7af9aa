// Who is in the cluster: joins through a seed, tells who is up, which rank each has and who went, is where groups meet,
// and agrees on when all may leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/node_life.h"
#include "actors/core/reports.h"
#include "actors/worker_info.h"
#include "messages/membership.h"

namespace troupe::detail {

/// The place in a cluster that a node asks for.
struct MemberPlace {
  std::optional<std::uint32_t> rank;  ///< nothing: by arrival
  std::string role;
  std::uint32_t world_size = 0;       ///< 0: any number of nodes, now and later
};

/// Where a cluster may be joined.
struct Seed {
  std::string address;
  std::optional<Incarnation> life = {};  ///< of the node that is expected there; nothing: whoever listens
};

/// Thread rule: any thread may call any member; only the functions named wait_... block, through wait_point.h.
class Membership {
 public:
  explicit Membership(NodeCore& node);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// This node is the first of its cluster: others join through it. A node that neither founds nor joins is in a world
  /// whose members were all made with their ranks.
  void found(MemberPlace place);

  /// Joins the cluster through the first node that is reached of those that listen at `seeds`.
  void join(std::vector<Seed> seeds, MemberPlace place);

  /// What wait_for_members waits for.
  enum class Until : std::uint8_t {
    they_are_up,  ///< so many members live and are up at once, whoever else comes or dies meanwhile
    we_are_in,    ///< and all are up that were there when this node was let in; the death of any member fails the wait
  };

  /// Waits until `count` nodes (this one among them) are members and up and their ranks are known, at most until `due`.
  /// The Error says who is there and what was refused: timeout, auth_failed, name_in_use, version_mismatch,
  /// peer_unreachable, peer_down, bad_argument (a rank or world size that does not fit), resource_exhausted (the world is
  /// complete).
  [[nodiscard]] std::optional<Error> wait_for_members(std::size_t count, std::optional<TimePoint> due,
                                                      Until until = Until::they_are_up);

  /// Says that this node's program is done and waits until all living members have said so and nothing is under way
  /// anywhere, at most until `due`. Serves meanwhile. The Error names who is missing. No limit: ends when all are done.
  [[nodiscard]] std::optional<Error> wait_for_agreement(std::optional<TimePoint> due);

  /// Calls `handler` on the pool for each peer that goes down from now on.
  void on_down(std::function<void(const Peer&, const Error&)> handler);

  /// What the first peer said that took this life for dead; nothing if none did.
  [[nodiscard]] std::optional<Error> declared_dead() const;

  [[nodiscard]] bool is_up(const NodeName& peer) const;

  /// The node of that name, this one included; nothing if it is not up.
  [[nodiscard]] std::optional<Peer> find(const NodeName& name) const;

  /// Its present life; of a node that is not up, one without an incarnation.
  [[nodiscard]] NodeLife life_of(const NodeName& name) const;

  /// All members that are up, this node among them, by name.
  [[nodiscard]] std::vector<Peer> members() const;

  /// Name and rank of this node; error not_joined before it has been let in.
  [[nodiscard]] Result<WorkerInfo> info() const { return info(self_name()); }

  /// Of the member of that name or rank, also of one that is down until another takes its place. Errors: not_joined, with
  /// the members that are known.
  [[nodiscard]] Result<WorkerInfo> info(const NodeName& name) const;
  [[nodiscard]] Result<WorkerInfo> info(std::int64_t rank) const;

  /// All members that are up and whose rank is known, this node among them, by rank.
  [[nodiscard]] std::vector<WorkerInfo> infos() const;

  /// The same for one role; for all if it is empty.
  [[nodiscard]] std::vector<WorkerInfo> infos_of_role(std::string_view role) const;

  /// The roles of all members that are up, sorted, each once.
  [[nodiscard]] std::vector<std::string> roles() const;

  [[nodiscard]] std::optional<NodeName> name_of(std::uint32_t rank) const;
  [[nodiscard]] std::optional<std::uint32_t> rank_of(const NodeName& name) const;

  void handle(Delivery delivery);
  void peer_up(const Peer& peer);
  void peer_down(const Peer& peer, const Error& why);
  void connect_failed(const std::string& address, const Error& why);

  /// Ends every wait with `why`.
  void stop(const Error& why);

  /// The groups that wait at this node for members that have not come, in no order.
  void list_barriers(const Query<OpenBarrier>::ReplySlot& slot) const;

  /// For the membership actor: the member's place is known.
  void learned(const msg::Member& member);

 private:
  [[nodiscard]] const NodeName& self_name() const;
  [[nodiscard]] Error unknown(const NodeName& name, const std::string& what) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::detail
