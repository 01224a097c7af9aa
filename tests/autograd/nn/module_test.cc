#include "autograd/nn/module.h"

#include <memory>
#include <string>
#include <vector>

#include "autograd/nn/activation.h"
#include "autograd/nn/attention.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/rnn.h"
#include "autograd/nn/sequential.h"
#include "tests/autograd/expect.h"
#include "tests/support/gpu.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_module)

namespace {

/// Counts its forwards, and has a buffer `mask` that is not saved.
class Counting final : public nn::Layer {
 public:
  Counting()
      : scale_(add_parameter("scale", full({2}, 2.0))),
        count_(add_buffer("count", zeros({}, DType::i64))),
        mask_(add_buffer("mask", ones({2}), nn::Persistent::no)) {}

  Variable forward(const Variable& x) override {
    count_.set_value(count_.value() + 1.0);
    return x * scale_ * mask_;
  }

  void add_buffer_called(const std::string& name) { add_buffer(name, ones({1})); }

 private:
  Variable scale_;
  Variable count_;
  Variable mask_;
};

/// A module that contains one layer twice, and shares a parameter of another module.
class Shared final : public nn::Module {
 public:
  explicit Shared(Generator& generator) : layer_(std::make_shared<nn::Linear>(2, 2, generator)) {
    add_module("first", layer_);
    add_module("second", layer_);
    share_parameter("weight", layer_->weight());
  }

  void share(const std::string& name, const Variable& parameter) { share_parameter(name, parameter); }

 private:
  std::shared_ptr<nn::Linear> layer_;
};

std::shared_ptr<nn::Sequential> network() {
  Generator generator(1);
  return nn::sequential(std::make_shared<nn::Linear>(2, 2, generator),
                        nn::sequential(std::make_shared<nn::Tanh>(), std::make_shared<Counting>()));
}

template <class Named>
std::vector<std::string> names_of(const Named& named) {
  std::vector<std::string> names;
  for (const auto& [name, value] : named) names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;
const auto per_element = boost::test_tools::per_element();

}  // namespace

BOOST_AUTO_TEST_CASE(buffers_are_no_parameters_and_only_persistent_ones_belong_to_the_state) {
  const auto model = network();
  BOOST_TEST(names_of(model->named_parameters()) == (Names{"0.weight", "0.bias", "1.1.scale"}), per_element);
  BOOST_TEST(names_of(model->named_buffers()) == (Names{"1.1.count", "1.1.mask"}), per_element);
  BOOST_TEST(names_of(model->named_state()) == (Names{"0.weight", "0.bias", "1.1.scale", "1.1.count"}), per_element);
  BOOST_CHECK(!model->named_buffers()[1].second.requires_grad());
  Counting counting;
  expect_throw<ValueError>([&] { counting.add_buffer_called("mask"); }, "[nn] name given twice: mask");
  expect_throw<ValueError>([&] { counting.add_buffer_called("scale"); }, "[nn] name given twice: scale");
}

BOOST_AUTO_TEST_CASE(a_buffer_that_a_forward_replaces_does_not_change_for_who_has_read_it) {
  Counting counting;
  const Tensor before = counting.named_buffers()[0].second.value();
  (void)counting(ones({2}));
  (void)counting(ones({2}));
  BOOST_TEST(before.item() == 0.0);
  BOOST_TEST(counting.named_buffers()[0].second.value().item() == 2.0);
}

BOOST_AUTO_TEST_CASE(modules_are_listed_before_their_parts_and_visited_after_them) {
  const auto model = network();
  BOOST_TEST(names_of(model->named_modules()) == (Names{"", "0", "1", "1.0", "1.1"}), per_element);
  BOOST_CHECK(model->named_modules()[0].second == model.get());
  Names kinds;
  model->apply([&](nn::Module& module) { kinds.push_back(module.kind()); });
  BOOST_TEST(kinds == (Names{"Linear", "Tanh", "Counting", "Sequential", "Sequential"}), per_element);
}

BOOST_AUTO_TEST_CASE(what_modules_share_is_listed_once_but_saved_under_all_its_names) {
  Generator generator(1);
  Shared model(generator);
  BOOST_TEST(names_of(model.named_parameters()) == (Names{"weight", "first.bias"}), per_element);
  BOOST_TEST(names_of(model.named_modules()) == (Names{"", "first"}), per_element);
  BOOST_TEST(
      names_of(model.named_state()) == (Names{"weight", "first.weight", "first.bias", "second.weight", "second.bias"}),
      per_element);
  int visits = 0;
  model.apply([&](nn::Module&) { ++visits; });
  BOOST_TEST(visits == 2);
  expect_throw<ValueError>([&] { model.share("other", model.parameters()[0] * 2.0); }, "[nn] not a leaf: other");
  expect_throw<ValueError>([&] { model.share("other", {}); }, "[nn] not a leaf: other");
}

BOOST_AUTO_TEST_CASE(a_module_has_room_for_very_many_names_and_takes_each_once) {
  Generator generator(1);
  Shared model(generator);
  const Variable one = model.parameters()[0];
  for (int i = 0; i < 200'000; ++i) model.share("p" + std::to_string(i), one);
  BOOST_TEST(model.named_state().size() == 200'005U);  // with weight, and weight and bias of both names of the part
  for (const std::string name : {"p0", "p199999", "weight", "second"})
    expect_throw<ValueError>([&] { model.share(name, one); }, "[nn] name given twice: " + name);
}

BOOST_AUTO_TEST_CASE(a_frozen_part_gets_no_gradient_and_the_others_do) {
  const auto model = network();
  const std::vector<Variable> parameters = model->parameters();
  const Variable x = ones({1, 2});
  nn::Module& first = *model->named_modules()[1].second;
  first.freeze();
  const Gradients without = backward(sum(model->forward(x)));
  BOOST_CHECK(!without.of(parameters[0]).defined());
  BOOST_CHECK(without.of(parameters[2]).defined());
  BOOST_CHECK(same(model->parameters()[0], parameters[0]));
  first.unfreeze();
  BOOST_CHECK(backward(sum(model->forward(x))).of(parameters[0]).defined());
  model->freeze();
  BOOST_CHECK(!model->forward(x).requires_grad());
}

BOOST_AUTO_TEST_CASE(a_module_changes_its_dtype_and_keeps_its_variables) {
  const auto model = network();
  const std::vector<Variable> parameters = model->parameters();
  const Tensor weight = parameters[0].value();
  model->to(DType::f64);
  BOOST_CHECK(same(model->parameters()[0], parameters[0]));
  BOOST_CHECK(same_bytes(parameters[0].value(), weight.to(DType::f64)));
  BOOST_CHECK(model->named_buffers()[0].second.dtype() == DType::i64);
  BOOST_CHECK(model->named_buffers()[1].second.dtype() == DType::f64);
  const Variable y = model->forward(Variable(ones({1, 2}, DType::f64)));
  BOOST_CHECK(y.dtype() == DType::f64);
  BOOST_CHECK(backward(sum(y)).of(parameters[0]).dtype() == DType::f64);
  expect_throw<DTypeError>([&] { model->to(DType::i64); }, "[to] not a floating dtype: i64");
}

BOOST_AUTO_TEST_CASE(a_module_that_cannot_move_stays_as_it_is) {
  const auto model = network();
  BOOST_CHECK_THROW(model->to(Device::cuda(99)), DeviceError);
  for (const auto& [name, variable] : model->named_state()) BOOST_CHECK(variable.device() == Device::cpu());
  model->to(Device::cpu());
  BOOST_CHECK(model->forward(Variable(ones({1, 2}))).device() == Device::cpu());
  BOOST_CHECK(model->device() == Device::cpu());
  BOOST_CHECK(nn::Relu().device() == Device::cpu());  // has no value
}

BOOST_AUTO_TEST_CASE(the_device_of_a_module_is_that_of_its_first_value,
                     *boost::unit_test::label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1})) {
  const auto model = network();
  model->to(Device::cuda(0));
  BOOST_CHECK(model->device() == Device::cuda(0));
  BOOST_CHECK(nn::sequential(std::make_shared<nn::Relu>(), model)->device() == Device::cuda(0));
}

BOOST_AUTO_TEST_CASE(generators_of_layers_are_listed_with_their_paths_and_decide_their_draws) {
  Generator generator(1);
  auto model =
      nn::sequential(std::make_shared<nn::Linear>(2, 2, generator), std::make_shared<nn::Dropout>(0.5, generator),
                     std::make_shared<nn::Dropout2d>(0.5, generator));
  const auto generators = model->named_generators();
  BOOST_TEST_REQUIRE(generators.size() == 2U);
  BOOST_TEST(generators[0].first == "1.generator");
  BOOST_TEST(generators[1].first == "2.generator");
  nn::Dropout layer(0.5, generator);
  BOOST_TEST(layer.named_generators().at(0).first == "generator");
  const Generator before = *layer.named_generators()[0].second;
  const Tensor first = layer.forward(ones({50})).value();
  BOOST_TEST(!same_bytes(layer.forward(ones({50})).value(), first));
  *layer.named_generators()[0].second = before;
  BOOST_TEST(same_bytes(layer.forward(ones({50})).value(), first));
  BOOST_TEST(nn::Lstm(2, 2, generator, {.layers = 2}).named_generators().size() == 1U);
  BOOST_TEST(nn::MultiheadAttention(2, 1, generator).named_generators().size() == 1U);
  BOOST_TEST(nn::Linear(2, 2, generator).named_generators().empty());
}

BOOST_AUTO_TEST_SUITE_END()
