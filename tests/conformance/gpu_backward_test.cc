// Backward passes over nodes whose values are on GPUs. Skipped on machines without a GPU.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/gpu.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(gpu_backward, *boost::unit_test::label("needs_gpu") *
                                        boost::unit_test::precondition(NeedsGpus{1}) *
                                        boost::unit_test::fixture<SharedCluster>())

namespace {

using boost::unit_test::label;

Variable drawn_on(Device device, const Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return Variable(randn(shape, generator).to(device), RequiresGrad::yes);
}

/// Checks that both are on `device` and close: sums on a GPU have another order.
void check_close(const Tensor& got, const Tensor& want, Device device) {
  BOOST_TEST_REQUIRE(got.defined());
  BOOST_TEST((got.device() == device));
  BOOST_TEST(allclose(got.to(Device::cpu()), want.to(Device::cpu()), 1e-4, 1e-4));
}

/// Sets the map of the trainer's first GPU to that of `node`.
void map_gpu(Node& trainer, const NodeName& node) {
  trainer.set_device_map(node, {{Device::cuda(0), Device::cuda(0)}});
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(gradients_of_leaves_on_a_gpu_also_by_way_of_the_cpu_of_another_node, OnSharedCluster,
                        *label("B-31")) {
  const Device gpu = Device::cuda(0);
  const Variable a = drawn_on(gpu, {10, 10}, 1);
  const Variable b = drawn_on(gpu, {10, 10}, 2);
  for (int iteration = 0; iteration < 3; ++iteration) {
    const DistContext context(trainer);
    const Variable there = context.rpc_sync("p1", &product, (a * b).to(Device::cpu()), b.to(Device::cpu()));
    backward(context, sum(there.to(gpu) * a));
    const Gradients expected = backward(sum(a * b * b * a));
    for (const Variable& leaf : {a, b}) check_close(context.grad(leaf), expected.of(leaf), gpu);
  }
}

BOOST_FIXTURE_TEST_CASE(gradients_return_to_the_gpu_from_which_their_values_came, OnSharedCluster, *label("B-32")) {
  const Device gpu = Device::cuda(0);
  map_gpu(trainer, "p1");
  map_gpu(trainer, "p2");
  const Variable a = drawn_on(gpu, {500, 500}, 1);
  const Variable b = drawn_on(gpu, {500, 500}, 2);
  for (int iteration = 0; iteration < 10; ++iteration) {
    const DistContext context(trainer);
    const Variable y = context.rpc_sync("p1", &product, a, b);
    const Variable z = context.rpc_sync("p2", &busy_product, y, b);
    BOOST_TEST((z.device() == gpu));
    backward(context, sum(z));
    const Gradients expected = backward(sum(busy_product(product(a, b), b)));
    for (const Variable& leaf : {a, b}) check_close(context.grad(leaf), expected.of(leaf), gpu);
  }
}

BOOST_FIXTURE_TEST_CASE(gradients_of_a_chain_of_layers_on_gpus_equal_those_of_each_layer_here, OnSharedCluster,
                        *label("B-33")) {
  const Device gpu = Device::cuda(0);
  map_gpu(trainer, "p1");
  const Variable first = drawn_on(gpu, {5000, 200}, 1);
  const Variable second = drawn_on(gpu, {200, 2000}, 2);
  const Variable input = drawn_on(gpu, {20, 5000}, 3);
  const DistContext context(trainer);
  const Variable hidden = context.rpc_sync("p1", &dot_of, input, first, second);
  backward(context, sum(tanh(hidden * 1e-3)));
  const Gradients expected = backward(sum(tanh(dot_of(input, first, second) * 1e-3)));
  for (const Variable& leaf : {first, second, input}) check_close(context.grad(leaf), expected.of(leaf), gpu);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
