// Requirements of a test on its machine. Boost.Test preconditions: a test is skipped, with the reason, if one is
// missing.
//
//   BOOST_AUTO_TEST_CASE(peer_behind_a_slow_link_stays_up, *precondition(NeedsNamespaces{}) * label("privileged"))
#pragma once

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

/// Network namespaces with a rate limit: needs the privilege, `ip` and `tc`.
struct NeedsNamespaces {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// Network namespaces that can be cut: needs `nft` as well.
struct NeedsPacketFilter {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// A user id for one process alone, whose threads can be limited: needs root.
struct NeedsRoot {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// An effective limit of the address space: needs a build without sanitizers, which reserve terabytes.
struct NeedsMemoryLimit {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// This many bytes of free memory.
struct NeedsMemory {
  std::size_t bytes = 0;
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

}  // namespace troupe::testing
