// Tables for a terminal, and numbers in readable form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/clock.h"

namespace troupe::detail {

/// Columns as wide as their widest cell, two spaces between them. A row may be shorter than the heading; its last cell
/// may have any width if it is not in the last column.
class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string heading;
    Align align = Align::left;
  };

  /// Columns without a heading are left out.
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Returns heading and rows, each line after `indent` spaces, without trailing spaces.
  [[nodiscard]] std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// The alignment of columns of numbers.
inline constexpr TextTable::Align kRight = TextTable::Align::right;

/// Returns "350 ms", "12.3 s", "4 min 10 s", "2 h 5 min", "3 d 4 h".
[[nodiscard]] std::string shown(Duration time);

/// Returns "812 B", "1.2 kB", "3.4 MB", "5.6 GB".
[[nodiscard]] std::string shown_bytes(std::uint64_t bytes);

}  // namespace troupe::detail
