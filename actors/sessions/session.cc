#include "actors/sessions/session.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "messages/frame.h"

namespace troupe {
namespace {

constexpr std::size_t kExpress = 0;

SessionLane lane_at(std::size_t index) { return static_cast<SessionLane>(index); }

LinkLane link_lane(SessionLane lane) { return lane == SessionLane::express ? LinkLane::express : LinkLane::bulk; }

Charge charge_of(Posting::Class of) {
  if (of == Posting::Class::call) return Charge::call;
  return of == Posting::Class::nested_call ? Charge::nested : Charge::none;
}

SessionLane bulk_lane(const Outgoing& message) {
  if (message.charge == Charge::none) return message.is_answer ? SessionLane::answers : SessionLane::words;
  return message.charge == Charge::nested ? SessionLane::nested : SessionLane::calls;
}

void stop_sending(Outgoing& message) {
  message.taken_back = true;
  for (std::size_t i = message.left; i < message.parcel.pieces.size(); ++i) message.parcel.pieces[i].frames.clear();
}

}  // namespace

Session::Session(Incarnation self, Incarnation peer, SessionOptions options, std::function<void()> grants_changed)
    : self_(self),
      peer_(peer),
      options_(options),
      account_(std::make_shared<CreditAccount>(std::move(grants_changed))) {
  out_.reserve(kSessionLanes);
  in_.reserve(kSessionLanes);
  for (std::size_t lane = 0; lane < kSessionLanes; ++lane) {
    out_.emplace_back(lane_at(lane), options_.out, lane != kExpress);
    out_.back().grant(options_.first_grants.bytes[lane]);
    in_.emplace_back(options_.in);
    in_.back().told = options_.first_grants.bytes[lane];
  }
  for (const Charge charge : {Charge::call, Charge::nested}) {
    const SessionGrants& first = options_.first_grants;
    side(charge).granted = side(charge).told = charge == Charge::call ? first.calls : first.nested;
  }
}

Result<Session::Packets> Session::send(TimePoint now, Parcel parcel, Posting posting) {
  if (closed_) return make_error(ErrorCode::shutting_down, "the session is closed");
  auto message = std::make_shared<Outgoing>();
  message->charge = charge_of(posting.of);
  if (message->charge != Charge::none) {
    const bool too_many = waiting_calls_ >= options_.waiting_calls_max;
    const bool is_huge = parcel.bytes > options_.waiting_bytes_max;
    const bool too_large = is_huge ? huge_waiting_ : waiting_bytes_ + parcel.bytes > options_.waiting_bytes_max;
    if (too_many || too_large) {
      return make_error(ErrorCode::resource_exhausted,
                        fmt::format("{} calls of {} bytes wait for the peer, at most {} of {} (peer.waiting_calls_max, "
                                    "peer.waiting_bytes_max); one more has {} bytes",
                                    waiting_calls_, waiting_bytes_, options_.waiting_calls_max,
                                    options_.waiting_bytes_max, parcel.bytes));
    }
  }
  message->parcel = std::move(parcel);
  message->is_answer = posting.of == Posting::Class::answer;
  message->request = posting.request;
  message->due = posting.due;
  message->order_key = std::move(posting.order_key);
  message->undo = std::move(posting.undo);
  const bool is_kept =
      message->charge != Charge::none ? message->request.value != 0 : posting.of == Posting::Class::free_call;
  if (is_kept) calls_.emplace(message->request.value, message);  // first: without memory for it nothing is counted
  // A small one that finds no other before it leaves at once, as a rule.
  const bool may_wait = message->is_answer && (!message->parcel.is_small() || out_[kExpress].front() != nullptr);
  if (may_wait) answers_to_send_.emplace(message->request.value, message);
  ++accepted_;
  if (message->is_answer) answers_.add(message->parcel);
  if (message->charge == Charge::none) {
    enqueue(std::move(message));
  } else {
    count_waiting(*message);
    if (!message->order_key.empty()) {
      Key& key = keys_[message->order_key];
      if (key.waiting++ > 0) {  // after one that waits already
        message->charge = key.charge;
      } else if (key.bulk > 0) {  // after one being sent
        message->charge = charge_in(key.lane).value_or(message->charge);
      }
      key.charge = message->charge;
    }
    side(message->charge).waiting.push_back(std::move(message));
    admit();
  }
  Packets packets = std::exchange(spare_.on_link, {});
  fill(now, packets);
  ask_for_calls(now, packets);
  return packets;
}

Result<Session::Packets> Session::ride(TimePoint now, Parcel parcel) {
  OutLane& lane = out_[kExpress];
  if (closed_ || !OutLane::may_ride(parcel) || lane.front() != nullptr) return send(now, std::move(parcel));
  ++accepted_;
  lane.ride(std::move(parcel));
  Packets packets = std::exchange(spare_.on_link, {});
  if (lane.riders() >= options_.out.riders_max) send_riders(now, packets);
  schedule_riders(now);
  return packets;
}

Session::Packets Session::send_riders(TimePoint now) {
  Packets packets;
  send_riders(now, packets);
  return packets;
}

void Session::schedule_riders(TimePoint now) {
  OutLane& lane = out_[kExpress];
  if (lane.riders() == 0 || lane.front() != nullptr) {
    ride_by_.reset();
  } else if (!ride_by_) {
    ride_by_ = now + options_.in.ack_delay;
  }
}

/// Makes the last rider the message that the others ride on, unless they wait for one in the queue.
void Session::send_riders(TimePoint now, Packets& packets) {
  OutLane& lane = out_[kExpress];
  if (lane.riders() == 0 || lane.front() != nullptr) return;
  auto message = std::make_shared<Outgoing>();
  message->parcel = lane.take_rider();
  enqueue(std::move(message));
  fill(now, packets);
}

/// Sends as many calls as the peer grants.
void Session::admit() {
  for (CallSide& side : sides_) {
    while (!side.waiting.empty() && side.sent < side.granted) {
      SharedOutgoing message = std::move(side.waiting.front());
      side.waiting.pop_front();
      leave_waiting(side, *message);
      if (message->taken_back) continue;
      ++side.sent;
      message->admitted = true;
      enqueue(std::move(message));
    }
  }
}

/// `message` is no longer among the waiting calls of `side`.
void Session::leave_waiting(CallSide& side, const Outgoing& message) {
  if (message.taken_back) --side.taken_back;
  if (message.order_key.empty()) return;
  --keys_[message.order_key].waiting;
  if (message.taken_back) forget_key(message.order_key);
}

void Session::enqueue(SharedOutgoing message) {
  SessionLane lane = message->parcel.is_small() ? SessionLane::express : bulk_lane(*message);
  if (!message->order_key.empty()) {
    Key& key = keys_[message->order_key];
    if (key.bulk > 0) lane = key.lane;
    if (lane == SessionLane::express) {
      ++key.express;
      key.last_express = message;
    } else {
      message->follows = key.last_express;
      ++key.bulk;
      key.lane = lane;
    }
  }
  message->lane = index_of(lane);
  out_[message->lane].push(std::move(message));
}

void Session::fill(TimePoint now, Packets& packets) {
  const OutLane::Emit emit = emit_into(packets);
  const auto send_one = [&](std::size_t lane) {
    if (out_[lane].is_queue_empty()) return false;
    Outgoing* next = out_[lane].front();
    if (next != nullptr && next->follows != nullptr) {
      if (!next->follows->place) return false;  // its predecessor was not sent yet
      next->after = *next->follows->place;
      next->follows.reset();
    }
    const OutLane::Step step = out_[lane].send_one(now, emit);
    if (step.ended) ended(step.ended);
    return step.sent;
  };
  while (send_one(kExpress)) {
  }
  for (bool more = true; more;) {  // the lanes take turns
    more = false;
    for (std::size_t lane = kExpress + 1; lane < kSessionLanes; ++lane) more = send_one(lane) || more;
  }
  schedule_riders(now);
}

/// All packets of a message that will ever be sent are sent.
void Session::ended(const SharedOutgoing& message) {
  if (message->is_answer) {
    message->undo = nullptr;
    // The peer may have given two requests one number.
    const auto found = answers_to_send_.find(message->request.value);
    if (found != answers_to_send_.end() && found->second == message) answers_to_send_.erase(found);
  }
  if (message->charge != Charge::none && !message->taken_back) count_left(*message);
}

// One call larger than the bound is accepted beside the others, and not counted in their bytes.
void Session::count_waiting(const Outgoing& call) {
  ++waiting_calls_;
  if (call.parcel.bytes > options_.waiting_bytes_max) {
    huge_waiting_ = true;
  } else {
    waiting_bytes_ += call.parcel.bytes;
  }
}

void Session::count_left(const Outgoing& call) {
  --waiting_calls_;
  if (call.parcel.bytes > options_.waiting_bytes_max) {
    huge_waiting_ = false;
  } else {
    waiting_bytes_ -= call.parcel.bytes;
  }
}

/// The peer has all of the message, or knows that it will not arrive, or will never know of it.
void Session::arrived(const Outgoing& message) {
  if (message.is_answer) {
    AnswerTotals taken;
    taken.add(message.parcel);
    answers_.remove(taken);
  } else if (message.request.value != 0) {
    calls_.erase(message.request.value);
  }
  if (message.order_key.empty()) return;
  Key& key = keys_[message.order_key];
  --(message.lane == kExpress ? key.express : key.bulk);
  forget_key(message.order_key);
}

void Session::forget_key(const std::string& key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return;
  const Key& state = found->second;
  if (state.waiting == 0 && state.bulk == 0 && state.express == 0) keys_.erase(found);
}

Session::TakenBack Session::take_back(TimePoint now, RequestId request) {
  const auto found = calls_.find(request.value);
  if (found == calls_.end() || found->second->left_whole()) return {};
  const SharedOutgoing held = found->second;
  Outgoing& message = *held;
  stop_sending(message);
  if (message.charge != Charge::none) count_left(message);
  if (message.admitted && message.left == 0) {  // the peer will never know of it
    out_[message.lane].drop_taken_back();
    --side(message.charge).sent;
    if (!message.order_key.empty()) {
      Key& key = keys_[message.order_key];
      --(message.lane == kExpress ? key.express : key.bulk);
      forget_key(message.order_key);
    }
  }
  if (!message.admitted && message.charge != Charge::none) {
    CallSide& side = this->side(message.charge);
    if (++side.taken_back > side.waiting.size() / 2) {  // or they stay as long as the peer grants nothing
      side.waiting.remove_if([&](const SharedOutgoing& waiting) {
        if (!waiting->taken_back) return false;
        leave_waiting(side, *waiting);
        return true;
      });
    }
  }
  calls_.erase(found);
  TakenBack taken{.in_time = true, .granted = message.admitted, .on_link = {}};
  admit();
  fill(now, taken.on_link);
  return taken;
}

Session::TakenBack Session::take_back_answer(TimePoint now, RequestId request) {
  const auto found = answers_to_send_.find(request.value);
  if (found == answers_to_send_.end()) return {};
  const SharedOutgoing message = std::move(found->second);
  answers_to_send_.erase(found);
  stop_sending(*message);
  if (message->left == 0) {
    arrived(*message);
    out_[message->lane].drop_taken_back();
  }
  TakenBack taken{.in_time = true, .granted = true, .on_link = {}, .undo = std::exchange(message->undo, nullptr)};
  fill(now, taken.on_link);
  return taken;
}

void Session::ask_for_calls(TimePoint now, Packets& packets) {
  const bool waits = std::ranges::any_of(sides_, [](const CallSide& side) { return !side.waiting.empty(); });
  if (!waits) {
    asking_ = Duration{0};
  } else if (asking_ == Duration{0}) {
    asking_ = options_.out.resend_first;
    ask_at_ = now + asking_;
  } else if (ask_at_ <= now) {
    asking_ =
        std::min(options_.out.resend_max, std::chrono::duration_cast<Duration>(asking_ * options_.out.resend_growth));
    ask_at_ = now + asking_;
    out_[kExpress].ask(emit_into(packets));
  }
}

OutLane::Emit Session::emit_into(Packets& packets) {
  return [this, &packets](const SessionHeader& header, const Frames& frames) { emit(packets, header, frames); };
}

// Every packet sent acknowledges one lane, the one that has waited longest, and repeats the grants. One that gets no
// memory is as one that the link loses: what matters is sent again.
void Session::emit(Packets& packets, SessionHeader header, const Frames& frames) try {
  const std::size_t acked = header.kind == SessionKind::ack ? index_of(header.acked_lane) : lane_to_acknowledge();
  header.from = self_;
  header.to = peer_;
  header.acked_lane = lane_at(acked);
  header.ack = in_[acked].lane.delivered();
  header.ahead = in_[acked].lane.ahead_bits();
  header.bytes_granted = in_[acked].told = bytes_grant(acked);
  header.calls_granted = side(Charge::call).told = calls_grant(Charge::call);
  header.nested_granted = side(Charge::nested).told = calls_grant(Charge::nested);
  in_[acked].lane.acknowledged();
  Packet packet{.lane = header.kind == SessionKind::ack ? LinkLane::express : link_lane(header.lane), .frames = {}};
  packet.frames.reserve(1 + frames.size());
  packet.frames.push_back(encode(header));
  packet.frames.insert(packet.frames.end(), frames.begin(), frames.end());
  packets.push_back(std::move(packet));
} catch (const std::bad_alloc&) {
  return;
}

std::size_t Session::lane_to_acknowledge() const {
  std::size_t first = kExpress;
  for (std::size_t lane = 1; lane < kSessionLanes; ++lane) {
    const auto due = in_[lane].lane.ack_due();
    const auto before = in_[first].lane.ack_due();
    if (due && (!before || *due < *before)) first = lane;
  }
  return first;
}

void Session::acknowledge(Packets& packets, std::size_t lane, std::uint64_t answered_probe) {
  emit(packets,
       {.kind = SessionKind::ack, .lane = lane_at(lane), .number = answered_probe, .acked_lane = lane_at(lane)}, {});
}

Session::Packets Session::tick(TimePoint now) {
  Packets packets;
  if (closed_) return packets;
  for (OutLane& lane : out_) lane.tick(now, emit_into(packets));
  ask_for_calls(now, packets);
  if (ride_by_ && *ride_by_ <= now) send_riders(now, packets);
  for (std::size_t lane = 0; lane < kSessionLanes; ++lane) {
    if (const auto due = in_[lane].lane.ack_due(); due && *due <= now) acknowledge(packets, lane, 0);
  }
  return packets;
}

std::optional<TimePoint> Session::next_due() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](std::optional<TimePoint> due) {
    if (due && (!next || *due < *next)) next = due;
  };
  for (std::size_t lane = 0; lane < kSessionLanes; ++lane) {
    consider(out_[lane].next_due());
    consider(in_[lane].lane.ack_due());
  }
  if (asking_ > Duration{0}) consider(ask_at_);
  consider(ride_by_);
  return next;
}

// After its header it has, for each lane, the sequence number after which nothing follows.
Session::Packet Session::goodbye() {
  std::vector<std::byte> last(kSessionLanes * sizeof(std::uint64_t));
  for (std::size_t lane = 0; lane < kSessionLanes; ++lane) {
    detail::store_little_endian(std::span(last).subspan(lane * sizeof(std::uint64_t)), out_[lane].last_to_send());
  }
  const Frames behind{make_frame(std::move(last))};
  Packets packets;
  emit(packets, {.kind = SessionKind::goodbye, .hash = hash_of(behind)}, behind);
  if (packets.empty()) throw std::bad_alloc();  // nobody sends it again
  return std::move(packets.front());
}

std::vector<Session::Unacknowledged> Session::close() {
  closed_ = true;
  std::vector<Unacknowledged> calls;
  calls.reserve(calls_.size());
  for (const auto& [request, message] : calls_) calls.push_back({message->request, message->left_whole()});
  calls_.clear();
  answers_to_send_.clear();
  keys_.clear();
  for (CallSide& side : sides_) side.waiting.clear();
  for (OutLane& lane : out_) static_cast<void>(lane.close());
  in_.clear();
  for (std::size_t lane = 0; lane < kSessionLanes; ++lane) in_.emplace_back(options_.in);
  waiting_calls_ = waiting_bytes_ = 0;
  answers_ = {};
  huge_waiting_ = false;
  asking_ = Duration{0};
  ride_by_.reset();
  return calls;
}

bool Session::flushed() const { return std::ranges::all_of(out_, &OutLane::empty) && waiting_calls_ == 0; }

std::size_t Session::early_packets() const {
  std::size_t packets = 0;
  for (const Incoming& in : in_) packets += in.lane.early();
  return packets;
}

SessionCounts Session::counts() const {
  SessionCounts counts{.accepted = accepted_,
                       .delivered = delivered_,
                       .duplicates = duplicates_,
                       .refused = refused_,
                       .overflow = overflow_};
  for (const OutLane& lane : out_) {
    counts.resent += lane.resent();
    counts.probes += lane.probes();
  }
  return counts;
}

}  // namespace troupe
