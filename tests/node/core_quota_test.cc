// How many cores control groups allow, from files as Linux has them.
#include "node/core_quota.h"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "node/environment.h"
#include "tests/support/temporary_directory.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

BOOST_AUTO_TEST_SUITE(core_quotas)

BOOST_AUTO_TEST_CASE(a_part_of_a_core_counts_as_one) {
  BOOST_TEST(cores_of_cpu_max("200000 100000\n").value() == 2);
  BOOST_TEST(cores_of_cpu_max("150000 100000\n").value() == 2);
  BOOST_TEST(cores_of_cpu_max("1000 100000\n").value() == 1);
  BOOST_TEST(cores_of_cfs("250000\n", "50000\n").value() == 5);
}

BOOST_AUTO_TEST_CASE(no_limit_and_what_cannot_be_read_are_none) {
  for (const char* text : {"max 100000\n", "", "\n", "100000", "100000 0\n", "0 100000\n", "-1 100000\n", "1x 100000"})
    BOOST_TEST(!cores_of_cpu_max(text).has_value(), text);
  BOOST_TEST(!cores_of_cfs("-1\n", "100000\n").has_value());
  BOOST_TEST(!cores_of_cfs("", "").has_value());
}

BOOST_AUTO_TEST_CASE(the_tightest_group_of_those_above_a_process_counts) {
  const testing::TemporaryDirectory mount;
  write(mount.path() / "pods" / "cpu.max", "300000 100000\n");
  write(mount.path() / "pods" / "one" / "cpu.max", "max 100000\n");
  write(mount.path() / "pods" / "two" / "cpu.max", "50000 100000\n");
  BOOST_TEST(core_quota("0::/pods/one\n", mount.path()).value() == 3);
  BOOST_TEST(core_quota("0::/pods/two\n", mount.path()).value() == 1);
  BOOST_TEST(!core_quota("0::/\n", mount.path()).has_value());
  BOOST_TEST(!core_quota("", mount.path()).has_value());
}

BOOST_AUTO_TEST_CASE(a_container_that_does_not_see_its_own_group_has_the_limit_of_what_it_sees) {
  const testing::TemporaryDirectory mount;
  write(mount.path() / "cpu.max", "400000 100000\n");
  BOOST_TEST(core_quota("0::/kubepods/pod1/c\n", mount.path()).value() == 4);
}

BOOST_AUTO_TEST_CASE(the_first_version_has_a_hierarchy_for_processors) {
  const testing::TemporaryDirectory mount;
  write(mount.path() / "cpu,cpuacct" / "docker" / "cpu.cfs_quota_us", "120000\n");
  write(mount.path() / "cpu,cpuacct" / "docker" / "cpu.cfs_period_us", "100000\n");
  write(mount.path() / "memory" / "docker" / "cpu.max", "1000 100000\n");  // not where processors are limited
  BOOST_TEST(core_quota("7:memory:/docker\n4:cpu,cpuacct:/docker\n0::/\n", mount.path()).value() == 2);
  write(mount.path() / "cpu" / "cpu.cfs_quota_us", "100000\n");
  write(mount.path() / "cpu" / "cpu.cfs_period_us", "100000\n");
  BOOST_TEST(core_quota("3:cpu:/elsewhere\n", mount.path()).value() == 1);
}

BOOST_AUTO_TEST_CASE(cores_of_this_process_are_within_its_quota) {
  BOOST_TEST(available_cores() >= 1);
  if (const std::optional<int> quota = core_quota()) BOOST_TEST(available_cores() <= *quota);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
