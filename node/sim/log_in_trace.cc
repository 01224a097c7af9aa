#include "node/sim/log_in_trace.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <utility>
#include <vector>

namespace troupe::sim {
namespace {

/// Needs no lock: one thread at a time has the baton.
class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  Sink(std::shared_ptr<Schedule> schedule, std::shared_ptr<spdlog::logger> outside)
      : schedule_(std::move(schedule)), outside_(std::move(outside)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!schedule_->has_baton()) {
      outside_->log(message.time, message.source, message.level, message.payload);
    } else if (!schedule_->ended()) {
      schedule_->remark("log", {message.payload.data(), message.payload.size()});
    }
  }
  void flush_() override {}

 private:
  const std::shared_ptr<Schedule> schedule_;
  const std::shared_ptr<spdlog::logger> outside_;  // for the threads that are none of the world's
};

}  // namespace

struct LogInTrace::State {
  std::shared_ptr<spdlog::logger> logger;
};

namespace {

/// The loggers of the process that receive its log in turn.
struct Loggers {
  std::mutex mutex;
  std::vector<std::shared_ptr<spdlog::logger>> of_worlds;  // guarded by mutex; the newest last
  std::shared_ptr<spdlog::logger> outside;                 // guarded by mutex; that of before, while there are worlds
};

Loggers& loggers() {
  static Loggers all;
  return all;
}

}  // namespace

LogInTrace::LogInTrace(std::shared_ptr<Schedule> schedule) : state_(std::make_unique<State>()) {
  Loggers& all = loggers();
  const std::lock_guard lock(all.mutex);
  if (all.of_worlds.empty()) all.outside = spdlog::default_logger();
  state_->logger = std::make_shared<spdlog::logger>("sim", std::make_shared<Sink>(std::move(schedule), all.outside));
  state_->logger->set_level(spdlog::default_logger()->level());
  all.of_worlds.push_back(state_->logger);
  spdlog::set_default_logger(state_->logger);
}

LogInTrace::~LogInTrace() {
  Loggers& all = loggers();
  const std::lock_guard lock(all.mutex);
  std::erase(all.of_worlds, state_->logger);
  spdlog::set_default_logger(all.of_worlds.empty() ? std::exchange(all.outside, nullptr) : all.of_worlds.back());
}

}  // namespace troupe::sim
