#include "tensor/io/npy.h"

#include <sys/stat.h>

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(npy_files)

namespace {

// numpy.save of float32 [[0, 1, 2], [3, 4, 5]], NumPy 1.24.
constexpr std::string_view kRowMajor =
    "934e554d5059010076007b276465736372273a20273c6634272c2027666f7274"
    "72616e5f6f72646572273a2046616c73652c20277368617065273a2028322c20"
    "33292c207d202020202020202020202020202020202020202020202020202020"
    "202020202020202020202020202020202020202020202020202020202020200a"
    "000000000000803f0000004000004040000080400000a040";

// The same array saved from numpy.asfortranarray.
constexpr std::string_view kColumnMajor =
    "934e554d5059010076007b276465736372273a20273c6634272c2027666f7274"
    "72616e5f6f72646572273a20547275652c20277368617065273a2028322c2033"
    "292c207d20202020202020202020202020202020202020202020202020202020"
    "202020202020202020202020202020202020202020202020202020202020200a"
    "00000000000040400000803f00008040000000400000a040";

// numpy.lib.format.write_array of [True, False] with version (3, 0).
constexpr std::string_view kVersion3 =
    "934e554d50590300740000007b276465736372273a20277c6231272c2027666f"
    "727472616e5f6f72646572273a2046616c73652c20277368617065273a202832"
    "2c292c207d202020202020202020202020202020202020202020202020202020"
    "202020202020202020202020202020202020202020202020202020202020200a"
    "0100";

/// Returns a version 1 file with this header and `data_size` zero bytes.
std::string npy(const std::string& header, std::size_t data_size) {
  std::string bytes("\x93NUMPY\x01\0", 8);
  bytes += static_cast<char>(header.size() % 256);
  bytes += static_cast<char>(header.size() / 256);
  return bytes + header + std::string(data_size, '\0');
}

std::string header_of_shape(const std::string& shape) {
  return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}\n";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_is_named_by_text_or_by_a_path) {
  const FileOfBytes file("named.npy");
  const std::filesystem::path path = file.set(from_hex(kVersion3));
  const std::string text = path.string();
  const Tensor expected = from_values<bool>({true, false}, {2});
  expect_same(read_npy(path), expected);
  expect_same(read_npy(text), expected);
  expect_same(read_npy(std::string_view(text)), expected);
  expect_same(read_npy(text.c_str()), expected);
  BOOST_TEST(FilePath("a b.npy").text() == "a b.npy");
  BOOST_TEST(FilePath(std::filesystem::path("d") / "a.npy").text() == "d/a.npy");
}

BOOST_AUTO_TEST_CASE(what_numpy_saved_is_read_and_written_the_same) {
  const FileOfBytes file("w.npy");
  const Tensor expected = from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  expect_same(read_npy(file.set(from_hex(kRowMajor))), expected);
  file.set("older");
  write_npy(file.path(), expected);
  BOOST_CHECK(file.get() == from_hex(kRowMajor));
  BOOST_CHECK(file.names() == std::set<std::string>{"w.npy"});
}

BOOST_AUTO_TEST_CASE(fortran_order_is_kept_as_strides) {
  const FileOfBytes file("w.npy");
  const Tensor x = read_npy(file.set(from_hex(kColumnMajor)));
  expect_same(x, from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3}));
  BOOST_CHECK_EQUAL(to_string(x.strides()), "(1, 2)");
  write_npy(file.path(), x);  // in row-major order
  BOOST_CHECK(file.get() == from_hex(kRowMajor));
}

BOOST_AUTO_TEST_CASE(versions_2_and_3_have_a_longer_length) {
  const FileOfBytes file("w.npy");
  const Tensor expected = from_values<bool>({true, false});
  std::string bytes = from_hex(kVersion3);
  expect_same(read_npy(file.set(bytes)), expected);
  bytes[6] = 2;
  expect_same(read_npy(file.set(bytes)), expected);
}

BOOST_AUTO_TEST_CASE(every_dtype_and_shape_comes_back) {
  const FileOfBytes file("w.npy");
  const auto comes_back = [&](const Tensor& x) {
    write_npy(file.path(), x);
    expect_same(read_npy(file.path()), x.contiguous());
  };
  comes_back(from_values<bool>({true, false, true}));
  comes_back(from_values<std::uint8_t>({0, 255}));
  comes_back(from_values<std::int8_t>({-128, 127}));
  comes_back(from_values<std::int16_t>({-32768, 5}));
  comes_back(from_values<float>({0.1F, -65504.0F}).to(DType::f16));
  comes_back(from_values<std::int32_t>({-5, std::numeric_limits<std::int32_t>::max()}));
  comes_back(from_values<std::int64_t>({-5, std::numeric_limits<std::int64_t>::min()}));
  comes_back(from_values<double>({0.1, -std::numeric_limits<double>::infinity()}));
  comes_back(scalar(2.5));
  comes_back(zeros({0, 3}));
  comes_back(zeros({2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}));
  comes_back(from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3}).transpose());
  comes_back(from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3}).slice(1, 1));
  comes_back(scalar(7.0F).expand({3, 2}));
}

BOOST_AUTO_TEST_CASE(each_dtype_is_called_what_numpy_calls_it) {
  const FileOfBytes file("w.npy");
  for (const auto& [dtype, name] : std::vector<std::pair<DType, std::string>>{{DType::boolean, "|b1"},
                                                                              {DType::u8, "|u1"},
                                                                              {DType::i8, "|i1"},
                                                                              {DType::i16, "<i2"},
                                                                              {DType::i32, "<i4"},
                                                                              {DType::i64, "<i8"},
                                                                              {DType::f16, "<f2"},
                                                                              {DType::f32, "<f4"},
                                                                              {DType::f64, "<f8"}}) {
    write_npy(file.path(), ones({2}, dtype));
    BOOST_TEST(file.get().substr(10, 15) == "{'descr': '" + name + "'");
  }
  expect_error<DTypeError>("[npy] NumPy has no dtype for: bf16",
                           [&] { write_npy(file.path(), ones({2}, DType::bf16)); });
}

BOOST_AUTO_TEST_CASE(elements_are_used_where_they_lie_in_the_file) {
  const FileOfBytes file("w.npy");
  for (const std::string_view bytes : {kRowMajor, kColumnMajor, kVersion3})
    BOOST_TEST(read_npy(file.set(from_hex(bytes))).storage().frozen());
  write_npy(file.path(), zeros({0, 3}));
  BOOST_TEST(!read_npy(file.path()).storage().frozen());
}

BOOST_AUTO_TEST_CASE(a_write_changes_the_tensor_and_its_views_and_not_the_file) {
  const FileOfBytes file("w.npy");
  Tensor x = read_npy(file.set(from_hex(kColumnMajor)));
  const Tensor view = x.slice(0, 1);
  x.fill(7);
  expect_same(x, full({2, 3}, 7));
  expect_same(view, full({1, 3}, 7));
  BOOST_CHECK(file.get() == from_hex(kColumnMajor));
}

BOOST_AUTO_TEST_CASE(an_array_outlives_its_file_and_does_not_see_the_next_one) {
  const FileOfBytes file("w.npy");
  write_npy(file.path(), ones({2}));
  const Tensor first = read_npy(file.path());
  write_npy(file.path(), first + 1.0);
  const Tensor second = read_npy(file.path());
  std::filesystem::remove(file.path());
  expect_same(first, ones({2}));
  expect_same(second, full({2}, 2));
}

BOOST_AUTO_TEST_CASE(what_is_not_aligned_in_the_file_is_copied) {
  const FileOfBytes file("w.npy");
  std::string header = header_of_shape("(1,)");
  while (header.size() % 4 != 3) header.insert(header.size() - 1, " ");  // other writers do not pad; 10 + 3 is odd
  const Tensor x = read_npy(file.set(npy(header, 0) + std::string("\0\0\x80\x3f", 4)));
  expect_same(x, ones({1}));
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(x.bytes()) % 4 == 0U);
  BOOST_TEST(!x.storage().frozen());
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_read_or_written_is_named) {
  const FileOfBytes file("w.npy");
  expect_refused(file, "npy", ": No such file or directory", [&] { (void)read_npy(file.path()); });
  const std::string inside = (file.path() / "x.npy").string();
  file.set("");
  expect_error<FileError>("[npy] " + inside + ".0.new: Not a directory", [&] { write_npy(inside, ones({1})); });
  expect_error<TensorError>("[npy] tensor is undefined", [&] { write_npy(file.path(), Tensor()); });
}

BOOST_AUTO_TEST_CASE(an_empty_array_that_could_not_be_read_is_refused_and_the_file_stays) {
  const FileOfBytes file("w.npy");
  file.set("before");
  const std::int64_t large = std::int64_t{1} << 40;
  expect_error<ValueError>("[npy] (0, 1099511627776, 1099511627776) is too large", [&] {
    write_npy(file.path(), Tensor::empty({0, large, large}));
  });
  BOOST_TEST(file.get() == "before");
  write_npy(file.path(), Tensor::empty({0, large}));
  BOOST_TEST(read_npy(file.path()).shape() == (Shape{0, large}));
}

BOOST_AUTO_TEST_CASE(what_is_no_regular_file_is_refused_at_once) {
  const FileOfBytes file("w.npy");
  std::filesystem::create_directory(file.path());
  expect_refused(file, "npy", ": Is a directory", [&] { (void)read_npy(file.path()); });
  std::filesystem::remove(file.path());
  BOOST_REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
  expect_refused(file, "npy", ": not a regular file", [&] { (void)read_npy(file.path()); });
}

BOOST_AUTO_TEST_CASE(a_lying_header_is_refused_with_its_place) {
  const FileOfBytes file("w.npy");
  const auto refused = [&](const std::string& bytes, std::string_view text) {
    file.set(bytes);
    expect_refused(file, "npy", text, [&] { (void)read_npy(file.path()); });
  };
  const std::string good = header_of_shape("(2, 3)");
  BOOST_CHECK_NO_THROW((void)read_npy(file.set(npy(good, 24))));
  refused("", ": at byte 0: magic of 6 bytes, 0 are left");
  refused("PK\x03\x04 and more", ": at byte 0: not an .npy file");
  refused(std::string("\x93NUMPY\x04\x00", 8) + "more", ": at byte 6: version 4.0 is not known");
  refused(npy(good, 24).replace(8, 2, "\xff\xff"), ": at byte 8: header of 65535 bytes, 82 are left");
  refused(npy(good, 23), ": at byte 68: elements of 23 bytes for f32 (2, 3)");
  refused(npy(good, 25), ": at byte 68: elements of 25 bytes for f32 (2, 3)");
  refused(npy("[]", 0), ": at byte 10: no '{'");
  refused(npy("{} or more", 0), ": at byte 12: not all of 'descr', 'fortran_order' and 'shape' are given");
  refused(npy("{'descr': '<f4', 'descr': '<f4'}", 0), ": at byte 27: 'descr' given twice");
  refused(npy("{'descr' '<f4'}", 0), ": at byte 19: no ':'");
  refused(npy("{'descr': '>f4'}", 0), ": at byte 20: dtype '>f4' is not supported");
  refused(npy("{'descr': [('x', '<f4')]}", 0), ": at byte 20: no string");
  refused(npy("{'descr", 0), ": at byte 11: a string without an end");
  refused(npy("{'de\\x73cr': 1}", 0), ": at byte 11: a string that is not plain text");
  refused(npy("{'order': 1}", 0), ": at byte 11: 'order' is not known");
  refused(npy("{'fortran_order': 1}", 0), ": at byte 28: neither True nor False");
  refused(npy("{'fortran_order': True 'shape': ()}", 0), ": at byte 33: no ',' or '}' after a value");
  refused(npy(good + "x", 24), ": at byte 68: more than a dictionary");
}

BOOST_AUTO_TEST_CASE(sizes_whose_product_lies_are_refused_before_anything_is_allocated) {
  const FileOfBytes file("w.npy");
  const auto refused = [&](const std::string& shape, std::size_t data_size, std::string_view text) {
    file.set(npy(header_of_shape(shape), data_size));
    expect_refused(file, "npy", text, [&] { (void)read_npy(file.path()); });
  };
  refused("(-1,)", 4, ": at byte 61: no size");
  refused("(1.0,)", 4, ": at byte 62: no ',' or ')' after a size");
  refused("(9223372036854775808,)", 4, ": at byte 61: a size that does not fit");
  refused("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)", 4, ": at byte 109: more than 16 dimensions");
  refused("(4294967296, 4294967296)", 0, ": at byte 86: elements of 0 bytes for f32 (4294967296, 4294967296)");
  refused("(1152921504606846976,)", 40,  // 2^60
          ": at byte 84: elements of 40 bytes for f32 (1152921504606846976)");
  refused("(0, 4294967296, 4294967296)", 0,  // no elements, but the strides overflow
          ": at byte 89: elements of 0 bytes for f32 (0, 4294967296, 4294967296)");
  expect_same(read_npy(file.set(npy(header_of_shape("(2L,)"), 8))), zeros({2}));  // as Python 2 wrote it
}

BOOST_AUTO_TEST_CASE(a_boolean_is_0_or_1) {
  const FileOfBytes file("w.npy");
  std::string bytes = from_hex(kVersion3);
  bytes.back() = 2;
  file.set(bytes);
  expect_refused(file, "npy", ": at byte 129: a boolean that is neither 0 nor 1", [&] { (void)read_npy(file.path()); });
}

BOOST_AUTO_TEST_CASE(every_beginning_of_a_file_is_refused) {
  const FileOfBytes file("w.npy");
  expect_all_beginnings_refused(file, from_hex(kRowMajor), [&] { (void)read_npy(file.path()); });
  expect_all_beginnings_refused(file, from_hex(kVersion3), [&] { (void)read_npy(file.path()); });
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_a_value_or_an_error) {
  const FileOfBytes file("w.npy");
  const std::string bytes = from_hex(kRowMajor);
  const int values = count_values_of_damaged(file, bytes, 3000, [&] { (void)read_npy(file.path()); });
  BOOST_TEST(values > 30);  // damage to elements, or to padding that stays blank, is undetectable
  BOOST_TEST(values < 1500);
}

BOOST_AUTO_TEST_SUITE_END()
