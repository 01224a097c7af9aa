#include "node/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace troupe::detail {

std::string TextTable::text(std::size_t indent) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(column.heading.size());
  for (const auto& row : rows_) {
    const bool is_cut_short = row.size() < columns_.size();
    for (std::size_t i = 0; i + (is_cut_short ? 1 : 0) < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of, std::size_t count) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < count; ++i) {
      if (columns_[i].heading.empty()) continue;
      const std::string& cell = cell_of(i);
      line += columns_[i].align == Align::left ? fmt::format("{:<{}}  ", cell, widths[i])
                                               : fmt::format("{:>{}}  ", cell, widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([this](std::size_t i) -> const std::string& { return columns_[i].heading; }, columns_.size());
  for (const auto& row : rows_) add_line([&row](std::size_t i) -> const std::string& { return row[i]; }, row.size());
  return text;
}

std::string shown(Duration time) {
  using namespace std::chrono;
  const auto whole = [&](auto unit) { return duration_cast<decltype(unit)>(time).count(); };
  if (time < 1s) return fmt::format("{} ms", whole(milliseconds{}));
  if (time < 1min) return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
  if (time < 1h) return fmt::format("{} min {} s", whole(minutes{}), whole(seconds{}) % 60);
  if (time < 24h) return fmt::format("{} h {} min", whole(hours{}), whole(minutes{}) % 60);
  return fmt::format("{} d {} h", whole(hours{}) / 24, whole(hours{}) % 24);
}

std::string shown_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace troupe::detail
