#include "node/links/pulse.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace troupe {
namespace {

// A UDP socket keeps some 250 beats. Fewer peers send fewer between two heartbeats of this node.
constexpr std::size_t kManyPeers = 100;
constexpr Duration kManyPeersRead = std::chrono::milliseconds{200};

}  // namespace

void Pulse::aim(const NodeName& peer, const Target& target, std::uint64_t number) {
  const auto found = aimed_.find(peer);
  if (found != aimed_.end() && found->second.number > number) return;
  aimed_.insert_or_assign(peer, Aimed{.target = target, .number = number});
}

void Pulse::trust(std::uint32_t slot, const NodeName& peer, Incarnation incarnation, const PulseKey& key) {
  trusted_.insert_or_assign(slot, Trusted{.peer = peer, .incarnation = incarnation, .key = key});
}

void Pulse::forget(const NodeName& peer) {
  detector_.forget(peer);
  aimed_.erase(peer);
}

std::optional<FailureDetector::Event> Pulse::take(std::span<const std::byte> datagram, TimePoint now) {
  const std::optional<Beat> beat = decode_beat(datagram);
  const auto found = beat ? trusted_.find(beat->slot) : trusted_.end();
  if (found == trusted_.end() || beat->number <= found->second.last || !is_proved(datagram, found->second.key)) {
    ++refused_;
    return std::nullopt;
  }
  Trusted& trusted = found->second;
  trusted.last = beat->number;
  return detector_.heard(trusted.peer, trusted.incarnation, beat->said, now);
}

Pulse::Due Pulse::tick(TimePoint now) {
  FailureDetector::Verdicts verdicts = detector_.tick(now);
  Due due{.events = std::move(verdicts.events), .beats = {}, .next = verdicts.next};
  for (const auto& [peer, said] : verdicts.heartbeats) {
    const auto found = aimed_.find(peer);
    if (found == aimed_.end()) continue;
    Aimed& aimed = found->second;
    const Beat beat{.slot = aimed.target.slot, .number = ++aimed.sent, .said = said};
    Outgoing outgoing{.to = aimed.target.address};
    const auto after_mark = std::ranges::copy(aimed.target.mark, outgoing.bytes.begin()).out;
    std::ranges::copy(encode(beat, aimed.target.key), after_mark);
    due.beats.push_back(outgoing);
  }
  if (detector_.watched() > kManyPeers) due.next = std::min(*due.next, now + kManyPeersRead);
  return due;
}

}  // namespace troupe
