#include "node/links/attempt_limit.h"

#include <algorithm>
#include <chrono>

namespace troupe {
namespace {

constexpr Duration kPatienceMin = std::chrono::milliseconds{100};
constexpr Duration kPatienceAtFirst = std::chrono::milliseconds{500};  // before any answer
constexpr int kPatienceFactor = 4;
constexpr int kSmoothing = 8;

}  // namespace

AttemptLimit::AttemptLimit(Duration longest) : longest_(longest) {}

bool AttemptLimit::ask(Key key, Rank rank, TimePoint now) {
  over(key);
  take_places_back(now);
  if (places_held_ < kPlaces && (waiting_.empty() || rank < waiting_.begin()->first.first)) {
    begin(key, now);
    return true;
  }
  wait(key, rank);
  return false;
}

void AttemptLimit::hurry(Key key, Rank rank) {
  const auto turn = turns_.find(key);
  if (turn == turns_.end() || turn->second.first <= rank) return;
  waiting_.erase(turn->second);
  turns_.erase(turn);
  wait(key, rank);
}

void AttemptLimit::answered(Key key, TimePoint now) {
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return;
  const Duration took = now - found->second.began;
  answers_take_ = answers_take_ ? *answers_take_ + (took - *answers_take_) / kSmoothing : took;
  over(key);
}

void AttemptLimit::over(Key key) {
  if (const auto turn = turns_.extract(key)) waiting_.erase(turn.mapped());
  if (const auto attempt = under_way_.extract(key); attempt && attempt.mapped().holds_place) --places_held_;
}

std::vector<AttemptLimit::Key> AttemptLimit::admit(TimePoint now) {
  std::vector<Key> admitted;
  if (waiting_.empty()) return admitted;
  take_places_back(now);
  while (places_held_ < kPlaces && !waiting_.empty()) {
    const Key key = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    turns_.erase(key);
    begin(key, now);
    admitted.push_back(key);
  }
  return admitted;
}

std::optional<TimePoint> AttemptLimit::next_due() const {
  if (waiting_.empty()) return std::nullopt;
  if (places_held_ < kPlaces) return TimePoint{};  // at once
  std::optional<TimePoint> due;
  for (const auto& [key, attempt] : under_way_) {
    if (attempt.holds_place && (!due || attempt.began + patience() < *due)) due = attempt.began + patience();
  }
  return due;
}

Duration AttemptLimit::patience() const {
  const Duration wanted = answers_take_ ? *answers_take_ * kPatienceFactor : kPatienceAtFirst;
  return std::min(std::max(wanted, kPatienceMin), longest_);
}

void AttemptLimit::begin(Key key, TimePoint now) {
  under_way_.emplace(key, Attempt{.began = now});
  ++places_held_;
}

void AttemptLimit::wait(Key key, Rank rank) {
  const Turn turn{rank, ++asked_};
  waiting_.emplace(turn, key);
  turns_.emplace(key, turn);
}

void AttemptLimit::take_places_back(TimePoint now) {
  if (places_held_ < kPlaces) return;
  for (auto& [key, attempt] : under_way_) {
    if (!attempt.holds_place || now - attempt.began < patience()) continue;
    attempt.holds_place = false;
    --places_held_;
  }
}

}  // namespace troupe
