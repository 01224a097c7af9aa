// `troupe node` as srun and mpirun start it, over three machines: network namespaces behind a switch, which share their
// files. Slurm's daemons are the test's own; mpirun reaches the other machines by nsenter in place of ssh.
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "node/launch/subreaper.h"
#include "tests/chaos/capabilities.h"
#include "tests/chaos/network_namespace.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using boost::unit_test::label;
using boost::unit_test::precondition;

/// Root, namespaces, and these programs.
struct NeedsEngine {
  std::vector<std::string> programs;
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const {
    boost::test_tools::assertion_result result = NeedsNamespaces{}(unit);
    if (!result) return result;
    for (const std::string& program : programs) {
      if (fs::exists(program) && geteuid() == 0) continue;
      result = false;
      result.message() << "needs root and " << program;
      return result;
    }
    return true;
  }
};

const NeedsEngine kNeedsMpirun{{"/usr/bin/mpirun"}};
const NeedsEngine kNeedsSlurm{
    {"/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged", "/usr/bin/srun", "/sys/fs/cgroup"}};

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

std::string engine_role(const std::string& name, int count, const std::string& command) {
  return fmt::format("[[role]]\nname = \"{}\"\ncount = {}\ncommand = [{}]\n", name, count, command);
}

/// Three machines that share a directory with a cluster file.
struct ThreeMachines {
  ThreeMachines() { join_by_switch(hub, machines); }

  [[nodiscard]] std::string path(const std::string& name) const { return (directory.path() / name).string(); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

  void write_cluster(const std::string& roles) const {
    write("c.toml", "[cluster]\nname = \"c\"\njoin_timeout = \"20s\"\n" + roles);
  }

  /// The demo in its short form.
  void write_demo() const {
    write_cluster(engine_role("ps", 1, fmt::format("\"{}\"", PARAMETER_SERVER)) +
                  engine_role("trainer", 2, fmt::format(R"("{}", "--examples", "1600", "--epochs", "1")", TRAINER)));
  }

  [[nodiscard]] std::string troupe_node() const {
    return fmt::format("{} node {} --job-dir {}", TROUPE_PROGRAM, path("c.toml"), path("jobs"));
  }

  /// Checks what a demo has printed, and that nothing of the exchange is left.
  void check_demo(const std::vector<std::string>& lines) const {
    BOOST_TEST(std::ranges::count(lines, "Training complete! 25 of 25 steps accepted") == 2);
    BOOST_TEST(std::ranges::count_if(lines, [](const auto& line) { return line.starts_with("test accuracy: "); }) == 2);
    BOOST_TEST(fs::is_empty(path("jobs")));
  }

  TemporaryDirectory directory;
  NetworkNamespace hub;
  std::array<NetworkNamespace, 3> machines;
};

/// What nodes say of their places: all encrypt, and each listens where the others reach it.
const std::string kSaysItsPlace = R"("sh", "-c", "echo $TROUPE_NODE $TROUPE__CLUSTER__NETWORK ${TROUPE_ADDRESS%:*} )"
                                  R"(${TROUPE_SEED%:*} ${TROUPE_KEYS_FD:+keys}")";
const std::vector<std::string> kPlaces{"node0 keys tcp://10.77.0.1 tcp://10.77.0.1 keys",
                                       "node1 keys tcp://10.77.0.2 tcp://10.77.0.1 keys",
                                       "node2 keys tcp://10.77.0.3 tcp://10.77.0.1 keys"};

struct OpenMpi : ThreeMachines {
  OpenMpi() {
    std::string cases;
    for (std::size_t i = 0; i < machines.size(); ++i) {
      cases += fmt::format("10.77.0.{}) net=/proc/{}/fd/{};;\n", i + 1, getpid(), machines[i].descriptor());
    }
    // Each machine has a directory of its own for what mpirun's daemons make below /tmp.
    write("reach", fmt::format("#!/bin/sh\ncase $1 in\n{}esac\nexport TMPDIR={}/$1\nmkdir -p $TMPDIR\nshift\n"
                               "exec nsenter --net=$net sh -c \"$*\"\n",
                               cases, directory.path().string()));
    chmod(path("reach").c_str(), 0700);
  }

  /// Returns what `tasks` tasks of `command` print. They are spread over the machines one by one. Open MPI's daemons
  /// share no picture of the hardware with their tasks (rtc_hwloc_vmhole): writing it, one of 4.1.4 has crashed.
  [[nodiscard]] std::string mpirun(int tasks, const std::string& command) const {
    return machines[0].run(
        fmt::format("cd {} && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 1 60 mpirun --mca "
                    "plm_rsh_agent {} --mca rtc_hwloc_vmhole none --host 10.77.0.1:9,10.77.0.2:9,10.77.0.3:9 --map-by "
                    "node -n {} {}",
                    directory.path().string(), path("reach"), tasks, command));
  }
};

struct Slurm : ThreeMachines {
  Slurm() {
    const std::string base = directory.path().string();
    std::string nodes;
    for (std::size_t i = 1; i <= machines.size(); ++i) {
      nodes +=
          fmt::format("NodeName=n{0} NodeHostname={1} NodeAddr=10.77.0.{0} CPUs=2 State=UNKNOWN\n", i, host_name());
    }
    write(
        "slurm.conf",
        fmt::format("ClusterName=test\nSlurmctldHost={1}(10.77.0.1)\nSlurmUser=root\nSlurmdUser=root\n"
                    "AuthType=auth/munge\nAuthInfo=socket={0}/munge\nCredType=cred/munge\nStateSaveLocation={0}/state\n"
                    "SlurmctldPidFile={0}/controller.pid\nSlurmctldLogFile={0}/controller.log\n"
                    "SlurmdPidFile={0}/%n.pid\nSlurmdSpoolDir={0}/%n\nSlurmdLogFile={0}/%n.log\n"
                    "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n"
                    "SelectTypeParameters=CR_CPU\nMpiDefault=none\nReturnToService=2\n"
                    "JobAcctGatherType=jobacct_gather/none\n{2}PartitionName=all Nodes=ALL Default=YES State=UP\n",
                    base, host_name(), nodes));
    machines[0].run(fmt::format("head -c 128 /dev/urandom > {0}/munge.key && chmod 600 {0}/munge.key", base));
    start(machines[0], {"/usr/sbin/munged", "--foreground", "--force", "--socket=" + path("munge"),
                        "--key-file=" + path("munge.key"), "--pid-file=" + path("munge.pid"),
                        "--log-file=" + path("munge.log"), "--seed-file=" + path("munge.seed")});
    machines[0].run(fmt::format("timeout 20 sh -c 'until [ -S {} ]; do sleep 0.02; done'", path("munge")));
    start(machines[0], {"/usr/sbin/slurmctld", "-D", "-f", path("slurm.conf")});
    for (std::size_t i = 0; i < machines.size(); ++i) {
      start(machines[i], {"/usr/sbin/slurmd", "-D", "-f", path("slurm.conf"), "-N", fmt::format("n{}", i + 1)});
    }
    run("timeout 20 sh -c 'until [ \"$(sinfo -h -t idle -o %D)\" = 3 ]; do sleep 0.05; done'");
  }

  ~Slurm() {
    for (auto daemon = daemons_.rbegin(); daemon != daemons_.rend(); ++daemon) {
      kill(*daemon, SIGKILL);
      waitpid(*daemon, nullptr, 0);
    }
    // What slurmd has started goes on to report to it.
    std::ifstream orphans("/proc/thread-self/children");
    for (pid_t orphan = 0; orphans >> orphan;) {
      kill(orphan, SIGKILL);
      waitpid(orphan, nullptr, 0);
    }
  }
  Slurm(const Slurm&) = delete;
  Slurm& operator=(const Slurm&) = delete;

  /// Returns what the tasks of `command` print, started with `srun OPTIONS`.
  [[nodiscard]] std::string srun(const std::string& options, const std::string& command) const {
    return run(fmt::format("timeout -k 1 60 srun {} {}", options, command));
  }

  std::string run(const std::string& command) const {
    return machines[0].run(
        fmt::format("cd {} && export SLURM_CONF={} && {}", directory.path().string(), path("slurm.conf"), command));
  }

 private:
  static std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
  }

  void start(const NetworkNamespace& machine, std::vector<std::string> arguments) {
    const NetworkNamespace::Inside there(machine);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const pid_t daemon = fork();
    if (daemon == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      (void)freopen(path("daemons.log").c_str(), "a", stdout);
      (void)freopen(path("daemons.log").c_str(), "a", stderr);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    daemons_.push_back(daemon);
  }

  const detail::Subreaper subreaper_;
  std::vector<pid_t> daemons_;
};

/// Three machines as pods of Kubernetes: each has its keys and an interface, and only the machine of the first node has
/// a name, which all look up.
struct Pods : ThreeMachines {
  Pods() { write("hosts", "127.0.0.1 localhost\n10.77.0.1 ps-0.demo\n"); }

  /// Returns what `commands` print, one on each machine, all at once.
  [[nodiscard]] std::vector<std::string> run(const std::vector<std::string>& commands) const {
    std::string all;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      write(fmt::format("pod{}.sh", i),
            fmt::format("mount --bind {} /etc/hosts && exec {}", path("hosts"), commands[i]));
      all += fmt::format("nsenter --net=/proc/{}/fd/{} unshare --mount timeout -k 1 60 sh pod{}.sh 2>&1 & ", getpid(),
                         machines[i].descriptor(), i);
    }
    const std::string text = machines[0].run(fmt::format("cd {}; {} wait", directory.path().string(), all));
    BOOST_TEST_MESSAGE(text);
    return lines_in(text);
  }

  [[nodiscard]] std::string pod(const std::string& name) const {
    return fmt::format(
        "{} node c.toml --set cluster.seed=ps-0.demo --set cluster.port=29600 --keys keys/nodes --pod {}",
        TROUPE_PROGRAM, name);
  }

  void make_keys() const {
    machines[0].run(fmt::format("cd {0} && {1} keys init-cluster && {1} keys new-node --for c.toml",
                                directory.path().string(), TROUPE_PROGRAM));
  }
};

BOOST_TEST_DECORATOR(*label("chaos") * label("privileged"))
BOOST_AUTO_TEST_SUITE(engines)

BOOST_FIXTURE_TEST_CASE(nodes_with_key_files_run_the_demo_over_three_machines, Pods, *precondition(NeedsEngine{{}})) {
  write_demo();
  make_keys();
  fs::create_directory(path("jobs"));  // where nothing is left, since nothing is exchanged
  check_demo(run({pod("ps-0"), pod("trainer-0"), pod("trainer-1")}));
}

BOOST_FIXTURE_TEST_CASE(a_node_whose_key_was_replaced_is_refused_by_the_other_machines, Pods,
                        *precondition(NeedsEngine{{}}) * label("attack")) {
  write_demo();
  make_keys();
  machines[0].run(fmt::format("cd {0} && cp -r keys/nodes old && {1} keys rotate trainer1", directory.path().string(),
                              TROUPE_PROGRAM));
  const std::string old = fmt::format(
      "{} node c.toml --set cluster.seed=ps-0.demo --set cluster.port=29600 --set cluster.join_timeout=3s "
      "--keys old --pod trainer-1",
      TROUPE_PROGRAM);
  const std::vector<std::string> lines = run({pod("ps-0") + " --set cluster.join_timeout=3s", "true", old});
  const auto said = [&](const std::string& text) {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  BOOST_TEST(said("refused a connection from 10.77.0.3: no member has its key"));
  BOOST_TEST(said("auth_failed"));
}

BOOST_FIXTURE_TEST_CASE(mpirun_starts_the_demo_over_three_machines, OpenMpi, *precondition(kNeedsMpirun)) {
  write_demo();
  check_demo(lines_in(mpirun(3, troupe_node())));
}

BOOST_FIXTURE_TEST_CASE(nodes_of_mpirun_have_keys_and_addresses_that_others_reach, OpenMpi,
                        *precondition(kNeedsMpirun)) {
  write_cluster(engine_role("node", 3, kSaysItsPlace));
  BOOST_TEST(lines_in(mpirun(3, troupe_node())) == kPlaces, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(tasks_of_mpirun_that_share_no_directory_are_told_who_is_missing, OpenMpi,
                        *precondition(kNeedsMpirun)) {
  write_cluster(engine_role("node", 2, "\"true\""));
  const std::string task =
      fmt::format("sh -c '{} node c.toml --set cluster.join_timeout=1s --job-dir jobs$OMPI_COMM_WORLD_RANK || true'",
                  TROUPE_PROGRAM);
  const std::vector<std::string> lines = lines_in(mpirun(2, task));
  const auto said = [&](const std::string& text) {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.starts_with(text); });
  };
  BOOST_TEST(said("troupe: nothing from rank 1 (node1) within 1 s (cluster.join_timeout) in jobs0/openmpi-"));
  BOOST_TEST(said("troupe: nothing from rank 0 (node0) within 1 s (cluster.join_timeout) in jobs1/openmpi-"));
}

BOOST_FIXTURE_TEST_CASE(srun_starts_the_demo_over_three_machines, Slurm, *precondition(kNeedsSlurm)) {
  write_demo();
  check_demo(lines_in(srun("-N3 -n3", troupe_node() + " --munge " + path("munge"))));
}

BOOST_FIXTURE_TEST_CASE(a_task_with_munge_and_one_without_do_not_meet, Slurm,
                        *precondition(kNeedsSlurm) * label("attack")) {
  write_cluster(engine_role("node", 2, "\"true\""));
  const auto said_without = [this](int rank) {
    return srun("-N2 -n2", fmt::format("sh -c 'test $SLURM_PROCID = {} && M=off || M={}; {} --set "
                                       "cluster.join_timeout=2s --munge $M || true'",
                                       rank, path("munge"), troupe_node()));
  };
  const std::string without_one = said_without(1);
  BOOST_TEST(without_one.find("0.key: it has a MUNGE credential, and this task has no MUNGE, since --munge is off") !=
             std::string::npos);
  const std::string without_first = said_without(0);
  BOOST_TEST(without_first.find("0.key: it has no MUNGE credential, and this task has MUNGE") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(nodes_of_srun_have_keys_and_addresses_that_others_reach, Slurm, *precondition(kNeedsSlurm)) {
  write_cluster(engine_role("node", 3, kSaysItsPlace));
  BOOST_TEST(lines_in(srun("-N3 -n3", troupe_node())) == kPlaces, boost::test_tools::per_element());
  const std::vector<std::string> here = lines_in(srun("-N1 -n3 -O", troupe_node()));
  BOOST_TEST_REQUIRE(here.size() == 3U);  // on one machine as `troupe up` does it
  BOOST_TEST(here[2] == "node2 auto ipc ipc");
}

BOOST_FIXTURE_TEST_CASE(a_batch_script_is_no_task_and_its_steps_are, Slurm, *precondition(kNeedsSlurm)) {
  write_cluster(engine_role("node", 3, kSaysItsPlace));
  write("job.sh", fmt::format("#!/bin/sh\n{0} > script.txt 2>&1\nsrun -N3 -n3 {0} > step.txt 2>&1\n", troupe_node()));
  run("timeout -k 1 60 sbatch --wait -N3 -n3 -o /dev/null job.sh");
  BOOST_TEST(
      run("cat script.txt") ==
      "troupe: SLURM_STEP_ID is missing: this process is in a job of Slurm, but it is no task of a step: start it "
      "with srun, or use `troupe up`\n");
  BOOST_TEST(lines_in(run("cat step.txt")) == kPlaces, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
