#include "actors/sessions/out_lane.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
#include <ranges>
#include <span>
#include <string>
#include <utility>

#include "actors/core/assert.h"

namespace troupe {
namespace {

/// A first piece has sizes only; the bytes of the message follow. A whole message counts what its header says.
std::uint64_t granted_bytes(const Piece& piece) {
  if (piece.part == Part::first) return 0;
  if (piece.part != Part::whole) return piece.bytes;
  std::uint64_t bytes = 0;
  for (const Frame& frame : piece.frames) bytes += frame.bytes.size();
  return std::min(bytes, SessionHeader::kBytesUsedMax);
}

/// Returns the bytes of the pieces that will not be sent. Both sides count them: what the receiver granted for a
/// message that is taken back is no grant for others.
std::uint64_t unsent_bytes(const Outgoing& message) {
  std::uint64_t bytes = 0;
  for (const Piece& piece : std::span(message.parcel.pieces).subspan(message.left)) bytes += granted_bytes(piece);
  return bytes;
}

constexpr std::size_t kRiderBytesMax = 512;

std::uint64_t remaining_us(const std::optional<TimePoint>& due, TimePoint now) {
  if (!due) return 0;
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(*due - now).count();
  return static_cast<std::uint64_t>(std::max<decltype(left)>(left, 1));  // 0 means no limit
}

}  // namespace

void OutLane::skip_taken_back() {
  for (; !queue_.empty() && queue_.front()->taken_back && queue_.front()->left == 0; queue_.pop_front()) {
    queue_.front()->place = last_sent();
  }
}

void OutLane::drop_taken_back() {
  if (queue_.size() < drop_at_) return;
  queue_.remove_if([](const SharedOutgoing& message) {
    return message->taken_back && message->left == 0 && message->order_key.empty();
  });
  drop_at_ = std::max(std::size_t{64}, 2 * queue_.size());
}

bool OutLane::waits_for_grant() const {
  if (!grants_ || queue_.empty()) return false;
  const Outgoing& message = *queue_.front();
  return !message.taken_back && !may_leave(message, &message.parcel.pieces[message.left]);
}

bool OutLane::may_leave(const Outgoing& message, const Piece* piece) const {
  if (!grants_ || piece == nullptr || message.taken_back) return true;
  // An uncut message lies in memory that both ends share, or is small: it may exceed the grant, once.
  if (piece->part == Part::whole) return bytes_sent_ < bytes_granted_;
  return bytes_sent_ + granted_bytes(*piece) <= bytes_granted_;
}

Outgoing* OutLane::front() {
  skip_taken_back();
  return queue_.empty() ? nullptr : queue_.front().get();
}

std::uint64_t OutLane::last_to_send() const {
  std::uint64_t number = last_sent();
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const SharedOutgoing& message = queue_[i];
    number += message->taken_back ? (message->left > 0 ? 1 : 0) : message->parcel.pieces.size() - message->left;
  }
  return number;
}

bool OutLane::may_ride(const Parcel& rider) {
  return rider.pieces.size() == 1 && rider.pieces[0].frames.size() == kRiderFrames && rider.bytes <= kRiderBytesMax;
}

Parcel OutLane::take_rider() {
  Parcel last = std::move(riders_.back());
  riders_.pop_back();
  return last;
}

/// Adds the riders that wait to the packet of a whole message.
void OutLane::board(InFlight& packet, const Piece& piece) {
  if (riders_.empty()) return;
  packet.header.riders = static_cast<std::uint8_t>(riders_.size());
  for (Parcel& rider : riders_) {
    std::ranges::move(rider.pieces[0].frames, std::back_inserter(packet.frames));
    packet.bytes += rider.bytes;
  }
  riders_.clear();
  if (piece.hash != 0) packet.header.hash = hash_of(packet.frames);
}

OutLane::Step OutLane::send_one(TimePoint now, const Emit& emit) {
  if (front() == nullptr || in_flight_.size() >= options_.window_messages) return {};
  Outgoing& message = *queue_.front();
  Piece* piece = message.taken_back ? nullptr : &message.parcel.pieces[message.left];
  const std::size_t bytes = SessionHeader::kBytes + (piece != nullptr ? piece->bytes : 0);
  if (in_flight_bytes_ > 0 && in_flight_bytes_ + bytes > options_.window_bytes) return {};
  if (!may_leave(message, piece)) {
    if (asking_ == Duration{0}) {
      asking_ = options_.resend_first;
      ask_at_ = now + asking_;
    }
    no_later_than(ask_at_);
    return {};
  }
  asking_ = Duration{0};
  InFlight packet{.message = queue_.front(), .header = {}, .frames = {}, .bytes = bytes};
  packet.header.kind = SessionKind::data;
  packet.header.lane = lane_;
  packet.header.number = first_ + in_flight_.size();
  packet.header.part = piece != nullptr ? piece->part : Part::dropped;
  if (piece != nullptr) {
    const std::uint64_t granted = grants_ ? granted_bytes(*piece) : 0;
    bytes_sent_ += granted;
    if (piece->part == Part::whole) packet.header.bytes_used = granted;
    packet.frames = std::move(piece->frames);
    packet.header.hash = piece->hash;
    if (piece->part == Part::whole) board(packet, *piece);
    if (message.left == 0) {
      packet.header.charge = message.charge;
      packet.header.after = message.after;
    }
    ++message.left;
  } else {
    bytes_sent_ += unsent_bytes(message);
  }
  packet.ends = piece == nullptr || message.left_whole();
  Step step{.sent = true, .ended = packet.ends ? packet.message : nullptr};
  message.place = packet.header.number;
  if (packet.ends) queue_.pop_front();
  packet.interval = options_.resend_first;
  in_flight_bytes_ += packet.bytes;
  in_flight_.push_back(std::move(packet));
  transmit(now, in_flight_.back(), emit);
  return step;
}

void OutLane::transmit(TimePoint now, InFlight& packet, const Emit& emit) {
  packet.due = now + packet.interval;
  packet.probes_before = probes_;
  no_later_than(packet.due);
  const bool begins = packet.header.part == Part::whole || packet.header.part == Part::first;
  packet.header.remaining_us = begins ? remaining_us(packet.message->due, now) : 0;
  emit(packet.header, packet.frames);
}

void OutLane::send_again(TimePoint now, InFlight& packet, const Emit& emit) {
  ++resent_;
  packet.interval = grown(packet.interval);
  transmit(now, packet, emit);
}

Duration OutLane::grown(Duration interval) const {
  return std::min(options_.resend_max, std::chrono::duration_cast<Duration>(interval * options_.resend_growth));
}

void OutLane::no_longer_in_flight(const InFlight& packet) {
  TROUPE_ASSERT(packet.bytes <= in_flight_bytes_, "[session] more bytes are acknowledged than were sent");
  in_flight_bytes_ -= packet.bytes;
}

void OutLane::acknowledge(std::uint64_t ack, std::uint64_t ahead, const std::function<void(const Outgoing&)>& arrived) {
  if (ack + 1 < first_) return;  // an old acknowledgement that was overtaken
  TROUPE_ASSERT(ack <= last_sent(), "[session] an acknowledgement of packet " + std::to_string(ack) +
                                        ", the last one sent is " + std::to_string(last_sent()));
  while (first_ <= ack) {
    InFlight& packet = in_flight_.front();
    if (!packet.arrived) no_longer_in_flight(packet);
    if (packet.ends) arrived(*packet.message);
    in_flight_.pop_front();
    ++first_;
  }
  for (; ahead != 0; ahead &= ahead - 1) {  // from the lowest bit that is set
    const auto index = static_cast<std::size_t>(std::countr_zero(ahead)) + 1;
    if (index >= in_flight_.size()) break;
    InFlight& packet = in_flight_[index];
    if (packet.arrived) continue;
    packet.arrived = true;
    no_longer_in_flight(packet);
  }
  if (in_flight_.empty() && asking_ == Duration{0}) due_.reset();
}

void OutLane::grant(std::uint64_t bytes) { bytes_granted_ = std::max(bytes_granted_, bytes); }

// Packets sent before the probe and still missing after its answer were lost: the connection keeps its order.
void OutLane::resend_lost(TimePoint now, std::uint64_t answered_probe, const Emit& emit) {
  bool resent = false;
  for (std::size_t i = 0; i < reach(); ++i) {
    if (in_flight_[i].arrived || in_flight_[i].probes_before >= answered_probe) continue;
    send_again(now, in_flight_[i], emit);
    resent = true;
  }
  // There may be losses beyond the range of one answer: probe again right after.
  if (resent && in_flight_.size() > reach()) ask(emit);
}

void OutLane::tick(TimePoint now, const Emit& emit) {
  if (!due_ || *due_ > now) return;
  due_.reset();
  const auto is_due = [&](std::size_t i) { return !in_flight_[i].arrived && in_flight_[i].due <= now; };
  bool unsure = in_flight_bytes_ > options_.resend_bytes_max &&
                std::ranges::any_of(std::views::iota(std::size_t{0}, reach()), is_due);
  for (std::size_t i = 0; i < reach(); ++i) {
    InFlight& packet = in_flight_[i];
    if (packet.arrived) continue;
    if (unsure) {  // one probe asks about all of them
      const Duration interval = packet.interval;
      if (packet.due <= now) packet.interval = grown(interval);
      packet.due = now + interval;
    } else if (packet.due <= now) {
      send_again(now, packet, emit);
      continue;
    }
    no_later_than(packet.due);
  }
  if (asking_ > Duration{0} && waits_for_grant()) {
    if (ask_at_ <= now) {
      unsure = true;
      asking_ = grown(asking_);
      ask_at_ = now + asking_;
    }
    no_later_than(ask_at_);
  }
  if (unsure) ask(emit);
}

// A probe has an empty second frame: a link may let packets of a single frame overtake, and a probe must not.
void OutLane::ask(const Emit& emit) {
  Frames behind{Frame{}};
  emit({.kind = SessionKind::probe, .lane = lane_, .number = ++probes_, .hash = hash_of(behind)}, behind);
}

std::vector<SharedOutgoing> OutLane::close() {
  std::vector<SharedOutgoing> left;
  left.reserve(in_flight_.size() + queue_.size());  // from here on, none is lost
  for (std::size_t i = 0; i < in_flight_.size(); ++i) {
    if (in_flight_[i].ends) left.push_back(std::move(in_flight_[i].message));
  }
  for (; !queue_.empty(); queue_.pop_front()) left.push_back(std::move(queue_.front()));
  first_ += in_flight_.size();
  in_flight_.clear();
  in_flight_bytes_ = 0;
  riders_.clear();
  due_.reset();
  return left;
}

// Returns how many of the first packets in flight an acknowledgement distinguishes.
std::size_t OutLane::reach() const { return std::min(in_flight_.size(), kAheadBits + 1); }

void OutLane::no_later_than(TimePoint due) { due_ = due_ ? std::min(*due_, due) : due; }

}  // namespace troupe
