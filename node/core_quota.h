// How much of the machine's processors the kernel's control groups (cgroups) let this process have: containers have
// such a limit while they see all cores.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace troupe::detail {

/// Returns the cores that `text`, a file cpu.max of version 2, allows, rounded up; nullopt: no limit, or no such file.
/// "150000 100000" is 150 ms in each 100 ms: 2 cores.
[[nodiscard]] std::optional<int> cores_of_cpu_max(std::string_view text);

/// Returns the cores that `quota` and `period`, files cpu.cfs_quota_us and cpu.cfs_period_us of version 1, allow,
/// rounded up; nullopt as above. A quota of -1 is none.
[[nodiscard]] std::optional<int> cores_of_cfs(std::string_view quota, std::string_view period);

/// Returns the fewest cores that a group of a process, or one above it, allows; nullopt: no limit. `groups` is the text
/// of the process's /proc/self/cgroup, `mount` where the file system of cgroups is. Groups that are not seen there, as
/// those outside a container, are passed over.
[[nodiscard]] std::optional<int> core_quota(std::string_view groups, const std::filesystem::path& mount);

/// Returns the cores that this process's groups allow it and all others in them; nullopt: no limit.
[[nodiscard]] std::optional<int> core_quota();

}  // namespace troupe::detail
