// The directory of a job: what is not this user's alone is refused, and no link is followed.
#include "node/engines/job_directory.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/support/expect_throw.h"
#include "tests/support/temporary_directory.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;
using troupe::testing::expect_throw;
using troupe::testing::TemporaryDirectory;

constexpr uid_t kStranger = 65'534;

boost::test_tools::assertion_result can_give_files_away(boost::unit_test::test_unit_id /*unit*/) {
  return geteuid() == 0;
}

struct JobDirectoryPlace {
  [[nodiscard]] std::string place(const std::string& name) const { return (path / name).string(); }

  void plant(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path / name) << text;
    chmod((path / name).c_str(), mode);
  }

  void expect_refusal(const std::string& name, const std::string& what) const {
    expect_throw<JobDirectoryError>([&] { return JobDirectory(path).read(name, 10); }, place(name) + " " + what);
  }

  TemporaryDirectory base;
  fs::path path = base.path() / "jobs" / "slurm-1.0";
};

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  BOOST_TEST_REQUIRE(lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

BOOST_FIXTURE_TEST_SUITE(job_directory, JobDirectoryPlace)

BOOST_AUTO_TEST_CASE(what_it_makes_is_this_users_alone) {
  const mode_t before = umask(0);
  const JobDirectory directory(path);
  directory.write("0.key", "text");
  umask(before);
  BOOST_TEST(mode_of(path.parent_path()) == 0700U);
  BOOST_TEST(mode_of(path) == 0700U);
  BOOST_TEST(mode_of(path / "0.key") == 0600U);
}

BOOST_AUTO_TEST_CASE(a_file_is_read_as_it_was_written_last) {
  const JobDirectory directory(path);
  BOOST_TEST(!directory.read("0.key", 10));
  directory.write("0.key", "one");
  directory.write("0.key", "another");
  BOOST_TEST(JobDirectory(path).read("0.key", 10).value() == "another");
  directory.rename("0.key", "0.done");
  BOOST_TEST((directory.names() == std::set<std::string>{"0.done"}));
}

BOOST_AUTO_TEST_CASE(a_write_that_fails_leaves_the_former_file) {
  const JobDirectory directory(path);
  directory.write("0.key", "former");
  fs::create_directories(path / "0.key.new" / "full");
  expect_throw<JobDirectoryError>([&] { directory.write("0.key", "text"); }, place("0.key.new") + " File exists");
  BOOST_TEST(directory.read("0.key", 10).value() == "former");
}

BOOST_AUTO_TEST_CASE(a_symbolic_link_is_refused_and_its_target_stays) {
  const JobDirectory directory(path);
  const fs::path target = base.path() / "target";
  std::ofstream(target) << "mine";
  fs::create_symlink(target, path / "1.key");
  expect_refusal("1.key", "is a symbolic link");
  fs::create_symlink(target, path / "2.key");
  fs::create_symlink(target, path / "2.key.new");
  directory.write("2.key", "text");
  BOOST_TEST(content_of(target) == "mine");
  BOOST_TEST(directory.read("2.key", 10).value() == "text");
}

BOOST_AUTO_TEST_CASE(what_is_no_regular_file_is_refused_without_waiting) {
  const JobDirectory directory(path);
  BOOST_TEST_REQUIRE(mkfifo((path / "1.key").c_str(), 0600) == 0);
  expect_refusal("1.key", "is no regular file");
  fs::create_directory(path / "2.key");
  expect_refusal("2.key", "is no regular file");
}

BOOST_AUTO_TEST_CASE(a_file_that_others_may_open_is_refused) {
  const JobDirectory directory(path);
  plant("1.key", "text", 0640);
  expect_refusal("1.key", "has mode 0640: others may open it");
  plant("2.key", "text", 0602);
  expect_refusal("2.key", "has mode 0602: others may open it");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_user_is_refused, *boost::unit_test::precondition(can_give_files_away)) {
  const JobDirectory directory(path);
  plant("1.key", "text");
  BOOST_TEST_REQUIRE(chown((path / "1.key").c_str(), kStranger, kStranger) == 0);
  expect_refusal("1.key", "belongs to user 65534, expected 0");
}

BOOST_AUTO_TEST_CASE(a_file_above_its_limit_is_refused) {
  const JobDirectory directory(path);
  plant("1.key", std::string(11, 'x'));
  expect_refusal("1.key", "has more than 10 bytes");
  BOOST_TEST_REQUIRE(truncate((path / "1.key").c_str(), off_t{1} << 40) == 0);  // of no blocks
  expect_refusal("1.key", "has more than 10 bytes");
}

BOOST_AUTO_TEST_CASE(a_directory_that_others_may_open_is_refused) {
  const JobDirectory directory(path);
  chmod(path.c_str(), 0755);
  const std::string text = path.string() + " has mode 0755: others may open it";
  expect_throw<JobDirectoryError>([&] { return JobDirectory(path); }, text);
  expect_throw<JobDirectoryError>([&] { return directory.names(); }, text);
  expect_throw<JobDirectoryError>([&] { directory.write("0.key", "text"); }, text);
}

BOOST_AUTO_TEST_CASE(a_directory_of_another_user_is_refused, *boost::unit_test::precondition(can_give_files_away)) {
  (void)JobDirectory(path);
  BOOST_TEST_REQUIRE(chown(path.c_str(), kStranger, kStranger) == 0);
  expect_throw<JobDirectoryError>([&] { return JobDirectory(path); },
                                  path.string() + " belongs to user 65534, expected 0");
}

BOOST_AUTO_TEST_CASE(a_link_in_the_place_of_the_directory_is_refused) {
  const fs::path real = base.path() / "real";
  (void)JobDirectory(real);
  fs::create_directory(path.parent_path());
  fs::create_symlink(real, path);
  expect_throw<JobDirectoryError>([&] { return JobDirectory(path); },
                                  path.string() + " is a symbolic link or no directory");
  BOOST_TEST(fs::is_empty(real));
}

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_made_is_named) {
  std::ofstream(base.path() / "file") << "";
  const fs::path below = base.path() / "file" / "jobs";
  expect_throw<JobDirectoryError>([&] { return JobDirectory(below); },
                                  "cannot make " + below.string() + ": Not a directory");
}

BOOST_AUTO_TEST_CASE(it_is_removed_with_all_files_and_is_then_empty) {
  const JobDirectory directory(path);
  const fs::path target = base.path() / "target";
  std::ofstream(target) << "mine";
  directory.write("0.key", "text");
  plant("left.new", "of another life");
  fs::create_symlink(target, path / "link");
  directory.remove();
  BOOST_TEST(!fs::exists(path));
  BOOST_TEST(fs::exists(path.parent_path()));
  BOOST_TEST(content_of(target) == "mine");
  BOOST_TEST(directory.names().empty());
  BOOST_TEST(!directory.read("0.key", 10));
  directory.remove();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
