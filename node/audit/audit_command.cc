#include "node/audit/audit_command.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <istream>

#include "node/audit/audit_chain.h"

namespace troupe {
namespace {

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

}  // namespace

int verify_audit(const std::vector<std::string>& files) {
  AuditCheck check;
  std::string place;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      fmt::print(stderr, "{}: cannot be read\n", file);
      return 1;
    }
    std::string line;
    bool whole = false;
    for (std::uint64_t number = 1; next_line(in, line, whole); ++number) {
      place = fmt::format("{}:{}", file, number);
      if (const std::string why = check.take(line, whole); !why.empty()) {
        fmt::print(stderr, "{}: {}\n", place, why);
        return 1;
      }
    }
    if (in.bad()) {  // not the end of the file
      fmt::print(stderr, "{}: cannot be read\n", file);
      return 1;
    }
  }
  if (const std::string why = check.end(); !why.empty()) {
    fmt::print(stderr, "{}: {}\n", place, why);
    return 1;
  }
  fmt::print("{} lines, each follows the one before it\n", check.count());
  if (check.first() > 1) fmt::print("they begin with number {}: the lines before it were not given\n", check.first());
  if (check.cut_off() > 0) fmt::print("lines that a crash cut off: {}\n", check.cut_off());
  if (check.count() > 0) fmt::print("hash of the last line: {}\n", check.head());
  return 0;
}

}  // namespace troupe
