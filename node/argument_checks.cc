#include "node/argument_checks.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <system_error>

namespace troupe {

std::string refuse_but_seconds(double min, const std::string& text) {
  constexpr double kMax = 3600;
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc{} && end == last && value >= min && value <= kMax) return {};
  return fmt::format("\"{}\" is no number of seconds from {} to {}", text, min, kMax);
}

std::string refuse_but_count(const std::string& text) {
  std::size_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc{} && end == last) return {};
  return fmt::format("\"{}\" is no number from 0 on", text);
}

std::string refuse_empty(const std::string& text) { return text.empty() ? "the text is empty" : ""; }

}  // namespace troupe
