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
  table_->calls.insert_or_assign(serving->key_,
                                 Serving::Table::Entry{serving->stop_, lasting, std::move(operation), now});
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
    for (const auto& [key, call] : table_->calls) {
      if (key.first == caller && !call.lasting) stops.push_back(call.stop);
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
