#include "node/launch/role_program.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "node/launch/program_path.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

fs::path find_program_of(const RoleConfig& role, const fs::path& directory, const Variables& variables,
                         std::vector<std::string>& problems) {
  const std::string& name = role.command.front();
  fs::path beside_file = (directory / name).lexically_normal();
  if (is_program(beside_file)) return beside_file;
  std::error_code ignored;
  const bool is_bare = name.find('/') == std::string::npos;
  if (is_bare) {
    if (auto found = find_on_path(name, variables)) return *std::move(found);
  }
  if (fs::is_regular_file(beside_file, ignored)) {
    problems.push_back(fmt::format("{}: role.command: {} is not executable (chmod +x)", role.command_origin.text(),
                                   beside_file.string()));
  } else {
    problems.push_back(fmt::format("{}: role.command: no program \"{}\" in {}{}", role.command_origin.text(), name,
                                   directory.string(), is_bare ? " or on PATH" : ""));
  }
  return {};
}

}  // namespace

ChildSpec program_of(const RoleConfig& role, const fs::path& directory, const Variables& variables,
                     std::vector<std::string>& problems) {
  ChildSpec child;
  child.program = find_program_of(role, directory, variables, problems);
  child.arguments.assign(role.command.begin() + 1, role.command.end());
  if (!role.working_dir.empty()) {
    child.working_dir = (directory / role.working_dir).lexically_normal();
    std::error_code ignored;
    if (!fs::is_directory(child.working_dir, ignored)) {
      problems.push_back(fmt::format("{}: role.working_dir: no directory {}", role.working_dir_origin.text(),
                                     child.working_dir.string()));
    }
  }
  return child;
}

}  // namespace troupe::detail
