#include "node/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstddef>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "node/visible_text.h"

namespace troupe {

namespace {

constexpr std::size_t kEntryMax = 16U << 10U;  // bytes of one entry: a text that a program throws may be of any size

/// The text of an entry, in the place of %v.
class EntryText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& entry, const std::tm& /*time*/, spdlog::memory_buf_t& to) override {
    const std::string text = detail::entry_text({entry.payload.data(), entry.payload.size()});
    to.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<EntryText>(); }
};

}  // namespace

std::string detail::entry_text(std::string_view text) {
  if (text.size() > kEntryMax) {
    std::size_t end = kEntryMax;
    while (end > kEntryMax - 3 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // a whole character
    return fmt::format("{} [{} more bytes]", entry_text(text.substr(0, end)), text.size() - end);
  }
  std::string shown;
  for (const char each : visible_text(text)) {
    shown += each;
    if (each == '\n') shown += "    ";
  }
  return shown;
}

void log_to_stderr(std::string_view level) {
  auto logger = std::make_shared<spdlog::logger>("troupe", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_level(spdlog::level::from_str(std::string(level)));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EntryText>('*').set_pattern("%H:%M:%S.%e %^%l%$ %*");
  logger->set_formatter(std::move(formatter));
  spdlog::set_default_logger(std::move(logger));
}

void keep_log_off_stdout() {
  const auto logger = spdlog::default_logger();
  if (logger == nullptr || !logger->name().empty() || logger->sinks().size() != 1) return;
  const bool is_first = dynamic_cast<spdlog::sinks::stdout_color_sink_mt*>(logger->sinks().front().get()) != nullptr;
  if (is_first) log_to_stderr("info");
}

}  // namespace troupe
