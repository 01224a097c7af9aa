#include "node/audit/audit_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "node/audit/audit_chain.h"
#include "node/audit/audit_comparison.h"
#include "node/keys/word_lines.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// Longer than any line of a log: another file may have none at all.
constexpr std::size_t kLineMax = std::size_t{64} << 10;

/// Reads a line without its newline, or kLineMax bytes of it. Returns false at the end.
bool next_line(std::istream& in, std::string& line, bool& whole) {
  line.clear();
  whole = false;
  for (int byte = in.get(); byte != std::istream::traits_type::eof(); byte = in.get()) {
    whole = byte == '\n';
    if (whole) return true;
    line.push_back(static_cast<char>(byte));
    if (line.size() == kLineMax) return true;
  }
  return !line.empty();
}

/// Returns the logs in a directory, by name, the former file of each before it. Empty: it cannot be read.
std::vector<std::string> logs_in(const std::string& directory) {
  std::vector<std::string> logs;
  std::error_code unreadable;
  for (fs::directory_iterator at(directory, unreadable), end; !unreadable && at != end; at.increment(unreadable)) {
    if (at->path().extension() == ".audit") logs.push_back(at->path().string());
  }
  std::ranges::sort(logs);
  std::vector<std::string> files;
  for (const std::string& log : logs) {
    if (fs::exists(log + ".1", unreadable)) files.push_back(log + ".1");
    files.push_back(log);
  }
  return files;
}

/// The logs of some nodes. Each broken line is printed when it is found.
class Logs {
 public:
  /// Reads a file: of the node of the file before it, behind that, or the first one of another node.
  void read(const std::string& file);

  /// Prints what was found.
  void report() const;

  [[nodiscard]] bool are_right() const { return are_right_; }

  /// The last log ends here; compares all.
  void end();

 private:
  struct Log {
    AuditCheck check;
    std::string last_place;  ///< FILE:LINE
    bool is_broken = false;
    std::optional<AuditComparison::Verdict> verdict = {};
  };
  void begin_file(const std::string& first_line, bool whole);
  void take(const std::string& line, bool whole, std::string place);
  void end_last();
  void complain(const std::string& place, const std::string& why);

  std::vector<Log> logs_;
  std::set<std::string> nodes_;  ///< that have a log
  AuditComparison comparison_;
  bool are_right_ = true;
};

void Logs::complain(const std::string& place, const std::string& why) {
  fmt::print(stderr, "{}: {}\n", place, why);
  are_right_ = false;
}

void Logs::read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return complain(file, "cannot be read");
  std::string line;
  bool whole = false;
  std::uint64_t number = 1;
  for (; next_line(in, line, whole); ++number) {
    if (number == 1) begin_file(line, whole);
    if (logs_.back().is_broken) return;
    take(line, whole, fmt::format("{}:{}", file, number));
  }
  if (in.bad()) return complain(file, "cannot be read");  // not the end of the file
  if (number == 1) complain(file, "has no line, not even one that the log was opened");
}

void Logs::begin_file(const std::string& first_line, bool whole) {
  AuditCheck check;
  static_cast<void>(check.take(first_line, whole));
  if (!logs_.empty() && (check.node().empty() || check.node() == logs_.back().check.node())) return;
  if (!logs_.empty()) end_last();
  logs_.emplace_back();
}

void Logs::take(const std::string& line, bool whole, std::string place) {
  Log& log = logs_.back();
  log.last_place = std::move(place);
  std::string why = log.check.take(line, whole);
  const std::string& node = log.check.node();
  if (why.empty() && log.check.count() == 1 && !nodes_.insert(node).second)
    why = fmt::format("this is a second log of {}", node);
  if (!why.empty()) {
    log.is_broken = true;
    return complain(log.last_place, why);
  }
  comparison_.has(node, log.check.number(), log.check.head());
  if (const auto& told = log.check.told()) comparison_.told(node, *told, log.last_place);
}

void Logs::end_last() {
  Log& log = logs_.back();
  if (log.is_broken) return;
  if (const std::string why = log.check.end(); !why.empty()) {
    log.is_broken = true;
    complain(log.last_place, why);
  }
}

void Logs::end() {
  if (logs_.empty()) return;
  end_last();
  for (Log& log : logs_) {
    if (log.is_broken) continue;
    log.verdict = comparison_.verdict_on(log.check.node());
    for (const std::string& broken : log.verdict->broken) {
      fmt::print(stderr, "{}\n", broken);
      are_right_ = false;
    }
  }
}

void Logs::report() const {
  for (const auto& [check, place, is_broken, verdict] : logs_) {
    if (is_broken || !verdict) continue;
    const std::string who = logs_.size() > 1 ? fmt::format("{}: ", check.node()) : "";
    fmt::print("{}{} lines, each follows the one before it\n", who, check.count());
    if (check.first() > 1)
      fmt::print("{}they begin with number {}: the lines before it were not given\n", who, check.first());
    if (check.cut_off() > 0) fmt::print("{}lines that a crash cut off: {}\n", who, check.cut_off());
    fmt::print("{}hash of the last line: {}\n", who, detail::hex_of(check.head()));
    if (verdict->agree > 0) {
      fmt::print("{}up to line {} it is what was told to {}\n", who, verdict->last_agreed,
                 fmt::join(verdict->witnesses, ", "));
    } else if (logs_.size() > 1 && verdict->broken.empty()) {
      fmt::print("{}no line of it was told to another of these nodes\n", who);
    }
  }
  for (const std::string& node : comparison_.not_given())
    fmt::print("{}: its log was not given, but others know lines of it\n", node);
}

}  // namespace

int verify_audit(const std::vector<std::string>& files) {
  Logs logs;
  bool are_read = true;
  for (const std::string& file : files) {
    std::error_code unknown;
    if (!fs::is_directory(file, unknown)) {
      logs.read(file);
      continue;
    }
    const std::vector<std::string> inside = logs_in(file);
    if (inside.empty()) {
      fmt::print(stderr, "{}: has no file NAME.audit\n", file);
      are_read = false;
    }
    for (const std::string& log : inside) logs.read(log);
  }
  logs.end();
  logs.report();
  return are_read && logs.are_right() ? 0 : 1;
}

}  // namespace troupe
