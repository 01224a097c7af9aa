#include "tensor/dtype.h"

#include <limits>

#include "tensor/create.h"
#include "tensor/device.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(dtype)

BOOST_AUTO_TEST_CASE(every_dtype_has_its_size_name_and_wire_number) {
  BOOST_CHECK_EQUAL(size_of(DType::boolean), 1U);
  BOOST_CHECK_EQUAL(size_of(DType::u8), 1U);
  BOOST_CHECK_EQUAL(size_of(DType::i32), 4U);
  BOOST_CHECK_EQUAL(size_of(DType::i64), 8U);
  BOOST_CHECK_EQUAL(size_of(DType::f32), 4U);
  BOOST_CHECK_EQUAL(size_of(DType::f64), 8U);
  for (std::uint8_t number = 1; number <= 6; ++number) {
    BOOST_CHECK(is_dtype(number));
    BOOST_CHECK(parse_dtype(name_of(DType{number})) == DType{number});
  }
  BOOST_CHECK(!is_dtype(0));
  BOOST_CHECK(!is_dtype(7));
  BOOST_CHECK(dtype_of<bool> == DType::boolean);
  BOOST_CHECK(dtype_of<double> == DType::f64);
  expect_error<DTypeError>("[dtype] unknown name: f8", [] { (void)parse_dtype("f8"); });
}

BOOST_AUTO_TEST_CASE(promotion_goes_up_the_list) {
  BOOST_CHECK(promote(DType::boolean, DType::u8) == DType::u8);
  BOOST_CHECK(promote(DType::i64, DType::f32) == DType::f32);
  BOOST_CHECK(promote(DType::f64, DType::i32) == DType::f64);
  BOOST_CHECK(promote_to_floating(DType::i64) == DType::f32);
  BOOST_CHECK(promote_to_floating(DType::f64) == DType::f64);
}

BOOST_AUTO_TEST_CASE(conversion_truncates_saturates_and_turns_nan_into_zero) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = from_values<double>({1.9, -1.9, 300.0, -3e10, 1e300, kNan});
  expect_same(x.to(DType::u8), from_values<std::uint8_t>({1, 0, 255, 0, 255, 0}));
  expect_same(x.to(DType::i32), from_values<std::int32_t>({1, -1, 300, std::numeric_limits<std::int32_t>::min(),
                                                           std::numeric_limits<std::int32_t>::max(), 0}));
  expect_same(x.to(DType::i64),
              from_values<std::int64_t>({1, -1, 300, -30000000000, std::numeric_limits<std::int64_t>::max(), 0}));
  expect_same(from_values<float>({0.0F, 0.5F, -2.0F}).to(DType::boolean), from_values<bool>({false, true, true}));
  expect_same(from_values<bool>({false, true}).to(DType::f32), from_values<float>({0.0F, 1.0F}));
}

BOOST_AUTO_TEST_CASE(devices_parse_and_print) {
  BOOST_CHECK(Device::parse("cpu") == Device::cpu());
  BOOST_CHECK(Device::parse("cuda") == Device::cuda(0));
  BOOST_CHECK(Device::parse("cuda:12") == Device::cuda(12));
  BOOST_CHECK_EQUAL(to_string(Device::cuda(12)), "cuda:12");
  BOOST_CHECK_EQUAL(to_string(Device::cpu()), "cpu");
  for (const char* text : {"gpu0", "", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999", "cpu:0"}) {
    expect_error<DeviceError>(std::string("[device] not a device: ") + text, [&] { (void)Device::parse(text); });
  }
}

BOOST_AUTO_TEST_SUITE_END()
