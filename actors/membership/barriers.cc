#include "actors/membership/barriers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "actors/membership/entry_note.h"

namespace troupe::detail {
namespace {

constexpr std::chrono::hours kLimitMax{365 * 24};  ///< bound on a peer's limit: as good as none, and no clock overflows

/// Returns the size of what an entry brings and of the names that say where it meets.
std::size_t bytes_of_entry(const msg::BarrierEntered& entered) {
  std::size_t bytes = entered.operation.size() + entered.own.value.bytes.bytes.size();
  for (const NodeName& member : entered.members) bytes += sizeof(member) + member.size();
  for (const Frame& tensor : entered.own.value.tensors) bytes += tensor.bytes.size();
  return bytes;
}

Error given_up() {
  Error error;
  error.code = ErrorCode::cancelled;
  error.message = "the member gave its entry up";
  return error;
}

}  // namespace

std::optional<TimePoint> Barriers::enter(TimePoint now, const NodeName& member, msg::BarrierEntered entered,
                                         Answer answer) {
  const auto refuse = [&answer](Error why) -> std::optional<TimePoint> {
    answer(std::move(why));
    return std::nullopt;
  };
  const bool is_word = answer == nullptr;
  if (is_word) answer = [](const Result<msg::BarrierPassed>&) {};
  const std::size_t bytes = bytes_of_entry(entered);
  Place place{std::move(entered.operation), std::move(entered.members), std::move(entered.receiver),
              entered.without_dead};
  if (!std::binary_search(place.members.begin(), place.members.end(), member)) {
    Error error;
    error.code = ErrorCode::bad_argument;
    error.message = fmt::format("{} is no member of the group that it waits for", member);
    return refuse(std::move(error));
  }
  if (place.members.size() > kMembersMax) {
    Error error;
    error.code = ErrorCode::bad_argument;
    error.execution = Execution::never;
    error.message =
        fmt::format("{} waits for a group of {} members: at most {} meet", member, place.members.size(), kMembersMax);
    return refuse(std::move(error));
  }
  if (left_before(member, entered.entry)) return refuse(given_up());
  if (!places_.contains(place)) {  // where others wait, nothing is in the way: gone() sees to it
    if (auto error = obstacle(place)) return refuse(std::move(*error));
  }
  auto counted = count(member, bytes);
  if (!counted) return refuse(counted.error());
  std::optional<TimePoint> due;
  if (entered.limit.count() != 0) due = now + std::clamp<std::chrono::microseconds>(entered.limit, {}, kLimitMax);
  const auto at = places_.try_emplace(std::move(place)).first;
  at->second.entries[member].push_back({std::move(entered.entry), std::move(entered.own), now, due, std::move(answer),
                                        is_word, std::move(counted).value()});
  settle(at);
  return due;
}

Barriers::Counted::Counted(std::shared_ptr<Held> held, std::size_t bytes) : held_(std::move(held)), bytes_(bytes) {
  ++held_->entries;
  held_->bytes += bytes_;
}

Barriers::Counted& Barriers::Counted::operator=(Counted&& other) noexcept {
  std::swap(held_, other.held_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Barriers::Counted::~Counted() {
  if (!held_) return;
  --held_->entries;
  held_->bytes -= bytes_;
}

Result<Barriers::Counted> Barriers::count(const NodeName& member, std::size_t bytes) {
  std::weak_ptr<Held>& known = held_[member];
  std::shared_ptr<Held> held = known.lock();
  if (!held) known = held = std::make_shared<Held>();
  if (held->entries < kEntriesMax && (held->entries == 0 || bytes <= kBytesMax - std::min(held->bytes, kBytesMax)))
    return Counted(std::move(held), bytes);
  Error error;
  error.code = ErrorCode::resource_exhausted;
  error.execution = Execution::never;
  error.message = fmt::format(
      "{} entries of {} with {} bytes wait already, and {} bytes would be one too many: at most {} entries with {} "
      "bytes may wait; enter fewer barriers at one time",
      held->entries, member, held->bytes, bytes, kEntriesMax, kBytesMax);
  return error;
}

void Barriers::left(const NodeName& member, const BarrierEntryId& entry) {
  for (auto at = places_.begin(); at != places_.end(); ++at) {
    Entries& entries = at->second.entries;
    const auto named = entries.find(member);
    if (named == entries.end()) continue;
    std::deque<Entry>& waiting = named->second;
    const auto found = std::ranges::find(waiting, entry, &Entry::id);
    if (found == waiting.end()) continue;
    const Answer answer = std::move(found->answer);
    waiting.erase(found);
    if (waiting.empty()) entries.erase(named);
    if (entries.empty()) places_.erase(at);
    return answer(given_up());
  }
  if (!up_.contains(member)) return;
  std::deque<BarrierEntryId>& left = left_[member];  // it was answered, or has not arrived
  left.push_back(entry);
  if (left.size() > kLeftMax) left.pop_front();
}

/// Removes the record: an entry arrives once.
bool Barriers::left_before(const NodeName& member, const BarrierEntryId& entry) {
  const auto named = left_.find(member);
  if (named == left_.end() || std::erase(named->second, entry) == 0) return false;
  if (named->second.empty()) left_.erase(named);
  return true;
}

void Barriers::came(const NodeName& peer) {
  up_.insert(peer);
  if (const auto former = gone_.extract(peer)) gone_in_order_.erase(former.mapped().place);
}

void Barriers::gone(const NodeName& peer, const Error& why) {
  came(peer);  // forgets why a former life of it is gone
  up_.erase(peer);
  gone_.emplace(peer, Gone{why, gone_in_order_.insert(gone_in_order_.end(), peer)});
  if (gone_in_order_.size() > kGoneMax) {
    gone_.erase(gone_in_order_.front());
    gone_in_order_.pop_front();
  }
  left_.erase(peer);
  held_.erase(peer);
  std::vector<std::pair<Answer, Error>> failed;
  for (auto at = places_.begin(); at != places_.end();) {
    const auto current = at++;
    current->second.entries.erase(peer);  // destroys its entries' answers unused
    if (auto error = obstacle(current->first)) {
      for (auto& [member, entries] : current->second.entries) {
        for (Entry& entry : entries) failed.emplace_back(std::move(entry.answer), *error);
      }
      places_.erase(current);
    } else {
      settle(current);
    }
  }
  for (auto& [answer, error] : failed) answer(std::move(error));
}

/// Returns why the members cannot meet: one is gone and may not be left out.
std::optional<Error> Barriers::obstacle(const Place& place) const {
  if (place.without_dead) return std::nullopt;
  const auto absent = std::find_if(place.members.begin(), place.members.end(),
                                   [this](const NodeName& name) { return !up_.contains(name); });
  return absent == place.members.end() ? std::nullopt : std::optional(absence(*absent));
}

Error Barriers::absence(const NodeName& member) const {
  Error error;
  if (const auto known = gone_.find(member); known != gone_.end()) {
    error = known->second.why;
  } else {
    error.code = ErrorCode::not_joined;
    error.message = "no node of that name is in this cluster";
  }
  error.peer = member;
  error.operation.clear();
  return error;
}

bool Barriers::all_there(const Place& place, Meeting& meeting) const {
  const auto is_awaited = [&](const NodeName& name) { return up_.contains(name) && !meeting.entries.contains(name); };
  if (is_awaited(place.members[meeting.awaited])) return false;  // as a rule: the entries of n members walk n names
  const auto first = std::ranges::find_if(place.members, is_awaited);
  if (first == place.members.end()) return true;
  meeting.awaited = static_cast<std::size_t>(first - place.members.begin());
  return false;
}

/// Answers all answerable entries at one place, and removes the place if no entry waits there.
void Barriers::settle(Places::iterator at) {
  const Place& place = at->first;
  Entries& entries = at->second.entries;
  struct Met {
    Answer answer;
    std::shared_ptr<const msg::BarrierPassed> passed;  // of all that met: a copy for each is made when it is answered
    bool receives = false;
  };
  std::vector<Met> met;
  while (!entries.empty() && all_there(place, at->second)) {
    const auto all = std::make_shared<msg::BarrierPassed>();
    msg::BarrierPassed& passed = *all;
    std::vector<std::pair<NodeName, Answer>> told;
    for (const NodeName& name : place.members) {
      const auto found = entries.find(name);
      if (found == entries.end()) {
        passed.missing.emplace_back(name, absence(name));
        continue;
      }
      Entry entry = std::move(found->second.front());
      found->second.pop_front();
      if (found->second.empty()) entries.erase(found);
      passed.values.emplace_back(name, std::move(entry.own));
      told.emplace_back(name, std::move(entry.answer));
    }
    if (place.without_dead && place.receiver.empty()) merge_notes(passed.values, place.members);
    for (auto& [name, answer] : told)
      met.push_back({std::move(answer), all, place.receiver.empty() || place.receiver == name});
  }
  if (entries.empty()) places_.erase(at);
  for (const Met& each : met) each.answer(each.receives ? *each.passed : msg::BarrierPassed{{}, each.passed->missing});
}

void Barriers::expire(TimePoint now) {
  std::vector<std::pair<Answer, Error>> expired;
  for (auto& [place, meeting] : places_) {
    Entries& entries = meeting.entries;
    const auto is_late = [now](const Entry& entry) { return entry.due && *entry.due <= now; };
    const auto has_late = [&](const auto& named) { return std::ranges::any_of(named.second, is_late); };
    if (std::ranges::none_of(entries, has_late)) continue;  // a place may have many members
    const std::vector<NodeName> absent = missing_at(place, entries);
    for (auto& [name, waiting] : entries) {
      std::erase_if(waiting, [&, &at = place](Entry& entry) {
        if (!is_late(entry)) return false;
        expired.emplace_back(std::move(entry.answer), late(at, absent, now - entry.came));
        return true;
      });
    }
    std::erase_if(entries, [](const auto& named) { return named.second.empty(); });
  }
  std::erase_if(places_, [](const auto& place) { return place.second.entries.empty(); });
  for (auto& [answer, error] : expired) answer(std::move(error));
}

std::vector<NodeName> Barriers::missing_at(const Place& place, const Entries& entries) {
  std::vector<NodeName> absent;
  for (const NodeName& name : place.members) {
    if (!entries.contains(name)) absent.push_back(name);
  }
  return absent;
}

Error Barriers::late(const Place& place, const std::vector<NodeName>& absent, Duration waited) {
  Error error;
  error.code = ErrorCode::timeout;
  error.message = fmt::format("timed out in {} after {:.2f} seconds: {} did not come", place.operation,
                              std::chrono::duration<double>(waited).count(), fmt::join(absent, ", "));
  return error;
}

std::optional<TimePoint> Barriers::next_due() const {
  std::optional<TimePoint> next;
  for (const auto& [place, meeting] : places_) {
    for (const auto& [name, waiting] : meeting.entries) {
      for (const Entry& entry : waiting) {
        if (entry.due && (!next || *entry.due < *next)) next = entry.due;
      }
    }
  }
  return next;
}

void Barriers::stop(const Error& why) {
  for (auto& [place, meeting] : std::exchange(places_, {})) {
    for (auto& [name, waiting] : meeting.entries) {
      for (Entry& entry : waiting) entry.answer(why);
    }
  }
}

std::vector<OpenBarrier> Barriers::open(TimePoint now) const {
  std::vector<OpenBarrier> barriers;
  for (const auto& [place, meeting] : places_) {
    OpenBarrier barrier{place.operation, {}, missing_at(place, meeting.entries)};
    for (const auto& [name, waiting] : meeting.entries) {
      for (const Entry& entry : waiting) {
        if (!entry.is_word) barrier.waiting.emplace_back(name, now - entry.came);
      }
    }
    if (barrier.waiting.empty()) continue;
    std::stable_sort(barrier.waiting.begin(), barrier.waiting.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    barriers.push_back(std::move(barrier));
  }
  return barriers;
}

std::size_t Barriers::size() const {
  std::size_t count = 0;
  for (const auto& [place, meeting] : places_) {
    for (const auto& [name, waiting] : meeting.entries) count += waiting.size();
  }
  return count;
}

}  // namespace troupe::detail
