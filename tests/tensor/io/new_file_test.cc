#include "tensor/io/new_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <span>
#include <utility>
#include <vector>

#include "tests/tensor/io/file_bytes.h"

using namespace troupe;
using namespace troupe::testing;
using detail::NewFile;

BOOST_AUTO_TEST_SUITE(new_file)

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

boost::test_tools::assertion_result is_root(boost::unit_test::test_unit_id /*unit*/) {
  boost::test_tools::assertion_result result(geteuid() == 0);
  if (!result) result.message() << "only root can give a file to another user";
  return result;
}

mode_t mode_of(const std::filesystem::path& file) {
  struct stat about {};
  BOOST_REQUIRE(stat(file.c_str(), &about) == 0);
  return about.st_mode & 07777U;
}

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

BOOST_AUTO_TEST_CASE(bytes_are_written_over_those_at_another_place) {
  const FileOfBytes file("a");
  NewFile out("npz", file.path());
  out.write(bytes_of("0123456789"));
  out.seek(2);
  out.write(bytes_of("ab"));
  out.write(bytes_of("c"));
  out.seek(10);
  out.write(bytes_of("d"));
  out.commit();
  BOOST_TEST(file.get() == "01abc56789d");
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

BOOST_AUTO_TEST_CASE(a_path_without_a_name_is_refused_before_anything_is_written) {
  const FileOfBytes file("a");
  const std::string missing = file.path().string() + "/";
  for (const std::string& path : {std::string(), missing}) {
    expect_error<FileError>("[npy] " + path + ": not the name of a file", [&] { NewFile("npy", path); });
  }
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

BOOST_AUTO_TEST_CASE(a_file_that_is_replaced_keeps_its_mode_and_others_never_read_the_new_one) {
  const FileOfBytes file("a");
  file.set("secret");
  for (const mode_t mode : {0600U, 0640U, 0444U, 0777U}) {
    BOOST_REQUIRE(chmod(file.path().c_str(), mode) == 0);
    NewFile out("npy", file.path());
    out.write(bytes_of("new"));
    BOOST_TEST(mode_of(file.path().string() + ".0.new") == 0600U);
    out.commit();
    BOOST_TEST(file.get() == "new");
    BOOST_TEST(mode_of(file.path()) == mode);
  }
}

BOOST_AUTO_TEST_CASE(the_mode_is_that_of_the_file_that_is_there_at_the_end) {
  const FileOfBytes file("a");
  NewFile first("npy", file.path());
  file.set("secret");
  BOOST_REQUIRE(chmod(file.path().c_str(), 0600) == 0);
  first.commit();
  BOOST_TEST(mode_of(file.path()) == 0600U);
  BOOST_REQUIRE(chmod(file.path().c_str(), 0664) == 0);
  NewFile second("npy", file.path());
  std::filesystem::remove(file.path());
  second.commit();
  BOOST_TEST(mode_of(file.path()) == 0664U);
}

BOOST_AUTO_TEST_CASE(a_file_of_another_user_and_group_stays_theirs, *boost::unit_test::precondition(is_root)) {
  const FileOfBytes file("a");
  file.set("secret");
  BOOST_REQUIRE(chown(file.path().c_str(), 4321, 1234) == 0);
  BOOST_REQUIRE(chmod(file.path().c_str(), 0640) == 0);
  NewFile("npy", file.path()).commit();
  struct stat about {};
  BOOST_REQUIRE(stat(file.path().c_str(), &about) == 0);
  BOOST_TEST(about.st_uid == 4321U);
  BOOST_TEST(about.st_gid == 1234U);
  BOOST_TEST(mode_of(file.path()) == 0640U);
}

BOOST_AUTO_TEST_CASE(a_name_of_any_length_that_a_file_may_have_can_be_written) {
  std::string umlauts = "ab";
  while (umlauts.size() < 254) umlauts += "\xc3\xa4";
  umlauts += 'c';  // the last 6 bytes begin in the middle of a character
  for (const auto& [name, temporary_size] : std::vector<std::pair<std::string, std::size_t>>{
           {std::string(248, 'n'), 254}, {std::string(250, 'n'), 250}, {std::string(255, 'n'), 255}, {umlauts, 254}}) {
    const FileOfBytes file(name);
    NewFile first("npy", file.path());
    NewFile second("npy", file.path());
    BOOST_TEST(file.names().size() == 2U);
    for (const std::string& temporary : file.names()) {
      BOOST_TEST(temporary.ends_with(".new"));
      BOOST_TEST(temporary.size() == temporary_size);
    }
    first.write(bytes_of("first"));
    first.commit();
    second.write(bytes_of("second"));
    second.commit();
    BOOST_TEST(file.get() == "second");
    BOOST_CHECK(file.names() == std::set<std::string>{name});
  }
  const FileOfBytes file(std::string(256, 'n'));
  expect_error<FileError>("[npy] " + file.path().string() + ": File name too long",
                          [&] { NewFile("npy", file.path()); });
}

BOOST_AUTO_TEST_CASE(a_path_with_too_many_temporary_files_is_refused) {
  const FileOfBytes file("a");
  for (int number = 0; number < NewFile::kTemporaryMax; ++number) {
    std::ofstream(file.path().string() + "." + std::to_string(number) + ".new");
  }
  expect_error<FileError>("[npy] " + file.path().string() + ": 1000 temporary files are beside it, as a.999.new",
                          [&] { NewFile("npy", file.path()); });
  BOOST_TEST(file.names().size() == 1000U);
}

BOOST_AUTO_TEST_SUITE_END()
