#include "node/audit/audit_file.h"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/temporary_directory.h"
#include "tests/support/working_directory.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

std::string contents_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void fill(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

/// Returns why `path` is no place for an audit log; "opened" if it is.
std::string refusal_of(const fs::path& path) {
  const auto file = AuditFile::open(path);
  if (file.ok()) return "opened";
  const std::string before = "cannot keep an audit log in " + path.string() + ": ";
  BOOST_TEST(file.error().message.starts_with(before));
  return file.error().message.substr(before.size());
}

BOOST_AUTO_TEST_SUITE(audit_file)

BOOST_AUTO_TEST_CASE(lines_are_added_at_the_end_of_a_file_for_its_owner_alone) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  const mode_t mask = ::umask(0);
  {
    auto file = AuditFile::open(path).value();
    BOOST_TEST(file.append("one\n").ok());
  }
  ::umask(mask);
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 07777U) == 0600U);
  auto file = AuditFile::open(path).value();
  BOOST_TEST(file.tail() == "one\n");
  BOOST_TEST(file.append("two\n").ok());
  BOOST_TEST(contents_of(path) == "one\ntwo\n");
}

BOOST_AUTO_TEST_CASE(a_line_never_goes_on_where_another_was_cut_off) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  fill(path, "one\ntw");
  ::chmod(path.c_str(), 0600);
  auto file = AuditFile::open(path).value();
  BOOST_TEST(file.tail() == "one\ntw");
  BOOST_TEST(file.append("three\n").ok());
  BOOST_TEST(file.append("four\n").ok());
  BOOST_TEST(contents_of(path) == "one\ntw\nthree\nfour\n");
}

BOOST_AUTO_TEST_CASE(a_full_file_makes_way_for_a_new_one_once) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  auto file = AuditFile::open(path, 10).value();
  for (const std::string_view line : {"aaaa\n", "bbbb\n", "cccc\n", "dddd\n", "eeee\n"})
    BOOST_TEST(file.append(line).ok());
  BOOST_TEST(contents_of(path) == "eeee\n");
  BOOST_TEST(contents_of(path.string() + ".1") == "cccc\ndddd\n");
  BOOST_TEST(!fs::exists(path.string() + ".2"));
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 07777U) == 0600U);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_former_file_is_known_where_the_new_one_is_empty) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  fill(path.string() + ".1", "one\ntwo\n");
  BOOST_TEST(AuditFile::open(path).value().tail() == "one\ntwo\n");
}

BOOST_AUTO_TEST_CASE(a_relative_path_is_that_of_the_directory_at_the_start) {
  const TemporaryDirectory directory;
  auto file = [&] {
    const testing::WorkingDirectory there(directory.path());
    return AuditFile::open("ps0.audit", 10).value();
  }();
  const TemporaryDirectory elsewhere;
  const testing::WorkingDirectory now(elsewhere.path());
  for (const std::string_view line : {"aaaa\n", "bbbb\n", "cccc\n"}) BOOST_TEST(file.append(line).ok());
  BOOST_TEST(contents_of(directory.path() / "ps0.audit") == "cccc\n");
  BOOST_TEST(contents_of(directory.path() / "ps0.audit.1") == "aaaa\nbbbb\n");
  BOOST_TEST(fs::is_empty(elsewhere.path()));
}

BOOST_AUTO_TEST_CASE(only_the_last_lines_are_read) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  fill(path, std::string(100'000, 'x') + "\nlast\n");
  BOOST_TEST(AuditFile::open(path).value().tail() == "last\n");
}

BOOST_AUTO_TEST_CASE(nothing_that_was_planted_is_written_to,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  const TemporaryDirectory directory;
  const fs::path target = directory.path() / "target";
  fill(target, "mine");
  const fs::path path = directory.path() / "ps0.audit";
  fs::create_symlink(target, path);
  BOOST_TEST(refusal_of(path) == "it is a symbolic link");
  fs::remove(path);
  BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  BOOST_TEST(refusal_of(path) == "it is not a regular file");
  fs::remove(path);
  fs::create_hard_link(target, path);
  BOOST_TEST(refusal_of(path) == "it has another name, too");
  fs::remove(path);
  fill(path, "");
  BOOST_REQUIRE(::chmod(path.c_str(), 0622) == 0);
  BOOST_TEST(refusal_of(path) == "others may write to it");
  fs::remove(path);
  fs::create_directory(path);
  BOOST_TEST(refusal_of(path) == "Is a directory");
  BOOST_TEST(contents_of(target) == "mine");
}

BOOST_AUTO_TEST_CASE(what_is_planted_before_a_file_is_replaced_is_not_written_to,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S14")) {
  const TemporaryDirectory directory;
  const fs::path target = directory.path() / "target";
  fill(target, "mine");
  const fs::path path = directory.path() / "ps0.audit";
  fs::create_symlink(target, path.string() + ".1");
  auto file = AuditFile::open(path, 10).value();
  for (int i = 0; i < 3; ++i) BOOST_TEST(file.append("aaaa\n").ok());
  BOOST_TEST(contents_of(target) == "mine");
  BOOST_TEST(contents_of(path.string() + ".1") == "aaaa\naaaa\n");
}

BOOST_AUTO_TEST_CASE(two_processes_do_not_write_to_one_file) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  fill(path, "one\n");  // the end of a file that is there is read, by another descriptor
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  const auto file = AuditFile::open(path).value();
  BOOST_TEST(!AuditFile::open(path).ok());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(AuditFile::open(path).ok() ? 1 : 0);
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(a_line_that_the_disk_refuses_leaves_nothing_behind) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "ps0.audit";
  auto file = AuditFile::open(path, 10).value();
  BOOST_TEST(file.append("aaaa\n").ok());
  BOOST_TEST(file.append("bbbb\n").ok());
  fs::create_directories(path.string() + ".1/full");  // so that it cannot be replaced
  const auto refused = file.append("cccc\n");
  BOOST_TEST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.error().message.starts_with("cannot write " + path.string() + ": "));
  BOOST_TEST(contents_of(path) == "aaaa\nbbbb\n");
  fs::remove_all(path.string() + ".1");
  BOOST_TEST(file.append("dddd\n").ok());
  BOOST_TEST(contents_of(path) == "dddd\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
