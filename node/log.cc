#include "node/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>

namespace troupe {

void log_to_stderr(std::string_view level) {
  auto logger = std::make_shared<spdlog::logger>("troupe", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_level(spdlog::level::from_str(std::string(level)));
  logger->set_pattern("%H:%M:%S.%e %^%l%$ %v");
  spdlog::set_default_logger(std::move(logger));
}

void keep_log_off_stdout() {
  const auto logger = spdlog::default_logger();
  if (logger == nullptr || !logger->name().empty() || logger->sinks().size() != 1) return;
  const bool is_first = dynamic_cast<spdlog::sinks::stdout_color_sink_mt*>(logger->sinks().front().get()) != nullptr;
  if (is_first) log_to_stderr("info");
}

}  // namespace troupe
