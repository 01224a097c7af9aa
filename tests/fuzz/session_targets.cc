// Packets of sessions, and the raw port's calls that they carry.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "actors/sessions/parcel.h"
#include "actors/sessions/session.h"
#include "actors/sessions/session_header.h"
#include "node/port/port_wire.h"
#include "tests/fuzz/fuzz_target.h"

namespace troupe::fuzz {

namespace {

constexpr Incarnation kSelf{.high = 1, .low = 1};
constexpr Incarnation kPeer{.high = 2, .low = 2};

Input with_checksum(Bytes input) {
  constexpr std::size_t kChecksumAt = 120;
  Input bytes = input_of(input);
  if (bytes.size() != SessionHeader::kBytes) return bytes;
  troupe::detail::store_little_endian(std::span(bytes).subspan(kChecksumAt),
                                      std::uint64_t{XXH3_64bits(bytes.data(), kChecksumAt)});
  return bytes;
}

void session_header(Bytes input) {
  (void)decode_session_header(input);
  const Input bytes = with_checksum(input);
  const auto header = decode_session_header(bytes);
  if (!header.ok()) return;
  expect(input_of(encode(header.value()).bytes) == bytes, "a header has one form");
  (void)is_intact({make_frame(bytes), make_frame(input_of(input))});
}

std::vector<Input> session_header_seeds() {
  std::vector<Input> seeds;
  for (const SessionKind kind : {SessionKind::data, SessionKind::ack, SessionKind::probe, SessionKind::goodbye}) {
    seeds.push_back(input_of(encode(SessionHeader{.kind = kind, .from = kPeer, .to = kSelf, .number = 1}).bytes));
  }
  return seeds;
}

/// A session whose peer says what it likes, while this side sends, waits and takes calls back.
class HostilePeer {
 public:
  static constexpr unsigned kInTurn = 192;  ///< below it the number of a packet is the next of its lane

  explicit HostilePeer(Bytes input) : script_(input) {}

  void play() {
    while (!script_.at_end() && !is_over_) {
      switch (script_.u8() % 8U) {
        default: receive(); break;
        case 1: send(); break;
        case 2: now_ += std::chrono::milliseconds(script_.u16()); break;
        case 3: (void)session_.tick(now_); break;
        case 4: take_back(); break;
        case 5: taken_.clear(); break;
        case 6: (void)session_.grant(); break;
        case 7: ride(); break;
      }
      (void)session_.next_due();
      (void)session_.flushed();
    }
    (void)session_.close();
  }

 private:
  void receive() {
    SessionHeader header{.from = kPeer, .to = kSelf};
    constexpr SessionKind kKinds[] = {SessionKind::data, SessionKind::ack, SessionKind::probe, SessionKind::goodbye};
    const unsigned kind = script_.u8();
    header.kind = kKinds[kind % 4U];
    header.lane = static_cast<SessionLane>((kind >> 2U) % kSessionLanes);
    const unsigned part = script_.u8();
    header.part = static_cast<Part>(part % 5U);
    header.acked_lane = static_cast<SessionLane>((part >> 3U) % kSessionLanes);
    const unsigned charge = script_.u8();
    header.charge = static_cast<Charge>(charge % 3U);
    header.riders = static_cast<std::uint8_t>(charge >> 4U & 3U);
    const std::uint64_t number = script_.number();
    header.number = charge < kInTurn ? ++numbers_[index_of(header.lane)] : number;
    header.ack = script_.number();
    header.ahead = script_.u16();
    header.bytes_granted = script_.number();
    header.calls_granted = script_.number();
    header.nested_granted = script_.number();
    header.remaining_us = script_.number();
    header.after = script_.number();
    const std::size_t size = script_.u16() % 512U;
    const Frames frames = frames_of(script_.bytes(size));
    if (header.part == Part::whole && header.lane != SessionLane::express)
      header.bytes_used = size_of(frames) + header.remaining_us;
    Frames packet{encode(header)};
    packet.insert(packet.end(), frames.begin(), frames.end());
    auto received = session_.receive(now_, std::move(packet));
    if (!received.ok()) {
      const ErrorCode code = received.error().code;
      is_over_ = code == ErrorCode::protocol_violation || code == ErrorCode::too_large;
      return;
    }
    for (const Session::Delivered& delivered : received.value().delivered) {
      expect(!delivered.frames.empty(), "what is delivered is a message");
    }
    messages_ += 1 + header.riders;
    expect(received.value().delivered.size() <= messages_, "no message without a packet");
    taken_.push_back(std::move(received.value().delivered));
    session_.reuse(std::move(received).value());
  }

  void send() {
    constexpr std::uint64_t kSendsMax = 4;  // what this side sends needs memory that the peer does not cause
    const unsigned what = script_.u8();
    if (requests_ == kSendsMax) return;
    Posting posting{.of = static_cast<Posting::Class>(what % 5U), .request = {++requests_}};
    if ((what & 32U) != 0) posting.order_key = "key";
    if ((what & 64U) != 0) posting.due = now_ + std::chrono::seconds(1);
    const std::size_t bytes = (what & 128U) != 0 ? 200 : 8;
    (void)session_.send(
        now_, pack({make_frame(Input(4)), make_frame(Input(bytes))}, {.whole_bytes_max = 64, .piece_bytes_max = 64}),
        posting);
  }

  void ride() {
    if (const std::size_t bytes = script_.u8(); !session_.flushed() || bytes % 2 == 0) return;
    (void)session_.ride(now_, pack({make_frame(Input(4)), make_frame(Input(8))}));
  }

  void take_back() {
    const RequestId request{script_.u8()};
    (void)session_.take_back(now_, request);
    (void)session_.take_back_answer(now_, request);
  }

  Reader script_;
  TimePoint now_{std::chrono::hours(1)};
  /// Memory of a message is taken, untouched, when its first bytes come: here messages are small.
  Session session_{kSelf, kPeer, SessionOptions{.assembly = {.bytes_max = 4096}}};
  std::array<std::uint64_t, kSessionLanes> numbers_{};
  std::uint64_t requests_ = 0;
  std::size_t messages_ = 0;  ///< in the packets of the peer
  bool is_over_ = false;
  std::vector<std::vector<Session::Delivered>> taken_;  ///< calls that have not started
};

void session(Bytes input) { HostilePeer(input).play(); }

/// One packet in turn, as the script of a HostilePeer has it.
std::string packet(SessionKind kind, SessionLane lane, Part part, Charge charge, const Frames& frames) {
  const unsigned kind_index = kind == SessionKind::probe     ? 2
                              : kind == SessionKind::goodbye ? 3
                                                             : kind == SessionKind::ack;
  std::string script(1, '\0');
  script += static_cast<char>(kind_index + 4 * index_of(lane));
  script += static_cast<char>(part);  // and about the express lane
  script += static_cast<char>(charge);
  script += std::string(3 + 3 + 2, '\0');                // number, ack, ahead
  for (int i = 0; i < 3; ++i) script += "\x0f\xff\x7f";  // of what is granted
  script += std::string(3 + 3, '\0');
  const Input input = input_of(frames);
  script += static_cast<char>(input.size());
  script += '\0';
  return script += text_of(input);
}

Frame frame_of(std::string_view text) { return make_frame(input_of(text)); }

std::vector<Input> session_seeds() {
  const auto data = [](SessionLane lane, Part part, Charge charge, const Frames& frames) {
    return packet(SessionKind::data, lane, part, charge, frames);
  };
  std::string sizes(16, '\0');  // of frame 0 and of one more
  sizes[0] = 4;
  sizes[8] = 12;
  const Frames table{frame_of(sizes), frame_of("head")};
  std::string cut;
  cut += data(SessionLane::calls, Part::first, Charge::call, table);
  cut += data(SessionLane::calls, Part::middle, Charge::call, {frame_of("six to")});
  std::string all = cut + data(SessionLane::calls, Part::last, Charge::call, {frame_of("twelve")});
  all += data(SessionLane::express, Part::whole, Charge::nested, {frame_of("head"), frame_of("tensor")});
  all += data(SessionLane::answers, Part::whole, Charge::none, {frame_of("answer")});
  all += packet(SessionKind::probe, SessionLane::calls, Part::whole, Charge::none, {frame_of("12345678")});
  const std::string ends =
      packet(SessionKind::goodbye, SessionLane::express, Part::whole, Charge::none, {frame_of(std::string(40, '\0'))});
  const std::string own = "\1\1\1\2\1\x80\1\x23\3\2\xff\xff\3\4\1\6\5";  // sends, waits, takes back
  const std::string dropped = cut + data(SessionLane::calls, Part::dropped, Charge::call, {});
  return {input_of(all), input_of(all + ends), input_of(own + all + own), input_of(dropped + all),
          input_of(own + packet(SessionKind::ack, SessionLane::express, Part::whole, Charge::none, {}))};
}

/// A call of the raw port, its header with the checksums that anybody can compute.
void port_message(Bytes input) {
  constexpr std::size_t kFixed = 32, kChecksumAt = 32, kSizesAt = 40;
  Frames frames = frames_of(input);
  (void)port::decode(frames);
  if (frames.empty() || frames[0].bytes.size() < kSizesAt) return;
  Input header = input_of(frames[0].bytes);
  const std::uint64_t sum =
      XXH3_64bits_withSeed(header.data() + kSizesAt, header.size() - kSizesAt, XXH3_64bits(header.data(), kFixed));
  troupe::detail::store_little_endian(std::span(header).subspan(kChecksumAt), sum);
  frames[0] = make_frame(std::move(header));
  auto decoded = port::decode(frames);
  if (!decoded.ok()) return;
  const Port::Parts parts = port::to_parts(decoded.value().body);
  expect(parts.size() == decoded.value().body.sizes.size(), "every part is there");
  const Frames again = port::encode(std::move(decoded).value());
  expect(std::ranges::equal(again.at(0).bytes, frames[0].bytes), "a header has one form");
}

std::vector<Input> port_message_seeds() {
  std::vector<Input> seeds;
  const auto owner = std::make_shared<const std::string>("twelve bytes");
  for (const port::Message::Kind kind : {port::Message::Kind::call, port::Message::Kind::answer}) {
    for (const Port::Parts& parts : {Port::Parts{}, Port::Parts{{owner->data(), owner->size(), owner}, {}}}) {
      seeds.push_back(
          input_of(port::encode({kind, {9}, kind == port::Message::Kind::call ? 7U : 0U, port::to_body(parts)})));
    }
  }
  seeds.push_back(input_of(port::encode({port::Message::Kind::dropped, {9}, 0, {}})));
  return seeds;
}

}  // namespace

std::vector<Target> session_targets() {
  return {
      {"session_header", "actors/sessions/session_header.cc", session_header, session_header_seeds, 256},
      {"session", "actors/sessions/session_receive.cc actors/sessions/in_lane.cc actors/sessions/assembly.cc", session,
       session_seeds},
      {"port_message", "node/port/port_wire.cc", port_message, port_message_seeds},
  };
}

}  // namespace troupe::fuzz
