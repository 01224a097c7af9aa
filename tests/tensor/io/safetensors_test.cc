#include "tensor/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(safetensors_files)

namespace {

/// Returns a file with this header and `data_size` bytes 0, 1, 2, ...
std::string file_of(const std::string& json, std::size_t data_size) {
  const std::uint64_t length = json.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += json;
  for (std::size_t i = 0; i < data_size; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, std::uint64_t begin,
                  std::uint64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

// The file of n = int64 [1, 2] and w = float32 [[0, 1, 2], [3, 4, 5]]. Elements by NumPy, the rest by the format's
// description: the length (0x90), the JSON padded to a multiple of 8, and the elements, wide dtypes first.
constexpr std::string_view kGolden =
    "9000000000000000"
    "7b225f5f6d657461646174615f5f223a7b2273746570223a223132227d2c226e"  // {"__metadata__":{"step":"12"},"n
    "223a7b226474797065223a22493634222c227368617065223a5b325d2c226461"  // ":{"dtype":"I64","shape":[2],"da
    "74615f6f666673657473223a5b302c31365d7d2c2277223a7b22647479706522"  // ta_offsets":[0,16]},"w":{"dtype"
    "3a22463332222c227368617065223a5b322c335d2c22646174615f6f66667365"  // :"F32","shape":[2,3],"data_offse
    "7473223a5b31362c34305d7d7d202020"                                  // ts":[16,40]}}
    "01000000000000000200000000000000"
    "000000000000803f0000004000004040000080400000a040";

NamedTensors golden_tensors() {
  return {{"w", from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3})}, {"n", from_values<std::int64_t>({1, 2})}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_golden_bytes_are_read_and_written) {
  const FileOfBytes file("model.safetensors");
  const Safetensors got = read_safetensors(file.set(from_hex(kGolden)));
  BOOST_TEST_REQUIRE(got.tensors.size() == 2U);
  BOOST_TEST(got.tensors[0].first == "n");
  expect_same(got.tensors[0].second, golden_tensors()[1].second);
  BOOST_TEST(got.tensors[1].first == "w");
  expect_same(got.tensors[1].second, golden_tensors()[0].second);
  BOOST_TEST((got.metadata == std::map<std::string, std::string>{{"step", "12"}}));

  write_safetensors(file.path(), golden_tensors(), {{"step", "12"}});
  BOOST_CHECK(file.get() == from_hex(kGolden));
  BOOST_CHECK(file.names() == std::set<std::string>{"model.safetensors"});
}

BOOST_AUTO_TEST_CASE(every_dtype_and_layout_comes_back_aligned) {
  const FileOfBytes file("model.safetensors");
  const NamedTensors tensors{{"bool", from_values<bool>({true, false, true})},
                             {"u8", from_values<std::uint8_t>({0, 255, 7})},
                             {"i8", from_values<std::int8_t>({-128})},
                             {"i16", from_values<std::int16_t>({-32768})},
                             {"f16", from_values<float>({0.1F}).to(DType::f16)},
                             {"bf16", from_values<float>({0.1F, 2.0F}).to(DType::bf16)},
                             {"i32", from_values<std::int32_t>({-5})},
                             {"i64", from_values<std::int64_t>({-5})},
                             {"f32", from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3}).transpose()},
                             {"f64", scalar(0.1)},
                             {"none", zeros({0, 3})}};
  write_safetensors(file.path(), tensors);
  const NamedTensors got = read_safetensors(file.path()).tensors;
  BOOST_TEST_REQUIRE(got.size() == tensors.size());
  for (const auto& [name, x] : tensors) {
    const auto found = std::ranges::find(got, name, [](const auto& named) { return std::string(named.first); });
    BOOST_TEST_REQUIRE((found != got.end()));
    BOOST_TEST_CONTEXT(name) {
      expect_same(found->second, x.contiguous());
      BOOST_TEST(found->second.storage().frozen() == (x.numel() > 0));  // in the mapped file
    }
  }
  write_safetensors(file.path(), {});
  BOOST_TEST(read_safetensors(file.path()).tensors.empty());
}

BOOST_AUTO_TEST_CASE(each_dtype_is_what_the_format_calls_so) {
  const FileOfBytes file("model.safetensors");
  const auto read_one = [&](const std::string& dtype, const std::string& element) {
    const std::string json = "{" + entry("w", dtype, "[1]", 0, element.size()) + "}";
    return read_safetensors(file.set(file_of(json, 0) + element)).tensors.at(0).second;
  };
  expect_same(read_one("BOOL", "\x01"), from_values<bool>({true}));
  expect_same(read_one("U8", "\xff"), from_values<std::uint8_t>({255}));
  expect_same(read_one("I8", "\xff"), from_values<std::int8_t>({-1}));
  expect_same(read_one("I16", "\xfe\xff"), from_values<std::int16_t>({-2}));
  expect_same(read_one("F16", std::string("\x00\x3c", 2)), ones({1}, DType::f16));    // exponent 15, equal to its bias
  expect_same(read_one("BF16", std::string("\x80\x3f", 2)), ones({1}, DType::bf16));  // the upper half of an f32
  expect_same(read_one("F32", std::string("\x00\x00\x80\x3f", 4)), ones({1}));
}

BOOST_AUTO_TEST_CASE(a_write_changes_one_tensor_and_not_the_file) {
  const FileOfBytes file("model.safetensors");
  write_safetensors(file.path(), {{"a", ones({2})}, {"b", ones({2})}});
  const std::string before = file.get();
  NamedTensors got = read_safetensors(file.path()).tensors;
  const std::byte* const b_before = got[1].second.bytes();
  const Tensor view = got[0].second.slice(0, 1);
  got[0].second.fill(7);
  expect_same(got[0].second, full({2}, 7));
  expect_same(view, full({1}, 7));
  expect_same(got[1].second, ones({2}));
  BOOST_CHECK(got[1].second.bytes() == b_before);
  BOOST_CHECK(file.get() == before);
}

BOOST_AUTO_TEST_CASE(tensors_outlive_their_file_and_do_not_see_the_next_one) {
  const FileOfBytes file("model.safetensors");
  write_safetensors(file.path(), {{"a", ones({2})}});
  const Tensor first = read_safetensors(file.path()).tensors[0].second;
  write_safetensors(file.path(), {{"a", first + 1.0}});
  const Tensor second = read_safetensors(file.path()).tensors[0].second;
  std::filesystem::remove(file.path());
  expect_same(first, ones({2}));
  expect_same(second, full({2}, 2));
}

BOOST_AUTO_TEST_CASE(what_is_not_aligned_in_the_file_is_copied) {
  const FileOfBytes file("model.safetensors");
  const std::string json =
      "{" + entry("a", "U8", "[1]", 0, 1) + "," + entry("b", "I32", "[1]", 1, 5) + "}";  // other writers do not sort
  const NamedTensors got = read_safetensors(file.set(file_of(json, 5))).tensors;
  expect_same(got[1].second, from_values<std::int32_t>({0x04030201}));
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(got[1].second.bytes()) % 4 == 0U);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_or_written_is_named) {
  const FileOfBytes file("model.safetensors");
  expect_refused(file, "safetensors", ": No such file or directory", [&] { (void)read_safetensors(file.path()); });
  expect_error<ValueError>("[safetensors] name given twice: w", [&] {
    write_safetensors(file.path(), {{"w", ones({1})}, {"w", ones({1}, DType::f64)}});
  });
  expect_error<TensorError>("[safetensors] tensor is undefined", [&] {
    write_safetensors(file.path(), {{"w", Tensor()}});
  });
  BOOST_TEST(file.names().empty());
}

BOOST_AUTO_TEST_CASE(an_empty_tensor_that_could_not_be_read_is_refused_and_the_file_stays) {
  const FileOfBytes file("model.safetensors");
  file.set("before");
  const std::int64_t large = std::int64_t{1} << 40;
  expect_error<ValueError>("[safetensors] w (0, 1099511627776, 1099511627776) is too large", [&] {
    write_safetensors(file.path(), {{"w", Tensor::empty({0, large, large})}});
  });
  BOOST_TEST(file.get() == "before");
}

BOOST_AUTO_TEST_CASE(places_that_lie_are_refused_with_the_byte) {
  const FileOfBytes file("model.safetensors");
  const auto refused = [&](const std::string& bytes, std::string_view text) {
    file.set(bytes);
    expect_refused(file, "safetensors", text, [&] { (void)read_safetensors(file.path()); });
  };
  // The entries below make headers of 53, 105, 56 and other lengths; the first element is at 8 plus that.
  const auto one = [](const std::string& shape, std::uint64_t begin, std::uint64_t end) {
    return "{" + entry("w", "F32", shape, begin, end) + "}";
  };
  const auto two = [](std::uint64_t a_begin, std::uint64_t a_end, std::uint64_t b_begin, std::uint64_t b_end) {
    return "{" + entry("a", "U8", "[" + std::to_string(a_end - a_begin) + "]", a_begin, a_end) + "," +
           entry("b", "U8", "[" + std::to_string(b_end - b_begin) + "]", b_begin, b_end) + "}";
  };
  const auto at = [](const std::string& json, std::uint64_t place) {
    return ": at byte " + std::to_string(8 + json.size() + place) + ": ";
  };
  refused("", ": at byte 0: the file ends in the length of the header");
  refused("1234567", ": at byte 7: the file ends in the length of the header");
  refused(std::string("\x03\0\0\0\0\0\0\0{}", 10), ": at byte 0: header of 3 bytes, 2 are left");
  refused(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10),
          ": at byte 0: header of 18446744073709551615 bytes, 2 are left");

  std::string json = one("[2]", 0, 8);
  BOOST_CHECK_NO_THROW((void)read_safetensors(file.set(file_of(json, 8))));
  refused(file_of(json, 7), at(json, 0) + "tensor \"w\" ends at 8 of 7");
  refused(file_of(json, 9), at(json, 8) + "1 bytes belong to no tensor");
  refused(file_of("{}", 9), ": at byte 10: 9 bytes belong to no tensor");
  json = one("[2]", 8, 0);
  refused(file_of(json, 8), at(json, 8) + "tensor \"w\" ends at 0, before it begins");
  json = one("[3]", 0, 8);
  refused(file_of(json, 8), at(json, 0) + "tensor \"w\" has 8 bytes for f32 (3)");
  json = one("[4294967296,4294967296]", 0, 8);  // 2^66 bytes, which is 0 in 64 bits
  refused(file_of(json, 8), at(json, 0) + "tensor \"w\" has 8 bytes for f32 (4294967296, 4294967296)");
  json = one("[0,4294967296,4294967296]", 0, 0);  // no elements, but the strides overflow
  refused(file_of(json, 0), at(json, 0) + "tensor \"w\" has 0 bytes for f32 (0, 4294967296, 4294967296)");
  json = one("[2]", 18446744073709551612U, 18446744073709551615U);
  refused(file_of(json, 8), at(json, 8) + "tensor \"w\" ends at 18446744073709551615 of 8");
  json = two(0, 4, 3, 6);
  refused(file_of(json, 6), at(json, 3) + "tensor \"b\" overlaps \"a\"");
  json = two(2, 4, 0, 3);
  refused(file_of(json, 4), at(json, 2) + "tensor \"a\" overlaps \"b\"");
  json = two(0, 4, 5, 6);
  refused(file_of(json, 6), at(json, 5) + "tensor \"b\" leaves a gap of 1 bytes before it");
  json = two(1, 4, 4, 6);
  refused(file_of(json, 6), at(json, 1) + "tensor \"a\" leaves a gap of 1 bytes before it");
}

BOOST_AUTO_TEST_CASE(a_boolean_is_0_or_1) {
  const FileOfBytes file("model.safetensors");
  const std::string json = "{" + entry("w", "BOOL", "[3]", 0, 3) + "}";
  file.set(file_of(json, 3));
  expect_refused(file, "safetensors",
                 ": at byte " + std::to_string(8 + json.size() + 2) + ": a boolean that is neither 0 nor 1",
                 [&] { (void)read_safetensors(file.path()); });
}

BOOST_AUTO_TEST_CASE(every_beginning_of_a_file_is_refused) {
  const FileOfBytes file("model.safetensors");
  expect_all_beginnings_refused(file, from_hex(kGolden), [&] { (void)read_safetensors(file.path()); });
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_a_value_or_an_error) {
  const FileOfBytes file("model.safetensors");
  const int values = count_values_of_damaged(file, from_hex(kGolden), 4000, [&] {
    for (const auto& [name, x] : read_safetensors(file.path()).tensors) (void)sum(x);  // reads every element
  });
  BOOST_TEST(values > 40);  // damage to elements and names is undetectable
  BOOST_TEST(values < 2000);
}

BOOST_AUTO_TEST_SUITE_END()
