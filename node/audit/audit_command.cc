#include "node/audit/audit_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <istream>
#include <set>
#include <system_error>
#include <utility>

#include "node/audit/audit_chain.h"
#include "node/audit/audit_comparison.h"
#include "node/keys/word_lines.h"
#include "node/node_name.h"

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

/// Returns the node that the first lines of a log name; empty: they name none.
std::string node_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  AuditCheck check;
  std::string line;
  bool whole = false;
  for (int lines = 0; lines < 2 && check.node().empty() && next_line(in, line, whole); ++lines)
    static_cast<void>(check.take(line, whole));  // a crash may have cut off the first
  return check.node();
}

/// The logs of some nodes. Each broken line is printed when it is found.
class Logs {
 public:
  /// Adds a file, or all logs of a directory. Names and sizes are looked at now: a node that runs may tell others of
  /// lines that come later.
  void add(const std::string& path);

  /// Reads all files, and compares the logs. Returns the exit status.
  [[nodiscard]] int check();

 private:
  struct File {
    std::string path;
    std::string node = {};  ///< whose log it must be; empty: as it says itself
    std::uintmax_t size = 0;
  };
  struct Log {
    std::string node;
    AuditCheck check = {};
    std::string last_place = {};  ///< FILE:LINE
    bool is_broken = false;
  };
  void add_directory(const std::string& directory);
  void add_file(const std::string& path, const std::string& node);
  void read(const File& file);
  void take(const std::string& line, bool whole, std::string place, bool counts_for_others);
  void begin(std::string node, const std::string& path);
  void end();
  void report();
  void complain(const std::string& place, const std::string& why);

  std::vector<File> files_;
  std::vector<Log> logs_;
  std::string last_read_;  ///< the file that was read last
  AuditComparison comparison_;
  bool are_right_ = true;
  bool are_all_ = true;
};

void Logs::complain(const std::string& place, const std::string& why) {
  fmt::print(stderr, "{}: {}\n", place, why);
  are_right_ = false;
}

void Logs::add(const std::string& path) {
  std::error_code unknown;
  fs::is_directory(path, unknown) ? add_directory(path) : add_file(path, {});
}

void Logs::add_file(const std::string& path, const std::string& node) {
  std::error_code failure;
  const auto status = node.empty() ? fs::status(path, failure) : fs::symlink_status(path, failure);
  if (!fs::exists(status)) return complain(path, "cannot be read");
  if (!fs::is_regular_file(status)) return complain(path, "is not a regular file");
  files_.push_back({path, node, fs::file_size(path, failure)});
  if (failure) complain(path, failure.message());
}

void Logs::add_directory(const std::string& directory) {
  std::set<std::string> nodes;
  std::error_code failure;
  for (fs::directory_iterator at(directory, failure), last; !failure && at != last; at.increment(failure)) {
    fs::path name = at->path().filename();
    if (name.extension() == ".1") name = name.stem();
    if (name.extension() != ".audit") continue;
    if (!is_valid_node_name(name.stem().string())) {
      complain(directory, "has a file *.audit whose name is not that of a node");
    } else {
      nodes.insert(name.stem().string());
    }
  }
  if (failure) return complain(directory, failure.message());
  if (nodes.empty()) return complain(directory, "has no file NAME.audit");
  for (const std::string& node : nodes) {
    const std::string path = (fs::path(directory) / (node + ".audit")).string();
    if (fs::exists(fs::symlink_status(path + ".1", failure))) add_file(path + ".1", node);
    add_file(path, node);
  }
}

void Logs::begin(std::string node, const std::string& path) {
  if (!logs_.empty()) end();
  const bool is_second = std::ranges::any_of(logs_, [&node](const Log& log) { return log.node == node; });
  if (is_second) complain(path, fmt::format("this is a second log of {}", node));
  logs_.push_back({.node = std::move(node), .is_broken = is_second});
}

void Logs::read(const File& file) {
  const std::string says = node_in(file.path);
  const std::string node = file.node.empty() ? says : file.node;
  const bool is_behind = std::exchange(last_read_, file.path) == file.path + ".1";
  if (logs_.empty() || (!node.empty() && node != logs_.back().node)) begin(node, file.path);
  if (!says.empty() && says != node) {
    logs_.back().is_broken = true;
    return complain(file.path, fmt::format("it says that it is the log of {}", says));
  }
  std::ifstream in(file.path, std::ios::binary);
  if (!in) return complain(file.path, "cannot be read");
  std::string line;
  bool whole = false;
  std::uint64_t number = 0;
  for (std::uintmax_t end = 0; next_line(in, line, whole);) {
    if (logs_.back().is_broken) return;
    end += line.size() + (whole ? 1 : 0);
    take(line, whole, fmt::format("{}:{}", file.path, ++number), end <= file.size);
  }
  if (in.bad()) return complain(file.path, "cannot be read");  // not the end of the file
  // The disk may have been full when a new file was begun.
  if (number == 0 && !is_behind) complain(file.path, "has no line, not even one that the log was opened");
}

void Logs::take(const std::string& line, bool whole, std::string place, bool counts_for_others) {
  Log& log = logs_.back();
  log.last_place = std::move(place);
  const std::string before = detail::hex_of(log.check.head());
  const bool is_first = log.check.count() == 0;
  if (const std::string why = log.check.take(line, whole); !why.empty()) {
    log.is_broken = true;
    return complain(log.last_place, why);
  }
  comparison_.has(log.node, log.check.number(), log.check.head(), is_first ? log.check.before_first() : before);
  const auto& told = log.check.told();
  if (told && counts_for_others) comparison_.told(log.node, *told, log.last_place);
}

/// The last log ends here.
void Logs::end() {
  Log& log = logs_.back();
  if (log.is_broken) return;
  if (const std::string why = log.check.end(); !why.empty()) {
    log.is_broken = true;
    complain(log.last_place, why);
  }
}

void Logs::report() {
  for (const auto& [node, check, place, is_broken] : logs_) {
    if (is_broken || check.count() == 0) continue;
    const std::string who = logs_.size() > 1 ? fmt::format("{}: ", node) : "";
    fmt::print("{}{} lines, each follows the one before it\n", who, check.count());
    if (check.first() > 1)
      fmt::print("{}they begin with number {}: the lines before it were not given\n", who, check.first());
    if (check.cut_off() > 0) fmt::print("{}lines that a crash cut off: {}\n", who, check.cut_off());
    fmt::print("{}hash of the last line: {}\n", who, detail::hex_of(check.head()));
    const auto verdict = comparison_.verdict_on(node);
    for (const std::string& broken : verdict.broken) fmt::print(stderr, "{}\n", broken);
    if (!verdict.broken.empty()) are_right_ = false;
    if (verdict.agreed > 0) {
      fmt::print("{}up to line {} it is what was told to {}\n", who, verdict.agreed,
                 fmt::join(verdict.witnesses, ", "));
    } else if (verdict.broken.empty() && verdict.not_given > 0) {
      complain(place, fmt::format("others know lines of {} up to number {}, and none of these was given", node,
                                  verdict.not_given));
    } else if (logs_.size() > 1 && verdict.broken.empty()) {
      fmt::print("{}no line of it was told to another of these nodes\n", who);
    }
  }
  for (const std::string& node : comparison_.not_given()) {
    fmt::print("{}: its log was not given, but others know lines of it\n", node);
    if (logs_.size() > 1) are_all_ = false;
  }
}

int Logs::check() {
  for (const File& file : files_) read(file);
  if (!logs_.empty()) end();
  report();
  if (!are_right_) return 1;
  return are_all_ ? 0 : 2;
}

}  // namespace

int verify_audit(const std::vector<std::string>& files) {
  Logs logs;
  for (const std::string& file : files) logs.add(file);
  return logs.check();
}

}  // namespace troupe
