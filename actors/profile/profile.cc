#include "actors/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

namespace troupe {
namespace {

constexpr std::array<std::string_view, 6> kKinds{"call", "function", "kernel", "backward", "pass", "span"};

std::string_view text_of(EventKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

using Microseconds = std::chrono::duration<double, std::micro>;

double microseconds(Duration time) { return Microseconds(time).count(); }

std::string shown(Microseconds time) {
  const double us = time.count();
  if (us < 1e3) return fmt::format("{:.2f} us", us);
  if (us < 1e6) return fmt::format("{:.2f} ms", us / 1e3);
  return fmt::format("{:.3f} s", us / 1e6);
}

struct Row {
  std::size_t count = 0;
  Microseconds total{};
  Duration longest{};
};

}  // namespace

std::string ProfileEvent::full_name() const {
  const std::string own = kind == EventKind::backward ? name + " backward" : name;
  if (within.empty()) return own;
  return kind == EventKind::call ? within + "#" + own : within + "#remote: " + own;
}

std::string Profile::table(std::size_t rows_max) const {
  std::map<std::pair<std::string, NodeName>, Row> rows;
  for (const ProfileEvent& event : events) {
    Row& row = rows[{event.full_name(), event.node}];
    ++row.count;
    row.total += event.length;
    row.longest = std::max(row.longest, event.length);
  }
  std::vector<std::pair<std::pair<std::string, NodeName>, Row>> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& row) { return row.second.total; });
  const std::size_t shown_count = std::min(rows_max, sorted.size());
  std::size_t width = 4;
  std::size_t node_width = 4;
  for (std::size_t i = 0; i < shown_count; ++i) {
    width = std::max(width, sorted[i].first.first.size());
    node_width = std::max(node_width, sorted[i].first.second.size());
  }
  std::string table = fmt::format("{:<{}}  {:<{}}  {:>7}  {:>10}  {:>10}  {:>10}\n", "name", width, "node", node_width,
                                  "count", "total", "mean", "longest");
  for (std::size_t i = 0; i < shown_count; ++i) {
    const auto& [key, row] = sorted[i];
    table +=
        fmt::format("{:<{}}  {:<{}}  {:>7}  {:>10}  {:>10}  {:>10}\n", key.first, width, key.second, node_width,
                    row.count, shown(row.total), shown(row.total / static_cast<double>(row.count)), shown(row.longest));
  }
  if (sorted.size() > shown_count) table += fmt::format("... and {} more names\n", sorted.size() - shown_count);
  for (const auto& [node, count] : lost) table += fmt::format("{}: {} events more than it keeps\n", node, count);
  for (const auto& [node, why] : missing) table += fmt::format("{}: {}\n", node, why.text());
  return table;
}

std::string Profile::trace() const {
  using nlohmann::json;
  std::map<NodeName, int> processes;
  for (const ProfileEvent& event : events) processes.try_emplace(event.node, static_cast<int>(processes.size()));
  // Written event by event: all of them as one JSON value would take many times the memory of the text.
  std::string text = R"({"displayTimeUnit":"ms","traceEvents":[)";
  auto add = [&text, first = true](const json& event) mutable {
    if (!std::exchange(first, false)) text += ",\n";
    // A name may have bytes that are no UTF-8: those of a user's span.
    text += event.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  for (const auto& [node, id] : processes)
    add({{"name", "process_name"}, {"ph", "M"}, {"pid", id}, {"tid", 0}, {"args", {{"name", node}}}});
  std::size_t number = 0;
  for (const ProfileEvent& event : events) {
    json one{{"name", event.name},  {"cat", text_of(event.kind)},      {"pid", processes.at(event.node)},
             {"tid", event.thread}, {"ts", microseconds(event.begin)}, {"args", {{"within", event.within}}}};
    if (!event.inputs.empty()) one["args"]["inputs"] = event.inputs;
    // Calls, functions and passes of one thread overlap: the format has a begin and an end for such.
    const bool is_nested = event.kind == EventKind::kernel || event.kind == EventKind::backward;
    if (is_nested) {
      one["ph"] = "X";
      one["dur"] = microseconds(event.length);
      add(one);
      continue;
    }
    one["id"] = number++;
    one["ph"] = "b";
    add(one);
    one["ph"] = "e";
    one["ts"] = microseconds(event.begin + event.length);
    add(one);
  }
  return text + "]}";
}

void Profile::save_trace(const std::string& path) const {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (file) file << trace() << '\n' << std::flush;
  if (!file) {
    throw std::runtime_error(
        fmt::format("[profile] {}: {}", path, std::error_code(errno, std::generic_category()).message()));
  }
}

}  // namespace troupe
