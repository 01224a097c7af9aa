#include "actors/collectives/collectives.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "messages/schema.h"
#include "messages/values.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(collectives_of_a_node)

using detail::CollectiveEnd;
using detail::CollectiveIntroduction;
using detail::CollectiveMember;
using detail::CollectiveMessage;
using Kind = CollectiveMessage::Kind;
using Names = std::vector<NodeName>;
using Asked = std::shared_ptr<std::optional<Result<msg::AnyMessage>>>;

const Names kMembers{"b", "m", "z"};

/// The node "m" forms collectives with the peers b, who leads the barrier and is told what m begins, and z, who tells m
/// what it begins.
struct AmongMembers : AmongBarePeers {
  /// Enters the barrier; `at_barrier` runs when m waits there, and lets b answer.
  std::shared_ptr<CollectiveMember> form(std::function<void()> at_barrier, const Names& names = kMembers) {
    meanwhile.action = std::move(at_barrier);
    return core().collectives().form(*node, Group(names));
  }
  std::shared_ptr<CollectiveMember> form() {
    return form([this] { all_have_come(b->self().incarnation); });
  }

  /// Returns kMembers and further names, `count` in all.
  static Names many(int count) {
    Names names = kMembers;
    for (int i = 3; i < count; ++i) names.push_back("n" + std::to_string(100 + i));
    return names;
  }

  /// Returns m's entry at the barrier; notes m's number.
  BarePeer::Heard entry() {
    const auto entries = b->take_heard<msg::BarrierEntered>();
    BOOST_REQUIRE(entries.size() == 1U);
    number = introduction(entries.front()).end.number;
    return entries.front();
  }
  static CollectiveIntroduction introduction(const BarePeer::Heard& entry) {
    return std::get<0>(from_payload<CollectiveIntroduction>(entry.message.get<msg::BarrierEntered>().own.value));
  }

  /// Lets m pass: number 11 is b's, of that life, and 12 is z's.
  void all_have_come(Incarnation life_of_b) { pass(entry(), life_of_b); }
  void pass(const BarePeer::Heard& entered, Incarnation life_of_b) const {
    b->answer("m", entered,
              msg::BarrierPassed{{brought("b", {11, life_of_b}),
                                  {"m", entered.message.get<msg::BarrierEntered>().own},
                                  brought("z", {12, z->self().incarnation})},
                                 {}});
  }
  static std::pair<NodeName, msg::Contribution> brought(const NodeName& name, const CollectiveEnd& end,
                                                        const Names& names = kMembers) {
    return {name, {fingerprint_of<CollectiveIntroduction>(), to_payload(nullptr, CollectiveIntroduction(end, names))}};
  }
  void refuse(const BarePeer::Heard& request, const std::string& why) const {
    Error error;
    error.code = ErrorCode::cancelled;
    error.peer = "b";
    error.message = why;
    b->answer("m", request, msg::Failure{error});
  }

  [[nodiscard]] Asked say(BarePeer& from, CollectiveMessage word) const {
    word.collective = number;
    msg::Call call;
    call.function_name = detail::kCollectiveActor;
    call.fingerprint = fingerprint_of<CollectiveMessage>();
    call.arguments = to_payload(nullptr, word);
    return from.ask("m", detail::kCollectiveActor, std::move(call));
  }
  static CollectiveMessage began(std::uint64_t operation) { return {Kind::began, 0, {operation, "sum", 0, 0}, {}}; }

  /// Returns the words that the peer has received: "broke 11".
  static Names words_at(BarePeer& peer) {
    Names words;
    for (const auto& call : peer.take<msg::Call>()) words.push_back(text_of(call));
    return words;
  }
  static std::string text_of(const msg::Call& call) {
    msg::Payload payload;
    payload.bytes = call.arguments.bytes;
    const auto word = std::get<0>(from_payload<CollectiveMessage>(payload));
    const char* const kinds[] = {"", "part ", "broke ", "left ", "began "};
    return kinds[static_cast<int>(word.kind)] + std::to_string(word.collective) + (word.why ? " " : "") +
           (word.why ? word.why->message : "");
  }
  static std::string answer_to(const Asked& asked) {
    if (!*asked) return "none yet";
    return (*asked)->ok() ? "taken" : (*asked)->error().message;
  }

  /// Receives a part of z; `in_wait` runs when m waits for it. Returns "done", or the error.
  std::string receive_from_z(CollectiveMember& member, std::function<void()> in_wait) {
    return receive_from_z(*node, member, std::move(in_wait));
  }
  std::string receive_from_z(const Scope& scope, CollectiveMember& member, std::function<void()> in_wait) {
    try {
      member.carry_out(scope, member.draw_turn(), "sum", "sum", [&] {
        const auto wanted = member.want(2, 7);
        meanwhile.action = std::move(in_wait);
        static_cast<void>(member.receive(wanted));
      });
    } catch (const RemoteError& error) {
      return error.error().message;
    }
    return "done";
  }

  std::unique_ptr<BarePeer> b = peer("b");
  std::unique_ptr<BarePeer> z = peer("z", 2);
  ActingWaits meanwhile;
  detail::BlockingHook::Guard meanwhile_guard{meanwhile};
  std::uint64_t number = 0;
};

const Names kNone;

BOOST_FIXTURE_TEST_CASE(members_say_to_each_other_which_life_of_theirs_takes_part, AmongMembers) {
  static_cast<void>(form([this] {
    const auto entered = entry();
    BOOST_TEST((introduction(entered).end.life == core().incarnation()));
    pass(entered, b->self().incarnation);
  }));
}

BOOST_AUTO_TEST_CASE(stop_without_memory_ends_the_wait_and_not_the_process) {
  std::size_t refusals = 0;
  for (bool is_refused = true; is_refused; refusals += is_refused ? 1 : 0) {
    AmongMembers among;
    const auto member = among.form();
    std::stop_source stop;
    const auto state = std::make_shared<detail::ScopeState>(among.node->state());
    state->stop = stop.get_token();
    const std::string end = among.receive_from_z(Scope(state), *member, [&] {
      const RefusedAllocation refused(refusals + 1);
      stop.request_stop();
      is_refused = refused.happened();
    });
    BOOST_TEST_CONTEXT("refused allocation " << refusals + 1) {
      BOOST_TEST(end != "done");
      BOOST_TEST((is_refused || end == "m gave it up"), end);
    }
  }
  BOOST_TEST(refusals > 5U);  // the error, its copies, and two words to the others
}

BOOST_FIXTURE_TEST_CASE(words_of_a_collective_do_not_reach_another_life_of_a_member, AmongMembers) {
  const auto member = form([this] { all_have_come({9, 9}); });
  member->leave();
  BOOST_TEST(words_at(*z) == Names{"left 12"}, boost::test_tools::per_element());
  BOOST_TEST(words_at(*b) == kNone, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(end_of_another_life_of_a_member_disturbs_nobody, AmongMembers) {
  const auto member = form();
  Error gone;
  gone.code = ErrorCode::peer_down;
  gone.message = "connection closed";
  member->peer_down({"b", {9, 9}}, gone);
  BOOST_TEST(words_at(*z) == kNone, boost::test_tools::per_element());
  member->peer_down(b->life(), gone);
  BOOST_TEST(words_at(*z) == Names{"broke 12 connection closed"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(failure_before_the_members_have_met_is_told_when_they_have, AmongMembers) {
  const auto member = form([this] {
    const auto entered = entry();
    static_cast<void>(say(*z, {Kind::broke, 0, {}, Error{.message = "z gave it up"}}));
    BOOST_TEST(words_at(*b) == kNone, boost::test_tools::per_element());
    pass(entered, b->self().incarnation);
  });
  BOOST_TEST(words_at(*b) == Names{"broke 11 z gave it up"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(death_of_a_member_before_the_members_have_met_is_told_when_they_have, AmongMembers) {
  const auto member = form([this] {
    z->die();
    all_have_come(b->self().incarnation);
  });
  const Names words = words_at(*b);
  BOOST_TEST_REQUIRE(words.size() == 1U);
  BOOST_TEST(words.front().starts_with("broke 11 "), words.front());
  BOOST_TEST(receive_from_z(*member, {}) == "the collective is broken");
}

BOOST_FIXTURE_TEST_CASE(who_tells_what_it_began_is_answered_when_the_members_have_met, AmongMembers) {
  Asked asked;
  const auto member = form([&] {
    const auto entered = entry();
    asked = say(*z, began(1));
    BOOST_TEST(answer_to(asked) == "none yet");
    pass(entered, b->self().incarnation);
  });
  BOOST_TEST(answer_to(asked) == "taken");
  BOOST_TEST(answer_to(say(*z, began(2))) == "taken");
}

BOOST_FIXTURE_TEST_CASE(words_that_are_kept_until_the_members_have_met_are_so_many_and_no_more, AmongMembers) {
  const auto member = form([&] {
    const auto entered = entry();
    for (std::uint64_t i = 0; i < detail::CollectiveInbox::kAheadMax; ++i)
      BOOST_TEST(answer_to(say(*z, began(1))) == "none yet");
    BOOST_TEST(answer_to(say(*z, began(1))) == "taken");
    pass(entered, b->self().incarnation);
  });
}

BOOST_FIXTURE_TEST_CASE(who_tells_what_it_began_learns_that_a_member_did_not_form_the_collective, AmongMembers) {
  Asked asked;
  BOOST_CHECK_THROW(static_cast<void>(form([&] {
                      const auto entered = entry();
                      asked = say(*z, began(1));
                      refuse(entered, "the caller gave up");
                    })),
                    RemoteError);
  BOOST_TEST(answer_to(asked) == "m did not form the collective");
  BOOST_TEST(answer_to(say(*z, began(2))) == "m has left the collective");
}

BOOST_FIXTURE_TEST_CASE(member_that_did_not_form_the_collective_fails_those_that_wait_for_others, AmongMembers) {
  const auto member = form();
  const std::string outcome = receive_from_z(*member, [this] {
    const auto calls = b->take_heard<msg::Call>();
    BOOST_TEST_REQUIRE(calls.size() == 1U);
    BOOST_TEST(text_of(calls.front().message.get<msg::Call>()) == "began 11");
    refuse(calls.front(), "b did not form the collective");
  });
  BOOST_TEST(outcome == "b did not form the collective");
  BOOST_TEST(words_at(*z) == Names{"broke 12 b did not form the collective"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(member_that_has_left_and_said_so_fails_nobody_who_does_not_need_it, AmongMembers) {
  const auto member = form();
  const std::string outcome = receive_from_z(*member, [this] {
    static_cast<void>(say(*b, {Kind::left, 0, {}, {}}));
    refuse(b->take_heard<msg::Call>().front(), "b has left the collective");
    static_cast<void>(say(*z, {Kind::part, 0, {1, "sum", 7, 0}, {}}));
  });
  BOOST_TEST(outcome == "done");
  BOOST_TEST(words_at(*z) == kNone, boost::test_tools::per_element());
}

/// Keeps the last answer: "taken", or the error.
struct LastAnswer final : detail::AnswerSender {
  [[nodiscard]] NodeLife life() const override { return {"m", {1, 1}}; }
  void send_answer(const NodeLife& /*to*/, RequestId /*request*/, msg::AnyMessage message,
                   detail::UndoList /*undo*/) override {
    const auto* const failure = message.get_if<msg::Failure>();
    text = failure == nullptr ? "taken" : std::string(name_of(failure->error.code)) + ": " + failure->error.message;
  }
  std::string text = "none yet";
};

BOOST_FIXTURE_TEST_CASE(part_in_memory_of_a_gpu_is_refused_unread, AmongMembers, *boost::unit_test::label("attack")) {
  const auto member = form();
  const auto part_on = [&](Device device) {
    msg::Call call;
    call.arguments.tensors.push_back(make_frame({std::byte{7}}));
    call.arguments.tensors.back().device = device;
    const auto answers = std::make_shared<LastAnswer>();
    member->handle({.from = "z",
                    .incarnation = z->self().incarnation,
                    .envelope = {},
                    .message = std::move(call),
                    .answer = {answers, z->life(), RequestId{1}},
                    .due = {}},
                   {Kind::part, number, {1, "sum", 7, 0}, {}});
    return answers->text;
  };
  const std::string outcome = receive_from_z(*member, [&] {
    BOOST_TEST(part_on(Device::cuda(0)) == "protocol_violation: a part in memory of cuda:0");
    BOOST_TEST(part_on(Device::cpu()) == "taken");
  });
  BOOST_TEST(outcome == "done");
}

BOOST_FIXTURE_TEST_CASE(member_that_leaves_answers_the_others_until_they_know, AmongMembers) {
  form()->leave();
  BOOST_TEST(answer_to(say(*z, began(1))) == "taken");
  for (BarePeer* peer : {b.get(), z.get()}) {
    const auto left = peer->take_heard<msg::Call>();
    BOOST_TEST_REQUIRE(left.size() == 1U);
    peer->answer("m", left.front(), msg::Reply{});
  }
  BOOST_TEST(answer_to(say(*z, began(2))) == "m has left the collective");
}

BOOST_FIXTURE_TEST_CASE(member_that_goes_after_a_failure_answers_with_it_until_the_others_know, AmongMembers) {
  {
    const auto member = form();
    static_cast<void>(say(*b, {Kind::broke, 0, {}, Error{.message = "b gave it up"}}));
    BOOST_TEST(words_at(*z) == kNone, boost::test_tools::per_element());  // b tells z
    member->leave();
    member->leave();
  }
  const auto broke = z->take_heard<msg::Call>();
  BOOST_TEST_REQUIRE(broke.size() == 1U);
  BOOST_TEST(text_of(broke.front().message.get<msg::Call>()) == "broke 12 b gave it up");
  BOOST_TEST(answer_to(say(*z, began(1))) == "b gave it up");
  z->answer("m", broke.front(), msg::Reply{});
}

BOOST_FIXTURE_TEST_CASE(what_a_member_of_many_brings_does_not_grow_with_their_number, AmongMembers) {
  const auto bytes_of_entry = [this](int count) {
    std::size_t bytes = 0;
    const auto refused = [&] {
      const auto entered = entry();
      bytes = entered.message.get<msg::BarrierEntered>().own.value.bytes.bytes.size();
      refuse(entered, "enough");
    };
    BOOST_CHECK_THROW(static_cast<void>(form(refused, many(count))), RemoteError);
    return bytes;
  };
  BOOST_TEST(bytes_of_entry(64) == bytes_of_entry(128));
}

BOOST_FIXTURE_TEST_CASE(members_that_name_each_other_in_another_order_do_not_form_a_collective, AmongMembers) {
  for (Names names : {kMembers, many(17)}) {
    const Names here = names;
    std::swap(names.front(), names.back());
    const auto differently = [&] {
      const auto entered = entry();
      msg::BarrierPassed passed;
      for (const NodeName& name : here) passed.values.push_back(brought(name, {11, {}}, name == "b" ? names : here));
      b->answer("m", entered, std::move(passed));
    };
    BOOST_CHECK_EXCEPTION(static_cast<void>(form(differently, here)), RemoteError, [&](const RemoteError& e) {
      const std::string want = here.size() == 3U ? "it names the members z, m, b, m names them b, m, z"
                                                 : "it names other members than m, or in another order";
      BOOST_TEST(e.error().message == want);
      return e.error().peer == "b";
    });
  }
}

BOOST_FIXTURE_TEST_CASE(collective_is_not_formed_unless_all_members_bring_something, AmongMembers) {
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(form([this] {
        const auto entered = entry();
        const auto& own = entered.message.get<msg::BarrierEntered>().own;
        b->answer("m", entered, msg::BarrierPassed{{brought("b", {11, {}}), {"m", own}, brought("x", {12, {}})}, {}});
      })),
      RemoteError,
      [](const RemoteError& e) { return e.error().message == "it brought nothing" && e.error().peer == "z"; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
