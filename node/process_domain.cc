#include "node/process_domain.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace troupe::detail {
namespace {

constexpr long kAllowsRenames = 2;  // the first version of the interface that can

void check_domain_step(bool done) {
  if (!done) throw std::system_error(errno, std::generic_category(), "cannot make a Landlock domain");
}

}  // namespace

FileDescriptor domain_rules() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < kAllowsRenames) return {};
  // A domain has to rule over something. This one does over renames to other directories, and allows all of them.
  landlock_ruleset_attr ruled{};
  ruled.handled_access_fs = LANDLOCK_ACCESS_FS_REFER;
  FileDescriptor rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &ruled, sizeof ruled, 0)));
  check_domain_step(rules.is_open());
  const FileDescriptor root(::open("/", O_PATH | O_CLOEXEC));
  check_domain_step(root.is_open());
  landlock_path_beneath_attr everywhere{};
  everywhere.allowed_access = LANDLOCK_ACCESS_FS_REFER;
  everywhere.parent_fd = root.get();
  check_domain_step(::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &everywhere, 0) == 0);
  return rules;
}

bool enter_domain(int rules) noexcept { return ::syscall(SYS_landlock_restrict_self, rules, 0) == 0; }

}  // namespace troupe::detail
