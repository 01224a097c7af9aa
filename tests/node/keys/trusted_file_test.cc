#include "node/keys/trusted_file.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "tests/support/temporary_directory.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

constexpr std::size_t kMax = 100;
constexpr uid_t kSomebody = 4711;

std::string read_text(const fs::path& path) {
  const auto bytes = read_secret_file(path.string(), kMax);
  BOOST_TEST_REQUIRE(bytes.ok(), (bytes.ok() ? "" : bytes.error().message));
  const std::span<const std::byte> all = bytes.value().bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

/// Returns the message, and "not authorized: " before it where that is its code.
std::string refusal_of(const fs::path& path) {
  const auto bytes = read_secret_file(path.string(), kMax);
  if (bytes.ok()) return "read";
  return (bytes.error().code == ErrorCode::not_authorized ? "not authorized: " : "") + bytes.error().message;
}

fs::path file_in(const fs::path& directory, std::string_view name = "key", mode_t mode = 0600) {
  const fs::path path = directory / name;
  std::ofstream(path) << "secret";
  BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

fs::path directory_in(const fs::path& directory, std::string_view name, mode_t mode = 0700) {
  const fs::path path = directory / name;
  BOOST_REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

boost::test_tools::assertion_result needs_root(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(::geteuid() == 0);
  result.message() << "only root can give files to another user";
  return result;
}

BOOST_AUTO_TEST_SUITE(trusted_file)

BOOST_AUTO_TEST_CASE(what_was_written_is_read) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "key";
  const std::string_view text = "secret";
  BOOST_TEST(write_secret_file(path.string(), std::as_bytes(std::span(text))).ok());
  BOOST_TEST(read_text(path) == text);
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 07777U) == 0600U);
  const auto again = write_secret_file(path.string(), std::as_bytes(std::span(text)));
  BOOST_TEST_REQUIRE(!again.ok());
  BOOST_TEST(again.error().message == "cannot make " + path.string() + ": File exists");
}

BOOST_AUTO_TEST_CASE(a_public_file_is_replaced_as_a_whole) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "list";
  std::ofstream(path.string() + ".new") << "left by a run that ended here, longer than what follows";
  BOOST_TEST(write_public_file(path.string(), "one").ok());
  BOOST_TEST(write_public_file(path.string(), "two").ok());
  BOOST_TEST(read_public_file(path.string(), kMax).value() == "two");
  BOOST_TEST(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()) == 1);
  BOOST_TEST(!write_public_file((directory.path() / "no" / "list").string(), "x").ok());
}

BOOST_AUTO_TEST_CASE(relative_paths_and_links_of_ours_are_followed) {
  const TemporaryDirectory directory;
  file_in(directory_in(directory.path(), "data"));
  fs::create_symlink("data/../data/./key", directory.path() / "relative");
  fs::create_symlink(directory.path() / "relative", directory.path() / "absolute");
  BOOST_TEST(read_text(directory.path() / "absolute") == "secret");
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  const std::string read = read_text("data/key");
  fs::current_path(before);
  BOOST_TEST(read == "secret");
}

// The kubelet writes ..2026_01/key, ..data -> ..2026_01 and key -> ..data/key.
BOOST_AUTO_TEST_CASE(the_links_of_a_mounted_secret_are_followed) {
  const TemporaryDirectory directory;
  file_in(directory_in(directory.path(), "..2026_01", 0755), "key", 0400);
  fs::create_symlink("..2026_01", directory.path() / "..data");
  fs::create_symlink("..data/key", directory.path() / "key");
  BOOST_TEST(read_text(directory.path() / "key") == "secret");
}

BOOST_AUTO_TEST_CASE(a_file_that_others_can_read_is_refused, *boost::unit_test::label("attack")) {
  const TemporaryDirectory directory;
  for (const mode_t mode : {0644U, 0604U, 0620U, 0602U, 0601U, 0660U}) {
    const fs::path path = file_in(directory.path(), "key", mode);
    BOOST_TEST(refusal_of(path).starts_with("not authorized: " + path.string() + " has mode 0"), mode);
  }
  BOOST_TEST(read_secret_file((directory.path() / "key").string(), kMax).error().hint ==
             "chmod 0600 " + (directory.path() / "key").string());
}

// As Secrets are mounted for the group of a pod (fsGroup).
BOOST_AUTO_TEST_CASE(a_group_of_this_process_may_read_what_belongs_to_root,
                     *boost::unit_test::label("attack") * boost::unit_test::precondition(needs_root)) {
  const TemporaryDirectory directory;
  const fs::path path = file_in(directory.path(), "key", 0440);
  BOOST_TEST(read_text(path) == "secret");
  BOOST_REQUIRE(::chown(path.c_str(), 0, kSomebody) == 0);
  BOOST_TEST(refusal_of(path).starts_with("not authorized: "));
  BOOST_REQUIRE(::chown(path.c_str(), 0, ::getegid()) == 0);
  BOOST_REQUIRE(::chmod(path.c_str(), 0460) == 0);
  BOOST_TEST(refusal_of(path).starts_with("not authorized: "));
}

BOOST_AUTO_TEST_CASE(what_belongs_to_another_user_is_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::precondition(needs_root)) {
  const TemporaryDirectory directory;
  const fs::path inner = directory_in(directory.path(), "inner");
  const fs::path path = file_in(inner);
  BOOST_REQUIRE(::chown(path.c_str(), kSomebody, 0) == 0);
  BOOST_TEST(refusal_of(path) == "not authorized: " + path.string() + " belongs to user 4711, expected 0 or root");
  BOOST_REQUIRE(::chown(path.c_str(), 0, 0) == 0);
  BOOST_REQUIRE(::chown(inner.c_str(), kSomebody, 0) == 0);
  BOOST_TEST(refusal_of(path) == "not authorized: " + inner.string() + " belongs to user 4711, expected 0 or root");
  BOOST_REQUIRE(::chown(inner.c_str(), 0, 0) == 0);
  BOOST_TEST(refusal_of(path) == "read");
  fs::create_symlink(path, directory.path() / "link");
  BOOST_REQUIRE(::lchown((directory.path() / "link").c_str(), kSomebody, 0) == 0);
  BOOST_TEST(refusal_of(directory.path() / "link").starts_with("not authorized: "));
}

BOOST_AUTO_TEST_CASE(a_directory_where_others_can_put_files_is_refused, *boost::unit_test::label("attack")) {
  const TemporaryDirectory directory;
  const fs::path open = directory_in(directory.path(), "open", 0777);
  const fs::path path = file_in(directory_in(open, "inner"));
  BOOST_TEST(refusal_of(path) == "not authorized: others may write to the directory " + open.string() + ", mode 0777");
  fs::create_symlink(path, directory.path() / "link");
  BOOST_TEST(refusal_of(directory.path() / "link").starts_with("not authorized: others may write"));
  BOOST_REQUIRE(::chmod(open.c_str(), 0770) == 0);
  BOOST_TEST(refusal_of(path).starts_with("not authorized: others may write"));
  BOOST_REQUIRE(::chmod(open.c_str(), 01777) == 0);  // as /tmp
  BOOST_TEST(read_text(path) == "secret");
}

BOOST_AUTO_TEST_CASE(what_is_no_regular_file_or_too_large_is_refused, *boost::unit_test::label("attack")) {
  const TemporaryDirectory directory;
  const fs::path& in = directory.path();
  BOOST_TEST(refusal_of(in / "none") == (in / "none").string() + ": No such file or directory");
  BOOST_TEST(refusal_of(in) == in.string() + " is a directory");
  BOOST_REQUIRE(::mkfifo((in / "fifo").c_str(), 0600) == 0);
  BOOST_TEST(refusal_of(in / "fifo") == (in / "fifo").string() + " is no regular file");
  BOOST_TEST(!read_public_file((in / "fifo").string(), kMax).ok());
  std::ofstream(in / "large") << std::string(kMax + 1, 'x');
  BOOST_REQUIRE(::chmod((in / "large").c_str(), 0600) == 0);
  BOOST_TEST(refusal_of(in / "large") == (in / "large").string() + " has 101 bytes, more than 100");
  BOOST_TEST(!read_public_file((in / "large").string(), kMax).ok());
  std::ofstream(in / "empty").close();
  BOOST_REQUIRE(::chmod((in / "empty").c_str(), 0600) == 0);
  BOOST_TEST(refusal_of(in / "empty") == (in / "empty").string() + " is empty");
  const fs::path file = file_in(in);
  BOOST_TEST(refusal_of(file / "more") == file.string() + " is no directory");
  fs::create_symlink("loop", in / "loop");
  BOOST_TEST(refusal_of(in / "loop") == (in / "loop").string() + ": too many symbolic links");
}

BOOST_AUTO_TEST_CASE(only_a_regular_file_of_this_user_with_one_name_is_not_planted) {
  struct stat status {};
  status.st_mode = S_IFREG | 0666;  // who else may write to it is no sign of who made it
  status.st_uid = ::geteuid();
  status.st_nlink = 1;
  BOOST_TEST(why_planted(status) == "");
  status.st_nlink = 2;
  BOOST_TEST(why_planted(status) == "it has another name, too");
  status.st_uid = ::geteuid() + kSomebody;
  BOOST_TEST(why_planted(status) == "it belongs to user " + std::to_string(status.st_uid));
  status.st_mode = S_IFIFO | 0600;
  BOOST_TEST(why_planted(status) == "it is not a regular file");
}

BOOST_AUTO_TEST_CASE(a_public_file_behind_links_is_replaced_and_the_links_stay) {
  const TemporaryDirectory directory;
  const fs::path in = directory.path();
  const fs::path target = directory_in(in, "elsewhere") / "list";
  fs::create_symlink("elsewhere/list", in / "inner");
  fs::create_symlink(in / "inner", in / "list");
  for (const std::string text : {"one", "two"}) {  // the first makes the target
    BOOST_TEST(write_public_file((in / "list").string(), text).ok());
    BOOST_TEST(fs::is_symlink(in / "list"));
    BOOST_TEST(fs::is_symlink(in / "inner"));
    BOOST_TEST(read_public_file(target.string(), kMax).value() == text);
  }
  BOOST_TEST(!fs::exists(target.string() + ".new"));
  fs::create_symlink("loop", in / "loop");
  BOOST_TEST(write_public_file((in / "loop").string(), "x").error().message ==
             (in / "loop").string() + ": too many symbolic links");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
