#include "tensor/io/file_path.h"

#include "tensor/create.h"
#include "tensor/io/checkpoint_files.h"
#include "tensor/io/npy.h"
#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;
using namespace std::literals;

BOOST_AUTO_TEST_SUITE(file_path)

BOOST_AUTO_TEST_CASE(a_path_is_made_from_any_text_and_from_a_path) {
  const std::filesystem::path path = "run/a.npy";
  BOOST_TEST(FilePath("run/a.npy").text() == "run/a.npy");
  BOOST_TEST(FilePath("run/a.npy"sv).text() == "run/a.npy");
  BOOST_TEST(FilePath("run/a.npy"s).text() == "run/a.npy");
  BOOST_TEST(FilePath(path).text() == "run/a.npy");
}

BOOST_AUTO_TEST_CASE(a_path_with_a_nul_byte_is_refused_and_nothing_before_it_is_read_or_written) {
  const FileOfBytes file("a");
  const std::string path = file.path().string() + "\0.npy"s;
  const std::string refused = "[file] a NUL byte in a path: \"" + file.path().string() + "\\x00.npy\"";
  expect_error<FileError>(refused, [&] { write_npy(path, ones({1})); });
  expect_error<FileError>(refused, [&] { write_npy(std::string_view(path), ones({1})); });
  expect_error<FileError>(refused, [&] { write_npy(std::filesystem::path(path), ones({1})); });
  BOOST_TEST(file.names().empty());
  write_npy(file.path(), ones({1}));
  expect_error<FileError>(refused, [&] { (void)read_npy(path); });
  expect_error<FileError>(refused, [&] { (void)has_checkpoint(path); });
}

BOOST_AUTO_TEST_SUITE_END()
