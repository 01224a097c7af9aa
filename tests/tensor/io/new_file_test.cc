#include "tensor/io/new_file.h"

#include <sys/stat.h>

#include <span>

#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;
using detail::NewFile;

BOOST_AUTO_TEST_SUITE(new_file)

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

BOOST_AUTO_TEST_CASE(the_old_file_is_there_until_the_new_one_is_whole) {
  const FileOfBytes file("a");
  file.set("old");
  NewFile out("npy", file.path());
  out.write(bytes_of("new "));
  BOOST_TEST(file.get() == "old");
  out.write(bytes_of("bytes"));
  out.commit();
  BOOST_TEST(file.get() == "new bytes");
  BOOST_CHECK(file.names() == std::set<std::string>{"a"});
}

BOOST_AUTO_TEST_CASE(one_that_is_given_up_leaves_nothing) {
  const FileOfBytes file("a");
  { NewFile(std::string("npy"), file.path()).write(bytes_of("half")); }
  BOOST_CHECK(file.names().empty());
}

BOOST_AUTO_TEST_CASE(two_writers_of_one_path_do_not_mix) {
  const FileOfBytes file("a");
  NewFile first("npy", file.path());
  NewFile second("npy", file.path());
  first.write(bytes_of("first"));
  second.write(bytes_of("second"));
  second.commit();
  BOOST_TEST(file.get() == "second");
  first.commit();
  BOOST_TEST(file.get() == "first");
  BOOST_CHECK(file.names() == std::set<std::string>{"a"});
}

BOOST_AUTO_TEST_CASE(a_path_that_cannot_be_written_is_named) {
  const FileOfBytes file("a");
  const std::string path = (file.path().parent_path() / "none" / "a").string();
  expect_error<FileError>("[npy] " + path + ".0.new: No such file or directory", [&] { NewFile("npy", path); });
}

BOOST_AUTO_TEST_CASE(nothing_but_a_regular_file_loses_its_name) {
  const FileOfBytes file("a");
  const std::string refused = "[npy] " + file.path().string() + ": not a regular file";
  BOOST_REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
  expect_error<FileError>(refused, [&] { NewFile("npy", file.path()); });
  std::filesystem::remove(file.path());
  std::filesystem::create_directory(file.path());
  expect_error<FileError>(refused, [&] { NewFile("npy", file.path()); });
  std::filesystem::remove(file.path());
  std::filesystem::create_symlink("nowhere", file.path());
  expect_error<FileError>(refused, [&] { NewFile("npy", file.path()); });
  BOOST_CHECK(file.names() == std::set<std::string>{"a"});
  expect_error<FileError>("[npy] /dev/null: not a regular file", [] { NewFile("npy", "/dev/null"); });
}

BOOST_AUTO_TEST_CASE(what_takes_the_name_while_the_file_is_written_keeps_it) {
  const FileOfBytes file("a");
  NewFile out("npy", file.path());
  BOOST_REQUIRE(mkfifo(file.path().c_str(), 0600) == 0);
  expect_error<FileError>("[npy] " + file.path().string() + ": not a regular file", [&] { out.commit(); });
  BOOST_CHECK(std::filesystem::is_fifo(file.path()));
}

BOOST_AUTO_TEST_CASE(a_link_stays_and_what_it_leads_to_is_replaced) {
  const FileOfBytes file("a");
  file.set("old");
  const std::filesystem::path link = file.path().parent_path() / "link";
  std::filesystem::create_symlink("a", link);
  NewFile out("npy", link);
  out.write(bytes_of("new"));
  out.commit();
  BOOST_TEST(file.get() == "new");
  BOOST_CHECK(std::filesystem::is_symlink(link));
}

BOOST_AUTO_TEST_SUITE_END()
