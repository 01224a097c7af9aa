#include "node/launch/recent_lines.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "node/control/report_json.h"

namespace troupe::detail {

RecentLines::RecentLines(std::vector<std::string> names) {
  for (std::string& name : names) nodes_.push_back({.name = std::move(name), .kept = {}});
}

void RecentLines::add(std::size_t node, Output stream, std::string_view line) {
  NodeLines& lines = nodes_[node];
  lines.kept.push_back({count_++, lines.count++, stream, std::string(line)});
  lines.bytes += lines.kept.back().cost();
  while (lines.bytes > kKeptMax && lines.kept.size() > 1) {
    lines.bytes -= lines.kept.front().cost();
    lines.kept.pop_front();
  }
}

std::optional<std::string> RecentLines::answer(std::string_view verb, std::string_view words, std::uint64_t id,
                                               Time now) {
  std::uint64_t from = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), from);
  words.remove_prefix(static_cast<std::size_t>(end - words.data()));
  if (error != std::errc() || (!words.empty() && words.front() != ' ')) return json_of_error("it is told no line");
  std::optional<std::size_t> node;
  if (!words.empty()) {
    const auto found = std::ranges::find(nodes_, words.substr(1), &NodeLines::name);
    if (found == nodes_.end()) return json_of_error("it has no such node");
    node = static_cast<std::size_t>(found - nodes_.begin());
  }
  if (verb == "newest") from = first_of_newest(from, node);
  const LogReport report = since(from, node);
  if (verb != "follow") return json_of(report);
  followed_ = now;
  if (report.lines.empty() && !over_) {
    waiting_.push_back({id, from, node, now + kPatience});
    followers_ = std::max(followers_, waiting_.size());
    return std::nullopt;
  }
  followers_ = std::max(followers_, std::size_t{1});
  return told(report);
}

std::vector<std::pair<std::uint64_t, std::string>> RecentLines::take_answers(Time now) {
  std::vector<std::pair<std::uint64_t, std::string>> answers;
  std::erase_if(waiting_, [&](const Question& question) {
    if (question.from == count_ && !over_ && now < question.due) return false;
    const LogReport report = since(question.from, question.node);
    if (report.lines.empty() && !over_ && now < question.due) return false;
    answers.emplace_back(question.id, told(report));
    return true;
  });
  return answers;
}

std::optional<RecentLines::Time> RecentLines::next_due() const {
  return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().due);
}

bool RecentLines::is_followed(Time now) const {
  return told_end_ < followers_ && followed_ && now - *followed_ < 2 * kPatience;
}

/// Merges the lines of all nodes, or of one, in the order in which they came.
LogReport RecentLines::since(std::uint64_t from, std::optional<std::size_t> node) {
  struct Next {
    const NodeLines* of;
    std::deque<Line>::const_iterator line;
  };
  const auto number = [this](const Line& line) {
    ++looked_at_;
    return line.number;
  };
  std::vector<Next> next;  // of each node that has one; a heap whose front came first
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (node && *node != i) continue;
    const auto first = std::ranges::lower_bound(std::as_const(nodes_[i].kept), from, {}, number);
    if (first != nodes_[i].kept.end()) next.push_back({&nodes_[i], first});
  }
  const auto came = [](const Next& each) { return each.line->number; };
  std::ranges::make_heap(next, std::ranges::greater(), came);
  LogReport report{.next = count_, .end = count_, .more = false, .over = over_, .lines = {}};
  for (std::size_t bytes = 0; !next.empty();) {
    std::ranges::pop_heap(next, std::ranges::greater(), came);
    const auto& [of, line] = next.back();
    ++looked_at_;
    if (bytes > kAnswerMax) {
      report.next = line->number;
      report.over = false;
      report.more = true;
      break;
    }
    bytes += line->cost();
    report.lines.push_back({of->name, line->place, line->stream == Output::err, line->text});
    if (++next.back().line == of->kept.end()) next.pop_back();
    else std::ranges::push_heap(next, std::ranges::greater(), came);
  }
  return report;
}

/// Returns the number of the first of the newest `count` lines of all nodes, or of one.
std::uint64_t RecentLines::first_of_newest(std::uint64_t count, std::optional<std::size_t> node) {
  struct Last {
    const NodeLines* of;
    std::deque<Line>::const_reverse_iterator line;
  };
  std::vector<Last> last;  // of each node that has one; a heap whose front came last
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if ((!node || *node == i) && !nodes_[i].kept.empty()) last.push_back({&nodes_[i], nodes_[i].kept.rbegin()});
  }
  const auto came = [](const Last& each) { return each.line->number; };
  std::ranges::make_heap(last, {}, came);
  std::uint64_t first = count_;
  for (; count > 0 && !last.empty(); --count) {
    std::ranges::pop_heap(last, {}, came);
    ++looked_at_;
    first = last.back().line->number;
    if (++last.back().line == last.back().of->kept.rend()) last.pop_back();
    else std::ranges::push_heap(last, {}, came);
  }
  return first;
}

std::string RecentLines::told(const LogReport& report) {
  if (report.over) ++told_end_;
  return json_of(report);
}

}  // namespace troupe::detail
