// The receiving side of a session: order, pieces, grants.
#include "actors/sessions/session.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "messages/frame.h"

namespace troupe {
namespace {

constexpr std::size_t kExpress = 0;
constexpr std::size_t kGoodbyeBytes = kSessionLanes * sizeof(std::uint64_t);  // the last number of each lane
constexpr std::uint64_t kBytesEverMax = std::uint64_t{1} << 62;
constexpr std::size_t kReused = 8;  // elements; the larger memory of a burst is not kept

std::string text(const Incarnation& incarnation) {
  return fmt::format("{:016x}{:016x}", incarnation.high, incarnation.low);
}

bool is_elsewhere(const Frame& frame) { return frame.memory != FrameMemory::own; }

Error violation(std::string message) { return make_error(ErrorCode::protocol_violation, std::move(message)); }

}  // namespace

Result<Session::Received> Session::receive(TimePoint now, Frames packet) {
  if (closed_) return make_error(ErrorCode::shutting_down, "the session is closed");
  const std::span<const std::byte> first = packet.empty() ? std::span<const std::byte>{} : packet.front().bytes;
  const Result<SessionHeader> decoded = decode_session_header(first);
  if (!decoded) {
    ++refused_;
    return decoded.error();
  }
  const SessionHeader& header = decoded.value();
  if (std::optional<Error> why = refusal(header, packet)) {
    ++refused_;
    return *std::move(why);
  }
  take_acknowledgement(header);

  Received out = std::exchange(spare_, {});
  const std::size_t lane = index_of(header.lane);
  switch (header.kind) {
    case SessionKind::data: {
      packet.erase(packet.begin());
      std::vector<InLane::Packet> ready = std::exchange(ready_, {});
      const InLane::Taken taken = holds_too_many(lane, header.number)
                                      ? InLane::Taken::overflow
                                      : in_[lane].lane.take(now, {header, std::move(packet)}, ready);
      duplicates_ += taken == InLane::Taken::duplicate;
      overflow_ += taken == InLane::Taken::overflow;
      for (InLane::Packet& next : ready) {
        const std::uint64_t number = next.header.number;
        if (auto understood = take(now, lane, std::move(next), out); !understood) return understood.error();
        // Before the next small message: its sender may know that these have arrived, and have sent it after them.
        if (lane == kExpress) release_held(number, out);
      }
      ready.clear();
      if (ready.capacity() <= kReused) ready_ = std::move(ready);
      break;
    }
    case SessionKind::probe: acknowledge(out.on_link, lane, header.number); break;
    case SessionKind::ack:
      if (header.number != 0) out_[lane].resend_lost(now, header.number, emit_into(out.on_link));
      break;
    case SessionKind::goodbye:
      for (std::size_t i = 0; i < kSessionLanes; ++i) {
        in_[i].goodbye = detail::load_little_endian<std::uint64_t>(packet[1].bytes.subspan(i * sizeof(std::uint64_t)));
      }
      break;
  }
  for (std::size_t i = 0; i < kSessionLanes; ++i) extend(i, out);
  admit();
  fill(now, out.on_link);
  ask_for_calls(now, out.on_link);
  for (std::size_t i = 0; i < kSessionLanes; ++i) {
    const auto due = in_[i].lane.ack_due();
    if ((due && *due <= now) || waits_for_word(i)) acknowledge(out.on_link, i, 0);
  }
  wish_to_be_told();
  delivered_ += out.delivered.size();
  const auto all_came = [](const Incoming& in) {
    return in.goodbye && in.lane.delivered() >= *in.goodbye && in.held.empty();
  };
  if (!goodbye_told_ && std::ranges::all_of(in_, all_came)) out.goodbye = goodbye_told_ = true;
  return out;
}

/// Returns whether packet `number` must come again later: so many messages of its lane wait for the express lane. Those
/// of no bytes are not limited by grants.
bool Session::holds_too_many(std::size_t lane, std::uint64_t number) const {
  const Incoming& in = in_[lane];
  return in.held.size() >= options_.in.window_messages && number > in.lane.delivered();
}

std::optional<Error> Session::refusal(const SessionHeader& header, const Frames& packet) const {
  if (header.from != peer_ || header.to != self_) {
    return make_error(ErrorCode::peer_restarted,
                      fmt::format("message from incarnation {} to {} in the session from {} to {}", text(header.from),
                                  text(header.to), text(peer_), text(self_)));
  }
  const OutLane& acked = out_[index_of(header.acked_lane)];
  if (header.ack > acked.last_sent()) {
    return violation(fmt::format("acknowledges message {}, but only {} were sent", header.ack, acked.last_sent()));
  }
  if (header.kind == SessionKind::data && header.number == 0) return violation("data without a sequence number");
  const std::uint64_t probes = out_[index_of(header.lane)].probes();
  if (header.kind == SessionKind::ack && header.number > probes) {
    return violation(fmt::format("answers probe {}, but only {} were sent", header.number, probes));
  }
  const bool uses_grant =
      header.kind == SessionKind::data && header.part == Part::whole && header.lane != SessionLane::express;
  if (header.bytes_used > 0 && !uses_grant) return violation("a packet that uses no grant says how much of it");
  if (header.kind == SessionKind::data) {
    if (header.riders > 0 && (header.part != Part::whole || header.lane != SessionLane::express)) {
      return violation("messages that ride on a large one");
    }
    // They would be copied and not counted.
    if (header.part != Part::whole && std::ranges::any_of(packet, is_elsewhere))
      return violation("a piece in memory of another process");
    const std::size_t rider_frames = kRiderFrames * header.riders;
    if (header.part == Part::whole && packet.size() <= 1 + rider_frames) return violation("a message of no frames");
    // Their headers and bodies are read more than once, and on the CPU: they must not change meanwhile.
    if (std::ranges::any_of(std::span(packet).last(rider_frames), is_elsewhere))
      return violation("messages that ride on a large one, in memory of another process");
    return std::nullopt;
  }
  const bool has_second = header.kind == SessionKind::probe || header.kind == SessionKind::goodbye;
  if (header.riders > 0) return violation("messages that ride on a control message");
  if (packet.size() != (has_second ? 2U : 1U)) {
    return violation(fmt::format("control message of {} frames", packet.size()));
  }
  if (header.kind == SessionKind::goodbye && packet[1].bytes.size() != kGoodbyeBytes) {
    return violation(fmt::format("a goodbye of {} bytes, not {}", packet[1].bytes.size(), kGoodbyeBytes));
  }
  return std::nullopt;
}

void Session::take_acknowledgement(const SessionHeader& header) {
  OutLane& lane = out_[index_of(header.acked_lane)];
  lane.grant(header.bytes_granted);
  side(Charge::call).granted = std::max(side(Charge::call).granted, header.calls_granted);
  side(Charge::nested).granted = std::max(side(Charge::nested).granted, header.nested_granted);
  lane.acknowledge(header.ack, header.ahead, [this](const Outgoing& message) { arrived(message); });
}

Result<Unit> Session::take(TimePoint now, std::size_t lane, InLane::Packet packet, Received& out) {
  const SessionHeader& header = packet.header;
  const bool begins = header.part == Part::whole || header.part == Part::first;
  if (begins == in_[lane].assembly.has_value())
    return violation(begins ? "a message within another" : "a piece of no message");
  if (begins) {
    if (auto begun = begin(now, lane, header); !begun) return begun;
  }
  switch (header.part) {
    case Part::whole: {
      if (lane != kExpress) {
        if (auto counted = count_whole(lane, packet); !counted) return counted;
      }
      deliver_riders(header, packet.frames, out);
      if (std::ranges::any_of(packet.frames, [](const Frame& frame) { return frame.memory == FrameMemory::missing; })) {
        out.no_memory_for.push_back(std::move(packet.frames.front()));
        discard(lane);
        return Unit{};
      }
      complete(lane, std::move(packet.frames), out);
      return Unit{};
    }
    case Part::first: return take_first(lane, packet, out);
    case Part::middle:
    case Part::last: return take_bytes(lane, packet, out);
    case Part::dropped: take_dropped(now, lane, out); return Unit{};
  }
  return Unit{};
}

Result<Unit> Session::begin(TimePoint now, std::size_t lane, const SessionHeader& header) {
  Incoming& in = in_[lane];
  if (header.charge != Charge::none) {
    // It would give its bytes back to the other lane.
    if (lane != kExpress && charge_in(header.lane) != header.charge) return violation("a call in the lane of others");
    CallSide& side = this->side(header.charge);
    if (side.received >= calls_grant(header.charge)) {
      return violation(fmt::format("more than the {} calls granted", calls_grant(header.charge)));
    }
    ++side.received;
  }
  in.message = {};
  in.message.charge = header.charge;
  if (header.remaining_us != 0) {
    constexpr std::uint64_t kYearUs = 365ULL * 24 * 3600 * 1'000'000;
    in.message.due = now + std::chrono::microseconds(std::min(header.remaining_us, kYearUs));
  }
  if (lane == kExpress ? header.after != 0
                       : header.after > in_[kExpress].lane.delivered() + options_.in.window_messages) {
    return violation(fmt::format("a message that waits for small message {}, after {} of them", header.after,
                                 in_[kExpress].lane.delivered()));
  }
  in.after = header.after;
  in.thrown_away = false;
  return Unit{};
}

/// Counts what the sender has counted, however the frames came.
Result<Unit> Session::count_whole(std::size_t lane, const InLane::Packet& packet) {
  Incoming& in = in_[lane];
  const std::uint64_t used = packet.header.bytes_used;
  // Uncut: small, or in memory that both ends share. It may exceed the grant, once.
  if (in.received >= bytes_grant(lane))
    return violation(fmt::format("more than the {} bytes granted", bytes_grant(lane)));
  if (const std::size_t came = size_of(packet.frames); came > used)
    return violation(fmt::format("{} bytes in a message that uses {} of its grant", came, used));
  if (in.received + used > kBytesEverMax) return violation("more bytes than a lane counts");
  in.message.bytes = used;
  in.received += used;
  return Unit{};
}

Result<Unit> Session::take_first(std::size_t lane, InLane::Packet& packet, Received& out) {
  if (lane == kExpress) return violation("a message in pieces among the small ones");
  Result<Assembly> assembly = Assembly::begin(packet.frames, options_.assembly);
  if (!assembly) return assembly.error();
  // Bytes that are taken back count without being sent, so that a peer could make the count overflow.
  if (in_[lane].received + assembly.value().bytes() > kBytesEverMax) return violation("more bytes than a lane counts");
  in_[lane].assembly = std::move(assembly).value();
  extend(lane, out);
  return Unit{};
}

/// Grants a message that is larger than the grant once nothing else uses any of the grant and there is memory for it.
void Session::extend(std::size_t lane, Received& out) {
  Incoming& in = in_[lane];
  if (!in.assembly || in.thrown_away || in.assembly->bytes() <= options_.grants.bytes[lane]) return;
  const std::uint64_t end = in.received + missing(lane);
  if (in.extended >= end || used_up(lane) + in.message.bytes != in.received) return;
  if (!in.assembly->reserve()) throw_away(lane, out);
  in.extended = end;
}

Result<Unit> Session::take_bytes(std::size_t lane, InLane::Packet& packet, Received& out) {
  Incoming& in = in_[lane];
  const std::size_t bytes = size_of(packet.frames);
  if (in.received + bytes > bytes_grant(lane))
    return violation(fmt::format("more than the {} bytes granted", bytes_grant(lane)));
  if (bytes > missing(lane))
    return violation(fmt::format("{} bytes for a message of which {} are missing", bytes, missing(lane)));
  in.received += bytes;
  in.message.bytes += bytes;
  if (!in.thrown_away) {
    if (auto appended = in.assembly->append(packet.frames); !appended) {
      if (appended.error().code != ErrorCode::resource_exhausted) return appended;
      throw_away(lane, out);
    }
  }
  if (packet.header.part != Part::last) return Unit{};
  if (missing(lane) > 0) return violation("the last piece of a message that is not complete");
  if (in.thrown_away) {
    discard(lane);
    return Unit{};
  }
  Frames frames = in.assembly->take();
  in.assembly.reset();
  complete(lane, std::move(frames), out);
  return Unit{};
}

/// There is no memory for the message being received.
void Session::throw_away(std::size_t lane, Received& out) {
  Incoming& in = in_[lane];
  out.no_memory_for.push_back(in.assembly->header());
  in.thrown_away = true;
}

/// Returns how many bytes of the message being received have not come.
std::uint64_t Session::missing(std::size_t lane) const { return in_[lane].assembly->bytes() - in_[lane].message.bytes; }

/// The sender of the message being received took it back. Both sides count its missing bytes, too: they were granted,
/// and would otherwise be a grant for later messages while nothing has begun.
void Session::take_dropped(TimePoint now, std::size_t lane, Received& out) {
  Incoming& in = in_[lane];
  if (in.message.charge == Charge::none && !in.thrown_away) out.taken_back.push_back(in.assembly->header());
  const std::uint64_t unsent = missing(lane);
  in.received += unsent;
  in.message.bytes += unsent;
  discard(lane);
  in.lane.acknowledge_by(now);  // it waits for their being granted again
}

/// The message being received is void.
void Session::discard(std::size_t lane) {
  in_[lane].assembly.reset();
  use_up(lane, in_[lane].message);
}

/// Delivers the messages that share the packet, and removes their frames.
void Session::deliver_riders(const SessionHeader& header, Frames& frames, Received& out) {
  const auto own_end = frames.end() - static_cast<std::ptrdiff_t>(kRiderFrames * header.riders);
  for (auto rider = own_end; rider != frames.end(); rider += kRiderFrames) {
    Delivered message;
    message.frames.assign(std::make_move_iterator(rider), std::make_move_iterator(rider + kRiderFrames));
    deliver(kExpress, std::move(message), out);
  }
  frames.erase(own_end, frames.end());
}

void Session::complete(std::size_t lane, Frames frames, Received& out) {
  Incoming& in = in_[lane];
  in.message.frames = std::move(frames);
  Delivered message = std::exchange(in.message, {});
  if (in.held.empty() && in.after <= in_[kExpress].lane.delivered()) return deliver(lane, std::move(message), out);
  in.held.push_back({in.after, std::move(message)});
}

void Session::deliver(std::size_t lane, Delivered message, Received& out) {
  if (message.charge == Charge::none) use_up(lane, message);
  out.delivered.push_back(std::move(message));
}

/// Delivers the messages that wait for that number of the express lane.
void Session::release_held(std::uint64_t express, Received& out) {
  for (std::size_t lane = 0; lane < kSessionLanes; ++lane) {
    Incoming& in = in_[lane];
    while (!in.held.empty() && in.held.front().first <= express) {
      Delivered message = std::move(in.held.front().second);
      in.held.pop_front();
      deliver(lane, std::move(message), out);
    }
  }
}

/// The message holds nothing on this node any more.
void Session::use_up(std::size_t lane, const Delivered& message) {
  if (message.charge != Charge::none) return account_->give_back(message.charge, message.bytes);
  in_[lane].used_up += message.bytes;
}

std::uint64_t Session::used_up(std::size_t lane) const {
  const auto charge = charge_in(static_cast<SessionLane>(lane));
  return in_[lane].used_up + (charge ? account_->bytes(*charge) : 0);
}

std::uint64_t Session::bytes_grant(std::size_t lane) const {
  if (lane == kExpress) return 0;
  return std::max({used_up(lane) + options_.grants.bytes[lane], in_[lane].extended, options_.first_grants.bytes[lane]});
}

std::uint64_t Session::calls_grant(Charge charge) const {
  const bool nested = charge == Charge::nested;
  const std::uint64_t at_once = nested ? options_.grants.nested : options_.grants.calls;
  return std::max(account_->calls(charge) + at_once,
                  nested ? options_.first_grants.nested : options_.first_grants.calls);
}

/// Requests a notification of starting calls if the peer has used most of its grant.
void Session::wish_to_be_told() {
  for (const Charge charge : {Charge::call, Charge::nested}) {
    const CallSide& side = this->side(charge);
    const std::uint64_t begun = account_->calls(charge);
    if (side.received == begun) continue;  // none is queued here: the next packet sent reports all grants
    const std::uint64_t at_once = charge == Charge::nested ? options_.grants.nested : options_.grants.calls;
    const std::size_t lane = index_of(charge == Charge::nested ? SessionLane::nested : SessionLane::calls);
    const bool few_calls = side.received + at_once / 2 >= side.told;
    const bool few_bytes = in_[lane].assembly || in_[lane].received + options_.grants.bytes[lane] / 2 >= in_[lane].told;
    if (few_bytes) {
      account_->tell_at(charge, begun + 1);
    } else if (few_calls) {
      account_->tell_at(charge, begun + std::max<std::uint64_t>(1, at_once / 8));
    }
  }
}

/// Returns whether the peer has used all grants that it knows of, and may send more than it knows.
bool Session::waits_for_word(std::size_t lane) const {
  if (const auto charge = charge_in(static_cast<SessionLane>(lane))) {
    const CallSide& calls = side(*charge);
    if (calls.received >= calls.told && calls_grant(*charge) > calls.told) return true;
  }
  const Incoming& in = in_[lane];
  if (!in.assembly) return false;
  const std::uint64_t end = in.received + missing(lane);
  return in.told < end && bytes_grant(lane) > in.told;
}

void Session::reuse(Received used) {
  used.delivered.clear();
  used.no_memory_for.clear();
  used.taken_back = {};
  if (used.delivered.capacity() > kReused || used.no_memory_for.capacity() > kReused) return;
  used.on_link = std::move(spare_.on_link);
  used.goodbye = false;
  spare_ = std::move(used);
}

void Session::reuse(Packets used) {
  used.clear();
  if (used.capacity() <= kReused) spare_.on_link = std::move(used);
}

Session::Received Session::grant() {
  Received out = std::exchange(spare_, {});
  if (closed_) return out;
  for (const SessionLane lane : {SessionLane::calls, SessionLane::nested}) {
    const std::size_t index = index_of(lane);
    extend(index, out);
    const Charge charge = *charge_in(lane);
    const bool more = bytes_grant(index) > in_[index].told || calls_grant(charge) > side(charge).told;
    if (more) acknowledge(out.on_link, index, 0);
  }
  wish_to_be_told();
  return out;
}

}  // namespace troupe
