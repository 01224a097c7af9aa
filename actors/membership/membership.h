// The members of the cluster: joins through a seed, knows which members are up and their ranks, is the meeting place of
// groups, and agrees on when all may leave.
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
#include "actors/core/reports.h"
#include "actors/worker_info.h"
#include "messages/all.h"
#include "messages/ids.h"
#include "messages/membership.h"

namespace troupe::detail {

/// The place in a cluster that a node requests.
struct MemberPlace {
  std::optional<std::uint32_t> rank;  ///< nullopt: by arrival
  std::string role;
  std::uint32_t world_size = 0;  ///< 0: any number of nodes, now and later
};

/// An address at which a cluster may be joined.
struct Seed {
  std::string address;
  std::optional<Incarnation> life = {};  ///< of the node expected at the address; nullopt: any node
  NodeName name = {};                    ///< of that node; empty: unknown. Links with keys need it
};

/// Returns `error`; one of a time that has passed says through which of `seeds` the node has tried to join.
[[nodiscard]] Error with_seeds(Error error, const std::vector<Seed>& seeds);

class AuditHeads;
class SignedListHolder;

/// The messages to the membership actor. MemberList answers its own request.
using MemberWords =
    msg::MessageList<msg::MemberJoin, msg::MemberList, msg::MemberJoined, msg::MemberLeft, msg::ShutdownReady,
                     msg::ShutdownCount, msg::ShutdownAgreed, msg::BarrierEntered, msg::BarrierLeft,
                     msg::SignedListKnown, msg::SignedListFetch, msg::SignedCertificate>;

/// Thread rule: any thread may call any member; only functions named wait_... block, through wait_point.h.
class Membership {
 public:
  explicit Membership(NodeCore& node);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Makes this node the first of its cluster: others join through it. A node that neither founds nor joins is in a
  /// world whose members were all made with their ranks. After `join`: instead of it, unless a seed has answered.
  void found(MemberPlace place);

  /// As `found`, for a node whose former life may have founded a cluster that still exists: joins through the first
  /// peer that says it is a member, and founds the cluster once `count` - 1 other nodes request to join.
  void found_unless_in(MemberPlace place, std::size_t count);

  /// Joins the cluster through the first node that answers at one of `seeds`. A second call adds its seeds, unless a
  /// node has answered.
  void join(std::vector<Seed> seeds, MemberPlace place);

  /// From now on tells peers the serial of the holder's list, and takes newer lists from them. REQUIRES: called once.
  void share_list(std::shared_ptr<SignedListHolder> holder);

  /// The holder has another list that did not come through `take`. REQUIRES: share_list was called.
  void list_changed();

  /// The holder has let in the newcomer of `certificate`: sends the certificate to all peers before any further message
  /// of this node about members. REQUIRES: share_list was called.
  void certified(std::vector<std::byte> certificate);

  /// The condition for which wait_for_members waits.
  enum class Until : std::uint8_t {
    they_are_up,  ///< this many members live and are up at the same time; others may join or die meanwhile
    we_are_in,    ///< and all members from before our admission are up; any death fails the wait
  };

  /// From now on calls `keep`, on any thread, with each head of a peer's audit log that this node must keep. REQUIRES:
  /// called once; `keep` does not wait.
  void keep_heads(std::function<void(const NodeName& peer, const msg::AuditHead& head)> keep);

  /// This node's audit log has the new last line `head`: sends it to the witnesses (audit_heads.h).
  void head_changed(const msg::AuditHead& head);

  /// Waits, at most until `due`, until `count` nodes (including this one) are members and up and their ranks are known.
  /// The Error names those present and any refusal: timeout, auth_failed, name_in_use, version_mismatch,
  /// peer_unreachable, peer_down, bad_argument (a rank or world size that does not fit), resource_exhausted (the world
  /// is complete).
  [[nodiscard]] std::optional<Error> wait_for_members(std::size_t count, std::optional<TimePoint> due,
                                                      Until until = Until::they_are_up);

  /// Announces that this node's program is done. Waits, and serves, until all living members have done so and no work
  /// is pending on any node, at most until `due` (nullopt: no limit). The Error names the missing members.
  [[nodiscard]] std::optional<Error> wait_for_agreement(std::optional<TimePoint> due);

  /// Calls `handler` on the pool for each peer that goes down from now on, as soon as a thread is free. What it throws
  /// is logged.
  void on_down(std::function<void(const Peer&, const Error&)> handler);

  /// Drops the handlers of on_down, also of later calls: they may hold the node. They end on the calling thread, and
  /// may own what ends the node. REQUIRES: the node has ended.
  void drop_handlers();

  /// Returns the message of the first peer that declared this life dead; nullopt if none did.
  [[nodiscard]] std::optional<Error> declared_dead() const;

  [[nodiscard]] bool is_up(const NodeName& peer) const;

  /// Returns the node of that name, possibly this one; nullopt if it is not up.
  [[nodiscard]] std::optional<Peer> find(const NodeName& name) const;

  /// Returns the node's present life; without an incarnation if it is not up.
  [[nodiscard]] NodeLife life_of(const NodeName& name) const;

  /// Returns all members that are up, including this node, by name.
  [[nodiscard]] std::vector<Peer> members() const;

  /// Returns name and rank of this node; error not_joined before it is admitted.
  [[nodiscard]] Result<WorkerInfo> info() const { return info(self_name()); }

  /// Returns the member of that name or rank; one that is down until another takes its place. Errors: not_joined, with
  /// the known members.
  [[nodiscard]] Result<WorkerInfo> info(const NodeName& name) const;
  [[nodiscard]] Result<WorkerInfo> info(std::int64_t rank) const;

  /// Returns all members that are up and whose rank is known, including this node, by rank.
  [[nodiscard]] std::vector<WorkerInfo> infos() const;

  /// As above, of one role; of all roles if it is empty.
  [[nodiscard]] std::vector<WorkerInfo> infos_of_role(std::string_view role) const;

  /// Returns the roles of all members that are up, sorted, each once.
  [[nodiscard]] std::vector<std::string> roles() const;

  [[nodiscard]] std::optional<NodeName> name_of(std::uint32_t rank) const;
  [[nodiscard]] std::optional<std::uint32_t> rank_of(const NodeName& name) const;

  /// Hands one of the MemberWords to the membership actor.
  void handle(Delivery delivery);
  void handle(const Delivery& delivery, const msg::AuditHead& head);
  void peer_up(const Peer& peer);
  void peer_down(const Peer& peer, const Error& why);
  void connect_failed(const std::string& address, const Error& why);

  /// Ends every wait with `why`.
  void stop(const Error& why);

  /// Replies with the barriers open at this node, in no order.
  void list_barriers(const Query<OpenBarrier>::ReplySlot& slot) const;

  /// For the membership actor: one of several seeds refuses this node.
  void seed_refused(const Error& why);

  /// For the membership actor: a member's place is known.
  void learned(const msg::Member& member);

  /// For the membership actor: that member does not have this place.
  void forgotten(const msg::Member& member);

 private:
  [[nodiscard]] const NodeName& self_name() const;
  void tell_head(const std::function<std::vector<NodeLife>(AuditHeads&)>& witnesses);
  [[nodiscard]] Error unknown(const NodeName& name, const std::string& what) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::detail
