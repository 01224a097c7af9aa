#include "autograd/nn/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace troupe::nn {
namespace {

constexpr std::size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;
constexpr std::array<bool, kColumns> kIsNumber{false, false, false, false, false, true, true, false};

/// Number and bytes of tensors.
struct Total {
  std::int64_t count = 0;
  std::int64_t bytes = 0;

  void add(const Tensor& x) {
    count += x.numel();
    bytes += static_cast<std::int64_t>(x.nbytes());
  }
};

/// A parameter or buffer with its name within its module.
struct Item {
  std::string name;
  Tensor value;
  std::string note;
};

/// "1,199,882"
std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

/// "128 B", "1.1 KiB"
std::string in_bytes(std::int64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  // 1023.95 would be shown as 1024.0.
  for (; size >= 1023.95 && unit + 1 < kUnits.size(); ++unit) size /= 1024.0;
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

int depth_of(std::string_view path) { return path.empty() ? 0 : static_cast<int>(std::ranges::count(path, '.')) + 1; }

/// Returns the path cut to `depth` names.
std::string_view shortened(std::string_view path, int depth) {
  if (depth == 0) return {};
  std::size_t end = 0;
  for (int i = 0; i < depth && end != std::string_view::npos; ++i) end = path.find('.', end == 0 ? 0 : end + 1);
  return path.substr(0, end);
}

/// Returns the path before the last name, and the last name.
std::pair<std::string, std::string> parent_and_name(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

Row row_of(const Item& item) {
  return {"",
          "",
          item.name,
          to_string(item.value.shape()),
          std::string(name_of(item.value.dtype())),
          with_commas(item.value.numel()),
          in_bytes(static_cast<std::int64_t>(item.value.nbytes())),
          item.note};
}

class Table {
 public:
  Table(const Module& module, const SummaryOptions& options) : depth_max_(std::max(options.depth_max, 0)) {
    collect(module);
    for (const auto& [path, part] : module.named_modules()) add(path, part->kind());
  }

  /// Returns the rows with aligned columns between two rules, all indented.
  [[nodiscard]] std::string text() const {
    std::vector<Row> all{{"name", "kind", "tensor", "shape", "dtype", "count", "bytes", ""}};
    all.insert(all.end(), rows_.begin(), rows_.end());
    std::array<std::size_t, kColumns> widths{};
    for (const Row& row : all) {
      for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::vector<std::string> lines;
    std::size_t longest = 0;
    for (const Row& row : all) {
      lines.push_back(aligned(row, widths));
      longest = std::max(longest, lines.back().size());
    }
    const std::string rule = fmt::format("  {}", std::string(longest - 2, '-'));
    lines.insert(lines.begin() + 1, rule);
    lines.push_back(rule);
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  }

  [[nodiscard]] std::string totals() const {
    std::string line =
        fmt::format("  {} parameters ({}), ", with_commas(parameters_.count), in_bytes(parameters_.bytes));
    line += trainable_.count == parameters_.count ? "all trainable"
                                                  : fmt::format("{} of them trainable", with_commas(trainable_.count));
    if (buffers_.count > 0) {
      line += fmt::format("; {} numbers in buffers ({})", with_commas(buffers_.count), in_bytes(buffers_.bytes));
    }
    return line + "\n";
  }

 private:
  /// Sorts parameters and buffers by the module that shows them.
  void collect(const Module& module) {
    for (const auto& [path, parameter] : module.named_parameters()) {
      const Tensor value = parameter.value();
      parameters_.add(value);
      if (parameter.requires_grad()) trainable_.add(value);
      keep(path, value, parameter.requires_grad() ? "" : "frozen");
    }
    for (const auto& [path, buffer] : module.named_buffers()) {
      buffers_.add(buffer.value());
      keep(path, buffer.value(), "buffer");
    }
  }

  void keep(const std::string& path, const Tensor& value, const char* note) {
    auto [owner, name] = parent_and_name(path);
    if (depth_of(owner) <= depth_max_) {
      items_[owner].push_back({std::move(name), value, note});
    } else {
      folded_[std::string(shortened(owner, depth_max_))].add(value);
    }
  }

  void add(const std::string& path, const std::string& kind) {
    if (depth_of(path) > depth_max_) return;
    const std::vector<Item>& items = items_[path];
    const auto folded = folded_.find(path);
    if (path.empty() && items.empty() && folded == folded_.end()) return;
    const std::size_t first = rows_.size();
    for (const Item& item : items) rows_.push_back(row_of(item));
    if (folded != folded_.end()) {
      rows_.push_back(
          {"", "", "(parts)", "", "", with_commas(folded->second.count), in_bytes(folded->second.bytes), ""});
    }
    if (rows_.size() == first) rows_.emplace_back();
    const std::string indent(2 * static_cast<std::size_t>(std::max(depth_of(path) - 1, 0)), ' ');
    rows_[first][0] = path.empty() ? "(itself)" : indent + parent_and_name(path).second;
    rows_[first][1] = kind;
  }

  static std::string aligned(const Row& row, const std::array<std::size_t, kColumns>& widths) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) {
      line += kIsNumber[i] ? fmt::format("  {:>{}}", row[i], widths[i]) : fmt::format("  {:<{}}", row[i], widths[i]);
    }
    return line.substr(0, line.find_last_not_of(' ') + 1);
  }

  int depth_max_;
  std::map<std::string, std::vector<Item>> items_;  ///< by the path of their module
  std::map<std::string, Total> folded_;             ///< totals of the parts that are not shown
  std::vector<Row> rows_;
  Total parameters_;
  Total trainable_;
  Total buffers_;
};

}  // namespace

std::string summary(const Module& module, const SummaryOptions& options) {
  const Table table(module, options);
  return fmt::format("{}\n{}{}", module.kind(), table.text(), table.totals());
}

}  // namespace troupe::nn
