#include "node/links/pulse.h"

#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
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
  seen_.erase(peer);  // of an earlier session
  trusted_.insert_or_assign(slot, Trusted{.peer = peer, .incarnation = incarnation, .key = key, .serial = ++sessions_});
}

void Pulse::distrust(std::uint32_t slot) {
  const auto trusted = trusted_.find(slot);
  if (trusted == trusted_.end()) return;
  if (const auto seen = seen_.find(trusted->second.peer); seen != seen_.end() && seen->second.slot == slot)
    seen_.erase(seen);
  trusted_.erase(trusted);
}

void Pulse::forget(const NodeName& peer) {
  detector_.forget(peer);
  aimed_.erase(peer);
  met_.erase(peer);
}

void Pulse::meet(const NodeName& peer, GivePage give) {
  met_.insert_or_assign(peer, std::move(give));
  if (const auto aimed = aimed_.find(peer); aimed != aimed_.end()) aimed->second.unseen = 0;
}

void Pulse::see(const NodeName& peer, Incarnation incarnation, PeerPulsePage page) {
  auto newest = trusted_.end();
  for (auto it = trusted_.begin(); it != trusted_.end(); ++it) {
    if (it->second.peer != peer || it->second.incarnation != incarnation) continue;
    if (newest == trusted_.end() || newest->second.serial < it->second.serial) newest = it;
  }
  if (newest == trusted_.end()) return;
  if (const auto seen = seen_.find(peer); seen != seen_.end() && seen->second.slot == newest->first) return;
  keep(newest->second, newest->first, std::move(page));
  // The peer may have said already that it reads this node's: it must hear of this before beats end.
  if (const auto aimed = aimed_.find(peer); aimed != aimed_.end()) aimed->second.owes = true;
}

void Pulse::keep(const Trusted& from, std::uint32_t slot, PeerPulsePage page) {
  const std::uint32_t count = page.read().count;
  seen_.insert_or_assign(from.peer,
                         Seen{.slot = slot, .incarnation = from.incarnation, .page = std::move(page), .count = count});
}

std::optional<FailureDetector::Event> Pulse::take(std::span<const std::byte> datagram, TimePoint now,
                                                  const detail::FileDescriptor& file) {
  const std::optional<Beat> beat = decode_beat(datagram);
  const auto found = beat ? trusted_.find(beat->slot) : trusted_.end();
  if (found == trusted_.end() || beat->number <= found->second.last || !is_proved(datagram, found->second.key)) {
    ++refused_;
    return std::nullopt;
  }
  Trusted& trusted = found->second;
  trusted.last = beat->number;
  learn(trusted, *beat, file);
  return detector_.heard(trusted.peer, trusted.incarnation, beat->said, now);
}

/// What the beat says of the two pages. A peer's page is mapped once in a session.
void Pulse::learn(const Trusted& from, const Beat& beat, const detail::FileDescriptor& file) {
  const auto seen = seen_.find(from.peer);
  if (file.is_open() && (seen == seen_.end() || seen->second.slot != beat.slot)) {
    if (auto page = PeerPulsePage::map(file)) keep(from, beat.slot, std::move(page).value());
  }
  const auto aimed = aimed_.find(from.peer);
  if (aimed == aimed_.end()) return;
  aimed->second.is_seen = beat.sees;
  if (beat.sees) aimed->second.unseen = 0;
  aimed->second.owes = seen_.contains(from.peer) && !beat.is_seen;
}

/// Pages count once both sides read them: until then beats do, which also say whether their sender hears this node.
void Pulse::read_pages(TimePoint now, std::vector<FailureDetector::Event>& events) {
  for (auto& [peer, seen] : seen_) {
    const auto aimed = aimed_.find(peer);
    if (aimed == aimed_.end() || !aimed->second.is_seen) continue;
    const PulseShown shown = seen.page.read();
    if (std::exchange(seen.count, shown.count) == shown.count) continue;
    const FailureDetector::Said said{.interval = shown.interval, .deaf = Duration{0}};
    if (const auto event = detector_.heard(peer, seen.incarnation, said, now)) events.push_back(*event);
  }
}

bool Pulse::is_by_page(const NodeName& peer, const Aimed& aimed) const { return aimed.is_seen && seen_.contains(peer); }

std::size_t Pulse::by_page() const {
  const auto is = [this](const auto& aimed) { return is_by_page(aimed.first, aimed.second); };
  return static_cast<std::size_t>(std::ranges::count_if(aimed_, is));
}

Pulse::Due Pulse::tick(TimePoint now) {
  Due due;
  read_pages(now, due.events);
  FailureDetector::Verdicts verdicts = detector_.tick(now);
  std::ranges::move(verdicts.events, std::back_inserter(due.events));
  due.next = verdicts.next;
  if (page_ && !verdicts.heartbeats.empty()) page_->beat(verdicts.heartbeats.front().said.interval);
  for (const auto& [peer, said] : verdicts.heartbeats) {
    const auto found = aimed_.find(peer);
    if (found == aimed_.end()) continue;
    Aimed& aimed = found->second;
    const bool owes = std::exchange(aimed.owes, false);
    if (is_by_page(peer, aimed) && !owes) continue;
    due.beats.push_back(next_beat(peer, aimed, said));
    give_page(peer, aimed, due.beats.back(), due.gives);
  }
  if (detector_.watched() > kManyPeers + by_page()) due.next = std::min(*due.next, now + kManyPeersRead);
  return due;
}

Pulse::Outgoing Pulse::next_beat(const NodeName& peer, Aimed& aimed, const FailureDetector::Said& said) const {
  const Beat beat{.slot = aimed.target.slot,
                  .number = ++aimed.sent,
                  .said = said,
                  .sees = seen_.contains(peer),
                  .is_seen = aimed.is_seen};
  Outgoing outgoing{.to = aimed.target.address};
  const auto after_mark = std::ranges::copy(aimed.target.mark, outgoing.bytes.begin()).out;
  std::ranges::copy(encode(beat, aimed.target.key), after_mark);
  return outgoing;
}

/// What takes the page may be lost, and a peer that cannot map it is given it seldom.
void Pulse::give_page(const NodeName& peer, Aimed& aimed, Outgoing& beat, std::vector<GivePage>& gives) const {
  const auto met = met_.find(peer);
  const bool is_near = met != met_.end() || aimed.target.address.family() == AF_UNIX;
  if (!page_ || !is_near || aimed.is_seen || !std::has_single_bit(++aimed.unseen)) return;
  if (met != met_.end()) gives.push_back(met->second);
  else beat.file = page_->descriptor();
}

}  // namespace troupe
