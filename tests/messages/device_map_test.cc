#include "messages/device_map.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "messages/values.h"
#include "tensor/create.h"
#include "tensor/device.h"
#include "tests/support/expect_throw.h"
#include "tests/support/gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(device_map)

namespace {

using boost::unit_test::label;
using testing::expect_throw;
using testing::NeedsGpus;

const Device kCpu = Device::cpu();

Device gpu(int index) { return Device::cuda(static_cast<std::int16_t>(index)); }

/// Returns the encoded tensor that a sender with this map puts on the wire.
Encoded sent(const Tensor& tensor, const DeviceMap& map) {
  OutArchive archive(nullptr, kUnlimited, std::make_shared<const DeviceMap>(map));
  archive(tensor);
  return archive.finish();
}

Tensor received(const Encoded& encoded) {
  InArchive archive(encoded.bytes, encoded.frames);
  Tensor tensor;
  archive(tensor);
  archive.finish();
  return tensor;
}

}  // namespace

BOOST_AUTO_TEST_CASE(mapped_devices_go_where_it_says_and_only_the_cpu_goes_without_being_mapped) {
  const DeviceMap map{{gpu(0), gpu(1)}, {gpu(1), gpu(0)}};
  BOOST_CHECK(map.target(gpu(0)) == gpu(1));
  BOOST_CHECK(map.target(gpu(1)) == gpu(0));
  BOOST_CHECK(map.target(gpu(2)) == std::nullopt);
  BOOST_CHECK(map.target(kCpu) == kCpu);
  BOOST_CHECK((DeviceMap{{kCpu, gpu(0)}}.target(kCpu) == gpu(0)));
}

BOOST_AUTO_TEST_CASE(the_way_back_ends_where_it_began) {
  const DeviceMap map{{kCpu, gpu(3)}, {gpu(0), kCpu}};
  for (const Device device : {kCpu, gpu(0)}) BOOST_CHECK(map.inverse().target(*map.target(device)) == device);
  BOOST_CHECK(map.inverse().inverse() == map);
}

BOOST_AUTO_TEST_CASE(each_device_stands_once_on_either_side, *label("D-03")) {
  DeviceMap map{{gpu(0), gpu(1)}};
  map.add(gpu(0), gpu(1));  // an existing entry, unchanged
  BOOST_TEST(map.pairs().size() == 1U);
  expect_throw<std::invalid_argument>([&] { map.add(gpu(0), gpu(2)); },
                                      "[device_map] cuda:0 goes to cuda:1 already, not to cuda:2");
  expect_throw<std::invalid_argument>([&] { map.add(gpu(2), gpu(1)); },
                                      "[device_map] cuda:1 is where cuda:0 goes already");
  BOOST_TEST(map.pairs().size() == 1U);
}

BOOST_AUTO_TEST_CASE(negative_device_is_refused_on_either_side, *label("D-02")) {
  DeviceMap map;
  expect_throw<std::invalid_argument>([&] { map.add(gpu(-1), gpu(0)); }, "[device_map] cuda:-1 is no device");
  expect_throw<std::invalid_argument>([&] { map.add(kCpu, gpu(-2)); }, "[device_map] cuda:-2 is no device");
  BOOST_TEST(map.pairs().empty());
}

BOOST_AUTO_TEST_CASE(a_map_has_256_pairs_at_most_and_all_of_them_travel) {
  DeviceMap map;
  for (int i = 0; i < 256; ++i) map.add(gpu(i), gpu(i + 1));
  BOOST_CHECK(std::get<0>(from_payload<DeviceMap>(to_payload(nullptr, map))) == map);
  expect_throw<std::invalid_argument>([&] { map.add(gpu(256), gpu(0)); },
                                      "[device_map] cuda:256 to cuda:0 would be pair 257: a map has at most 256");
  map.add(gpu(255), gpu(256));  // an existing entry
  BOOST_TEST(map.pairs().size() == 256U);
}

BOOST_AUTO_TEST_CASE(maps_travel_and_those_that_are_none_are_refused) {
  const DeviceMap map{{kCpu, gpu(0)}, {gpu(7), kCpu}};
  msg::Payload payload = to_payload(nullptr, map);
  BOOST_CHECK(std::get<0>(from_payload<DeviceMap>(payload)) == map);
  BOOST_TEST(payload.bytes.bytes.size() == 8U + 2 * 4);
  const std::uint16_t cpu = 0;  // instead of cuda:7: twice on one side
  const auto write = [&payload](std::uint16_t number) {
    std::vector<std::byte> bytes(payload.bytes.bytes.begin(), payload.bytes.bytes.end());
    std::memcpy(bytes.data() + 12, &number, sizeof number);
    payload.bytes = make_frame(std::move(bytes));
  };
  write(cpu);
  expect_throw<DecodeError>([&] { std::ignore = from_payload<DeviceMap>(payload); },
                            "[decode] [device_map] cpu goes to cuda:0 already, not to cpu");
  const std::uint16_t none = 0x8001;
  write(none);
  expect_throw<DecodeError>([&] { std::ignore = from_payload<DeviceMap>(payload); },
                            "[decode] no device has the number 32769");
}

BOOST_AUTO_TEST_CASE(tensor_for_a_device_that_is_not_here_is_refused_with_the_reason) {
  const int beyond = gpu_count();
  const std::string text = to_string(gpu(beyond)) + " is not available: " + why_unavailable(gpu(beyond));
  const DeviceMap map{{kCpu, gpu(beyond)}};
  const std::string where = "[decode] tensor for " + to_string(gpu(beyond)) + ": ";
  expect_throw<DecodeError>([&] { std::ignore = received(sent(ones({2}), map)); }, where + "[allocate] " + text);
  expect_throw<DecodeError>([&] { std::ignore = received(sent(zeros({0}), map)); }, where + "[empty] " + text);
}

BOOST_AUTO_TEST_CASE(a_tensor_on_a_gpu_travels_to_the_device_that_is_mapped,
                     *boost::unit_test::precondition(NeedsGpus{1})) {
  const Tensor numbers = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor there = numbers.to(gpu(0));
  BOOST_CHECK(received(sent(there, {{gpu(0), kCpu}})).device() == kCpu);
  BOOST_CHECK(received(sent(numbers, {{kCpu, gpu(0)}})).device() == gpu(0));
  for (const Tensor& sent_one : {there, there.transpose(), there.select(0, 1)}) {
    const Tensor one = received(sent(sent_one, {{gpu(0), gpu(0)}}));
    BOOST_CHECK(one.device() == gpu(0));
    BOOST_CHECK(one.strides() == sent_one.strides());
    BOOST_CHECK(same_bytes(one, sent_one));
  }
  BOOST_TEST(sent(there.select(0, 1), {{gpu(0), gpu(0)}}).frames.front().bytes.size() == 3 * sizeof(float));
}

BOOST_AUTO_TEST_CASE(a_large_tensor_on_a_gpu_stays_where_it_is_within_a_process_and_is_copied_from_another,
                     *boost::unit_test::precondition(NeedsGpus{1})) {
  const Tensor large = full({1 << 16}, 1.5, DType::f32, gpu(0));
  Encoded encoded = sent(large, {{gpu(0), gpu(0)}});
  BOOST_CHECK(encoded.frames.front().device == gpu(0));
  BOOST_CHECK(received(encoded).storage().data() == large.storage().data());
  encoded.frames.front().memory = FrameMemory::foreign;
  const Tensor copy = received(encoded);
  BOOST_CHECK(copy.storage().data() != large.storage().data());
  BOOST_CHECK(same_bytes(copy, large));
  encoded = sent(full({1 << 16}, 2, DType::u8, gpu(0)), {{gpu(0), gpu(0)}});
  encoded.frames.front().memory = FrameMemory::foreign;
  encoded.bytes[4] = static_cast<std::byte>(DType::boolean);
  expect_throw<DecodeError>([&] { std::ignore = received(encoded); }, "[decode] not a boolean: 2");
}

BOOST_AUTO_TEST_CASE(a_tensor_on_a_gpu_that_is_not_mapped_is_refused, *boost::unit_test::precondition(NeedsGpus{1})) {
  try {
    std::ignore = sent(ones({2}).to(gpu(0)), {});
    BOOST_ERROR("it was sent");
  } catch (const EncodeError& error) {
    BOOST_CHECK(error.code() == ErrorCode::missing_device_map);
    BOOST_TEST(error.what() == "[encode] tensor on cuda:0: no device map says where it goes");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
