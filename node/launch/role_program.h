// The program of a role, as it runs on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "node/config/config.h"
#include "node/launch/child_process.h"

namespace troupe::detail {

/// Returns program, arguments and working directory of `role`; `directory` is that of the cluster file. The program is
/// looked for in that directory, then, if it is a bare name, on PATH of `variables`. What is not there is added to
/// `problems`.
[[nodiscard]] ChildSpec program_of(const RoleConfig& role, const std::filesystem::path& directory,
                                   const Variables& variables, std::vector<std::string>& problems);

}  // namespace troupe::detail
