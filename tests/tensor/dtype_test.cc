#include "tensor/dtype.h"

#include <array>
#include <limits>
#include <sstream>

#include "tensor/create.h"
#include "tensor/device.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(dtype)

BOOST_AUTO_TEST_CASE(every_dtype_has_its_size_name_and_wire_number) {
  struct Row {
    DType dtype;
    std::uint8_t number;
    std::string_view name;
    std::size_t size;
  };
  constexpr std::array<Row, 10> kRows{{{DType::boolean, 1, "boolean", 1},
                                       {DType::u8, 2, "u8", 1},
                                       {DType::i32, 3, "i32", 4},
                                       {DType::i64, 4, "i64", 8},
                                       {DType::f32, 5, "f32", 4},
                                       {DType::f64, 6, "f64", 8},
                                       {DType::i8, 7, "i8", 1},
                                       {DType::i16, 8, "i16", 2},
                                       {DType::f16, 9, "f16", 2},
                                       {DType::bf16, 10, "bf16", 2}}};
  for (const Row& row : kRows) {
    BOOST_CHECK_EQUAL(static_cast<int>(row.dtype), row.number);
    BOOST_CHECK_EQUAL(name_of(row.dtype), row.name);
    BOOST_CHECK_EQUAL(size_of(row.dtype), row.size);
    BOOST_CHECK(is_dtype(row.number));
    BOOST_CHECK(parse_dtype(row.name) == row.dtype);
    dispatch(row.dtype, [&]<class T>(std::type_identity<T>) {
      BOOST_CHECK(dtype_of<T> == row.dtype);
      BOOST_CHECK_EQUAL(sizeof(T), row.size);
    });
  }
  BOOST_CHECK(!is_dtype(0));
  BOOST_CHECK(!is_dtype(11));
  expect_error<DTypeError>("[dtype] unknown name: f8", [] { (void)parse_dtype("f8"); });
  expect_error<DTypeError>("[empty] no dtype has the number 11", [] { (void)zeros({1}).to(DType{11}); });
}

// The rows of torch.promote_types in PyTorch 1.13.
BOOST_AUTO_TEST_CASE(a_dtype_is_printed_as_its_name) {
  std::ostringstream out;
  out << DType::bf16 << ' ' << DType::u8;
  BOOST_CHECK_EQUAL(out.str(), "bf16 u8");
}

BOOST_AUTO_TEST_CASE(dtypes_promote_as_those_of_pytorch) {
  using enum DType;
  // clang-format off
  constexpr std::array<std::array<DType, 10>, 10> kExpected{{
    //           boolean  u8   i8   i16  i32  i64  f16  bf16  f32  f64
    /*boolean*/ {boolean, u8,  i8,  i16, i32, i64, f16, bf16, f32, f64},
    /*u8*/      {u8,      u8,  i16, i16, i32, i64, f16, bf16, f32, f64},
    /*i8*/      {i8,      i16, i8,  i16, i32, i64, f16, bf16, f32, f64},
    /*i16*/     {i16,     i16, i16, i16, i32, i64, f16, bf16, f32, f64},
    /*i32*/     {i32,     i32, i32, i32, i32, i64, f16, bf16, f32, f64},
    /*i64*/     {i64,     i64, i64, i64, i64, i64, f16, bf16, f32, f64},
    /*f16*/     {f16,     f16, f16, f16, f16, f16, f16, f32,  f32, f64},
    /*bf16*/    {bf16,    bf16, bf16, bf16, bf16, bf16, f32, bf16, f32, f64},
    /*f32*/     {f32,     f32, f32, f32, f32, f32, f32, f32,  f32, f64},
    /*f64*/     {f64,     f64, f64, f64, f64, f64, f64, f64,  f64, f64},
  }};
  // clang-format on
  for (std::size_t a = 0; a < 10; ++a) {
    for (std::size_t b = 0; b < 10; ++b) {
      BOOST_CHECK_MESSAGE(promote(kDTypes[a], kDTypes[b]) == kExpected[a][b], name_of(kDTypes[a])
                                                                                  << " with " << name_of(kDTypes[b]));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_dtype_is_floating_or_becomes_f32_and_is_computed_in_32_bits_or_more) {
  struct Row {
    DType floating;
    DType computed;
  };
  using enum DType;
  constexpr std::array<Row, 10> kExpected{{{f32, i32},
                                           {f32, i32},
                                           {f32, i32},
                                           {f32, i32},
                                           {f32, i32},
                                           {f32, i64},
                                           {f16, f32},
                                           {bf16, f32},
                                           {f32, f32},
                                           {f64, f64}}};
  for (std::size_t i = 0; i < 10; ++i) {
    BOOST_TEST_CONTEXT(name_of(kDTypes[i])) {
      BOOST_CHECK(promote_to_floating(kDTypes[i]) == kExpected[i].floating);
      BOOST_CHECK(compute_dtype(kDTypes[i]) == kExpected[i].computed);
      BOOST_CHECK(is_floating(kDTypes[i]) == (i >= 6));
      dispatch_compute(kDTypes[i],
                       [&]<class T>(std::type_identity<T>) { BOOST_CHECK(dtype_of<T> == kExpected[i].computed); });
    }
  }
}

BOOST_AUTO_TEST_CASE(conversion_truncates_saturates_and_turns_nan_into_zero) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = from_values<double>({1.9, -1.9, 300.0, -3e10, 1e300, kNan});
  expect_same(x.to(DType::u8), from_values<std::uint8_t>({1, 0, 255, 0, 255, 0}));
  expect_same(x.to(DType::i8), from_values<std::int8_t>({1, -1, 127, -128, 127, 0}));
  expect_same(x.to(DType::i16), from_values<std::int16_t>({1, -1, 300, -32768, 32767, 0}));
  expect_same(x.to(DType::i32), from_values<std::int32_t>({1, -1, 300, std::numeric_limits<std::int32_t>::min(),
                                                           std::numeric_limits<std::int32_t>::max(), 0}));
  expect_same(x.to(DType::i64),
              from_values<std::int64_t>({1, -1, 300, -30000000000, std::numeric_limits<std::int64_t>::max(), 0}));
  expect_same(from_values<float>({0.0F, 0.5F, -2.0F}).to(DType::boolean), from_values<bool>({false, true, true}));
  expect_same(from_values<bool>({false, true}).to(DType::f32), from_values<float>({0.0F, 1.0F}));
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor half = from_values<Half>({Half(1.9), Half(-1.9), Half(300), Half(kInf), Half(-kInf), Half(kNan)});
  expect_same(half.to(DType::u8), from_values<std::uint8_t>({1, 0, 255, 255, 0, 0}));
  expect_same(half.to(DType::i8), from_values<std::int8_t>({1, -1, 127, 127, -128, 0}));
  expect_same(half.to(DType::boolean), from_values<bool>({true, true, true, true, true, true}));
}

BOOST_AUTO_TEST_CASE(conversion_of_integers_keeps_the_low_bits) {
  const Tensor x = from_values<std::int64_t>({300, -129, -1, 65536 + 7});
  expect_same(x.to(DType::u8), from_values<std::uint8_t>({44, 127, 255, 7}));  // 300 - 256, 256 - 129
  expect_same(x.to(DType::i8), from_values<std::int8_t>({44, 127, -1, 7}));
  expect_same(x.to(DType::i16), from_values<std::int16_t>({300, -129, -1, 7}));
  expect_same(from_values<std::int8_t>({-1, 5}).to(DType::u8), from_values<std::uint8_t>({255, 5}));
  expect_same(from_values<std::uint8_t>({200}).to(DType::i8), from_values<std::int8_t>({-56}));
  expect_same(from_values<std::int16_t>({-1}).to(DType::i64), from_values<std::int64_t>({-1}));
  expect_same(from_values<std::int8_t>({-1}).to(DType::f32), from_values<float>({-1}));
}

BOOST_AUTO_TEST_CASE(conversion_to_16_bits_rounds_once) {
  const Tensor x = from_values<double>({1.0, -0.1, 65519.0, 65520.0, 0x1p-25, 1.0 + 0x1p-11 + 0x1p-50});
  expect_same(x.to(DType::f16), from_values<Half>({Half(1), Half::from_bits(0xAE66), Half(65504),
                                                   Half::from_bits(0x7C00), Half(0), Half::from_bits(0x3C01)}));
  const Tensor y = from_values<std::int64_t>({257, (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1});
  expect_same(y.to(DType::bf16), from_values<BFloat16>({BFloat16(256), BFloat16(0x1p62F + 0x1p55F)}));
}

BOOST_AUTO_TEST_CASE(every_pair_of_dtypes_converts_in_every_layout) {
  // Longer than a block, with values of every dtype: every conversion path preserves them.
  const Tensor values = arange(1200).to(DType::f64) * 0.0625 - arange(1200).to(DType::f64);
  for (const DType from : kDTypes) {
    const Tensor x = values.to(from).reshape({2, 300, 2});
    // i64 or f64 represents every value of a dtype exactly.
    const Tensor wide = x.to(is_floating(from) ? DType::f64 : DType::i64);
    for (const DType to : kDTypes) {
      BOOST_TEST_CONTEXT(name_of(from) << " to " << name_of(to)) {
        const Tensor expected = wide.to(to);
        expect_same(x.to(to), expected);
        expect_same(x.transpose(0, 2).to(to), expected.transpose(0, 2));
        expect_same(x.select(2, 1).to(to), expected.select(2, 1));
        expect_same(x.slice(1, 7, 299, 3).to(to), expected.slice(1, 7, 299, 3));
        expect_same(x.select(0, 1).expand({3, 300, 2}).to(to), expected.select(0, 1).expand({3, 300, 2}));
        Tensor target = zeros({300, 5}, to);
        target.slice(1, 1, 4, 2).copy_from(x.select(0, 0));
        expect_same(target.slice(1, 1, 4, 2), expected.select(0, 0));
        expect_same(target.slice(1, 0, 5, 2), zeros({300, 3}, to));
      }
    }
  }
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
