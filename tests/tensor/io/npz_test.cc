#include "tensor/io/npz.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(npz_files)

namespace {

// numpy.savez of w = float32 [[0, 1, 2], [3, 4, 5]] and n = int64 [1, 2], NumPy 1.24.
constexpr std::string_view kStored =
    "504b0304140000000000000021004fe9002a980000009800000005001400772e"
    "6e70790100100098000000000000009800000000000000934e554d5059010076"
    "007b276465736372273a20273c6634272c2027666f727472616e5f6f72646572"
    "273a2046616c73652c20277368617065273a2028322c2033292c207d20202020"
    "2020202020202020202020202020202020202020202020202020202020202020"
    "202020202020202020202020202020202020202020200a000000000000803f00"
    "00004000004040000080400000a040504b0304140000000000000021000cfc1c"
    "e99000000090000000050014006e2e6e70790100100090000000000000009000"
    "000000000000934e554d5059010076007b276465736372273a20273c6938272c"
    "2027666f727472616e5f6f72646572273a2046616c73652c2027736861706527"
    "3a2028322c292c207d2020202020202020202020202020202020202020202020"
    "2020202020202020202020202020202020202020202020202020202020202020"
    "20202020200a01000000000000000200000000000000504b0102140314000000"
    "0000000021004fe9002a98000000980000000500000000000000000000008001"
    "00000000772e6e7079504b01021403140000000000000021000cfc1ce9900000"
    "00900000000500000000000000000000008001cf0000006e2e6e7079504b0506"
    "000000000200020066000000960100000000";

// The same arrays from numpy.savez_compressed.
constexpr std::string_view kDeflated =
    "504b0304140000000800000021004fe9002a550000009800000005001400772e"
    "6e707901001000980000000000000055000000000000009bec17ea1b10c9c850"
    "c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a"
    "12774bcc294e058a17672416a402f91a463a0ac69a3a0ab50a64032e063068b0"
    "07120e4004c40d40bcc00100504b0304140000000800000021000cfc1ce94a00"
    "000090000000050014006e2e6e70790100100090000000000000004a00000000"
    "0000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e"
    "965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a9a3a"
    "0ab50a14002e4606086082d200504b01021403140000000800000021004fe900"
    "2a5500000098000000050000000000000000000000800100000000772e6e7079"
    "504b01021403140000000800000021000cfc1ce94a0000009000000005000000"
    "000000000000000080018c0000006e2e6e7079504b0506000000000200020066"
    "0000000d0100000000";

// n = int64 [1, 2], deflated with 8 bytes too many and 8 too few. The headers state the sizes of the correct data.
constexpr std::string_view kLonger =
    "504b030414000000080000002100c5fd83c04b00000090000000050000006e2e"
    "6e70799bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e"
    "965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a9a3a"
    "0ab50a14002e4606086062400500504b0102140314000000080000002100c5fd"
    "83c04b000000900000000500000000000000000000008001000000006e2e6e70"
    "79504b05060000000001000100330000006e0000000000";
constexpr std::string_view kShorter =
    "504b030414000000080000002100d8d486814800000090000000050000006e2e"
    "6e70799bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a1aea3a09e"
    "965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a9a3a"
    "0ab50a14002e4606080000504b0102140314000000080000002100d8d4868148"
    "000000900000000500000000000000000000008001000000006e2e6e7079504b"
    "05060000000001000100330000006b0000000000";

// numpy.savez without arrays.
constexpr std::string_view kEmpty = "504b0506000000000000000000000000000000000000";

void expect_arrays(const NamedTensors& got) {
  BOOST_TEST_REQUIRE(got.size() == 2U);
  BOOST_TEST(got[0].first == "w");
  expect_same(got[0].second, from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3}));
  BOOST_TEST(got[1].first == "n");
  expect_same(got[1].second, from_values<std::int64_t>({1, 2}));
}

NamedTensors arrays() {
  return {{"w", from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3})}, {"n", from_values<std::int64_t>({1, 2})}};
}

/// No file of this process gets larger than 4 KiB meanwhile.
class SmallFiles {
 public:
  SmallFiles() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    BOOST_REQUIRE(getrlimit(RLIMIT_FSIZE, &limit_) == 0);
    const rlimit small{4096, limit_.rlim_max};
    BOOST_REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit limit_{};
  void (*handler_)(int);
};

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_numpy_saved_is_read_stored_or_deflated) {
  const FileOfBytes file("a.npz");
  expect_arrays(read_npz(file.set(from_hex(kStored))));
  expect_arrays(read_npz(file.set(from_hex(kDeflated))));
  BOOST_TEST(read_npz(file.set(from_hex(kEmpty))).empty());
}

BOOST_AUTO_TEST_CASE(what_is_written_comes_back_and_equal_arrays_give_equal_files) {
  const FileOfBytes file("a.npz");
  for (const Compression compression : {Compression::none, Compression::deflate}) {
    file.set("older");
    write_npz(file.path(), arrays(), compression);
    expect_arrays(read_npz(file.path()));
    const std::string first = file.get();
    write_npz(file.path(), arrays(), compression);
    BOOST_CHECK(file.get() == first);
    BOOST_CHECK(first.substr(10, 4) == std::string("\0\0\x21\0", 4));  // no time of day, the earliest date
    BOOST_CHECK(file.names() == std::set<std::string>{"a.npz"});
  }
  write_npz(file.path(), {});
  BOOST_CHECK(file.get() == from_hex(kEmpty));
}

BOOST_AUTO_TEST_CASE(deflated_is_smaller_and_not_contiguous_is_in_row_major_order) {
  const FileOfBytes file("a.npz");
  const Tensor x = arange(20000, DType::f32).reshape({100, 200}).transpose();
  write_npz(file.path(), {{"x", x}, {"none", zeros({0, 4})}, {"one", scalar(1.0)}}, Compression::deflate);
  BOOST_TEST(file.get().size() < x.nbytes() * 6 / 10);
  const NamedTensors back = read_npz(file.path());
  BOOST_TEST_REQUIRE(back.size() == 3U);
  expect_same(back[0].second, x.contiguous());
  BOOST_TEST(back[0].second.is_contiguous());
  expect_same(back[1].second, zeros({0, 4}));
  expect_same(back[2].second, scalar(1.0));
}

BOOST_AUTO_TEST_CASE(names_that_no_archive_could_hold_are_refused) {
  const FileOfBytes file("a.npz");
  expect_error<ValueError>("[npz] name given twice: w", [&] {
    write_npz(file.path(), {{"w", ones({1})}, {"w", ones({1})}});
  });
  expect_error<ValueError>("[npz] not a name: ", [&] { write_npz(file.path(), {{"", ones({1})}}); });
  const auto refused = [&](const std::string& name, std::string_view text) {
    expect_error<ValueError>("[npz] " + std::string(text), [&] { write_npz(file.path(), {{name, ones({1})}}); });
  };
  for (const std::size_t size : {65'532U, 65'536U, 70'000U}) {
    refused(std::string(size, 'n'), "name of " + std::to_string(size) + " bytes, at most 65531");
  }
  refused("a\xff", "name that is not UTF-8: \"a\\xff\"");
  refused("a\xc3", "name that is not UTF-8: \"a\\xc3\"");
  for (const std::string bytes : {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                                  "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3\xa4\xa4", "\xe2\x82", "\xe2\x28\xa1"}) {
    BOOST_CHECK_THROW(write_npz(file.path(), {{bytes, ones({1})}}), ValueError);
  }
  refused(std::string("a\0b", 3), "control character in a name: \"a\\x00b\"");
  refused("a\x01", "control character in a name: \"a\\x01\"");
  refused("\xc3\xa4\x1f", "control character in a name: \"\xc3\xa4\\x1f\"");
  expect_error<TensorError>("[npz] tensor is undefined", [&] { write_npz(file.path(), {{"w", Tensor()}}); });
  BOOST_TEST(file.names().empty());
}

BOOST_AUTO_TEST_CASE(an_empty_array_that_could_not_be_read_is_refused_and_the_file_stays) {
  const FileOfBytes file("a.npz");
  file.set("before");
  const std::int64_t large = std::int64_t{1} << 40;
  expect_error<ValueError>("[npz] (0, 1099511627776, 1099511627776) is too large", [&] {
    write_npz(file.path(), {{"v", ones({1})}, {"w", Tensor::empty({0, large, large})}});
  });
  BOOST_TEST(file.get() == "before");
}

BOOST_AUTO_TEST_CASE(every_other_name_comes_back) {
  const FileOfBytes file("a.npz");
  NamedTensors written;
  for (const std::string& name : {std::string(65'531, 'n'), std::string("a/../b\\ \t\r\n\x7f"), std::string("\xc2\x80"),
                                  std::string("\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"),
                                  std::string("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")}) {
    written.emplace_back(name, ones({1}));
  }
  write_npz(file.path(), written);
  const NamedTensors back = read_npz(file.path());
  BOOST_TEST_REQUIRE(back.size() == written.size());
  for (std::size_t i = 0; i < back.size(); ++i) BOOST_CHECK(back[i].first == written[i].first);
}

BOOST_AUTO_TEST_CASE(what_is_no_archive_of_arrays_is_refused) {
  const FileOfBytes file("a.npz");
  const auto refused = [&](const std::string& bytes, std::string_view text) {
    file.set(bytes);
    expect_refused(file, "npz", text, [&] { (void)read_npz(file.path()); });
  };
  expect_refused(file, "npz", ": No such file or directory", [&] { (void)read_npz(file.path()); });
  refused("not at all, and long enough to be one", ": Not a zip archive");
  const std::string stored = from_hex(kStored);
  refused(replaced(stored, "w.npy", "w.txt"), ": w.txt: not an array");
  refused(replaced(stored, "n.npy", "w.npy"), ": File already exists");
  refused(replaced(stored, "<f4", "<f8"), ": w.npy: at byte 128: elements of 24 bytes for f64 (2, 3)");
}

BOOST_AUTO_TEST_CASE(a_wrong_checksum_is_an_error) {
  const FileOfBytes file("a.npz");
  std::string bytes = from_hex(kStored);
  const std::size_t five = bytes.find(std::string("\0\0\xa0\x40", 4));
  BOOST_TEST_REQUIRE(five != std::string::npos);
  bytes[five] = 1;
  file.set(bytes);
  expect_refused(file, "npz", ": w.npy: CRC error", [&] { (void)read_npz(file.path()); });
}

BOOST_AUTO_TEST_CASE(more_bytes_than_the_packed_ones_can_stand_for_are_refused) {
  const FileOfBytes file("a.npz");
  // The size 0x98 of the first member becomes 0x7fffff98, in its local header's extra field and in the directory.
  std::string bytes = from_hex(kDeflated);
  for (const std::size_t at : {bytes.find("w.npy") + 9, bytes.rfind("w.npy") - 22}) {
    BOOST_TEST_REQUIRE(bytes.substr(at, 4) == std::string("\x98\0\0\0", 4));
    bytes.replace(at, 4, "\x98\xff\xff\x7f");
  }
  bytes.replace(bytes.find("w.npy") - 8, 4, "\x98\xff\xff\x7f");
  file.set(bytes);
  expect_refused(file, "npz", ": w.npy: 2147483544 bytes out of 85 packed ones", [&] { (void)read_npz(file.path()); });
}

BOOST_AUTO_TEST_CASE(more_or_fewer_bytes_than_the_archive_says_are_refused) {
  const FileOfBytes file("a.npz");
  file.set(from_hex(kLonger));
  expect_refused(file, "npz", ": n.npy: longer than the archive says", [&] { (void)read_npz(file.path()); });
  file.set(from_hex(kShorter));
  expect_refused(file, "npz", ": n.npy: shorter than the archive says", [&] { (void)read_npz(file.path()); });
}

BOOST_AUTO_TEST_CASE(members_that_share_their_packed_bytes_are_refused) {
  const FileOfBytes file("a.npz");
  // The offset of n in the directory (its last four bytes before the name) becomes that of w; the names in both headers
  // agree.
  std::string bytes = replaced(from_hex(kStored), "n.npy", "w.npy");
  bytes.replace(bytes.rfind("w.npy") - 4, 4, std::string(4, '\0'));
  file.set(bytes);
  expect_refused(file, "npz", ": Zip archive inconsistent", [&] { (void)read_npz(file.path()); });
}

BOOST_AUTO_TEST_CASE(what_numpy_does_not_write_is_refused) {
  const FileOfBytes file("a.npz");
  // Flags and compression method: 6 and 8 bytes into a local header, 8 and 10 into an entry of the directory.
  const auto refused = [&](std::size_t field, char value, std::string_view text) {
    std::string bytes = from_hex(kStored);
    bytes[field] = value;
    bytes[bytes.find("PK\x01\x02") + 2 + field] = value;
    file.set(bytes);
    expect_refused(file, "npz", text, [&] { (void)read_npz(file.path()); });
  };
  refused(6, 1, ": w.npy: encrypted");
  refused(8, 12, ": w.npy: compression method 12 is not supported");
}

BOOST_AUTO_TEST_CASE(every_beginning_of_a_file_is_refused) {
  const FileOfBytes file("a.npz");
  expect_all_beginnings_refused(file, from_hex(kStored), [&] { (void)read_npz(file.path()); });
  expect_all_beginnings_refused(file, from_hex(kDeflated), [&] { (void)read_npz(file.path()); });
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_a_value_or_an_error) {
  const FileOfBytes file("a.npz");
  for (const std::string_view hex : {kStored, kDeflated}) {
    const int values = count_values_of_damaged(file, from_hex(hex), 2000, [&] { (void)read_npz(file.path()); });
    BOOST_TEST(values > 20);  // dates, versions and similar fields
    BOOST_TEST(values < 1000);
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_is_replaced_keeps_its_mode_and_any_name_that_a_file_may_have) {
  const FileOfBytes file(std::string(251, 'n') + ".npz");
  for (const NamedTensors& written : {arrays(), NamedTensors{}}) {
    file.set("older");
    std::filesystem::permissions(file.path(), std::filesystem::perms(0600));
    write_npz(file.path(), written);
    BOOST_TEST(read_npz(file.path()).size() == written.size());
    BOOST_CHECK(std::filesystem::status(file.path()).permissions() == std::filesystem::perms(0600));
    BOOST_TEST(file.names().size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(an_archive_that_cannot_be_written_leaves_the_one_before) {
  const FileOfBytes file("a.npz");
  file.set("older");
  const std::string temporary = "[npz] " + file.path().string() + ".0.new";
  {
    const SmallFiles files;
    expect_error<FileError>(temporary + ": File too large", [&] { write_npz(file.path(), {{"w", zeros({2000})}}); });
  }
  BOOST_TEST(file.get() == "older");
  BOOST_CHECK(file.names() == std::set<std::string>{"a.npz"});
}

BOOST_AUTO_TEST_CASE(a_pipe_without_a_writer_is_refused_at_once) {
  const FileOfBytes file("a.npz");
  BOOST_REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
  expect_refused(file, "npz", ": not a regular file", [&] { (void)read_npz(file.path()); });
}

BOOST_AUTO_TEST_CASE(nothing_but_a_regular_file_is_replaced) {
  const FileOfBytes file("a.npz");
  BOOST_REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
  for (const NamedTensors& arrays : {NamedTensors{}, NamedTensors{{"w", zeros({1})}}}) {
    expect_refused(file, "npz", ": not a regular file", [&] { write_npz(file.path(), arrays); });
  }
  BOOST_CHECK(std::filesystem::is_fifo(file.path()));
}

BOOST_AUTO_TEST_SUITE_END()
