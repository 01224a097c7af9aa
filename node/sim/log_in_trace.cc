#include "node/sim/log_in_trace.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::sim {
namespace {

/// The worlds that receive the process's log. One object for all, beside spdlog's default logger, which belongs to the
/// process too. It and its logger are never destroyed: spdlog hands the default logger out without ownership, so a
/// thread may be in it when the last world ends, or the process.
class Worlds {
 public:
  static Worlds& all() {
    static Worlds* const worlds = new Worlds;
    return *worlds;
  }

  void add(std::shared_ptr<Schedule> schedule) {
    const std::lock_guard lock(mutex_);
    living_.push_back(std::move(schedule));
    auto before = spdlog::default_logger();
    if (before == logger_) return;
    outside_ = std::move(before);
    logger_->set_level(outside_->level());
    spdlog::set_default_logger(logger_);
  }

  void remove(const std::shared_ptr<Schedule>& schedule) {
    const std::lock_guard lock(mutex_);
    std::erase(living_, schedule);
    if (living_.empty() && spdlog::default_logger() == logger_) spdlog::set_default_logger(outside_);
  }

  /// Called on the thread that logs. Holds no lock while the entry is written.
  void log(const spdlog::details::log_msg& message) {
    std::shared_ptr<Schedule> schedule;
    std::shared_ptr<spdlog::logger> outside;
    {
      const std::lock_guard lock(mutex_);
      const auto newest = std::find_if(living_.rbegin(), living_.rend(), [](const auto& s) { return s->has_baton(); });
      if (newest != living_.rend()) schedule = *newest;
      outside = outside_;
    }
    if (!schedule) {
      outside->log(message.time, message.source, message.level, message.payload);
    } else if (!schedule->ended()) {
      schedule->remark("log", {message.payload.data(), message.payload.size()});
    }
  }

 private:
  /// Needs no lock of its own.
  class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
    void sink_it_(const spdlog::details::log_msg& message) override { all().log(message); }
    void flush_() override {}
  };

  const std::shared_ptr<spdlog::logger> logger_ = std::make_shared<spdlog::logger>("sim", std::make_shared<Sink>());
  std::mutex mutex_;
  std::vector<std::shared_ptr<Schedule>> living_;  // guarded by mutex_; the newest last
  std::shared_ptr<spdlog::logger> outside_;  // guarded by mutex_; the default logger before logger_, kept after it
};

}  // namespace

LogInTrace::LogInTrace(std::shared_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {
  Worlds::all().add(schedule_);
}

LogInTrace::~LogInTrace() { Worlds::all().remove(schedule_); }

}  // namespace troupe::sim
