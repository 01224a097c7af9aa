// Calls, references and backward passes over nodes whose values are on GPUs. Skipped on machines without a GPU.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "actors/future.h"
#include "actors/op.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "messages/device_map.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/async_functions.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/stream_functions.h"
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

BOOST_AUTO_TEST_SUITE(device_maps, *boost::unit_test::label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1}))

namespace {

using boost::unit_test::label;

const Device kCpu = Device::cpu();
const Device kGpu = Device::cuda(0);

/// The trainer, p1 and p2 map the GPU to that of each other, and to their own: calls to oneself need a map too.
struct OnGpus : OnSharedCluster {
  OnGpus() {
    const DeviceMap same{{kGpu, kGpu}};
    for (const char* to : {"trainer", "p1", "p2"}) {
      trainer.set_device_map(to, same);
      for (const char* from : {"p1", "p2"}) trainer.rpc_sync(from, &map_devices, NodeName(to), same);
    }
  }
};

constexpr std::int64_t kRows = 256;
constexpr std::int64_t kColumns = 1024;
constexpr std::int32_t kTimes = 100;  // products: about a millisecond of a GPU

/// Each element another number; all of them, and their doubles, are exact in f32.
Tensor numbers() { return arange(kRows * kColumns, DType::f32).reshape({kRows, kColumns}); }

/// Returns what shifted() makes of x. An element that is read too early is another number.
Tensor shifted_here(const Tensor& x, std::int32_t times) {
  const std::int64_t split = kColumns - times;
  return concat({x.slice(1, split), x.slice(1, 0, split)}, 1);
}

void check_on_gpu(const Tensor& got, const Tensor& want) {
  BOOST_TEST((got.device() == kGpu));
  BOOST_TEST(same_bytes(got, want));
}

}  // namespace

BOOST_AUTO_TEST_CASE(tensors_arrive_where_the_map_says_and_come_back, *label("D-05") * label("D-10")) {
  TestCluster cluster({"p1", "p2", "p3", "p4"});
  Node& trainer = cluster.trainer();
  const std::vector<DeviceMap::Pair> pairs{{kCpu, kCpu}, {kCpu, kGpu}, {kGpu, kCpu}, {kGpu, kGpu}};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [here, there] = pairs[i];
    const NodeName peer = "p" + std::to_string(i + 1);
    trainer.set_device_map(peer, {pairs[i]});
    const Tensor x = numbers().to(here);
    BOOST_TEST(trainer.rpc_sync(peer, &device_of, x) == to_string(there));
    const Tensor y = trainer.rpc_sync(peer, &add, x, 1.0);
    const RRef<Tensor> kept = trainer.remote(peer, &add, x, 1.0);
    BOOST_TEST(kept.rpc_sync(trainer, &device_of) == to_string(there));
    for (const Tensor& back : {y, kept.to_here(trainer)}) {
      BOOST_TEST((back.device() == here));
      BOOST_TEST(same_bytes(back, x + 1.0));
    }
  }
}

BOOST_AUTO_TEST_CASE(maps_of_several_gpus_put_each_tensor_where_they_say_and_back,
                     *label("D-06") * label("D-08") * boost::unit_test::precondition(NeedsGpus{2})) {
  const Device second = Device::cuda(1);
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  for (const NodeName peer : {"p1", "trainer"}) {
    trainer.set_device_map(peer, {{kGpu, second}, {second, kGpu}});
    const std::vector<Tensor> sent{numbers().to(kGpu), numbers().to(second), numbers()};
    BOOST_TEST(trainer.rpc_sync(peer, &device_of, sent[0]) == "cuda:1");
    BOOST_TEST(trainer.rpc_sync(peer, &device_of, sent[1]) == "cuda:0");
    const std::vector<Tensor> back = trainer.rpc_sync(peer, &echo_tensors, sent);
    for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST((back.at(i).device() == sent[i].device()));
    const Tensor other = trainer.rpc_sync(peer, &moved_to, sent[0], kGpu);  // the second GPU here
    BOOST_TEST((other.device() == second));
    BOOST_TEST(same_bytes(other.to(kCpu), numbers()));
  }
}

BOOST_AUTO_TEST_CASE(maps_that_cross_the_cpu_and_a_gpu_put_each_tensor_where_they_say_and_back,
                     *label("D-06") * label("D-08")) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  for (const NodeName peer : {"p1", "trainer"}) {
    trainer.set_device_map(peer, {{kCpu, kGpu}, {kGpu, kCpu}});
    const std::vector<Tensor> sent{numbers(), numbers().to(kGpu)};
    BOOST_TEST(trainer.rpc_sync(peer, &device_of, sent[0]) == "cuda:0");
    BOOST_TEST(trainer.rpc_sync(peer, &device_of, sent[1]) == "cpu");
    const std::vector<Tensor> back = trainer.rpc_sync(peer, &echo_tensors, sent);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      BOOST_TEST((back.at(i).device() == sent[i].device()));
      BOOST_TEST(same_bytes(back[i].to(kCpu), numbers()));
      // Moved to the other device there, it comes back to the other one here.
      const Tensor other = trainer.rpc_sync(peer, &moved_to, sent[i], sent[i].device());
      BOOST_TEST((other.device() == sent[1 - i].device()));
      BOOST_TEST(same_bytes(other.to(kCpu), numbers()));
    }
  }
}

BOOST_AUTO_TEST_SUITE(shared, *boost::unit_test::fixture<SharedCluster>())

BOOST_FIXTURE_TEST_CASE(tensors_without_a_map_are_refused_at_once_and_nothing_is_lost_by_it, OnSharedCluster,
                        *label("D-09")) {
  const Tensor here = numbers().to(kGpu);
  const auto code = [](const auto& call) { return error_of(call).code; };
  for (int round = 0; round < 30; ++round) {
    const Error argument = error_of([&] { return trainer.rpc_sync("p4", &device_of, here); });
    BOOST_TEST(argument.code == ErrorCode::missing_device_map);
    BOOST_TEST(argument.execution == Execution::never);
    const Error result = error_of([&] { return trainer.rpc_sync("p4", &moved_to, numbers(), kGpu); });
    BOOST_TEST(result.code == ErrorCode::missing_device_map);
    BOOST_TEST(result.execution == Execution::yes);
    BOOST_TEST(code([&] { return trainer.remote("p4", &add, here, 1.0).to_here(trainer); }) ==
               ErrorCode::missing_device_map);
    const RRef<Tensor> kept = trainer.remote("p4", &moved_to, numbers(), kGpu);
    BOOST_TEST(code([&] { return kept.to_here(trainer); }) == ErrorCode::missing_device_map);
    BOOST_TEST(kept.rpc_sync(trainer, &device_of) == "cuda:0");
    BOOST_TEST(trainer.rpc_sync("p4", &device_of, numbers()) == "cpu");
  }
}

BOOST_FIXTURE_TEST_CASE(work_under_way_on_a_gpu_is_done_before_anybody_reads_its_result, OnGpus, *label("D-11")) {
  const Tensor x = numbers().to(kGpu);
  const Tensor shift = shift_of(kColumns).to(kGpu);
  const Tensor once = trainer.rpc_sync("p1", &shifted, shifted(x, shift, kTimes), shift, kTimes);
  check_on_gpu(once, shifted_here(x, 2 * kTimes));
  std::vector<Future<Tensor>> many;
  for (const char* peer : {"p1", "p2"})
    many.push_back(trainer.rpc_async(peer, &shifted, shifted(x, shift, kTimes), shift, kTimes));
  for (const Future<Tensor>& each : many) check_on_gpu(each.get(), shifted_here(x, 2 * kTimes));
  const Tensor nested = trainer.rpc_sync("p1", &shifted_by, NodeName("p2"), shifted(x, shift, kTimes), shift, kTimes);
  check_on_gpu(nested, shifted_here(x, 3 * kTimes));
}

BOOST_FIXTURE_TEST_CASE(operands_on_different_devices_are_the_callees_ordinary_error, OnGpus, *label("D-12")) {
  const Tensor x = numbers();
  const Error error = error_of([&] { return trainer.rpc_sync("p1", op::add, x.to(kGpu), x); });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.message == "[add] devices differ: cuda:0 and cpu");
  check_on_gpu(trainer.rpc_sync("p1", op::add, x.to(kGpu), x.to(kGpu)), (x + x).to(kGpu));
}

BOOST_FIXTURE_TEST_CASE(call_for_which_a_gpu_has_no_memory_fails_alone, OnGpus, *label("fault-F20")) {
  const Future<Tensor> other = trainer.rpc_async("p1", &add, numbers().to(kGpu), 1.0);
  const Error error = error_of([&] { return trainer.rpc_sync("p1", &allocated_on, kGpu, std::int64_t{1} << 50); });
  BOOST_TEST(error.code == ErrorCode::device_out_of_memory);
  BOOST_TEST(error.execution == Execution::yes);
  BOOST_TEST(error.message == "[allocate] 1125899906842624 bytes on cuda:0: out of memory");
  check_on_gpu(other.get(), (numbers() + 1.0).to(kGpu));
  BOOST_TEST(trainer.rpc_sync("p1", &allocated_on, kGpu, 4096) == 4096);
}

BOOST_FIXTURE_TEST_CASE(references_are_read_with_all_work_on_them_done, OnGpus,
                        *label("D-13") * label("D-14") * label("D-15")) {
  const Tensor x = numbers().to(kGpu);
  const Tensor shift = shift_of(kColumns).to(kGpu);
  const Tensor want = shifted_here(x, kTimes);
  const auto made_on = [&](const char* owner) { return trainer.remote(owner, &shifted, x, shift, kTimes); };
  const RRef<Tensor> own(trainer, shifted(x, shift, kTimes));
  check_on_gpu(made_on("p1").to_here(trainer), want);
  check_on_gpu(own.to_here(trainer), want);
  check_on_gpu(trainer.rpc_sync("p1", &rref_add, made_on("p1"), made_on("p1")), want + want);
  check_on_gpu(trainer.rpc_sync("p1", &rref_add, made_on("p1"), made_on("p2")), want + want);
  check_on_gpu(trainer.rpc_sync("p2", &forward_along, made_on("p1"), std::vector<NodeName>{"p1"}), want);
  check_on_gpu(trainer.rpc_sync("p1", &forward_along, made_on("p1"), std::vector<NodeName>{"p2"}), want);
}

BOOST_FIXTURE_TEST_CASE(tensors_anywhere_in_a_futures_value_are_complete, OnGpus, *label("D-17")) {
  const Tensor shift = shift_of(kColumns).to(kGpu);
  const Tensor x = shifted(numbers().to(kGpu), shift, kTimes);
  const Tensor want = shifted_here(numbers().to(kGpu), kTimes);
  const auto doubled = [](const Tensor& y) { return y * 2.0; };
  check_on_gpu(trainer.rpc_async("p1", &shifted, x, shift, 0).then(doubled).get(), want * 2.0);
  const auto first = [](const std::vector<Tensor>& list) { return list.front() * 2.0; };
  check_on_gpu(trainer.rpc_async("p1", &echo_tensors, std::vector{x, shift}).then(first).get(), want * 2.0);
  const auto extra = [](const Sample& sample) { return sample.extra.at("x") * 2.0; };
  check_on_gpu(trainer.rpc_async("p1", &echo_sample, Sample{"s", shift, {}, {{"x", x}}}).then(extra).get(), want * 2.0);
  const SparseTensor sparse(arange(kRows).reshape({1, kRows}).to(kGpu), x, {kRows, kColumns});
  const auto values = [](const SparseTensor& got) { return got.values() * 2.0; };
  check_on_gpu(trainer.rpc_async("p1", &echo_sparse, sparse).then(values).get(), want * 2.0);
}

BOOST_FIXTURE_TEST_CASE(callback_moves_the_work_to_another_gpu, OnGpus,
                        *label("D-18") * boost::unit_test::precondition(NeedsGpus{2})) {
  const Tensor x = numbers().to(kGpu);
  const Tensor shift = shift_of(kColumns).to(kGpu);
  const auto move = [](const Tensor& y) { return y.to(Device::cuda(1)) * 2.0; };
  const Tensor moved = trainer.rpc_async("p1", &shifted, x, shift, kTimes).then(move).get();
  BOOST_TEST((moved.device() == Device::cuda(1)));
  BOOST_TEST(same_bytes(moved.to(kCpu), (shifted_here(x, kTimes) * 2.0).to(kCpu)));
}

BOOST_FIXTURE_TEST_CASE(callback_moves_the_work_to_the_cpu_or_from_there, OnGpus, *label("D-18")) {
  const Tensor x = numbers().to(kGpu);
  const Tensor shift = shift_of(kColumns);
  const auto to_cpu = [](const Tensor& y) { return y.to(kCpu) * 2.0; };
  const Tensor here = trainer.rpc_async("p1", &shifted, x, shift.to(kGpu), kTimes).then(to_cpu).get();
  BOOST_TEST((here.device() == kCpu));
  BOOST_TEST(same_bytes(here, shifted_here(numbers(), kTimes) * 2.0));
  const auto to_gpu = [](const Tensor& y) { return y.to(kGpu) * 2.0; };
  const Tensor there = trainer.rpc_async("p1", &shifted, numbers(), shift, 1).then(to_gpu).get();
  check_on_gpu(there, (shifted_here(numbers(), 1) * 2.0).to(kGpu));
}

BOOST_FIXTURE_TEST_CASE(value_may_be_written_and_replaced_after_its_future_completed, OnGpus, *label("D-20")) {
  const Future<std::vector<Tensor>> future =
      trainer.rpc_async("p1", &echo_tensors, std::vector{numbers().to(kGpu), numbers().to(kGpu)});
  std::vector<Tensor> value = future.get();
  value[0].fill(7.0);
  value[1] = ones({2}).to(kGpu);
  check_on_gpu(value[0], full({kRows, kColumns}, 7.0).to(kGpu));
  check_on_gpu(value[1] + 1.0, full({2}, 2.0).to(kGpu));
  BOOST_TEST(future.get().size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(asynchronous_functions_answer_with_tensors_on_gpus_also_nested, OnGpus, *label("D-21")) {
  const Tensor x = numbers().to(kGpu);
  check_on_gpu(trainer.rpc_sync("p1", &add_later, NodeName("p2"), x, 1.0), x + 1.0);
  check_on_gpu(trainer.rpc_sync("p1", &add_thrice_later, NodeName("p2"), x, 1.0), x + 3.0);
  check_on_gpu(trainer.rpc_sync("p1", &add_later_by, NodeName("p2"), NodeName("p1"), x, 1.0), x + 1.0);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
