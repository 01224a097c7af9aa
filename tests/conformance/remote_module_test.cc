// Modules on other nodes through their handles: how they are made, run, trained, passed on and refused.
#include "actors/remote_module.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "messages/values.h"
#include "optim/local_optimizer.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/sampling.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/module_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/gpu.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(remote_module, *boost::unit_test::fixture<SharedCluster>())

namespace {

using boost::unit_test::label;

bool same_values(const Tensor& a, const Tensor& b) { return allclose(a, b, 0.0, 0.0); }

Tensor random(const Shape& shape) {
  Generator generator(3);
  return uniform(shape, -1.0, 1.0, generator);
}

TwoLayers local_twin() {
  Generator generator(7);
  return TwoLayers(3, 4, 0.5, generator);
}

RemoteModule<TwoLayers> make(const Scope& scope, const std::string& place) {
  return RemoteModule(scope, place, two_layers, 3, 4, 0.5, Generator(7));
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(forward_gives_what_it_gives_here, OnSharedCluster, *label("M-02")) {
  TwoLayers twin = local_twin();
  const RemoteModule<TwoLayers> net = make(trainer, "p1");
  const Tensor x = random({5, 3});
  BOOST_TEST(same_values(net.forward(trainer, x, "tanh").value(), twin.forward(x, "tanh").value()));
  const Future<Variable> later = net.forward_async(trainer, x, "relu");
  BOOST_TEST(same_values(later.get().value(), twin.forward(x, "relu").value()));
  const auto with_tanh = function(&TwoLayers::forward).defaults(std::string("tanh"));
  BOOST_TEST(same_values(net.module_rref().rpc_sync(trainer, with_tanh, x).value(), twin.forward(x, "tanh").value()));
}

BOOST_FIXTURE_TEST_CASE(generator_is_copied_in_its_present_state, OnSharedCluster) {
  Generator here(9, 2);
  static_cast<void>(here.next_u64());
  const Generator before = here;
  const RemoteModule<TwoLayers> net(trainer, "p2", two_layers, 3, 4, 0.5, here);
  TwoLayers twin(3, 4, 0.5, here);
  const Tensor x = random({4, 3});
  BOOST_TEST(same_values(net.forward(trainer, x, "relu").value(), twin.forward(x, "relu").value()));
  BOOST_TEST(!(here == before));
}

BOOST_FIXTURE_TEST_CASE(parameters_are_references_to_the_modules_own, OnSharedCluster, *label("M-03")) {
  const TwoLayers twin = local_twin();
  const RemoteModule<TwoLayers> net = make(trainer, "p1");
  const std::vector<RRef<Variable>> remote = net.remote_parameters(trainer);
  const std::vector<Variable> local = twin.parameters();
  BOOST_REQUIRE(remote.size() == local.size());
  for (std::size_t i = 0; i < remote.size(); ++i) {
    BOOST_TEST(remote[i].owner() == "p1");
    BOOST_TEST(same_values(remote[i].to_here(trainer).value(), local[i].value()));
  }
}

BOOST_FIXTURE_TEST_CASE(training_steps_equal_those_of_the_local_twin, OnSharedCluster, *label("M-03")) {
  TwoLayers twin = local_twin();
  const RemoteModule<TwoLayers> net = make(trainer, "p1");
  const optim::SgdOptions rule{.lr = 0.1, .momentum = 0.9};
  const DistOptimizer far(trainer, rule, net.remote_parameters(trainer));
  optim::LocalOptimizer near(twin.parameters(), rule);
  const Tensor x = random({6, 3});
  for (int step = 0; step < 3; ++step) {
    const DistContext context(trainer);
    backward(context, sum(net.forward(context, x, "tanh")));
    far.step(context);
    near.step(backward(sum(twin.forward(x, "tanh"))));
  }
  BOOST_TEST(same_values(net.forward(trainer, x, "tanh").value(), twin.forward(x, "tanh").value()));
}

BOOST_FIXTURE_TEST_CASE(module_reference_has_everything_else, OnSharedCluster, *label("M-04")) {
  const RemoteModule<TwoLayers> net = make(trainer, "p1");
  const RRef<TwoLayers>& module = net.module_rref();
  BOOST_TEST(module.owner() == "p1");
  BOOST_TEST(module.type(trainer) == "object");
  const Tensor x = random({5, 3});
  const Variable y = module.rpc_sync(trainer, &TwoLayers::forward, x, "relu");
  BOOST_TEST(same_values(y.value(), local_twin().forward(x, "relu").value()));
}

BOOST_FIXTURE_TEST_CASE(mode_is_that_of_the_remote_module, OnSharedCluster, *label("M-05")) {
  TwoLayers twin = local_twin();
  const RemoteModule<TwoLayers> net = make(trainer, "p1");
  const Tensor x = random({5, 3});
  BOOST_TEST((net.mode(trainer) == nn::Mode::train));
  net.eval(trainer);
  twin.eval();
  BOOST_TEST((net.mode(trainer) == nn::Mode::eval));
  BOOST_TEST(same_values(net.forward(trainer, x, "relu").value(), twin.forward(x, "relu").value()));
  net.train(trainer);
  twin.train();
  BOOST_TEST((net.mode(trainer) == nn::Mode::train));
  BOOST_TEST(same_values(net.forward(trainer, x, "relu").value(), twin.forward(x, "relu").value()));
}

BOOST_FIXTURE_TEST_CASE(handle_outside_a_call_is_refused, OnSharedCluster, *label("M-08")) {
  const RemoteModule<TwoLayers> net = make(trainer, "trainer");
  BOOST_CHECK_THROW(static_cast<void>(to_payload(nullptr, net)), EncodeError);
}

BOOST_FIXTURE_TEST_CASE(handle_travels_and_any_node_runs_forward, OnSharedCluster, *label("M-09")) {
  const RemoteModule<TwoLayers> net = make(trainer, "p1");
  const Tensor x = random({5, 3});
  BOOST_TEST(same_values(trainer.rpc_sync("p2", &forward_elsewhere, net, x), local_twin().forward(x, "tanh").value()));
  const auto made_elsewhere = trainer.rpc_sync("p2", &make_on, "p3/cpu", 4);
  BOOST_TEST(made_elsewhere.owner() == "p3");
  BOOST_TEST(!(made_elsewhere == net));
  BOOST_TEST((net == RemoteModule(net.module_rref())));
  BOOST_TEST(same_values(made_elsewhere.forward(trainer, x, "tanh").value(), local_twin().forward(x, "tanh").value()));
}

BOOST_FIXTURE_TEST_CASE(handle_of_an_existing_module_is_made_on_a_third_node, OnSharedCluster, *label("M-10")) {
  const RemoteModule<TwoLayers> net = make(trainer, "p1");
  net.eval(trainer);
  const Tensor x = random({5, 3});
  const double expected = sum(local_twin().forward(x, "relu").value()).item();
  BOOST_TEST(trainer.rpc_sync("p2", &use_existing, net.module_rref(), x) == expected);
}

BOOST_FIXTURE_TEST_CASE(places_have_a_name_or_a_rank_and_a_device, OnSharedCluster, *label("M-11")) {
  const std::string rank = "rank:" + std::to_string(trainer.info("p2").rank);
  for (const std::string& place : std::vector<std::string>{"p2", "p2/cpu", rank, rank + "/cpu"}) {
    const RemoteModule<TwoLayers> net = make(trainer, place);
    BOOST_TEST(net.owner() == "p2");
    BOOST_TEST((net.device(trainer) == Device::cpu()));
  }
}

BOOST_FIXTURE_TEST_CASE(places_that_are_none_are_errors_each_with_its_reason, OnSharedCluster, *label("M-12")) {
  const auto refusal = [&](const std::string& place) {
    try {
      static_cast<void>(make(trainer, place));
      return std::string("made");
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
  };
  const std::string expected = ": expected NODE, NODE/DEVICE or rank:N/DEVICE";
  BOOST_TEST(refusal("p1/gpu0") ==
             "[placement] \"p1/gpu0\" names the device \"gpu0\", which is none of cpu, cuda and cuda:N" + expected);
  BOOST_TEST(refusal("p1/cuda:0/x") == "[placement] \"p1/cuda:0/x\" has more than one /" + expected);
  BOOST_TEST(refusal("/cpu") == "[placement] \"/cpu\" names no node" + expected);
  BOOST_TEST(refusal("") == "[placement] \"\" names no node" + expected);
  BOOST_TEST(refusal("rank:-1/cpu") == "[placement] \"rank:-1/cpu\" has no rank of 0 or more after rank:" + expected);

  const auto error_of_use = [&](const std::string& place) {
    return error_of([&] { return make(trainer, place).mode(trainer); });
  };
  const Error no_device = error_of_use("p1/cuda:99");
  BOOST_TEST(no_device.code == ErrorCode::remote_exception);
  BOOST_TEST(no_device.message.find("cuda:99 is not available") != std::string::npos, no_device.text());
  BOOST_TEST(error_of_use("nobody").text().find("nobody") != std::string::npos);
  BOOST_TEST(error_of_use("rank:99").text().find("99") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(exception_of_the_constructor_is_the_error_of_the_first_use, OnSharedCluster) {
  const RemoteModule<TwoLayers> net(trainer, "p1", two_layers, 3, 0, 0.5, Generator(7));
  const Error error = error_of([&] { return net.forward(trainer, random({2, 3}), "relu"); });
  BOOST_TEST(error.message.find("[TwoLayers] width of 0") != std::string::npos, error.text());
}

BOOST_AUTO_TEST_CASE(handle_has_no_function_that_works_on_the_module_itself, *label("M-06")) {
  const auto check = []<class Handle>(std::type_identity<Handle>) {
#define LACKS(function) BOOST_TEST(!(requires { &Handle::function; }), #function)
    LACKS(register_buffer);
    LACKS(register_parameter);
    LACKS(add_module);
    LACKS(apply);
    LACKS(to);
    LACKS(cpu);
    LACKS(cuda);
    LACKS(type);
    LACKS(half);
    LACKS(state_dict);
    LACKS(load_state_dict);
    LACKS(parameters);
    LACKS(named_parameters);
    LACKS(buffers);
    LACKS(named_buffers);
    LACKS(children);
    LACKS(named_children);
    LACKS(modules);
    LACKS(named_modules);
    LACKS(requires_grad_);
    LACKS(set_requires_grad);
    LACKS(freeze);
    LACKS(zero_grad);
    LACKS(share_memory);
    LACKS(extra_repr);
    LACKS(register_forward_hook);
#undef LACKS
    BOOST_TEST((requires { &Handle::remote_parameters; }));
  };
  check(std::type_identity<RemoteModule<TwoLayers>>{});
}

// As in a loop of evaluations between two steps: nothing is recorded for it on either node, with or without a context.
BOOST_FIXTURE_TEST_CASE(forward_under_a_guard_records_on_no_node, OnSharedCluster) {
  const RemoteModule<TwoLayers> net = make(trainer, "p1");
  const Variable x(random({5, 3}), RequiresGrad::yes);
  const Tensor want = local_twin().forward(x, "tanh").value();
  const DistContext context(trainer);
  {
    const NoGradGuard no_grad;
    for (const Scope* scope : std::array<const Scope*, 2>{&trainer, &context}) {
      const Variable y = net.forward(*scope, x, "tanh");
      BOOST_TEST(same_values(y.value(), want));
      BOOST_TEST(!y.requires_grad());  // it would if p1 had recorded a graph
    }
    BOOST_TEST(context.rpc_sync("trainer", &sends_here) == 0);
    BOOST_TEST(context.rpc_sync("p1", &sends_here) == 0);
  }
  // The guard has no influence on what comes after it.
  const Variable y = net.forward(context, x, "tanh");
  BOOST_TEST(y.requires_grad());
  backward(context, sum(y));
  BOOST_TEST(context.grad(x).defined());
}

BOOST_FIXTURE_TEST_CASE(null_handle_throws, OnSharedCluster) {
  const RemoteModule<TwoLayers> none;
  BOOST_CHECK_THROW(static_cast<void>(none.mode(trainer)), std::logic_error);
}

BOOST_FIXTURE_TEST_CASE(cpu_input_moves_to_the_modules_gpu_and_the_result_comes_back, OnSharedCluster,
                        *label("M-13") * label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1})) {
  TwoLayers twin = local_twin();
  const RemoteModule<TwoLayers> net = make(trainer, "p1/cuda:0");
  BOOST_TEST((net.device(trainer) == Device::cuda(0)));
  const Tensor x = random({5, 3});
  const DistContext context(trainer);
  const Variable input(x, RequiresGrad::yes);
  const Variable y = net.forward(context, input, "tanh");
  BOOST_TEST((y.device() == Device::cpu()));
  BOOST_TEST(allclose(y.value(), twin.forward(x, "tanh").value(), 1e-4, 1e-5));
  backward(context, sum(y));
  const Variable same(x, RequiresGrad::yes);
  const Gradients expected = backward(sum(twin.forward(same, "tanh")));
  BOOST_TEST(allclose(context.grad(input), expected.of(same), 1e-3, 1e-5));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
