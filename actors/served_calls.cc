#include "actors/served_calls.h"

#include <vector>

namespace troupe::detail {

struct ServedCalls::Serving::Table {
  struct Entry {
    std::stop_source stop;
    bool lasting = false;
  };

  explicit Table(std::shared_ptr<Clock> c) : clock(std::move(c)) {}

  const std::shared_ptr<Clock> clock;
  mutable std::mutex mutex;
  std::map<std::pair<NodeLife, RequestId>, Entry> calls;  // guarded by mutex
};

ServedCalls::Serving::~Serving() {
  if (timer_) table_->clock->cancel(*timer_);
  const std::lock_guard lock(table_->mutex);
  table_->calls.erase(key_);
}

ServedCalls::ServedCalls(std::shared_ptr<Clock> clock) : table_(std::make_shared<Serving::Table>(std::move(clock))) {}

ServedCalls::~ServedCalls() = default;

std::shared_ptr<ServedCalls::Serving> ServedCalls::add(const NodeLife& caller, RequestId request, bool lasting) {
  std::shared_ptr<Serving> serving(new Serving);
  serving->table_ = table_;
  serving->key_ = {caller, request};
  const std::lock_guard lock(table_->mutex);
  table_->calls[serving->key_] = {serving->stop_, lasting};
  return serving;
}

std::shared_ptr<ServedCalls::Serving> ServedCalls::begin(const NodeLife& caller, RequestId request) {
  return add(caller, request, false);
}

std::shared_ptr<ServedCalls::Serving> ServedCalls::begin_lasting(const NodeLife& caller, RequestId request,
                                                                 std::optional<TimePoint> due) {
  auto serving = add(caller, request, true);
  if (due) {
    serving->timer_ = table_->clock->at(*due, [stop = serving->stop_]() mutable { stop.request_stop(); });
  }
  return serving;
}

void ServedCalls::cancelled(const NodeLife& caller, RequestId request) {
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard lock(table_->mutex);
    const auto call = table_->calls.find({caller, request});
    if (call != table_->calls.end()) stop = call->second.stop;
  }
  stop.request_stop();
}

void ServedCalls::caller_gone(const NodeLife& caller) {
  std::vector<std::stop_source> stops;
  {
    const std::lock_guard lock(table_->mutex);
    for (const auto& [key, call] : table_->calls) {
      if (key.first == caller && !call.lasting) stops.push_back(call.stop);
    }
  }
  for (std::stop_source& stop : stops) stop.request_stop();
}

void ServedCalls::stop() {
  std::vector<std::stop_source> stops;
  {
    const std::lock_guard lock(table_->mutex);
    for (const auto& [key, call] : table_->calls) stops.push_back(call.stop);
  }
  for (std::stop_source& stop : stops) stop.request_stop();
}

std::size_t ServedCalls::size() const {
  const std::lock_guard lock(table_->mutex);
  return table_->calls.size();
}

}  // namespace troupe::detail
