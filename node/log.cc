#include "node/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "node/config/settings.h"
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

/// The loggers that outlive all who may use them. spdlog hands out its default logger without ownership: a thread may
/// be in the former one when another takes its place, and threads log while the static objects of a process are
/// destroyed.
struct LoggersForEver {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> own;                    ///< Troupe's, once it was needed; guarded by mutex
  std::vector<std::shared_ptr<spdlog::logger>> replaced;  ///< default ones before it; guarded by mutex
};

/// Never destroyed.
LoggersForEver& loggers_for_ever() {
  static LoggersForEver* const all = new LoggersForEver;
  return *all;
}

std::shared_ptr<spdlog::logger> make_logger() {
  auto logger = std::make_shared<spdlog::logger>("troupe", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EntryText>('*').set_pattern("%H:%M:%S.%e %^%l%$ %*");
  logger->set_formatter(std::move(formatter));
  return logger;
}

/// Throws std::invalid_argument unless a cluster file may have `level` as node.log_level. spdlog takes a word that it
/// does not know for "off".
void check_level(std::string_view level) {
  const auto specs = cluster_setting_specs();
  const auto spec = std::ranges::find(specs, "log_level", &SettingSpec::key);
  try {
    (void)checked(*spec, Untyped{std::string(level)});
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("log_level: {}", error.what()));
  }
}

/// Makes Troupe's logger the default one; its level stays if `level` is empty. REQUIRES: `kept.mutex` is held.
void install(LoggersForEver& kept, std::string_view level) {
  if (kept.own == nullptr) kept.own = make_logger();
  if (!level.empty()) kept.own->set_level(spdlog::level::from_str(std::string(level)));
  const auto former = spdlog::default_logger();
  if (former == kept.own) return;
  if (std::ranges::find(kept.replaced, former) == kept.replaced.end()) kept.replaced.push_back(former);
  spdlog::set_default_logger(kept.own);
}

/// Returns whether no program has put a logger there: it is that with which spdlog begins, or none.
bool is_initial(const std::shared_ptr<spdlog::logger>& logger) {
  if (logger == nullptr) return true;
  if (!logger->name().empty() || logger->sinks().size() != 1) return false;
  return dynamic_cast<spdlog::sinks::stdout_color_sink_mt*>(logger->sinks().front().get()) != nullptr;
}

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
  check_level(level);
  LoggersForEver& kept = loggers_for_ever();
  const std::lock_guard lock(kept.mutex);
  install(kept, level);
}

void keep_log_off_stdout(std::string_view level) {
  if (!level.empty()) check_level(level);
  LoggersForEver& kept = loggers_for_ever();
  const std::lock_guard lock(kept.mutex);
  const auto logger = spdlog::default_logger();
  if (is_initial(logger) || logger == kept.own) install(kept, level);
}

}  // namespace troupe
