#include "samples/parameter_server/mnist.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"

BOOST_AUTO_TEST_SUITE(mnist)

namespace {

namespace fs = std::filesystem;
using samples::Digits;

/// A directory of its own, removed at the end.
class Directory {
 public:
  Directory() {
    std::string name = (fs::temp_directory_path() / "troupe-mnist-XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Directory() { fs::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// `count` images, of which the i-th is all i and is labelled i.
Digits numbered(std::int64_t count) {
  Digits digits{troupe::empty({count, 28, 28}, troupe::DType::u8), troupe::empty({count}, troupe::DType::u8)};
  for (std::int64_t i = 0; i < count; ++i) {
    digits.images.select(0, i).fill(static_cast<double>(i));
    digits.labels.select(0, i).fill(static_cast<double>(i));
  }
  return digits;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

/// Returns the error of reading the pair "images", "labels" of `directory`, without the directory's name.
std::string complaint(const Directory& directory) {
  try {
    const Digits digits = samples::read_idx(directory / "images", directory / "labels");
    return "nothing: read " + std::to_string(digits.count());
  } catch (const samples::IdxError& error) {
    std::string text = error.what();
    const std::string prefix = directory.path().string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
    return text;
  }
}

/// Returns the error of reading after `change` to the bytes of one file of a valid pair of three.
std::string complaint_after(const char* file, const std::function<void(std::string&)>& change) {
  const Directory directory;
  samples::write_idx(numbered(3), directory / "images", directory / "labels");
  std::string bytes = bytes_of(directory / file);
  change(bytes);
  write_bytes(directory / file, bytes);
  return complaint(directory);
}

}  // namespace

BOOST_AUTO_TEST_CASE(files_begin_with_the_published_header) {
  const Directory directory;
  samples::write_idx(numbered(3), directory / "images", directory / "labels");
  using namespace std::string_literals;
  BOOST_TEST(bytes_of(directory / "images").substr(0, 16) == "\0\0\x08\x03\0\0\0\x03\0\0\0\x1c\0\0\0\x1c"s);
  BOOST_TEST(bytes_of(directory / "images").size() == 16U + 3 * 784);
  BOOST_TEST(bytes_of(directory / "labels") == "\0\0\x08\x01\0\0\0\x03\0\x01\x02"s);
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again) {
  const Directory directory;
  const samples::DigitData data{.train = numbered(10), .test = numbered(4)};
  samples::write_mnist(data, directory / "new" / "folder");
  const samples::DigitData read = samples::read_mnist(directory / "new" / "folder");
  BOOST_TEST(read.train.images.data<std::uint8_t>() == data.train.images.data<std::uint8_t>(),
             boost::test_tools::per_element());
  BOOST_TEST(read.train.labels.data<std::uint8_t>() == data.train.labels.data<std::uint8_t>(),
             boost::test_tools::per_element());
  BOOST_TEST(read.test.count() == 4);
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_named) {
  const Directory directory;
  BOOST_TEST(complaint(directory) == "images: cannot read: No such file or directory");
  fs::create_directory(directory / "images");
  BOOST_TEST(complaint(directory) == "images: cannot read: is a directory");
  BOOST_CHECK_EXCEPTION((void)samples::read_mnist(directory / "gone"), samples::IdxError, [](const auto& error) {
    return std::string(error.what()).ends_with("/gone: no such directory");
  });
}

BOOST_AUTO_TEST_CASE(a_file_that_is_still_compressed_is_named_with_the_remedy) {
  const Directory directory;
  write_bytes(directory / "images.gz", "");
  BOOST_TEST(complaint(directory) == "images: not there, but its compressed form is: run gunzip -k images.gz");
}

BOOST_AUTO_TEST_CASE(a_wrong_magic_number_is_refused_with_both_numbers) {
  BOOST_TEST(complaint_after("images", [](std::string& bytes) { bytes[3] = 1; }) ==
             "images: magic number is 0x00000801, that of images is 0x00000803");
  BOOST_TEST(complaint_after("labels", [](std::string& bytes) { bytes[0] = '\x1f'; }) ==
             "labels: magic number is 0x1f000801, that of labels is 0x00000801");
}

BOOST_AUTO_TEST_CASE(images_of_another_size_are_refused) {
  BOOST_TEST(complaint_after("images", [](std::string& bytes) { bytes[15] = 32; }) ==
             "images: a size of its images is 32, not 28");
}

BOOST_AUTO_TEST_CASE(a_file_truncated_at_any_byte_is_refused) {
  for (std::size_t size = 0; size < 16; ++size) {
    BOOST_TEST(complaint_after("images", [&](std::string& bytes) { bytes.resize(size); }) ==
               "images: truncated: " + std::to_string(size) + " bytes, the header alone has 16");
  }
  for (std::size_t size = 16; size < 2368; size += 49) {
    BOOST_TEST(complaint_after("images", [&](std::string& bytes) { bytes.resize(size); }) ==
               "images: truncated: 3 images take 2368 bytes, the file has " + std::to_string(size));
  }
  BOOST_TEST(complaint_after("labels", [](std::string& bytes) { bytes.pop_back(); }) ==
             "labels: truncated: 3 labels take 11 bytes, the file has 10");
}

BOOST_AUTO_TEST_CASE(an_absurd_count_allocates_nothing) {
  const auto claim_four_billion = [](std::string& bytes) { bytes.replace(4, 4, "\xff\xff\xff\xff"); };
  // 16 + 4294967295 * 784
  BOOST_TEST(complaint_after("images", claim_four_billion) ==
             "images: truncated: 4294967295 images take 3367254359296 bytes, the file has 2368");
}

BOOST_AUTO_TEST_CASE(bytes_behind_the_end_are_refused) {
  BOOST_TEST(complaint_after("labels", [](std::string& bytes) { bytes += "!"; }) ==
             "labels: too long: 3 labels take 11 bytes, the file has 12");
}

BOOST_AUTO_TEST_CASE(counts_that_differ_are_refused_with_both) {
  const Directory directory;
  samples::write_idx(numbered(3), directory / "images", directory / "other");
  samples::write_idx(numbered(4), directory / "other", directory / "labels");
  BOOST_TEST(complaint(directory) == "images: 3 images, but 4 labels in labels");
}

BOOST_AUTO_TEST_CASE(a_label_that_is_no_digit_is_refused_with_its_place) {
  BOOST_TEST(complaint_after("labels", [](std::string& bytes) { bytes.back() = 10; }) ==
             "labels: label 2 is 10, not 0 to 9");
}

BOOST_AUTO_TEST_CASE(a_batch_has_the_rows_asked_for_scaled_as_mnist_is) {
  const std::vector<std::int64_t> rows{2, 0};
  const samples::Batch batch = samples::batch(numbered(3), rows);
  BOOST_CHECK((batch.images.shape() == troupe::Shape{2, 1, 28, 28}));
  BOOST_CHECK(batch.labels.dtype() == troupe::DType::i64);
  BOOST_TEST(batch.labels.data<std::int64_t>()[0] == 2);
  BOOST_TEST(batch.labels.data<std::int64_t>()[1] == 0);
  // (2 / 255 - 0.1307) / 0.3081 and (0 - 0.1307) / 0.3081; f32 has 7 digits.
  BOOST_TEST(batch.images.data<float>()[783] == -0.398757F, boost::test_tools::tolerance(1e-5F));
  BOOST_TEST(batch.images.data<float>()[784] == -0.424213F, boost::test_tools::tolerance(1e-5F));
}

BOOST_AUTO_TEST_CASE(a_row_that_does_not_exist_is_refused) {
  const std::vector<std::int64_t> rows{3};
  BOOST_CHECK_EXCEPTION((void)samples::batch(numbered(3), rows), troupe::IndexError, [](const auto& error) {
    return std::string(error.what()) == "[batch] row out of range: 3 of 3";
  });
}

BOOST_AUTO_TEST_SUITE_END()
