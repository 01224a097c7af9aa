#include "node/sim/log_in_trace.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <utility>

namespace troupe::sim {
namespace {

class Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Sink(std::shared_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!schedule_->ended()) schedule_->remark("log", {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

 private:
  const std::shared_ptr<Schedule> schedule_;
};

}  // namespace

struct LogInTrace::State {
  std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
};

LogInTrace::LogInTrace(std::shared_ptr<Schedule> schedule) : state_(std::make_unique<State>()) {
  auto logger = std::make_shared<spdlog::logger>("sim", std::make_shared<Sink>(std::move(schedule)));
  logger->set_level(state_->before->level());
  spdlog::set_default_logger(std::move(logger));
}

LogInTrace::~LogInTrace() { spdlog::set_default_logger(state_->before); }

}  // namespace troupe::sim
