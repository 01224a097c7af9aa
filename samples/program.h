// What every sample's main() does around its work.
#pragma once

#include <exception>
#include <iostream>

#include "node/log.h"

namespace samples {

/// Calls `body(argc, argv)` and returns its exit status. What it throws becomes one line on standard error and
/// status 1.
template <class Body>
int run_program(Body body, int argc, char** argv) {
  troupe::log_to_stderr("info");
  try {
    return body(argc, argv);
  } catch (const std::exception& error) {
    std::cout.flush();
    std::cerr << error.what() << std::endl;
    return 1;
  }
}

}  // namespace samples
