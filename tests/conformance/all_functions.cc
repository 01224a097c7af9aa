#include "tests/conformance/all_functions.h"

#include <string>

#include "tests/conformance/async_functions.h"
#include "tests/conformance/collective_functions.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/group_functions.h"
#include "tests/conformance/learning_functions.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/module_functions.h"
#include "tests/conformance/named_value_functions.h"
#include "tests/conformance/optimizer_functions.h"
#include "tests/conformance/pipeline_functions.h"
#include "tests/conformance/profile_functions.h"
#include "tests/conformance/random_program.h"
#include "tests/conformance/replica_functions.h"
#include "tests/conformance/stream_functions.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

FunctionRegistry functions_of(const NodeName& name) {
  const FunctionRegistry everywhere = with_learning_functions(with_pipeline_functions(
      with_optimizer_functions(with_replica_functions(with_program_functions(with_load_functions(with_stream_functions(
          with_collective_functions(with_group_functions(with_async_functions(with_module_functions(
              with_named_value_functions(with_profile_functions(with_gradient_functions(test_functions()))))))))))))));
  if (name == "trainer") {
    return everywhere.with({{"disagree", &disagree_on_trainer},
                            {"only_on_trainer", &only_on_trainer},
                            {"std::string::size", &std::string::size}});
  }
  return everywhere.with({{"disagree", &disagree_elsewhere}});
}

}  // namespace troupe::testing
