#include "tests/actors/bare_peer.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "actors/core/caf.h"
#include "actors/core/node_core.h"
#include "actors/sessions/packed_message.h"

namespace troupe::testing {

TimePoint HandClock::now() const {
  if (std::exchange(fails_next_, false)) throw std::bad_alloc();
  return now_;
}

TimerId HandClock::at(TimePoint due, std::function<void()> action) {
  timers_[++last_] = {due, std::move(action)};
  return {last_};
}

void HandClock::advance(Duration time) {
  const TimePoint until = now_ + time;
  for (;;) {
    const auto next = std::ranges::min_element(timers_, {}, [](const auto& timer) { return timer.second.first; });
    if (next == timers_.end() || next->second.first > until) break;
    const auto [due, action] = std::move(next->second);
    timers_.erase(next);
    now_ = std::max(now_, due);
    action();
  }
  now_ = until;
}

bool HandWaits::wait(detail::WaitPoint& point, std::optional<TimePoint> due) {
  if (!point.signalled() && !due) throw std::logic_error("nothing is left that could end this wait");
  return point.signalled();
}

bool ActingWaits::wait(detail::WaitPoint& point, std::optional<TimePoint> due) {
  if (const auto act = std::exchange(action, {})) act();
  return waits_.wait(point, due);
}

std::optional<Error> HandPool::take(Job& job) {
  if (refuses) return refuses;
  if (all_wait && job.urgency == Urgency::in_turn)
    return Error{.code = ErrorCode::resource_exhausted, .message = "all threads wait"};
  if (!keeps && !all_wait) {
    job.run();
  } else {
    kept.push_back(std::move(job));
  }
  return std::nullopt;
}

BarePeer::BarePeer(MemoryHub& hub, const NodeName& name, std::uint64_t life)
    : self_{name, {life, life}, "memory://" + name},
      link_(hub, name, self_.incarnation),
      router_(self_, *this, lives_) {
  link_.start(*this);
}

BarePeer::~BarePeer() { link_.stop(); }

void BarePeer::say(const NodeName& node, const std::string& actor, msg::AnyMessage message) {
  auto parcel = detail::pack_message({self_.name, node + "/" + actor, {}, {}}, message, {}).value();
  in_turn([this, node, parcel] { router_.notify(now(), node, std::nullopt, parcel); });
}

std::shared_ptr<std::optional<Result<msg::AnyMessage>>> BarePeer::ask(const NodeName& node, const std::string& actor,
                                                                      msg::AnyMessage message,
                                                                      std::optional<TimePoint> due) {
  const auto told = std::make_shared<std::optional<Result<msg::AnyMessage>>>();
  detail::PackedRequest packed{{}, RequestId{++last_request_}, detail::posting_of(message, actor, false), {}};
  packed.parcel = detail::pack_message({self_.name, node + "/" + actor, packed.id, {}}, message, {}).value();
  packed.request = {node, actor, "asked by " + self_.name, due, std::move(message)};
  in_turn([this, packed, told] {
    router_.request(now(), packed, [told](Result<msg::AnyMessage> answer) { *told = std::move(answer); });
  });
  return told;
}

void BarePeer::answer(const NodeName& node, const Heard& request, msg::AnyMessage message) {
  auto parcel = detail::pack_message({self_.name, node + "/router", {}, request.request}, message, {}).value();
  in_turn([this, to = up_.at(node), id = request.request, parcel] { router_.answer(now(), to, {id, parcel}); });
}

std::optional<std::string> BarePeer::end_of(const NodeName& node) const {
  const auto at = ended_.find(node);
  return at == ended_.end() ? std::nullopt : std::optional(at->second);
}

void BarePeer::on_link_up(const Peer& peer) {
  up_[peer.name] = {peer.name, peer.incarnation};
  in_turn([this, peer] { router_.link_up(now(), peer); });
}

void BarePeer::on_frames(const NodeName& from, Incarnation incarnation, Frames frames) {
  in_turn([this, from, incarnation, frames = std::move(frames)]() mutable {
    router_.frames(now(), from, incarnation, std::move(frames));
  });
}

void BarePeer::on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) {
  ended_[peer] = std::string(name_of(why.code)) + " " + why.message;
  in_turn([this, peer, incarnation, why] { router_.link_down(now(), peer, incarnation, why); });
}

void BarePeer::in_turn(std::function<void()> action) try {
  waiting_.push_back(std::move(action));
  if (std::exchange(in_turn_, true)) return;
  while (!waiting_.empty()) {
    const auto next = std::exchange(waiting_.front(), {});
    waiting_.pop_front();
    next();
  }
  in_turn_ = false;
} catch (const std::bad_alloc&) {
  is_broken_ = true;
  throw;
}

void BarePeer::deliver(const Peer&, msg::Envelope envelope, msg::AnyMessage message, std::optional<TimePoint>,
                       std::shared_ptr<CallCredit>) {
  heard_.push_back({std::move(envelope.to), envelope.request, std::move(message)});
}

AmongBarePeers::AmongBarePeers(std::optional<std::uint32_t> rank, FunctionRegistry functions, const PeerLimits& limits,
                               CallGrants grants) {
  const Incarnation incarnation{7, 7};
  node = std::make_unique<Node>(detail::NodeParts{"m",
                                                  incarnation,
                                                  rank,
                                                  functions.table(),
                                                  clock,
                                                  pool,
                                                  std::make_unique<MemoryLink>(hub, "m", incarnation),
                                                  detail::make_inline_host,
                                                  Leaks::warn,
                                                  {},
                                                  limits,
                                                  std::move(grants)});
}

std::unique_ptr<BarePeer> AmongBarePeers::peer(const NodeName& name, std::uint64_t life) {
  auto peer = std::make_unique<BarePeer>(hub, name, life);
  peer->connect("m");
  BOOST_REQUIRE(core().lives().is_up(peer->life()));
  return peer;
}

}  // namespace troupe::testing
