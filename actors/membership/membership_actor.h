// Keeps the list of members, admits newcomers, is the meeting place of groups, and coordinates shutdown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/core/peer_events.h"
#include "actors/core/wake_times.h"
#include "actors/future.h"
#include "actors/membership/barriers.h"
#include "actors/membership/list_news.h"
#include "actors/membership/lost_members.h"
#include "actors/membership/membership.h"
#include "actors/membership/roster.h"
#include "actors/membership/shutdown_agreement.h"
#include "actors/membership/signed_list.h"

namespace troupe::detail {

struct MemberMessage {
  Delivery delivery;
};
/// Become the first member: at once, or once `among` - 1 others request to join. If a peer is a member before that,
/// join through it.
struct FoundCluster {
  MemberPlace place;
  std::size_t among = 0;
};
/// Join the cluster through one of the nodes at `seeds`.
struct JoinCluster {
  std::vector<Seed> seeds;
  MemberPlace place;
};
struct ConnectFailed {
  std::string address;
  Error why;
};
/// `seed` refuses this node, or is gone.
struct JoinFailed {
  NodeLife seed;
  Error why;
};
/// The join request `delivery` of a newcomer was passed on to `to`, which has refused it or is gone.
struct PassedOnFailed {
  Delivery delivery;
  NodeLife to;
  Error why;
};
struct WaitForMembers {
  std::size_t count = 0;
  Membership::Until until = Membership::Until::they_are_up;
  Promise<void> reached;
};
struct WaitForAgreement {
  Promise<void> agreed;
};
struct MemberCounted {
  NodeName member;
  std::uint64_t round = 0;
  ShutdownAgreement::Count count;
};
/// `member` could not be counted in `round`.
struct CountRefused {
  NodeName member;
  std::uint64_t round = 0;
};
/// Request the counts of `member` once more in `round`.
struct CountMember {
  NodeName member;
  std::uint64_t round = 0;
};
struct CountAgain {};
struct ConnectAgain {};            ///< members that could not be reached may be due
struct NamesakeDue : NodeLife {};  ///< this newcomer has waited for another life of its name as long as it may
struct BarriersDue {};             ///< the time limit of an entry at a barrier may have passed
/// Asks for the barriers open at this node.
struct ListBarriers {
  Query<OpenBarrier>::ReplySlot slot;
};
/// Tell peers of the list that `holder` has, and take newer ones.
struct ShareList {
  std::shared_ptr<SignedListHolder> holder;
};
struct ListChanged {};  ///< the holder has another list
/// The holder has let in the newcomer of this certificate.
struct Certified {
  std::vector<std::byte> certificate;
};
/// The request for a peer's list has ended, with or without an answer.
struct ListAnswered {
  bool came = false;                         ///< there was an answer in time, and it could be read
  std::optional<std::uint64_t> serial = {};  ///< of the list; nullopt: none that the owner of the cluster has signed
};
struct StopMembership {
  Error why;
};

}  // namespace troupe::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::MemberMessage)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::FoundCluster)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::JoinCluster)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ConnectFailed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::JoinFailed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::PassedOnFailed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::WaitForMembers)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::WaitForAgreement)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::MemberCounted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::CountRefused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::CountMember)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::CountAgain)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ConnectAgain)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::NamesakeDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::BarriersDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ListBarriers)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ShareList)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ListChanged)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::Certified)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::ListAnswered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::detail::StopMembership)

namespace troupe::detail {

/// Name: "<node>/membership".  Spawned by: Membership.  Ends: on StopMembership; pending waits then get its Error. An
/// exception of a handler ends the node.
using MembershipActor = caf::typed_actor<caf::reacts_to<MemberMessage>,     //
                                         caf::reacts_to<PeerUp>,            //
                                         caf::reacts_to<PeerDown>,          //
                                         caf::reacts_to<FoundCluster>,      //
                                         caf::reacts_to<JoinCluster>,       //
                                         caf::reacts_to<ConnectFailed>,     //
                                         caf::reacts_to<JoinFailed>,        //
                                         caf::reacts_to<PassedOnFailed>,    //
                                         caf::reacts_to<WaitForMembers>,    //
                                         caf::reacts_to<WaitForAgreement>,  //
                                         caf::reacts_to<MemberCounted>,     //
                                         caf::reacts_to<CountRefused>,      //
                                         caf::reacts_to<CountMember>,       //
                                         caf::reacts_to<CountAgain>,        //
                                         caf::reacts_to<ConnectAgain>,      //
                                         caf::reacts_to<NamesakeDue>,       //
                                         caf::reacts_to<BarriersDue>,       //
                                         caf::reacts_to<ListBarriers>,      //
                                         caf::reacts_to<ShareList>,         //
                                         caf::reacts_to<ListChanged>,       //
                                         caf::reacts_to<Certified>,         //
                                         caf::reacts_to<ListAnswered>,      //
                                         caf::reacts_to<StopMembership>>;

/// Used by the actor only.
class MembershipState {
 public:
  static inline const char* name = "membership";

  void begin(NodeCore& node, caf::actor_addr self);

  void word(Delivery& delivery);
  void peer_up(const Peer& peer);
  void peer_down(const NodeLife& peer, const Error& why);
  void found(const FoundCluster& order);
  void join(const std::vector<Seed>& seeds, const MemberPlace& place);
  void connect_failed(const std::string& address, const Error& why);
  void join_failed(JoinFailed& failed);
  void passed_on_failed(PassedOnFailed& failed);
  void wait_for_members(WaitForMembers& wait);
  void wait_for_agreement(WaitForAgreement& wait);
  void counted(const MemberCounted& count);
  void count_refused(const CountRefused& refusal);
  void count_member(const CountMember& again);
  void count_all();
  void connect_to_lost();
  void namesake_due(const NodeLife& newcomer);
  void barriers_due();
  void list_barriers(const ListBarriers& question) const;
  void share_list(std::shared_ptr<SignedListHolder> holder);
  void list_changed();
  void certified(const Certified& newcomer);
  void list_answered(const ListAnswered& answer);
  void stop(const Error& why);

 private:
  class WordTaker;
  [[nodiscard]] bool is_seed(const std::string& address) const;
  [[nodiscard]] bool may_be_seed(const Peer& peer) const;
  [[nodiscard]] std::optional<Error> stranger(const Peer& seed) const;
  void note_seed_failure(const std::string& address, Error why);
  void seed_failed(const std::string& address, Error why);
  void join_failed(Error why);
  void fail_waits_to_be_in(const Error& why);
  [[nodiscard]] bool is_up(const NodeLife& life) const;
  void ask_to_join(const NodeName& seed);
  [[nodiscard]] bool ask_one_that_is_up();
  [[nodiscard]] bool ask_one_that_is_in();
  [[nodiscard]] bool is_member(const Peer& peer) const;
  void admit(Delivery& delivery, const msg::MemberJoin& join);
  void pass_on(Delivery& delivery, const msg::MemberJoin& join, const NodeName& coordinator);
  void found_or_join();
  void found(const MemberPlace& place);
  void keep_early(Delivery& delivery);
  void hear_early();
  void answer_joiners();
  void keep_namesake(Delivery& delivery, const msg::MemberJoin& join);
  [[nodiscard]] const msg::Member* awaited_namesake(const msg::MemberJoin& join) const;
  void hear_namesake(const NodeName& newcomer, const std::optional<msg::Member>& not_reached = {});
  void decide_namesakes_at(const std::string& address, const Error& why);
  void admitted(const msg::MemberList& list);
  void learn(const msg::Member& member);
  void learn_from_itself(const msg::Member& member);
  void hear_doubts();
  void hear_again(const std::vector<msg::Member>& former);
  [[nodiscard]] bool another_is_up(const NodeLife& life) const;
  void end_former(const msg::Member& life);
  void note_place(const msg::Member& member);
  void introduce_to(const NodeName& peer);
  void set_own_place(const msg::Member& member);
  void enter_meeting(Delivery& delivery, msg::BarrierEntered entered);
  void watch_meetings(std::optional<TimePoint> due);
  void tell_list_to(const NodeName& peer);
  void take_certificate(const Delivery& delivery, const msg::SignedCertificate& told);
  [[nodiscard]] bool note_keyless(const std::string& address, const Error& why);
  [[nodiscard]] std::vector<msg::Member> unreached_at(const std::string& address) const;
  void note_unreached(const std::string& address, const Error& why);
  void not_connected(const std::string& address, Error why);
  void connect_to_known();
  void ask_for_list();
  void give_list(const Delivery& delivery) const;
  void tell_ready();
  void ask_for_count(const NodeName& member);
  /// Returns what sends this actor a message, on any thread, while the actor and its node live.
  [[nodiscard]] auto to_self() const {
    return [node = node_->weak_from_this(), self_address = self_](auto message) {
      const auto core = node.lock();
      const auto actor = caf::actor_cast<caf::strong_actor_ptr>(self_address);
      if (core && actor) core->host().send(actor, std::move(message));
    };
  }
  /// Sends this actor `message` at that time.
  template <class Message>
  void send_at(TimePoint due, Message message) {
    node_->clock().at(due, [tell = to_self(), message] { tell(message); });
  }
  template <class Message>
  void send_after(Duration pause, Message message) {
    send_at(node_->clock().now() + pause, message);
  }
  void settle_members();
  void coordinate();
  void agree();
  [[nodiscard]] std::vector<NodeName> living() const;
  [[nodiscard]] const NodeName& first_living() const;
  [[nodiscard]] std::optional<NodeName> longest_standing() const;
  [[nodiscard]] bool lets_in(const NodeName& peer) const;
  [[nodiscard]] bool ends_the_cluster(const NodeName& peer) const;
  [[nodiscard]] ShutdownAgreement::Count own_count() const;

  NodeCore* node_ = nullptr;
  caf::actor_addr self_;
  std::map<NodeName, Peer> up_;  // peers with a session
  Roster roster_;
  std::map<NodeName, msg::Member> doubts_;  // claims of peers that are up, not accepted yet: another has the rank
  std::optional<msg::Member> own_;          // this node, once it is a member
  bool founded_ = false;
  std::size_t founds_among_ = 0;  // > 0: founds when so many nodes, itself one, are to be in; joins any that are in
  MemberPlace wanted_;            // of a node that founds or joins
  bool asked_to_join_ = false;
  NodeName asked_seed_;  // set with it
  bool ready_ = false;   // this node's program is done
  bool agreed_ = false;
  std::vector<Seed> seeds_;                     // of a node that joins
  std::map<std::string, Error> seed_failures_;  // by addresses
  std::map<NodeName, std::string> awaited_;     // members when this node was admitted, not up yet, and their addresses
  std::optional<Error> join_failure_;
  std::vector<Delivery> early_;             // of newcomers, before this node founds, is in, or asks a seed
  std::vector<ReturnAddress> joiners_;      // wait until the world is complete
  std::map<NodeName, Delivery> namesakes_;  // of newcomers while another life of their name is in
  std::vector<WaitForMembers> member_waits_;
  std::vector<Promise<void>> agreement_waits_;
  ShutdownAgreement agreement_;
  std::optional<Barriers> barriers_;
  WakeTimes barriers_wakes_;                // of BarriersDue
  std::shared_ptr<SignedListHolder> list_;  // null: this node has none
  std::uint64_t list_told_ = 0;             // its serial when all peers were told
  ListNews list_news_;
  LostMembers lost_;
  WakeTimes lost_wakes_;            // of ConnectAgain
  std::uint64_t counts_asked_ = 0;  // requests of this node that only ask for counts: they are not work
};

MembershipActor::behavior_type membership_actor(MembershipActor::stateful_pointer<MembershipState> self,
                                                NodeCore* node);

}  // namespace troupe::detail
