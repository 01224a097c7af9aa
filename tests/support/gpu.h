// Precondition of tests that need GPUs: they are skipped, with the reason, on machines with fewer.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdint>

#include "tensor/device.h"

namespace troupe::testing {

/// A precondition of test cases and suites: `*boost::unit_test::precondition(NeedsGpus{2})`.
struct NeedsGpus {
  int count = 1;

  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id /*unit*/) const {
    boost::test_tools::assertion_result enough(gpu_count() >= count);
    enough.message() << "it needs " << count << " GPU" << (count == 1 ? "" : "s") << ": "
                     << why_unavailable(Device::cuda(static_cast<std::int16_t>(count - 1)));
    return enough;
  }
};

}  // namespace troupe::testing
