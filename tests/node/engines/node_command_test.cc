// `troupe node` as an engine starts it: processes that have the variables of tasks.
#include "node/engines/node_command.h"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "node/engines/engine_place.h"
#include "tests/support/temporary_directory.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;
using troupe::testing::TemporaryDirectory;

/// A cluster file, and tasks on one host that have the variables of Slurm.
class Step {
 public:
  explicit Step(const std::string& roles) {
    std::ofstream(directory_.path() / "c.toml") << "[cluster]\nname = \"c\"\njoin_timeout = \"8s\"\n" << roles;
  }

  /// Runs `script`, in which `task RANK ARGUMENTS` is one task of `tasks`, and returns its output, line by line,
  /// sorted.
  std::vector<std::string> run(int tasks, const std::string& script) const {
    const std::string command = fmt::format(
        "cd {0} && task() {{ rank=$1; shift; SLURM_JOB_ID=12 SLURM_STEP_ID=3 SLURM_STEP_NUM_NODES=1 "
        "SLURM_STEP_NUM_TASKS={1} SLURM_PROCID=$rank timeout 20 {2} node c.toml --job-dir jobs \"$@\" 2>&1; }}; {3}",
        directory_.path().string(), tasks, TROUPE_PROGRAM, script);
    FILE* const pipe = popen(command.c_str(), "re");
    BOOST_REQUIRE(pipe != nullptr);
    std::vector<std::string> lines;
    std::array<char, 4096> line{};
    while (fgets(line.data(), line.size(), pipe) != nullptr) {
      lines.emplace_back(line.data());
      if (lines.back().ends_with('\n')) lines.back().pop_back();
    }
    pclose(pipe);
    std::ranges::sort(lines);
    return lines;
  }

  [[nodiscard]] fs::path jobs() const { return directory_.path() / "jobs"; }

 private:
  TemporaryDirectory directory_;
};

std::string shell_role(const std::string& name, int count, const std::string& script, const std::string& more = "") {
  return fmt::format("[[role]]\nname = \"{}\"\ncount = {}\ncommand = [\"sh\", \"-c\", '''{}''', \"sh\"]\n{}", name,
                     count, script, more);
}

constexpr const char* kAllOfThree = "for r in 2 1 0; do task $r & done; wait";

BOOST_AUTO_TEST_SUITE(node_command)

BOOST_AUTO_TEST_CASE(each_task_becomes_the_node_of_its_rank) {
  const std::string says = "echo $TROUPE_RANK $TROUPE_NODE $TROUPE_ROLE $TROUPE_INDEX $TROUPE_CLUSTER $TROUPE_WORLD";
  const Step step(shell_role("ps", 1, says) + shell_role("trainer", 2, says));
  const std::vector<std::string> expected{"0 ps ps 0 c ps,trainer0,trainer1",
                                          "1 trainer0 trainer 0 c ps,trainer0,trainer1",
                                          "2 trainer1 trainer 1 c ps,trainer0,trainer1"};
  BOOST_TEST(step.run(3, kAllOfThree) == expected, boost::test_tools::per_element());
  BOOST_TEST(fs::is_empty(step.jobs()));
}

BOOST_AUTO_TEST_CASE(all_have_one_secret_and_one_cluster_and_meet_at_rank_0) {
  const Step step(shell_role(
      "ps", 3,
      "eval \"cat <&$TROUPE_SECRET_FD\" | sha256sum; echo $TROUPE_CLUSTER_ID $TROUPE_SEED ${TROUPE_KEYS_FD:-none}"));
  const std::vector<std::string> lines = step.run(3, kAllOfThree);
  BOOST_TEST_REQUIRE(lines.size() == 6U);
  BOOST_TEST(std::ranges::count(lines, lines.front()) == 3);
  BOOST_TEST(std::ranges::count(lines, lines.back()) == 3);
  const std::string& place = lines.front().find("ipc://") == std::string::npos ? lines.back() : lines.front();
  const std::string id = place.substr(0, 16);
  BOOST_TEST(place == id + " ipc://@troupe-" + id + "-ps0 none");
}

BOOST_AUTO_TEST_CASE(with_keys_each_has_a_ring_of_its_own_and_rank_0_keeps_its_port) {
  const Step step("transport = \"tcp\"\nnetwork = \"keys\"\n" +
                  shell_role("ps", 3,
                             "eval \"cat <&$TROUPE_KEYS_FD\" | wc -c; eval \"exec $TROUPE_KEYS_FD<&-\"; echo "
                             "$TROUPE__CLUSTER__NETWORK; case $TROUPE_ADDRESS in tcp://127.0.0.1:[1-9]*) place=first;; "
                             "'tcp://127.0.0.1:*') place=other;; esac; echo $place with $(ls -l /proc/$$/fd | grep -c "
                             "socket:) socket"));
  const std::vector<std::string> expected{"156",
                                          "156",
                                          "156",  // 48 + 3 * (1 + 3 + 32)
                                          "first with 1 socket",
                                          "keys",
                                          "keys",
                                          "keys",
                                          "other with 0 socket",
                                          "other with 0 socket"};
  BOOST_TEST(step.run(3, kAllOfThree) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_program_replaces_the_task_and_its_status_is_the_tasks) {
  const Step step(shell_role("ps", 1, "echo $$; exit 7"));
  const std::vector<std::string> lines =
      step.run(1,
               "sh -c 'echo $$; export SLURM_JOB_ID=12 SLURM_STEP_ID=3 SLURM_STEP_NUM_NODES=1 SLURM_STEP_NUM_TASKS=1 "
               "SLURM_PROCID=0; exec " TROUPE_PROGRAM " node c.toml --job-dir jobs'; echo status $?");
  BOOST_TEST_REQUIRE(lines.size() == 3U);
  BOOST_TEST(lines[0] == lines[1]);  // the number of the process
  BOOST_TEST(lines[2] == "status 7");
}

BOOST_AUTO_TEST_CASE(arguments_after_two_dashes_follow_those_of_the_role) {
  const Step step(shell_role("ps", 1, "echo \"$1,$2,$MODE\"", "env = {MODE = \"fast\"}\n"));
  const std::vector<std::string> expected{"--epochs,3,fast"};
  BOOST_TEST(step.run(1, "task 0 -- --epochs 3") == expected, boost::test_tools::per_element());
  BOOST_TEST(step.run(1, "task 0 --set cluster.join_timeout=9s -- --epochs 3") == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(arguments_of_the_program_are_passed_on_as_they_stand) {
  const Step step(shell_role("ps", 1, "for word; do echo \"<$word>\"; done"));
  const std::vector<std::string> expected{"<-->", "<--help>", "<--layers>", "<--name>", "<>", "<[64,32]>", "<[]>"};
  BOOST_TEST(step.run(1, "task 0 -- --layers '[64,32]' '[]' '' --name -- --help") == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_step_of_another_number_of_tasks_is_told_so) {
  const Step step(shell_role("ps", 1, "true") + shell_role("trainer", 2, "true"));
  const std::vector<std::string> expected{
      "status 1",
      "troupe: c.toml asks for 3 nodes (ps, trainer0, trainer1), and the step has 1 task: start it with srun -n 3, or "
      "change role.count"};
  BOOST_TEST(step.run(1, "task 0; echo status $?") == expected, boost::test_tools::per_element());
  BOOST_TEST(!fs::exists(step.jobs()));
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_ends_the_task_before_it_waits) {
  const Step step("[[role]]\nname = \"ps\"\ncommand = [\"./nothing\"]\n");
  const std::vector<std::string> lines = step.run(1, "task 0");
  BOOST_TEST_REQUIRE(lines.size() == 1U);
  BOOST_TEST(lines[0].starts_with("c.toml:6: role.command: no program \"./nothing\" in "), lines[0]);
  BOOST_TEST(!fs::exists(step.jobs()));
}

BOOST_AUTO_TEST_CASE(without_an_engine_it_says_what_to_do) {
  const Step step(shell_role("ps", 1, "true"));
  const std::vector<std::string> expected{
      "troupe: no engine has started this process: neither SLURM_STEP_ID nor OMPI_COMM_WORLD_RANK is set; start it "
      "with srun or mpirun, give it --keys, or use `troupe up`"};
  BOOST_TEST(step.run(1, "env -i " TROUPE_PROGRAM " node c.toml 2>&1") == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(jobs_have_their_directories_in_the_users_cache) {
  BOOST_TEST(jobs_directory("/shared/jobs", {}) == fs::path("/shared/jobs"));
  BOOST_TEST(jobs_directory("", {{"HOME", "/home/a"}}) == fs::path("/home/a/.cache/troupe/jobs"));
  BOOST_TEST(jobs_directory("", {{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/c"}}) == fs::path("/c/troupe/jobs"));
  BOOST_TEST(jobs_directory("", {{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "c"}}) ==
             fs::path("/home/a/.cache/troupe/jobs"));
  BOOST_CHECK_THROW((void)jobs_directory("", {}), EngineError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
