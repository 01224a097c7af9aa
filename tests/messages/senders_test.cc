// Every message from every wrong sender. What the message itself shows is refused here; the rest is in the tests of the
// actors that know more: the table below names them.
#include "messages/senders.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/messages/message_samples.h"

namespace troupe {

using msg::AnyMessage;
using msg::Sender;

BOOST_AUTO_TEST_SUITE(senders)

namespace {

const NodeLife kTrainer{"trainer", {7, 0xA1}};  // made the ids of the samples
const NodeLife kTrainerLater{"trainer", {7, 0xA2}};
const NodeLife kServer{"ps0", {1, 2}};
const NodeLife kServerLater{"ps0", {1, 3}};
const NodeLife kLiar{"liar", {9, 0xA1}};  // of the same low half: the name counts, too

/// Where a message is refused whose wrong sender the message itself does not show.
const std::map<std::string_view, std::string_view> kRefusedElsewhere{
    // Any member may send it, for itself.
    {"CallCancelled", "served_calls_test.cc: for the calls of its sender only"},
    {"MemberJoin", "roster_test.cc"},
    {"SignedListKnown", "signed_list_test.cc: a claim, which its list must prove"},
    {"SignedListFetch", "signed_list_test.cc: the list is no secret"},
    {"SignedCertificate", "signed_list_test.cc: what the owner of the cluster has not signed"},
    {"AuditHead", "audit_heads_test.cc: kept as what its sender says of its own log"},
    // Who does not know the secret in the id names something that does not exist.
    {"RRefFetch", "unknown_ids_test.cc"},
    {"ContextAborted", "contexts_test.cc"},
    {"ContextReleased", "contexts_test.cc"},
    {"ShardQuery", "shards_test.cc"},
    // Tables of the receiver.
    {"RRefDeleted", "fork_table_test.cc"},
    {"RRefForkAck", "handle_table_test.cc"},
    {"RRefRevoked", "references_test.cc"},
    {"RRefChanged", "references_test.cc"},
    {"MemberJoined", "membership_actor_test.cc"},
    {"MemberLeft", "membership_actor_test.cc: nobody sends it"},
    {"ShutdownCount", "membership_actor_test.cc"},
    {"ShutdownAgreed", "membership_actor_test.cc"},
};

/// Whose ids must agree with each other or with the receiver, whoever sends them: in a test of their own below.
const std::set<std::string_view> kAboutOthers{"RRefForked", "BackwardMark", "BackwardGradients", "ContextEntered"};

/// The lives that may send the sample; empty: any.
std::set<NodeLife> may_send(std::string_view name) {
  static const std::set<std::string_view> of_server{"BackwardFinished", "ShutdownReady"};
  return {of_server.contains(name) ? kServer : kTrainer};
}

std::string lie(const AnyMessage& message, const NodeLife& from, const NodeName& to = "trainer") {
  return msg::lie_in(message, from, to).value_or("");
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_message_is_refused_from_each_wrong_sender, *boost::unit_test::label("attack")) {
  for (const AnyMessage& message : testing::every_message()) {
    const msg::MessageInfo& info = info_of(message);
    if (info.sender == Sender::answerer || kRefusedElsewhere.contains(info.name)) continue;
    BOOST_TEST_CONTEXT(info.name) {
      std::size_t refused = 0;
      for (const NodeLife& from : {kTrainer, kTrainerLater, kServer, kServerLater, kLiar}) {
        const std::string why = lie(message, from);
        refused += static_cast<std::size_t>(!why.empty());
        if (may_send(info.name).contains(from)) BOOST_TEST(why == "", from.name);
      }
      const std::size_t all_others = info.name == "BackwardFinished" ? 3 : 4;  // names a node, not a life
      BOOST_TEST(refused == (kAboutOthers.contains(info.name) ? 0 : all_others));
    }
  }
}

BOOST_AUTO_TEST_CASE(no_message_is_forgotten) {
  for (const AnyMessage& message : testing::every_message()) {
    const msg::MessageInfo& info = info_of(message);
    const bool shows = lie(message, kLiar, "other") != "";
    const bool is_elsewhere = kRefusedElsewhere.contains(info.name) || info.sender == Sender::answerer ||
                              info.name == "RRefForked" || info.name == "BackwardMark";
    if (info.name == "Reply") continue;  // whose handles it shows
    BOOST_TEST(shows != is_elsewhere, info.name);
  }
}

BOOST_AUTO_TEST_CASE(a_refusal_names_what_the_sender_did_not_make) {
  msg::ShardCommit commit{{"trainer", 0xA1, 4}, {"trainer", 0xA1, 9}, 0};
  BOOST_TEST(lie(commit, kLiar) == "optimizer trainer.4 is not of liar");
  commit.step = {"ps0", 2, 9};
  BOOST_TEST(lie(commit, kTrainer) == "step ps0.9 is not of trainer");
  msg::RemoteCall call;
  call.rref = {"trainer", 0xA1, 4, {1, 2}};
  call.fork = {"ps0", 2, 9};
  BOOST_TEST(lie(call, kTrainer) == "handle ps0.9 is not of trainer");
  BOOST_TEST(lie(call, kServer) == "value trainer.4 is not of ps0");
  BOOST_TEST(lie(msg::ShutdownReady{"ps0", {1, 2}}, kLiar) == "liar does not speak for ps0");
}

BOOST_AUTO_TEST_CASE(a_call_that_keeps_its_result_keeps_it_under_an_id_of_the_caller,
                     *boost::unit_test::label("attack")) {
  msg::ValueCall call;
  call.rref = {"ps0", 2, 1};  // any holder may call
  BOOST_TEST(lie(call, kLiar) == "");
  call.keep_as = msg::NewRRef{{"trainer", 0xA1, 4}, {"trainer", 0xA1, 5}};
  BOOST_TEST(lie(call, kTrainer) == "");
  BOOST_TEST(lie(call, kLiar) == "value trainer.4 is not of liar");
}

BOOST_AUTO_TEST_CASE(who_hands_on_a_handle_made_its_fork_and_is_its_parent, *boost::unit_test::label("attack")) {
  const msg::RRefHandout honest{{"trainer", 0xA1, 4}, {"ps0", 2, 5}, "trainer", {7, 0xA1}, "ps0", "tensor"};
  const auto lie_of = [&](const auto& change) {
    msg::RRefHandout lying = honest;
    change(lying);
    msg::Call call;
    call.arguments.refs = {honest, lying};
    msg::Reply reply;
    reply.value.refs = call.arguments.refs;
    BOOST_TEST(lie(call, kServer) == lie(reply, kServer));
    return lie(call, kServer);
  };
  BOOST_TEST(lie_of([](auto&) {}) == "");
  BOOST_TEST(lie_of([](auto& handout) { handout.rref = {"x", 1, 2}; }) == "");  // its owner knows
  BOOST_TEST(lie_of([](auto& handout) { handout.fork.creator = "x"; }) == "handle x.5 is not of ps0");
  BOOST_TEST(lie_of([](auto& handout) { handout.fork.incarnation = 3; }) == "handle ps0.5 is not of ps0");
  BOOST_TEST(lie_of([](auto& handout) { handout.parent = "x"; }) == "ps0 does not speak for x");
}

BOOST_AUTO_TEST_CASE(ids_that_contradict_each_other_or_the_receiver_are_refused, *boost::unit_test::label("attack")) {
  const ContextId context{"trainer", 0xA1, 3, {1, 2}};
  BOOST_TEST(lie(msg::RRefForked{{"trainer", 0xA1, 4}, {"ps1", 5, 6}, "ps1"}, kServer) == "");
  BOOST_TEST(lie(msg::RRefForked{{"trainer", 0xA1, 4}, {"ps1", 5, 6}, "ps2"}, kServer) == "handle ps1.6 is not of ps2");
  BOOST_TEST(lie(msg::BackwardMark{context, {"trainer", 0xA1, 2}, "ps1", {}, {}}, kServer) ==
             "pass trainer.2 is not of ps1");
  BOOST_TEST(lie(msg::BackwardGradients{context, {"trainer", 0xA1, 2}, {"ps1", 5, 6}, {}}, kServer, "ps1") == "");
  BOOST_TEST(lie(msg::BackwardGradients{context, {"trainer", 0xA1, 2}, {"ps1", 5, 6}, {}}, kServer, "ps2") ==
             "boundary ps1.6 is not of ps2");
  BOOST_TEST(lie(msg::ContextEntered{context}, kServer, "trainer") == "");
  BOOST_TEST(lie(msg::ContextEntered{context}, kServer, "ps1") == "context trainer.3 is not of ps1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
