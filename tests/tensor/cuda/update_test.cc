#include "tensor/ops/update.h"

#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_update, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::kGpu;

// Returns the value after one step of Adam on `device`.
Tensor after_adam(DType dtype, Device device) {
  constexpr UpdateFormula kAdam =
      AdamFormula{.rate = 0.01, .decay = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .amsgrad = true};
  Generator generator(9);
  const Tensor value = randn({1000}, generator).to(dtype).to(device);
  const Tensor gradient = randn({1000}, generator).to(dtype).to(device);
  Tensor next = empty({1000}, dtype, device);
  const DType wide = compute_dtype(dtype);
  std::vector<Tensor> states;
  for (int k = 0; k < 3; ++k) states.push_back(rand({1000}, generator).to(wide).to(device));
  if (wide != dtype) states.push_back(value.to(wide));
  std::vector<UpdateItem> items{{value, gradient, next, states, states, kAdam}};
  update(items);
  return next.to(Device::cpu());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_step_has_the_bits_of_the_cpus) {
  for (const DType dtype : testing::kFloats) expect_same(after_adam(dtype, kGpu), after_adam(dtype, Device::cpu()));
}

BOOST_AUTO_TEST_CASE(tensors_on_two_devices_are_refused) {
  std::vector<UpdateItem> items{
      {zeros({2}, DType::f32, kGpu), zeros({2}), zeros({2}, DType::f32, kGpu), {}, {}, SgdFormula{.rate = 1.0}}};
  expect_error<DeviceError>("[update] devices differ: cuda:0 and cpu", [&] { update(items); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
