#include <boost/test/unit_test.hpp>

#include "tensor/create.h"
#include "tensor/device.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "tensor/print.h"
#include "tests/support/gpu.h"
#include "tests/tensor/expect.h"

namespace troupe {
namespace {

using testing::NeedsGpus;

const Device kGpu = Device::cuda();

Tensor numbers() { return from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_absent)

BOOST_AUTO_TEST_CASE(a_gpu_that_is_not_there_is_refused_with_the_reason) {
  const auto beyond = static_cast<std::int16_t>(gpu_count());
  const std::string why = why_unavailable(Device::cuda(beyond));
  BOOST_TEST(!why.empty());
  const std::string text = to_string(Device::cuda(beyond)) + " is not available: " + why;
  expect_error<DeviceError>("[zeros] " + text, [&] { (void)zeros({2}, DType::f32, Device::cuda(beyond)); });
  expect_error<DeviceError>("[full] " + text, [&] { (void)full({2}, 1.5, DType::f32, Device::cuda(beyond)); });
  expect_error<DeviceError>("[to] " + text, [&] { (void)numbers().to(Device::cuda(beyond)); });
  expect_error<DeviceError>("[synchronize] " + text, [&] { synchronize(Device::cuda(beyond)); });
}

BOOST_AUTO_TEST_CASE(the_cpu_has_done_its_work_when_an_operation_returns) { synchronize(Device::cpu()); }

BOOST_AUTO_TEST_CASE(going_where_it_is_already_is_the_same_tensor) {
  const Tensor x = numbers();
  BOOST_TEST(x.to(Device::cpu()).storage().same_as(x.storage()));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda, *boost::unit_test::precondition(NeedsGpus{1}))

BOOST_AUTO_TEST_CASE(values_go_to_the_gpu_and_come_back) {
  const Tensor there = numbers().to(kGpu);
  BOOST_CHECK(there.device() == kGpu);
  BOOST_CHECK(same_bytes(there, numbers()));
  BOOST_CHECK(same_bytes(there.to(Device::cpu()), numbers()));
  BOOST_TEST(there.select(0, 1).select(0, 2).item() == 6.0);
  BOOST_TEST(to_string(there) == to_string(numbers()));
}

BOOST_AUTO_TEST_CASE(strides_stay_and_a_copy_is_contiguous) {
  const Tensor there = numbers().to(kGpu).transpose();
  BOOST_TEST(!there.is_contiguous());
  BOOST_CHECK(there.to(Device::cpu()).strides() == there.strides());
  BOOST_CHECK(same_bytes(there, numbers().transpose()));
  const Tensor copy = there.contiguous();
  BOOST_CHECK(copy.device() == kGpu);
  BOOST_TEST(copy.is_contiguous());
  BOOST_CHECK(same_bytes(copy, numbers().transpose()));
}

BOOST_AUTO_TEST_CASE(new_tensors_are_made_there) {
  BOOST_CHECK(same_bytes(zeros({3}, DType::i64, kGpu), zeros({3}, DType::i64)));
  BOOST_CHECK(same_bytes(full({2, 2}, 2.5, DType::f64, kGpu), full({2, 2}, 2.5, DType::f64)));
  BOOST_TEST(zeros({0, 4}, DType::f32, kGpu).numel() == 0);
}

BOOST_AUTO_TEST_CASE(what_reads_elements_on_the_cpu_says_that_they_are_elsewhere) {
  const Tensor there = numbers().to(kGpu);
  const std::string text = "[data] on cuda:0: needs a tensor on the CPU, to(Device::cpu()) makes one";
  expect_error<DeviceError>(text, [&] { (void)there.data<float>(); });
  expect_error<DeviceError>(text, [&] { (void)there.clone().mutable_data<float>(); });
}

BOOST_AUTO_TEST_CASE(memory_that_there_is_not_is_an_error_with_the_size, *boost::unit_test::label("fault-F20")) {
  constexpr std::int64_t kTooMany = std::int64_t{1} << 50;
  expect_error<DeviceMemoryError>("[allocate] 1125899906842624 bytes on cuda:0: out of memory",
                                  [] { (void)Tensor::empty({kTooMany}, DType::u8, kGpu); });
  BOOST_CHECK(same_bytes(numbers().to(kGpu), numbers()));  // the next request succeeds
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
