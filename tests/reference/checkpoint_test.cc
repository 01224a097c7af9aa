// Loads a state that torch saved, by name.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "autograd/nn/sequential.h"
#include "autograd/nn/state_dict.h"
#include "tensor/io/safetensors.h"
#include "tests/reference/entries.h"

using namespace troupe;
using namespace troupe::reference;

BOOST_AUTO_TEST_SUITE(checkpoint)

namespace {

Tensor take(NamedTensors& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, [](const auto& named) { return named.first; });
  BOOST_REQUIRE(found != tensors.end());
  Tensor value = std::move(found->second);
  tensors.erase(found);
  return value;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_checkpoint_of_torch_gives_the_results_that_it_gave_there) {
  NamedTensors state = read_safetensors(TROUPE_SOURCE_DIR "/tests/reference/data/checkpoint.safetensors").tensors;
  const Tensor input = take(state, "example.input");
  const Tensor output = take(state, "example.output");
  const auto network = norm_net(DType::f32);
  const nn::LoadResult result = nn::load_state_dict(*network, state);
  BOOST_TEST(result.missing.empty());
  BOOST_TEST(result.unexpected.empty());
  network->eval();
  BOOST_CHECK(allclose(network->forward(input).value(), output, 1e-5, 1e-6));
  network->train();
  (void)network->forward(input);
  for (const auto& [name, value] : nn::state_dict(*network)) {
    if (name == "1.num_batches_tracked") BOOST_TEST(value.item<std::int64_t>() == 8);  // 7 when it was saved
  }
}

BOOST_AUTO_TEST_SUITE_END()
