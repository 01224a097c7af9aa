// What a test needs of its machine. Boost.Test preconditions: a test whose machine lacks one is skipped, and says why.
//
//   BOOST_AUTO_TEST_CASE(peer_behind_a_slow_link_stays_up, *precondition(NeedsNamespaces{}) * label("privileged"))
#pragma once

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

/// Network namespaces with a rate limit: the privilege, `ip` and `tc`.
struct NeedsNamespaces {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// Network namespaces that can be cut: beside that `nft`.
struct NeedsPacketFilter {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// A user of one process's own, whose threads can be limited: root.
struct NeedsRoot {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// A limit of the address space that means something: no sanitizer, which reserves terabytes.
struct NeedsMemoryLimit {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// So many bytes of memory that are free.
struct NeedsMemory {
  std::size_t bytes = 0;
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

}  // namespace troupe::testing
