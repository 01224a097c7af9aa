#include "node/control/logs_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "node/control/cluster_search.h"
#include "node/control/control_client.h"
#include "node/control/control_socket.h"
#include "node/control/report_json.h"
#include "node/text_table.h"
#include "node/visible_text.h"

namespace troupe {
namespace {

using detail::fail;

/// A single word may be a node or, if there is none of that name, a cluster.
void sort_words(LogsOptions& options, const std::vector<ClusterView>& all) {
  const auto has_node = [&](const ClusterView& cluster) {
    return std::ranges::any_of(cluster.nodes, [&](const NodeView& node) { return node.name == options.node; });
  };
  if (options.node.empty() || !options.cluster.empty() || std::ranges::any_of(all, has_node)) return;
  if (std::ranges::any_of(all, [&](const ClusterView& cluster) { return is_meant(cluster, options.node); }))
    std::swap(options.node, options.cluster);
}

/// Finds the launcher that is meant. Prints why there is none, or several.
std::optional<ControlName> find_launcher(LogsOptions& options) {
  const std::vector<ClusterView> all = detail::ask_around(detail::control_names(), detail::Nodes::no, options.patience);
  sort_words(options, all);
  const auto cluster = detail::find_cluster(all, options.cluster, options.node);
  if (!cluster) return std::nullopt;
  if (!options.node.empty()) {
    return ControlName{cluster->id, std::ranges::find(cluster->nodes, options.node, &NodeView::name)->launcher};
  }
  if (cluster->launchers.size() < 2) {
    return ControlName{cluster->id, cluster->launchers.empty() ? "" : cluster->launchers.front()};
  }
  std::vector<std::string_view> names;
  for (const NodeView& node : cluster->nodes) names.push_back(node.name);
  fail(detail::visible_line(
      fmt::format("several launchers run parts of {} here, name a node: {}", cluster->name, fmt::join(names, ", "))));
  return std::nullopt;
}

/// One run of the command.
class LogReader {
 public:
  LogReader(ControlName launcher, const LogsOptions& options)
      : launcher_(std::move(launcher)),
        options_(options),
        text_(options.node.empty() ? detail::LogText::Names::shown : detail::LogText::Names::hidden) {}

  int run() {
    std::vector<LogLine> newest;
    std::optional<std::uint64_t> end;
    auto report = ask_newest();
    for (bool more = true; more;) {
      if (!report) return 1;
      if (!end) end = report->end;
      // Not what is printed meanwhile: nodes may print without end.
      more = report->more && (*end == 0 || report->next < *end);
      std::ranges::move(report->lines, std::back_inserter(newest));
      if (newest.size() > options_.lines)
        newest.erase(newest.begin(), newest.end() - static_cast<std::ptrdiff_t>(options_.lines));
      if (more) report = ask("logs", options_.patience);
    }
    print(newest);
    while (options_.follow == Follow::yes && !over_) {
      const auto newer = ask("follow", options_.patience + LogReport::kPatience);
      if (!newer) return 1;
      print(newer->lines);
    }
    return 0;
  }

 private:
  [[nodiscard]] std::vector<ControlAnswer> answers_to(std::string_view verb, std::uint64_t number,
                                                      std::chrono::milliseconds patience) const {
    const std::string line = fmt::format("{} {}{}{}", verb, number, options_.node.empty() ? "" : " ", options_.node);
    return troupe::ask({{launcher_, line}}, patience);
  }

  /// A launcher of an older version refuses this question and is asked for all lines.
  std::optional<LogReport> ask_newest() {
    const std::vector<ControlAnswer> answers = answers_to("newest", options_.lines, options_.patience);
    if (answers.empty() || !answers.front().ok()) return ask("logs", options_.patience);
    try {
      return taken(parse_log_report(answers.front().text));
    } catch (const ReportError&) {
      return ask("logs", options_.patience);
    }
  }

  LogReport taken(LogReport report) {
    next_ = report.next;
    over_ = report.over;
    return report;
  }

  /// Prints why there is no report.
  std::optional<LogReport> ask(std::string_view verb, std::chrono::milliseconds patience) {
    const std::vector<ControlAnswer> answers = answers_to(verb, next_, patience);
    if (answers.empty()) {
      fail("the cluster is of another user");
      return std::nullopt;
    }
    if (!answers.front().ok()) {
      if (verb == "follow" && !is_there())
        return LogReport{.next = next_, .end = next_, .more = false, .over = over_ = true, .lines = {}};
      fail(fmt::format("its launcher: {}", answers.front().problem));
      return std::nullopt;
    }
    try {
      return taken(parse_log_report(answers.front().text));
    } catch (const ReportError& error) {
      fail(detail::visible_line(error.what()));
      return std::nullopt;
    }
  }

  [[nodiscard]] bool is_there() const { return std::ranges::count(detail::control_names(), launcher_) > 0; }

  /// Throws std::system_error.
  void print(const std::vector<LogLine>& lines) {
    if (lines.empty()) return;
    fmt::print(
        "{}", options_.format == ReportFormat::json
                  ? json_of(LogReport{.next = next_, .end = next_, .more = false, .over = over_, .lines = lines}) + "\n"
                  : text_.of(lines));
    if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "standard output");
  }

  const ControlName launcher_;
  const LogsOptions& options_;
  detail::LogText text_;
  std::uint64_t next_ = 0;
  bool over_ = false;
};

}  // namespace

int show_logs(LogsOptions options) {
  const auto launcher = find_launcher(options);
  return launcher ? LogReader(*launcher, options).run() : 1;
}

std::string detail::LogText::of(std::span<const LogLine> lines) {
  std::string text;
  for (const LogLine& line : lines) {
    const auto known = next_.find(line.node);
    const std::string prefix = names_ == Names::hidden ? "" : fmt::format("[{}] ", visible_line(line.node));
    if (known != next_.end() && line.place > known->second) {
      text += fmt::format("{}... {} lines are not kept any more\n", prefix, line.place - known->second);
    }
    next_[line.node] = line.place + 1;
    text += fmt::format("{}{}\n", prefix, without_commands(line.text));
  }
  return text;
}

std::string detail::without_commands(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (!text.starts_with("\x1b[")) {
      result += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = text.find_first_not_of("0123456789;?", 2);
    text.remove_prefix(std::min(end == std::string_view::npos ? end : end + 1, text.size()));
  }
  return visible_line(result);
}

}  // namespace troupe
