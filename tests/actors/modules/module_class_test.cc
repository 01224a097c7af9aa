#include "actors/modules/module_class.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>

#include "actors/dist_autograd.h"
#include "actors/remote_module.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/support/output_of.h"

namespace troupe::testing {
namespace {

struct Scaled : nn::Module {
  Scaled() : weight(add_parameter("weight", ones({2}))) {}
  Variable forward(const Variable& x) { return x * weight; }
  Variable weight;
};
struct Shown : nn::Module {
  Shown() : weight(add_parameter("weight", ones({2}))) {}
  Variable forward(const Variable& /*x*/) { return weight; }
  Variable weight;
};
inline constexpr auto scaled_class = module_class<Scaled>;
inline constexpr auto shown_class = module_class<Shown>;

struct Cluster {
  LocalCluster nodes{{"trainer", "ps"}, FunctionRegistry{{"Scaled", scaled_class}, {"Shown", shown_class}}};
  const Node& trainer = nodes.node("trainer");
  const Variable x{ones({2})};
};

BOOST_FIXTURE_TEST_SUITE(module_class_suite, Cluster)

BOOST_AUTO_TEST_CASE(forward_outside_a_context_warns_once_that_no_gradient_comes_back) {
  const RemoteModule scaled(trainer, "ps", scaled_class);
  const std::string logged = output_of([&] {
    for (int i = 0; i < 2; ++i) static_cast<void>(scaled.forward(trainer, x));
  });
  const std::string warning =
      "[ps] troupe::testing::(anonymous namespace)::Scaled::forward was called by trainer outside a DistContext: no "
      "gradient comes back; call it through the context, or under a NoGradGuard";
  const auto first = logged.find(warning);
  BOOST_TEST_REQUIRE(first != std::string::npos, logged);
  BOOST_TEST(logged.find("no gradient comes back", first + warning.size()) == std::string::npos, logged);
}

BOOST_AUTO_TEST_CASE(forward_in_a_context_without_a_graph_or_of_a_parameter_does_not_warn) {
  const RemoteModule scaled(trainer, "ps", scaled_class);
  const RemoteModule shown(trainer, "ps", shown_class);
  const std::string logged = output_of([&] {
    const DistContext ctx(trainer);
    static_cast<void>(scaled.forward(ctx, x));
    static_cast<void>(shown.forward(trainer, x));
    const NoGradGuard no_graph;
    static_cast<void>(scaled.forward(trainer, x));
  });
  BOOST_TEST(logged.find("no gradient comes back") == std::string::npos, logged);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
