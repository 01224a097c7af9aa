#include "actors/calls/served_calls.h"

#include <algorithm>
#include <deque>
#include <tuple>

namespace troupe::detail {

struct ServedCalls::Serving::Table {
  struct Entry {
    std::stop_source stop;
    bool lasting = false;
    std::string operation;
    TimePoint began;
    bool caller_is_gone = false;
    bool only_waits = true;        // its function does not run yet, or any more
    std::optional<TimePoint> due;  // of one that answers later
  };

  Table(std::shared_ptr<Clock> c, std::shared_ptr<Executor> p) : clock(std::move(c)), pool(std::move(p)) {}

  const std::shared_ptr<Clock> clock;
  const std::shared_ptr<Executor> pool;
  mutable std::mutex mutex;
  std::map<std::pair<NodeLife, RequestId>, Entry> calls;    // guarded by mutex
  std::map<NodeLife, std::deque<RequestId>> early_cancels;  // guarded by mutex; may include answered calls
};

namespace {

/// Runs the stop callbacks even if all threads of the pool are busy: perhaps with the functions that must stop.
void request_stop(Executor& pool, std::stop_source stop) {
  if (!stop.stop_possible()) return;
  std::ignore = pool.submit(
      {.label = "stop callbacks", .run = [stop]() mutable { stop.request_stop(); }, .urgency = Urgency::at_once});
}

}  // namespace

ServedCalls::Serving::~Serving() {
  if (!table_) return;  // it was never begun
  if (timer_) table_->clock->cancel(*timer_);
  const std::lock_guard lock(table_->mutex);
  table_->calls.erase(key_);
}

void ServedCalls::Serving::caller_gone() {
  bool lasting = false;
  {
    const std::lock_guard lock(table_->mutex);
    const auto call = table_->calls.find(key_);
    if (call == table_->calls.end()) return;  // a peer that lies has used its number twice
    call->second.caller_is_gone = true;
    lasting = call->second.lasting;
  }
  if (!lasting) stop_.request_stop();
}

void ServedCalls::Serving::runs() {
  const std::lock_guard lock(table_->mutex);
  const auto call = table_->calls.find(key_);
  if (call != table_->calls.end()) call->second.only_waits = false;  // as above
}

void ServedCalls::Serving::answers_later(std::optional<TimePoint> due) {
  const std::lock_guard lock(table_->mutex);
  const auto call = table_->calls.find(key_);
  if (call == table_->calls.end()) return;  // as above
  call->second.only_waits = true;
  call->second.due = due;
}

ServedCalls::ServedCalls(std::shared_ptr<Clock> clock, std::shared_ptr<Executor> pool)
    : table_(std::make_shared<Serving::Table>(std::move(clock), std::move(pool))) {}

ServedCalls::~ServedCalls() = default;

std::shared_ptr<ServedCalls::Serving> ServedCalls::add(const NodeLife& caller, RequestId request, bool lasting,
                                                       std::string operation) {
  std::shared_ptr<Serving> serving(new Serving);
  serving->table_ = table_;
  serving->key_ = {caller, request};
  const TimePoint now = table_->clock->now();
  const std::lock_guard lock(table_->mutex);
  table_->calls.insert_or_assign(
      serving->key_, Serving::Table::Entry{serving->stop_, lasting, std::move(operation), now, false, true, {}});
  const auto early = table_->early_cancels.find(caller);
  if (early != table_->early_cancels.end() && std::erase(early->second, request) > 0) serving->stop_.request_stop();
  return serving;
}

std::shared_ptr<ServedCalls::Serving> ServedCalls::begin(const NodeLife& caller, RequestId request,
                                                         std::string operation) {
  return add(caller, request, false, std::move(operation));
}

std::shared_ptr<ServedCalls::Serving> ServedCalls::begin_lasting(const NodeLife& caller, RequestId request,
                                                                 std::optional<TimePoint> due, std::string operation) {
  auto serving = add(caller, request, true, std::move(operation));
  if (due) {
    serving->timer_ =
        table_->clock->at(*due, [stop = serving->stop_, pool = table_->pool] { request_stop(*pool, stop); });
  }
  return serving;
}

void ServedCalls::cancelled(const NodeLife& caller, RequestId request) {
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard lock(table_->mutex);
    const auto call = table_->calls.find({caller, request});
    if (call != table_->calls.end()) {
      stop = call->second.stop;
    } else {
      auto& early = table_->early_cancels[caller];
      early.push_back(request);
      if (early.size() > kEarlyCancelsMax) early.pop_front();
    }
  }
  request_stop(*table_->pool, stop);
}

void ServedCalls::caller_gone(const NodeLife& caller) {
  std::vector<std::stop_source> stops;
  {
    const std::lock_guard lock(table_->mutex);
    table_->early_cancels.erase(caller);
    for (auto& [key, call] : table_->calls) {
      if (key.first != caller) continue;
      call.caller_is_gone = true;
      if (!call.lasting) stops.push_back(call.stop);
    }
  }
  for (const std::stop_source& stop : stops) request_stop(*table_->pool, stop);
}

void ServedCalls::stop() {
  std::vector<std::stop_source> stops;
  {
    const std::lock_guard lock(table_->mutex);
    for (const auto& [key, call] : table_->calls) stops.push_back(call.stop);
  }
  for (const std::stop_source& stop : stops) request_stop(*table_->pool, stop);
}

std::size_t ServedCalls::size() const {
  const std::lock_guard lock(table_->mutex);
  return table_->calls.size();
}

std::size_t ServedCalls::awaited() const {
  const TimePoint now = table_->clock->now();
  const auto is_awaited = [now](const auto& entry) {
    const Serving::Table::Entry& call = entry.second;
    const bool is_unwanted = call.stop.stop_requested() || call.caller_is_gone || (call.due && *call.due <= now);
    return !(call.only_waits && is_unwanted);
  };
  const std::lock_guard lock(table_->mutex);
  return static_cast<std::size_t>(std::ranges::count_if(table_->calls, is_awaited));
}

std::vector<ServedFunction> ServedCalls::oldest(std::size_t count) const {
  const TimePoint now = table_->clock->now();
  std::vector<ServedFunction> served;
  {
    const std::lock_guard lock(table_->mutex);
    for (const auto& [key, call] : table_->calls) served.push_back({call.operation, key.first.name, now - call.began});
  }
  std::stable_sort(served.begin(), served.end(), [](const auto& a, const auto& b) { return a.age > b.age; });
  if (served.size() > count) served.resize(count);
  return served;
}

}  // namespace troupe::detail
