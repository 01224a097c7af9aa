#include "node/launch/program_path.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <system_error>

namespace troupe::detail {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> find_on_path(std::string_view name, const Variables& variables) {
  const auto found = variables.find("PATH");
  const std::string path = found == variables.end() ? "/usr/local/bin:/usr/bin:/bin" : found->second;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path candidate = fs::path(path.substr(begin, end - begin)) / name;
    if (candidate.is_absolute() && is_program(candidate)) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace troupe::detail
