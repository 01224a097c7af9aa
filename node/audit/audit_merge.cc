#include "node/audit/audit_merge.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace troupe {
namespace {

constexpr Duration kMergedFor = std::chrono::seconds{1};
constexpr Duration kOthersEvery = std::chrono::seconds{10};

void cut(std::string& text) {
  if (text.size() > AuditMerge::kTextMax) text.resize(AuditMerge::kTextMax);
}

}  // namespace

bool AuditMerge::Lines::take(TimePoint now) {
  if (counted_at) {
    const double seconds = std::chrono::duration<double>(now - *counted_at).count();
    left = std::min(kLinesAtOnce, left + std::max(0.0, seconds) * kLinesPerSecond);
  }
  counted_at = now;
  if (left < 1) return false;
  left -= 1;
  return true;
}

void AuditMerge::add(AuditEntry entry, TimePoint now, WallTime time) {
  for (std::string* text : {&entry.reason, &entry.peer, &entry.address}) cut(*text);
  if (entry.event == AuditEvent::head) return ready_.push_back({std::move(entry), 1, time});
  Lines& lines = lines_[entry.event];
  if (const auto found = lines.repeats.find(entry); found != lines.repeats.end()) {
    if (found->second.count++ == 0) found->second.time = time;
    return;
  }
  if (lines.repeats.size() < kDistinctMax && lines.take(now)) {
    lines.repeats.emplace(entry, Repeats{.count = 0, .time = time, .due = now + kMergedFor});
    ready_.push_back({std::move(entry), 1, time});
    return;
  }
  if (lines.others.count++ > 0) return;
  lines.others.time = time;
  lines.others.due = std::max(lines.others.due, now);
}

std::vector<AuditMerge::Counted> AuditMerge::take(TimePoint now) {
  std::vector<Counted> taken = std::exchange(ready_, {});
  try {
    take_due(taken, now);
  } catch (const std::bad_alloc&) {
    ready_ = std::move(taken);
    throw;
  }
  return taken;
}

// A count is set to zero once its entry is copied.
void AuditMerge::take_due(std::vector<Counted>& taken, TimePoint now) {
  for (auto& [event, lines] : lines_) {
    for (auto at = lines.repeats.begin(); at != lines.repeats.end();) {
      auto& [entry, repeats] = *at;
      if (repeats.due <= now && repeats.count == 0) {
        at = lines.repeats.erase(at);
        continue;
      }
      if (repeats.due <= now) {
        if (lines.take(now)) {
          taken.push_back({entry, repeats.count, repeats.time});
          repeats.count = 0;
        }
        repeats.due = now + kMergedFor;
      }
      ++at;
    }
    if (lines.others.count == 0 || lines.others.due > now) continue;
    taken.push_back({{.event = event, .reason = kOthers}, lines.others.count, lines.others.time});
    lines.others.count = 0;
    lines.others.due = now + kOthersEvery;
  }
}

std::vector<AuditMerge::Counted> AuditMerge::take_all() {
  std::vector<Counted> taken = std::exchange(ready_, {});
  try {
    take_counts(taken);
  } catch (const std::bad_alloc&) {
    ready_ = std::move(taken);
    throw;
  }
  lines_.clear();
  return taken;
}

void AuditMerge::take_counts(std::vector<Counted>& taken) {
  for (auto& [event, lines] : lines_) {
    for (auto& [entry, repeats] : lines.repeats) {
      if (repeats.count == 0) continue;
      taken.push_back({entry, repeats.count, repeats.time});
      repeats.count = 0;
    }
    if (lines.others.count == 0) continue;
    taken.push_back({{.event = event, .reason = kOthers}, lines.others.count, lines.others.time});
    lines.others.count = 0;
  }
}

std::uint64_t AuditMerge::drop_all() noexcept {
  std::uint64_t count = 0;
  for (const Counted& each : ready_) count += each.count;
  for (const auto& [event, lines] : lines_) {
    for (const auto& [entry, repeats] : lines.repeats) count += repeats.count;
    count += lines.others.count;
  }
  ready_.clear();
  lines_.clear();
  return count;
}

std::optional<TimePoint> AuditMerge::next_due() const {
  std::optional<TimePoint> next;
  const auto no_later_than = [&next](TimePoint time) { next = next ? std::min(*next, time) : time; };
  for (const auto& [event, lines] : lines_) {
    for (const auto& [entry, repeats] : lines.repeats) no_later_than(repeats.due);
    if (lines.others.count > 0) no_later_than(lines.others.due);
  }
  return next;
}

}  // namespace troupe
