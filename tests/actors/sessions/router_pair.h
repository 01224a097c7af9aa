// Two routers, joined by a wire that the test controls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/sessions/packed_message.h"
#include "actors/sessions/router.h"
#include "tests/actors/sessions/no_callbacks.h"

namespace troupe::detail {

[[nodiscard]] inline TimePoint at(Duration since_start) { return TimePoint{std::chrono::hours(1)} + since_start; }

/// A node that is only a router. Its packets wait in `wire` until the test moves them.
struct TestNode final : Router::Callbacks {
  struct Arrived {
    NodeName from;
    msg::Envelope envelope;
    msg::AnyMessage message;
    std::optional<TimePoint> due;
    std::shared_ptr<CallCredit> credit;
  };

  TestNode(const NodeName& name, std::uint64_t life, const RouterOptions& options = {})
      : self{name, {life, life}, "memory://" + name}, router(self, *this, lives, options) {}

  void transmit(const NodeName& to, LinkLane /*lane*/, Frames packet) override {
    wire.push_back({to, std::move(packet)});
  }
  void deliver(const Peer& from, msg::Envelope envelope, msg::AnyMessage message, std::optional<TimePoint> due,
               std::shared_ptr<CallCredit> credit) override {
    if (no_memory_for == envelope.request) throw std::bad_alloc();
    arrived.push_back({from.name, std::move(envelope), std::move(message), due, std::move(credit)});
  }
  void came_late(const NodeLife& from, msg::AnyMessage answer) override {
    events.push_back("late " + std::string(msg::info_of(answer).name) + " from " + from.name);
  }
  void refuse_unread(const NodeLife& from, RequestId request, Error why) override {
    events.push_back("refused " + std::to_string(request.value) + " of " + from.name + ": " + why.message);
  }
  void answers_taken(const NodeLife& by, const AnswerTotals& taken) override {
    answers_taken_by[by.name] += taken.bytes();
  }
  void load_changed(const NodeName& peer, const PeerLoad& load) override { loads[peer] = load; }
  void peer_up(const Peer& peer) override { events.push_back("up " + peer.name); }
  void peer_down(const Peer& peer, const Error& why) override {
    events.push_back("down " + peer.name + " " + std::string(name_of(why.code)));
  }
  void give_up(const NodeName& peer, const Farewell& farewell) override {
    events.push_back("give up " + peer + ": " + std::string(name_of(farewell.code)) + " " + farewell.message);
  }
  void pending_changed(std::size_t requests) override { pending = requests; }
  void warn(std::string text) override { events.push_back("warn " + text); }
  void cancel_soon(RequestId request) override { to_cancel.push_back(request); }
  void word_lost(const NodeLife& from, const msg::Outside& word, Error why) override {
    events.push_back("lost a " + std::string(msg::find_info(word.tag)->name) + " of " + from.name + " to " +
                     word.envelope.to + ": " + std::string(name_of(why.code)));
  }
  std::function<void()> grant_soon(const NodeLife& peer) override {
    return [this, peer] { to_grant.push_back(peer); };
  }

  // The work of a node before it calls its router.
  void request(TimePoint now, Request request, AnswerHandler done) {
    PackedRequest packed{{}, RequestId{++last_request}, posting_of(request.message, request.actor, request.nested), {}};
    if (request.to != self.name) {
      packed.parcel =
          pack_message({self.name, request.to + "/" + request.actor, packed.id, {}}, request.message, {}).value();
    }
    packed.request = std::move(request);
    router.request(now, std::move(packed), std::move(done));
  }
  void answer(TimePoint now, const NodeLife& to, RequestId request, msg::AnyMessage message) {
    if (to.name == self.name) return router.answer_self(now, request, std::move(message));
    auto parcel = pack_message({self.name, to.name + "/router", {}, request}, message, {}).value();
    answer_bytes[to.name] += parcel.bytes;
    router.answer(now, to, {request, std::move(parcel), [this] { ++answers_undone; }});
  }
  void notify(TimePoint now, const NodeName& to, std::optional<Incarnation> life, const std::string& actor,
              msg::AnyMessage message, Haste haste = Haste::at_once) {
    if (to == self.name) return router.notify_self(actor, std::move(message));
    router.notify(now, to, life, pack_message({self.name, to + "/" + actor, {}, {}}, message, {}).value(), haste);
  }

  [[nodiscard]] NodeLife life() const { return {self.name, self.incarnation}; }

  Peer self;
  Lives lives;
  std::vector<NodeLife> to_grant;  // lives granted by credits in `arrived`
  Router router;
  std::deque<std::pair<NodeName, Frames>> wire;
  std::vector<Arrived> arrived;
  std::vector<std::string> events;
  std::vector<RequestId> to_cancel;
  std::map<NodeName, std::size_t> answer_bytes;  // given to the router
  std::map<NodeName, std::size_t> answers_taken_by;
  std::map<NodeName, PeerLoad> loads;
  std::optional<RequestId> no_memory_for;  // its delivery
  std::uint64_t last_request = 0;
  std::size_t answers_undone = 0;
  std::size_t pending = 0;
};

/// The answers to a requester, one entry for each time it was answered.
using Answers = std::vector<Result<msg::AnyMessage>>;

[[nodiscard]] inline AnswerHandler into(Answers& answers) {
  return [&answers](Result<msg::AnyMessage> answer) { answers.push_back(std::move(answer)); };
}

[[nodiscard]] inline Request call_to(const NodeName& to, std::optional<TimePoint> due = at(std::chrono::seconds(10))) {
  msg::Call call;
  call.function_name = "project";
  return {to, "worker", "rpc project", due, std::move(call)};
}

/// Two routers that are connected.
struct Pair {
  Pair() {
    a.router.link_up(at({}), b.self);
    b.router.link_up(at({}), a.self);
  }

  /// Moves all waiting packets, both ways, until none waits.
  void exchange(TimePoint now) {
    while (!a.wire.empty() || !b.wire.empty()) {
      move(a, b, now);
      move(b, a, now);
    }
  }
  static void move(TestNode& from, TestNode& to, TimePoint now) {
    for (auto frames = std::move(from.wire); !frames.empty(); frames.pop_front()) {
      to.router.frames(now, from.self.name, from.self.incarnation, frames.front().second);
    }
  }

  TestNode a{"a", 1};
  TestNode b{"b", 2};
};

}  // namespace troupe::detail
