#include "actors/collectives/enter_barrier.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/calls/scope_state.h"
#include "actors/collectives/collectives.h"
#include "actors/collectives/partial_meetings.h"
#include "actors/core/caf.h"
#include "messages/values.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

/// A link that is asked to share the frames of messages that are not small, and runs an action then.
class AskedToShare final : public Link {
 public:
  AskedToShare(MemoryHub& hub, const NodeName& name, Incarnation incarnation, std::function<void()>& on_share)
      : link_(hub, name, incarnation), on_share_(on_share) {}

  void start(LinkSink& sink) override { link_.start(sink); }
  [[nodiscard]] std::string address() const override { return link_.address(); }
  [[nodiscard]] bool guards_bytes() const override { return link_.guards_bytes(); }
  std::optional<Incarnation> share(const NodeName& /*to*/, Frames& /*frames*/) override {
    if (const auto act = std::exchange(on_share_, {})) act();
    return std::nullopt;
  }
  void connect(std::string_view address) override { link_.connect(address); }
  void send(const NodeName& to, LinkLane lane, Frames packet) override { link_.send(to, lane, std::move(packet)); }
  void disconnect(const NodeName& peer, const Farewell& farewell) override { link_.disconnect(peer, farewell); }
  void stop() override { link_.stop(); }

 private:
  MemoryLink link_;
  std::function<void()>& on_share_;
};

/// The node "m", and the peer "b" at which they meet.
struct AtBarrier {
  AtBarrier() {
    const Incarnation incarnation{7, 7};
    auto link = std::make_unique<AskedToShare>(hub, "m", incarnation, on_share);
    const FunctionRegistry functions;
    node = std::make_unique<Node>(detail::NodeParts{"m", incarnation, 0, functions.table(), clock,
                                                    std::make_shared<HandPool>(), std::move(link),
                                                    detail::make_inline_host});
  }

  /// Calls of this scope end with `stop`.
  [[nodiscard]] Scope stoppable() const {
    detail::ScopeState state;
    state.node = node->state().node;
    state.stop = stop.get_token();
    return Scope(std::make_shared<detail::ScopeState>(std::move(state)));
  }

  /// Enters with a contribution that is not small. Returns the error.
  [[nodiscard]] Error enter() {
    const Scope scope = stoppable();
    msg::Contribution own;
    own.value = to_payload(nullptr, std::string(std::size_t{1} << 20, 'x'));
    return error_of([&] {
      return detail::enter_barrier(scope, {"b", "m"}, Failures::fail_fast, "sum", {}, std::move(own));
    });
  }

  ActingWaits waits;
  detail::BlockingHook::Guard guard{waits};
  std::function<void()> on_share;
  std::stop_source stop;
  std::shared_ptr<HandClock> clock = std::make_shared<HandClock>();
  MemoryHub hub;
  BarePeer b{hub, "b", 1};
  std::unique_ptr<Node> node;
};

BOOST_FIXTURE_TEST_SUITE(entering_a_barrier, AtBarrier)

BOOST_AUTO_TEST_CASE(entry_that_is_given_up_leaves_a_leader_that_came_up_just_before_it) {
  on_share = [&] { b.connect("m"); };
  std::vector<msg::BarrierEntered> entered;
  waits.action = [&] {
    entered = b.take<msg::BarrierEntered>();
    stop.request_stop();
  };
  BOOST_TEST((enter().code == ErrorCode::cancelled));
  BOOST_REQUIRE(entered.size() == 1U);
  const auto left = b.take<msg::BarrierLeft>();
  BOOST_REQUIRE(left.size() == 1U);
  BOOST_TEST((left[0].entry == entered[0].entry));
}

BOOST_AUTO_TEST_CASE(entry_that_is_given_up_without_memory_leaves_its_leader_or_ends_the_node) {
  std::size_t left = 0;
  for (const bool is_cancelled : {true, false}) {
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      AtBarrier at;
      at.b.connect("m");
      std::optional<RefusedAllocation> refused;
      at.waits.action = [&] {
        if (is_cancelled) at.stop.request_stop();
        refused.emplace(n);
        if (!is_cancelled) throw std::bad_alloc();
      };
      try {
        static_cast<void>(at.enter());
      } catch (const std::bad_alloc&) {
      }
      is_refused = refused->happened();
      refused.reset();
      if (at.node->state().node->failure() || at.b.is_broken()) continue;
      for (int second = 0; second < 3; ++second) at.clock->advance(1s);  // packets that were lost are sent again
      BOOST_TEST(at.b.take<msg::BarrierLeft>().size() == 1U, "allocation " << n);
      ++left;
    }
  }
  BOOST_TEST(left > 1U);
}

/// Also the peer "a", which leads while it lives. The value of each member is its text.
struct AtPartialBarrier : AtBarrier {
  AtPartialBarrier() {
    a.connect("m");
    b.connect("m");
  }

  /// Enters with `brings`. Returns what the members brought: "b=x m=m ", or the code and the peer of the error.
  std::string enter_partial(const std::string& brings = "m") {
    msg::Contribution own;
    own.value = to_payload(nullptr, brings);
    std::string text;
    try {
      const auto passed =
          detail::enter_barrier(stoppable(), {"a", "b", "m"}, Failures::partial, "sum", {}, std::move(own));
      for (const auto& [name, brought] : passed.values)
        text += name + "=" + std::get<0>(from_payload<std::string>(brought.value)) + " ";
    } catch (const RemoteError& error) {
      text = std::string(name_of(error.error().code)) + " " + error.error().peer;
    }
    return text;
  }

  /// Returns whether m knows that its first entry has met.
  [[nodiscard]] bool has_passed() const {
    const auto& meetings = node->state().node->collectives().partial_meetings();
    return !meetings.note({"sum", {"a", "b", "m"}}, first, b.life()).met.empty();
  }

  /// Takes the entry of m at `leader`. Keeps the entry's note.
  BarePeer::Heard entry_at(BarePeer& leader) {
    auto heard = leader.take_heard<msg::BarrierEntered>();
    BOOST_TEST_REQUIRE(heard.size() == 1U);
    msg::Contribution own = heard[0].message.get<msg::BarrierEntered>().own;
    note = detail::take_note(own);
    BOOST_TEST((note.entry == heard[0].message.get<msg::BarrierEntered>().entry));
    return heard[0];
  }

  /// All meet at `leader`, another life of a or a itself. Keeps the entry of m as `first`.
  void meet_at(BarePeer& leader) {
    const BarePeer::Heard entered = entry_at(leader);
    first = note.entry;
    leader.answer(
        "m", entered,
        msg::BarrierPassed{{brought("a", {first_of_a, {}}), brought("b", {first_of_b, {}}), brought("m", note)}, {}});
  }

  static std::pair<NodeName, msg::Contribution> brought(const NodeName& name, const detail::EntryNote& note) {
    msg::Contribution own;
    own.value = to_payload(nullptr, name);
    add_note(own, note);
    return {name, own};
  }

  BarePeer a{hub, "a", 2};
  detail::EntryNote note;
  BarrierEntryId first;
  const BarrierEntryId first_of_a{"a", 2, 1};
  const BarrierEntryId first_of_b{"b", 1, 1};
  const BarrierEntryId second_of_b{"b", 1, 2};
};

BOOST_FIXTURE_TEST_CASE(entry_with_which_another_has_passed_fails_with_the_leader_that_did_not_answer,
                        AtPartialBarrier) {
  waits.action = [&] {
    static_cast<void>(entry_at(a));
    first = note.entry;
    waits.action = [this] {
      const BarePeer::Heard entered = entry_at(b);
      BOOST_TEST((note.entry == first));
      b.answer(
          "m", entered,
          msg::BarrierPassed{{brought("b", {second_of_b, {first_of_a, first_of_b, first}}), brought("m", note)}, {}});
    };
    a.die();
  };
  BOOST_TEST(enter_partial() == "peer_down a");
}

BOOST_FIXTURE_TEST_CASE(member_that_meets_an_entry_of_an_earlier_round_enters_again, AtPartialBarrier) {
  waits.action = [this] { meet_at(a); };
  BOOST_TEST(enter_partial() == "a=a b=b m=m ");
  a.die();
  const BarePeer::Heard told = entry_at(b);  // that the entry has met: b may have had no answer
  BOOST_TEST((note.entry == first));
  BOOST_TEST((told.request == RequestId{}));
  BOOST_TEST((note.met == std::vector<BarrierEntryId>{first_of_a, first_of_b, first}));
  waits.action = [&] {
    const BarePeer::Heard entered = entry_at(b);
    BOOST_TEST((note.met == std::vector<BarrierEntryId>{first_of_a, first_of_b, first}));
    b.answer("m", entered, msg::BarrierPassed{{brought("b", {first_of_b, {}}), brought("m", note)}, {}});
    waits.action = [this] {
      const BarePeer::Heard again = entry_at(b);
      b.answer("m", again, msg::BarrierPassed{{brought("b", {second_of_b, {}}), brought("m", note)}, {}});
    };
  };
  BOOST_TEST(enter_partial() == "b=b m=m ");
  BOOST_TEST(!waits.action);
}

BOOST_AUTO_TEST_CASE(what_has_met_at_a_leader_that_came_up_just_before_is_said_once_that_is_gone) {
  for (const bool dies_at_once : {true, false}) {
    AtPartialBarrier at;
    at.a.die();
    BarePeer next(at.hub, "a", 3);
    at.on_share = [&] { next.connect("m"); };
    at.waits.action = [&] {
      at.meet_at(next);
      if (dies_at_once) next.die();
    };
    BOOST_TEST(at.enter_partial(std::string(std::size_t{1} << 20, 'm')) == "a=a b=b m=m ");
    next.die();
    BOOST_TEST((at.entry_at(at.b).request == RequestId{}));
    BOOST_TEST((at.note.entry == at.first));
  }
}

BOOST_FIXTURE_TEST_CASE(what_has_met_is_said_once_the_next_entry_is_given_up, AtPartialBarrier) {
  waits.action = [this] { meet_at(a); };
  BOOST_TEST(enter_partial() == "a=a b=b m=m ");
  waits.action = [this] {
    static_cast<void>(entry_at(a));
    waits.action = [this] {
      static_cast<void>(entry_at(b));
      stop.request_stop();
    };
    a.die();
  };
  BOOST_TEST(enter_partial() == "cancelled b");
  BOOST_TEST(b.take<msg::BarrierLeft>().size() == 1U);
  BOOST_TEST((entry_at(b).request == RequestId{}));
  BOOST_TEST((note.entry == first));
}

BOOST_AUTO_TEST_CASE(what_has_met_is_said_at_the_next_leader_or_the_node_ends_without_memory) {
  std::size_t told = 0;
  for (const bool dies_at_once : {true, false}) {
    bool is_refused = true;
    for (std::size_t n = 1; is_refused; ++n) {
      AtPartialBarrier at;
      std::optional<RefusedAllocation> refused;
      const auto die = [&] {
        if (!dies_at_once) refused.emplace(n);
        at.a.die();
        if (dies_at_once) refused.emplace(n);
      };
      at.waits.action = [&] {
        at.meet_at(at.a);
        if (dies_at_once) die();
      };
      try {
        static_cast<void>(at.enter_partial());
        if (!dies_at_once) die();
      } catch (const std::bad_alloc&) {
      }
      is_refused = refused->happened();
      refused.reset();
      const auto& core = *at.node->state().node;
      const bool is_to_tell = at.has_passed() && core.lives().is_over(at.a.life());
      if (core.failure() || at.b.is_broken() || !is_to_tell) continue;
      for (int second = 0; second < 3; ++second) at.clock->advance(1s);  // packets that were lost are sent again
      BOOST_TEST(at.b.take<msg::BarrierEntered>().size() == 1U, "allocation " << n);
      ++told;
    }
  }
  BOOST_TEST(told > 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
