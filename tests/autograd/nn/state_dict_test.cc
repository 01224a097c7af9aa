#include "autograd/nn/state_dict.h"

#include <cstddef>
#include <memory>
#include <new>

#include "autograd/nn/activation.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/sequential.h"
#include "tensor/io/safetensors.h"
#include "tests/autograd/expect.h"
#include "tests/support/counting_new.h"
#include "tests/support/temporary_directory.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(state_dict)

namespace {

std::shared_ptr<nn::Sequential> network(unsigned seed) {
  Generator generator(seed);
  return nn::sequential(std::make_shared<nn::Linear>(3, 2, generator), std::make_shared<nn::Tanh>(),
                        std::make_shared<nn::Linear>(2, 1, generator));
}

/// A module whose only state is a buffer.
class Counter final : public nn::Module {
 public:
  void count() { count_.set_value(count_.value() + 1.0); }
  [[nodiscard]] double value() const { return count_.value().item(); }

 private:
  Variable count_ = add_buffer("count", zeros({}, DType::i64));
};

void expect_equal_states(const nn::Module& a, const nn::Module& b) {
  const NamedTensors first = nn::state_dict(a);
  const NamedTensors second = nn::state_dict(b);
  BOOST_TEST_REQUIRE(first.size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    BOOST_TEST(first[i].first == second[i].first);
    BOOST_CHECK(same_bytes(first[i].second, second[i].second));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_state_has_the_names_of_the_parameters_and_keeps_their_values) {
  const auto model = network(1);
  const NamedTensors state = nn::state_dict(*model);
  BOOST_TEST_REQUIRE(state.size() == 4U);
  BOOST_TEST(state[0].first == "0.weight");
  BOOST_TEST(state[3].first == "2.bias");
  const Tensor before = state[0].second.clone();
  model->parameters()[0].set_value(zeros({2, 3}));
  BOOST_CHECK(same_bytes(state[0].second, before));
}

BOOST_AUTO_TEST_CASE(a_saved_model_is_loaded_into_another_of_its_kind) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "model.safetensors";
  const auto saved = network(1);
  const auto loaded = network(2);
  write_safetensors(file, nn::state_dict(*saved), {{"epoch", "3"}});
  const Variable first_before = loaded->parameters()[0];
  nn::load_state_dict(*loaded, read_safetensors(file).tensors);
  expect_equal_states(*loaded, *saved);
  BOOST_CHECK(same(loaded->parameters()[0], first_before));
  BOOST_CHECK(!loaded->parameters()[0].value().storage().frozen());  // a copy, not the mapped file
}

BOOST_AUTO_TEST_CASE(the_model_does_not_share_memory_with_the_state_it_was_given) {
  const auto model = network(1);
  NamedTensors state = nn::state_dict(*network(2));
  nn::load_state_dict(*model, state);
  const Tensor before = model->parameters()[0].value().clone();
  state[0].second.fill(5);
  BOOST_CHECK(same_bytes(model->parameters()[0].value(), before));
}

BOOST_AUTO_TEST_CASE(all_that_does_not_fit_is_named_and_nothing_is_changed) {
  const auto model = network(1);
  const auto untouched = network(1);
  NamedTensors state = nn::state_dict(*network(2));
  state[0].second = zeros({3, 2});
  state[1].second = state[1].second.to(DType::f64);
  state[2].first = "2.weights";
  state.emplace_back("extra", ones({1}));
  state.emplace_back("extra", ones({1}));
  expect_throw<ValueError>(
      [&] { nn::load_state_dict(*model, state); },
      "[load_state_dict] missing: 2.weight; unexpected: 2.weights, extra; given twice: extra; 0.weight is f32 (3, 2), "
      "not f32 (2, 3); 0.bias is f64 (2), not f32 (2)");
  expect_equal_states(*model, *untouched);
  state = nn::state_dict(*model);
  state[3].second = {};
  expect_throw<ValueError>([&] { nn::load_state_dict(*model, state); },
                           "[load_state_dict] 2.bias is undefined, not f32 (1)");
}

BOOST_AUTO_TEST_CASE(loading_for_which_there_is_no_memory_changes_nothing) {
  const auto model = network(1);
  const auto untouched = network(1);
  const auto other = network(2);
  const NamedTensors state = nn::state_dict(*other);
  std::size_t n = 0;
  for (bool is_loaded = false; !is_loaded;) {
    BOOST_TEST_CONTEXT("allocation " << ++n) {
      try {
        const RefusedAllocation refused(n);
        nn::load_state_dict(*model, state);
        is_loaded = true;
      } catch (const std::bad_alloc&) {
        expect_equal_states(*model, *untouched);
      }
    }
  }
  BOOST_TEST(n > 8U);  // among them those of four copies
  expect_equal_states(*model, *other);
}

BOOST_AUTO_TEST_CASE(loading_that_is_not_strict_takes_what_fits_by_name_and_says_what_did_not) {
  const auto model = network(1);
  const auto other = network(2);
  NamedTensors state = nn::state_dict(*other);
  state[3].first = "head.bias";
  const Tensor kept = model->parameters()[3].value();
  const nn::LoadResult result = nn::load_state_dict(*model, state, nn::Strict::no);
  BOOST_TEST(result.missing == std::vector<std::string>{"2.bias"}, boost::test_tools::per_element());
  BOOST_TEST(result.unexpected == std::vector<std::string>{"head.bias"}, boost::test_tools::per_element());
  BOOST_CHECK(same_bytes(model->parameters()[2].value(), other->parameters()[2].value()));
  BOOST_CHECK(same_bytes(model->parameters()[3].value(), kept));
  state[0].second = zeros({3, 2});
  expect_throw<ValueError>([&] { nn::load_state_dict(*model, state, nn::Strict::no); },
                           "[load_state_dict] 0.weight is f32 (3, 2), not f32 (2, 3)");
}

BOOST_AUTO_TEST_CASE(buffers_are_saved_and_loaded_with_the_parameters) {
  Counter saved;
  Counter loaded;
  saved.count();
  const NamedTensors state = nn::state_dict(saved);
  saved.count();
  BOOST_TEST_REQUIRE(state.size() == 1U);
  BOOST_TEST(state[0].first == "count");
  nn::load_state_dict(loaded, state);
  BOOST_TEST(loaded.value() == 1.0);
  loaded.count();
  BOOST_TEST(loaded.value() == 2.0);
  BOOST_TEST(state[0].second.item() == 1.0);
}

BOOST_AUTO_TEST_SUITE_END()
