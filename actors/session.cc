#include "actors/session.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t kAheadBits = 64;
constexpr std::uint64_t kPromiseMaxMs = 3'600'000;

std::size_t size_of(const Frames& frames) {
  std::size_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.bytes.size();
  return bytes;
}

std::string text(const Incarnation& incarnation) {
  return fmt::format("{:016x}{:016x}", incarnation.high, incarnation.low);
}

Error failure(ErrorCode code, std::string message) { return Error{.code = code, .message = std::move(message)}; }

}  // namespace

Session::Session(Incarnation self, Incarnation peer, SessionOptions options)
    : self_(self), peer_(peer), options_(options) {}

Result<Session::Sent> Session::send(TimePoint now, Frames body, Admission admission) {
  if (closed_) return failure(ErrorCode::shutting_down, "the session is closed");
  const std::size_t bytes = SessionHeader::kBytes + size_of(body);
  if (admission == Admission::bounded && !pending_.empty() && pending_bytes_ + bytes > options_.queue_bytes_max) {
    return failure(ErrorCode::resource_exhausted,
                   fmt::format("the queue to the peer is full: {} bytes wait, {} more exceed {}", pending_bytes_, bytes,
                               options_.queue_bytes_max));
  }
  pending_.push_back(Pending{.body = std::move(body), .bytes = bytes, .due = {}});
  pending_bytes_ += bytes;
  ++counts_.accepted;
  Sent sent{.number = first_ + pending_.size() - 1, .on_link = {}};
  fill_window(now, sent.on_link);
  return sent;
}

Result<Session::Received> Session::receive(TimePoint now, Frames message) {
  if (closed_) return failure(ErrorCode::shutting_down, "the session is closed");
  const std::span<const std::byte> first = message.empty() ? std::span<const std::byte>{} : message.front().bytes;
  const Result<SessionHeader> decoded = decode_session_header(first);
  if (!decoded) {
    ++counts_.refused;
    return decoded.error();
  }
  const SessionHeader& header = decoded.value();
  if (std::optional<Error> why = refusal(header, message.size())) {
    ++counts_.refused;
    return *std::move(why);
  }
  take_acknowledgement(header);

  Received out;
  switch (header.kind) {
    case SessionKind::data:
      message.erase(message.begin());
      take_data(now, header.number, std::move(message), out.delivered);
      break;
    case SessionKind::probe:
      out.on_link.push_back(this->message(SessionKind::ack, header.number));
      break;
    case SessionKind::ack:
      if (header.number != 0) resend_lost(now, header.number, out.on_link);
      break;
    case SessionKind::goodbye:
      goodbye_after_ = header.number;
      break;
    case SessionKind::heartbeat:
      out.promised = std::chrono::milliseconds(std::min(header.number, kPromiseMaxMs));
      break;
  }
  fill_window(now, out.on_link);
  if (ack_due_ && *ack_due_ <= now) out.on_link.push_back(this->message(SessionKind::ack, 0));
  if (goodbye_after_ && delivered_ >= *goodbye_after_ && !goodbye_told_) out.goodbye = goodbye_told_ = true;
  return out;
}

Session::Due Session::tick(TimePoint now) {
  Due due;
  if (closed_) return due;
  resend_due(now, due.on_link);
  if (ack_due_ && *ack_due_ <= now) due.on_link.push_back(message(SessionKind::ack, 0));
  due.next = next_due();
  return due;
}

std::optional<TimePoint> Session::next_due() const {
  std::optional<TimePoint> next = ack_due_;
  for (std::size_t i = 0; i < reach(); ++i) {
    const Pending& pending = pending_[i];
    if (!pending.arrived && (!next || pending.due < *next)) next = pending.due;
  }
  return next;
}

Frames Session::heartbeat(Duration interval) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(interval).count();
  return message(SessionKind::heartbeat, static_cast<std::uint64_t>(ms));
}

Frames Session::goodbye() { return message(SessionKind::goodbye, first_ + pending_.size() - 1); }

std::vector<Session::Unacknowledged> Session::close() {
  closed_ = true;
  std::vector<Unacknowledged> left_over;
  left_over.reserve(pending_.size());
  std::uint64_t number = first_;
  for (Pending& pending : pending_) {
    left_over.push_back({.number = number++, .body = std::move(pending.body), .left = pending.left});
  }
  first_ = number;
  pending_.clear();
  early_.clear();
  pending_bytes_ = in_flight_bytes_ = early_bytes_ = in_window_ = 0;
  ack_due_.reset();
  return left_over;
}

// Every message that leaves carries the newest acknowledgement, so none is owed afterwards.
Frames Session::message(SessionKind kind, std::uint64_t number) {
  ack_due_.reset();
  unacked_messages_ = unacked_bytes_ = 0;
  return Frames{encode(SessionHeader{
      .kind = kind, .from = self_, .to = peer_, .number = number, .ack = delivered_, .ahead = ahead_bits()})};
}

// A probe has an empty second frame: a link may let messages of a single frame overtake, and a probe must not.
Frames Session::probe() {
  Frames frames = message(SessionKind::probe, ++counts_.probes);
  frames.emplace_back();
  return frames;
}

Frames Session::transmit(TimePoint now, std::size_t index) {
  Pending& pending = pending_[index];
  if (pending.left) {
    ++counts_.resent;
    pending.interval = std::min(options_.resend_max, std::chrono::duration_cast<Duration>(
                                                         pending.interval * options_.resend_growth));
  } else {
    pending.left = true;
    pending.interval = options_.resend_first;
    in_flight_bytes_ += pending.bytes;
  }
  pending.due = now + pending.interval;
  pending.probes_before = counts_.probes;
  Frames frames = message(SessionKind::data, first_ + index);
  frames.insert(frames.end(), pending.body.begin(), pending.body.end());
  return frames;
}

void Session::fill_window(TimePoint now, std::vector<Frames>& on_link) {
  while (in_window_ < pending_.size() && in_window_ < options_.window_messages) {
    on_link.push_back(transmit(now, in_window_++));
  }
}

// What left before the probe and is still missing after its answer was lost: the data lane keeps its order.
void Session::resend_lost(TimePoint now, std::uint64_t answered_probe, std::vector<Frames>& on_link) {
  bool resent = false;
  for (std::size_t i = 0; i < reach(); ++i) {
    if (pending_[i].arrived || pending_[i].probes_before >= answered_probe) continue;
    on_link.push_back(transmit(now, i));
    resent = true;
  }
  // There may be losses beyond what one answer can tell: ask again right behind.
  if (resent && in_window_ > reach()) on_link.push_back(probe());
}

void Session::resend_due(TimePoint now, std::vector<Frames>& on_link) {
  const bool ask_first = in_flight_bytes_ > options_.resend_bytes_max;
  bool overdue = false;
  for (std::size_t i = 0; i < reach(); ++i) {
    Pending& pending = pending_[i];
    if (pending.arrived || pending.due > now) continue;
    overdue = true;
    if (!ask_first) {
      on_link.push_back(transmit(now, i));
      continue;
    }
    pending.due = now + pending.interval;
    pending.interval =
        std::min(options_.resend_max, std::chrono::duration_cast<Duration>(pending.interval * options_.resend_growth));
  }
  if (overdue && ask_first) on_link.push_back(probe());
}

std::optional<Error> Session::refusal(const SessionHeader& header, std::size_t frames) const {
  if (header.from != peer_ || header.to != self_) {
    return failure(ErrorCode::peer_restarted,
                   fmt::format("message from incarnation {} to {} in the session from {} to {}", text(header.from),
                               text(header.to), text(peer_), text(self_)));
  }
  const std::uint64_t sent = first_ + in_window_ - 1;
  if (header.ack > sent) {
    return failure(ErrorCode::protocol_violation,
                   fmt::format("acknowledges message {}, but only {} were sent", header.ack, sent));
  }
  if (header.kind == SessionKind::data && header.number == 0) {
    return failure(ErrorCode::protocol_violation, "data without a sequence number");
  }
  if (header.kind == SessionKind::ack && header.number > counts_.probes) {
    return failure(ErrorCode::protocol_violation,
                   fmt::format("answers probe {}, but only {} were sent", header.number, counts_.probes));
  }
  const std::size_t frames_max = header.kind == SessionKind::probe ? 2 : 1;
  if (header.kind != SessionKind::data && frames > frames_max) {
    return failure(ErrorCode::protocol_violation, fmt::format("control message of {} frames", frames));
  }
  return std::nullopt;
}

void Session::take_acknowledgement(const SessionHeader& header) {
  if (header.ack + 1 < first_) return;  // an old one that was overtaken
  while (first_ <= header.ack) {
    const Pending& pending = pending_.front();
    pending_bytes_ -= pending.bytes;
    if (!pending.arrived) in_flight_bytes_ -= pending.bytes;
    pending_.pop_front();
    --in_window_;
    ++first_;
  }
  for (std::size_t bit = 0; bit < kAheadBits && bit + 1 < in_window_; ++bit) {
    Pending& pending = pending_[bit + 1];
    if ((header.ahead >> bit & 1U) == 0 || pending.arrived) continue;
    pending.arrived = true;
    in_flight_bytes_ -= pending.bytes;
  }
}

void Session::take_data(TimePoint now, std::uint64_t number, Frames body, std::vector<Frames>& delivered) {
  if (number <= delivered_ || early_.contains(number)) {
    ++counts_.duplicates;
    ack_due_ = now;  // the acknowledgement was lost, or is late
    return;
  }
  if (number == delivered_ + 1) {
    deliver(now, std::move(body), delivered);
    for (auto next = early_.begin(); next != early_.end() && next->first == delivered_ + 1; next = early_.begin()) {
      early_bytes_ -= size_of(next->second);
      Frames early = std::move(next->second);
      early_.erase(next);
      deliver(now, std::move(early), delivered);
    }
    return;
  }
  const std::size_t bytes = size_of(body);
  const bool too_many = number - delivered_ > options_.window_messages;
  const bool too_large = !early_.empty() && early_bytes_ + bytes > options_.queue_bytes_max;
  if (too_many || too_large) {
    ++counts_.overflow;
    return;
  }
  if (early_.empty()) ack_due_ = now;  // tells of the gap as soon as it opens
  early_bytes_ += bytes;
  early_.emplace(number, std::move(body));
}

void Session::deliver(TimePoint now, Frames body, std::vector<Frames>& delivered) {
  ++delivered_;
  ++counts_.delivered;
  ++unacked_messages_;
  unacked_bytes_ += size_of(body);
  if (unacked_messages_ >= options_.ack_messages || unacked_bytes_ >= options_.ack_bytes) {
    ack_due_ = now;
  } else if (!ack_due_) {
    ack_due_ = now + options_.ack_delay;
  }
  delivered.push_back(std::move(body));
}

std::uint64_t Session::ahead_bits() const {
  std::uint64_t bits = 0;
  for (const auto& [number, body] : early_) {
    const std::uint64_t bit = number - delivered_ - 2;
    if (bit >= kAheadBits) break;
    bits |= std::uint64_t{1} << bit;
  }
  return bits;
}

// How many of the first messages in flight an acknowledgement can tell apart.
std::size_t Session::reach() const { return std::min(in_window_, kAheadBits + 1); }

}  // namespace troupe
