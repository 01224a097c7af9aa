#include "node/sim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace troupe::sim {
namespace {

// Not the clock's zero, to expose code that treats zero as "never".
constexpr TimePoint kStart{std::chrono::hours(1)};

}  // namespace

Schedule::Schedule(std::uint64_t seed, Duration step_max)
    : seed_(seed), choices_(seed), step_max_(step_max), now_(kStart) {}

Duration Schedule::elapsed() const { return now_ - kStart; }

std::uint64_t Schedule::at(TimePoint due, const NodeName& node, std::string what, std::function<void()> action) {
  if (ended_) return 0;
  require_baton(what);
  const Key key{std::max(due, now_), choices_.bits(), ++last_event_};
  const auto frozen = frozen_.find(node);
  auto& events = frozen != frozen_.end() ? frozen->second : events_;
  events.emplace(key, Event{node, std::move(what), std::move(action)});
  keys_.emplace(key.number, key);
  return key.number;
}

void Schedule::cancel(std::uint64_t event) {
  if (ended_) return;
  require_baton("cancel");
  const auto key = keys_.find(event);
  if (key == keys_.end()) return;
  auto cancelled = events_.extract(key->second);  // destroyed last: its action's captures need consistent tables
  for (auto& [node, events] : frozen_) {
    if (cancelled.empty()) cancelled = events.extract(key->second);
  }
  keys_.erase(key);
}

void Schedule::freeze(const NodeName& node) {
  auto& frozen = frozen_[node];
  for (auto at = events_.begin(); at != events_.end();) {
    const auto event = at++;
    if (event->second.node == node) frozen.insert(events_.extract(event));
  }
}

void Schedule::thaw(const NodeName& node) {
  if (auto frozen = frozen_.extract(node); !frozen.empty()) events_.merge(frozen.mapped());
}

void Schedule::drop_events(const NodeName& node) {
  thaw(node);
  std::vector<Event> dropped;
  for (auto at = events_.begin(); at != events_.end();) {
    if (at->second.node != node) {
      ++at;
      continue;
    }
    keys_.erase(at->first.number);
    dropped.push_back(std::move(at->second));
    at = events_.erase(at);
  }
}

void Schedule::add(Source& source) { sources_.emplace(&source, ++last_source_); }

void Schedule::remove(Source& source) {
  const auto known = sources_.find(&source);
  with_items_.erase(known->second);
  sources_.erase(known);
}

void Schedule::has_items(Source& source) {
  const auto known = sources_.find(&source);
  if (known != sources_.end()) with_items_.emplace(known->second, &source);
}

bool Schedule::step(TimePoint limit) {
  if (now_ > limit) return false;
  std::size_t ready = count_ready();
  if (ready == 0) {
    const auto due = next_due();
    if (!due || *due > limit) {
      if (limit != TimePoint::max()) now_ = limit;
      return false;
    }
    now_ = std::max(now_, *due);
    ready = count_ready();
  }
  ++steps_;
  run_choice(choices_.below(ready), ready);
  now_ = later(now_, choices_.up_to(step_max_)).value_or(TimePoint::max());
  return true;
}

std::size_t Schedule::count_ready() {
  std::size_t ready = !events_.empty() && events_.begin()->first.due <= now_ ? 1 : 0;
  ready_.clear();
  for (auto at = with_items_.begin(); at != with_items_.end();) {
    Source& source = *at->second;
    if (source.empty()) {
      at = with_items_.erase(at);
      continue;
    }
    ++at;
    if (is_frozen(source.node())) continue;
    ready_.emplace_back(&source, source.ready());
    ready += ready_.back().second;
  }
  return ready;
}

std::optional<TimePoint> Schedule::next_due() {
  std::optional<TimePoint> next;
  if (!events_.empty()) next = events_.begin()->first.due;
  for (const auto& [number, source] : with_items_) {
    if (is_frozen(source->node())) continue;
    if (const auto due = source->next_due(); due && (!next || *due < *next)) next = due;
  }
  return next;
}

void Schedule::run_choice(std::uint64_t choice, std::uint64_t choices) {
  std::uint64_t index = choice;
  for (const auto& [source, ready] : ready_) {
    if (index < ready) {
      trace_.decided(elapsed(), source->node(), source->describe(index), choice, choices);
      return source->run(index);
    }
    index -= ready;
  }
  const auto event = events_.extract(events_.begin());
  keys_.erase(event.key().number);
  trace_.decided(elapsed(), event.mapped().node, event.mapped().what, choice, choices);
  event.mapped().action();
}

void Schedule::require_baton(std::string_view what) const {
  if (ended_ || has_baton()) return;
  fmt::print(stderr,
             "[sim] \"{}\" was asked by a thread that the world does not know: in a simulation, functions and "
             "programs start no threads of their own\n",
             what);
  std::abort();
}

void Schedule::end() {
  ended_ = true;
  keys_.clear();
  while (!frozen_.empty()) thaw(frozen_.begin()->first);
  while (!events_.empty()) static_cast<void>(events_.extract(events_.begin()));
}

}  // namespace troupe::sim
