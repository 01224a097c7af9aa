#include "tensor/io/opened_file.h"

#include <sys/stat.h>

#include <array>

#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;
using detail::OpenedFile;

BOOST_AUTO_TEST_SUITE(opened_file)

BOOST_AUTO_TEST_CASE(an_opened_file_is_read_after_its_name_went_to_another) {
  const FileOfBytes file("a");
  OpenedFile opened("test", file.set("0123"));
  file.set("another");
  BOOST_TEST(opened.size() == 4U);
  std::array<char, 3> text{};
  opened.read(std::as_writable_bytes(std::span(text)));
  BOOST_TEST(std::string(text.data(), text.size()) == "012");
  expect_refused(file, "test", ": cannot be read any further",
                 [&] { opened.read(std::as_writable_bytes(std::span(text))); });
}

BOOST_AUTO_TEST_CASE(a_pipe_and_a_directory_are_errors_and_a_missing_file_is_one_only_if_it_must_exist) {
  const FileOfBytes file("a");
  BOOST_TEST(!OpenedFile::if_exists("test", file.path()));
  expect_refused(file, "test", ": No such file or directory", [&] { OpenedFile("test", file.path()); });
  BOOST_REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
  expect_refused(file, "test", ": not a regular file", [&] { OpenedFile("test", file.path()); });
  expect_refused(file, "test", ": not a regular file", [&] { (void)OpenedFile::if_exists("test", file.path()); });
  std::filesystem::remove(file.path());
  std::filesystem::create_directory(file.path());
  expect_refused(file, "test", ": Is a directory", [&] { (void)OpenedFile::if_exists("test", file.path()); });
}

BOOST_AUTO_TEST_SUITE_END()
