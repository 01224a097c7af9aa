// Whether the kernel closes the memory of other processes to those that ask for it.
#pragma once

#include <boost/test/unit_test.hpp>

#include "node/process_domain.h"

namespace troupe::testing {

/// A precondition.
inline boost::test_tools::assertion_result has_landlock(boost::unit_test::test_unit_id /*unit*/) {
  boost::test_tools::assertion_result result = detail::domain_rules().is_open();
  result.message() << "this kernel has no Landlock that can allow renames";
  return result;
}

}  // namespace troupe::testing
