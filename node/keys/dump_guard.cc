#include "node/keys/dump_guard.h"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace troupe {

void forbid_dumps() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = 0;
    (void)::setrlimit(RLIMIT_CORE, &limit);
  }
  forbid_attaching();
}

void forbid_attaching() { (void)::prctl(PR_SET_DUMPABLE, 0); }

}  // namespace troupe
