#include "node/core_quota.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

/// Takes the first word of `text`, which blanks and ends of lines part.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

std::optional<int> cores_of(std::string_view quota, std::string_view period) {
  const auto number = [](std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? value : 0;
  };
  const std::int64_t granted = number(quota);
  const std::int64_t each = number(period);
  if (granted <= 0 || each <= 0) return std::nullopt;
  const std::int64_t cores = granted / each + (granted % each == 0 ? 0 : 1);
  return static_cast<int>(std::min<std::int64_t>(cores, std::numeric_limits<int>::max()));
}

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A group in a hierarchy of cgroups.
struct Group {
  fs::path mount;  ///< where the hierarchy is
  fs::path path;   ///< below it
  bool is_second = false;
};

std::optional<int> cores_of_group(const Group& group) {
  const fs::path at = group.mount / group.path;
  if (group.is_second) return cores_of_cpu_max(text_of_file(at / "cpu.max"));
  return cores_of_cfs(text_of_file(at / "cpu.cfs_quota_us"), text_of_file(at / "cpu.cfs_period_us"));
}

/// Returns the group that a line of /proc/self/cgroup names, "0::/kubepods/pod1" or "4:cpu,cpuacct:/docker/1f"; nullopt
/// if that hierarchy does not limit processors.
std::optional<Group> group_of_line(std::string_view line, const fs::path& mount) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  std::string_view controllers = line.substr(first + 1, second - first - 1);
  const fs::path path = fs::path(line.substr(second + 1)).relative_path();
  if (controllers.empty()) return Group{mount, path, true};
  const std::string name(controllers);
  while (!controllers.empty()) {
    const std::string_view one = controllers.substr(0, controllers.find(','));
    controllers.remove_prefix(std::min(one.size() + 1, controllers.size()));
    if (one != "cpu") continue;
    std::error_code ignored;
    return Group{fs::is_directory(mount / name, ignored) ? mount / name : mount / "cpu", path, false};
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> cores_of_cpu_max(std::string_view text) {
  const std::string_view quota = take_word(text);
  return cores_of(quota, take_word(text));
}

std::optional<int> cores_of_cfs(std::string_view quota, std::string_view period) {
  return cores_of(take_word(quota), take_word(period));
}

std::optional<int> core_quota(std::string_view groups, const fs::path& mount) {
  std::optional<int> fewest;
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    std::optional<Group> group = group_of_line(line, mount);
    while (group) {
      const std::optional<int> cores = cores_of_group(*group);
      if (cores) fewest = std::min(*cores, fewest.value_or(*cores));
      if (group->path.empty()) break;
      group->path = group->path.parent_path();
    }
  }
  return fewest;
}

std::optional<int> core_quota() { return core_quota(text_of_file("/proc/self/cgroup"), "/sys/fs/cgroup"); }

}  // namespace troupe::detail
