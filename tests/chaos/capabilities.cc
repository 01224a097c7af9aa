#include "tests/chaos/capabilities.h"

#include <unistd.h>

#include <cstddef>
#include <exception>
#include <fstream>
#include <string>

#include "tests/chaos/network_namespace.h"

namespace troupe::testing {
namespace {

using boost::test_tools::assertion_result;

assertion_result because(bool holds, const std::string& reason) {
  assertion_result result(holds);
  result.message() << reason;
  return result;
}

/// Tries it once: the kernel and the tools decide, not the user id.
template <class Try>
assertion_result works(Try attempt) {
  try {
    attempt();
    return because(true, "");
  } catch (const std::exception& error) {
    return because(false, error.what());
  }
}

std::size_t available_bytes() {
  std::ifstream in("/proc/meminfo");
  std::string word;
  while (in >> word) {
    std::size_t kilobytes = 0;
    if (word == "MemAvailable:" && in >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

}  // namespace

assertion_result NeedsNamespaces::operator()(boost::unit_test::test_unit_id /*unit*/) const {
  return works([] { NetworkNamespace().limit_rate("lo", 100); });
}

assertion_result NeedsPacketFilter::operator()(boost::unit_test::test_unit_id unit) const {
  const assertion_result namespaces = NeedsNamespaces{}(unit);
  if (!namespaces) return namespaces;
  return works([] { NetworkNamespace().cut_incoming(); });
}

assertion_result NeedsRoot::operator()(boost::unit_test::test_unit_id /*unit*/) const {
  return because(geteuid() == 0, "only root can start a process as another user");
}

assertion_result NeedsMemoryLimit::operator()(boost::unit_test::test_unit_id /*unit*/) const {
#ifdef __SANITIZE_ADDRESS__
  return because(false, "the address space of a sanitized program has no limit");
#else
  return because(true, "");
#endif
}

assertion_result NeedsMemory::operator()(boost::unit_test::test_unit_id /*unit*/) const {
  const std::size_t available = available_bytes();
  return because(available >= bytes, "it needs " + std::to_string(bytes >> 20) + " MiB of free memory, there are " +
                                         std::to_string(available >> 20));
}

}  // namespace troupe::testing
