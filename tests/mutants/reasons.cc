#include "tests/mutants/reasons.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace mutants {

std::vector<Reason> reasons_of(std::string_view text) {
  std::vector<Reason> reasons;
  std::istringstream in{std::string(text)};
  std::string file;
  std::string source;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto refuse = [&](const char* why) {
      throw std::runtime_error("reasons:" + std::to_string(number) + ": " + why);
    };
    if (line.empty() || line.front() == '#') continue;
    if (line.starts_with("= ") || line.starts_with("- ")) {
      const std::size_t end = line.find(" :: ");
      if (file.empty() || end == std::string::npos) refuse("wanted after a line of a source: \"= change :: reason\"");
      reasons.push_back({file, source, line.substr(2, end - 2), line.front() == '=', line.substr(end + 4)});
      continue;
    }
    const std::size_t end = line.find(": ");
    if (end == std::string::npos) refuse("neither \"file: its line\" nor a reason");
    file = line.substr(0, end);
    source = line.substr(end + 2);
  }
  return reasons;
}

std::string line_of(const Source& source, int line) {
  const std::string text(source.line(line));
  return text.size() > 24 ? text : std::string(source.line(line - 1)) + " " + text;
}

const Reason* find_reason(const std::vector<Reason>& reasons, std::string_view file, std::string_view line,
                          std::string_view change) {
  const auto at = std::ranges::find_if(
      reasons, [&](const Reason& one) { return one.file == file && one.line == line && one.change == change; });
  return at == reasons.end() ? nullptr : &*at;
}

}  // namespace mutants
