// A task's place, from what srun and mpirun set: the variables below are those of Slurm 22.05 and Open MPI 4.1.
#include "node/engines/engine_place.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "tests/support/expect_throw.h"

namespace troupe::detail {
namespace {

using troupe::testing::expect_throw;

Variables of_slurm() {
  return {{"SLURM_CLUSTER_NAME", "test"},
          {"SLURM_JOB_ID", "12"},
          {"SLURM_STEP_ID", "3"},
          {"SLURM_PROCID", "4"},
          {"SLURM_STEP_NUM_TASKS", "5"},
          {"SLURM_STEP_NUM_NODES", "3"},
          {"SLURM_GTIDS", "3,4"},
          {"SLURM_NTASKS", "99"},
          {"SLURM_JOB_NUM_NODES", "99"},
          {"SLURM_STEP_NODELIST", "n[1-3]"},
          {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}};
}

Variables of_open_mpi() {
  return {{"OMPI_COMM_WORLD_RANK", "1"},
          {"OMPI_COMM_WORLD_SIZE", "4"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
          {"PMIX_NAMESPACE", "810483713"},
          {"OMPI_MCA_ess_base_jobid", "810483713"},
          {"OMPI_MCA_orte_precondition_transports", "b6d45f5ece7de22a-f67f2f423b24ee18"},
          {"OMPI_MCA_orte_hnp_uri", "810483712.0;tcp://192.0.2.2,10.0.0.7:40341;tcp6://[fd00::2]:45843"}};
}

Variables with(Variables all, const std::string& name, const std::string& value) {
  all[name] = value;
  return all;
}

Variables without(Variables all, const std::string& name) {
  all.erase(name);
  return all;
}

void expect_refusal(const Variables& variables, const std::string& text) {
  expect_throw<EngineError>([&] { return engine_place(variables); }, text);
}

BOOST_AUTO_TEST_SUITE(engine_places)

BOOST_AUTO_TEST_CASE(a_task_of_slurm_has_the_place_that_its_step_gives_it) {
  const EnginePlace place = engine_place(of_slurm());
  BOOST_TEST((place.engine == Engine::slurm));
  BOOST_TEST(place.job == "slurm-test-12.3");
  BOOST_TEST(place.rank == 4U);
  BOOST_TEST(place.tasks == 5U);  // of the step, not of the job
  BOOST_TEST(place.tasks_here == 2U);
  BOOST_TEST(place.several_hosts);
  BOOST_TEST(place.starters == std::vector<std::string>{"10.0.0.1"}, boost::test_tools::per_element());
  BOOST_TEST(!engine_place(with(of_slurm(), "SLURM_STEP_NUM_NODES", "1")).several_hosts);
  const Variables alone = with(with(of_slurm(), "SLURM_STEP_NUM_TASKS", "1"), "SLURM_PROCID", "0");
  BOOST_TEST(!engine_place(alone).several_hosts);  // whatever else the step has been given
}

BOOST_AUTO_TEST_CASE(a_job_that_slurm_starts_anew_has_another_directory) {
  BOOST_TEST(engine_place(with(of_slurm(), "SLURM_RESTART_COUNT", "1")).job == "slurm-test-12.3.r1");
  BOOST_TEST(engine_place(with(of_slurm(), "SLURM_STEP_ID", "4")).job == "slurm-test-12.4");
}

BOOST_AUTO_TEST_CASE(a_task_of_open_mpi_has_the_place_that_mpirun_gives_it) {
  const EnginePlace place = engine_place(of_open_mpi());
  BOOST_TEST((place.engine == Engine::open_mpi));
  BOOST_TEST(place.job == "openmpi-810483713-b6d45f5ece7de22a-f67f2f423b24ee18");
  BOOST_TEST(place.rank == 1U);
  BOOST_TEST(place.tasks == 4U);
  BOOST_TEST(place.tasks_here == 2U);
  BOOST_TEST(place.several_hosts);
  BOOST_TEST(place.starters == (std::vector<std::string>{"192.0.2.2", "10.0.0.7", "fd00::2"}),
             boost::test_tools::per_element());
  BOOST_TEST(!engine_place(with(of_open_mpi(), "OMPI_COMM_WORLD_LOCAL_SIZE", "4")).several_hosts);
}

BOOST_AUTO_TEST_CASE(a_run_of_open_mpi_is_known_without_what_one_version_sets) {
  const Variables older = without(without(of_open_mpi(), "PMIX_NAMESPACE"), "OMPI_MCA_orte_precondition_transports");
  BOOST_TEST(engine_place(older).job == "openmpi-810483713");
  const Variables newer = with(without(older, "OMPI_MCA_ess_base_jobid"), "PMIX_NAMESPACE", "prterun-node7-123@1");
  BOOST_TEST(engine_place(newer).job == "openmpi-prterun-node7-123@1");
  for (const char* uri : {"", "1.0", "1.0;tcp://", "1.0;tcp://:", "1.0;tcp6://[]:4", "1.0;usock"}) {
    BOOST_TEST(engine_place(with(of_open_mpi(), "OMPI_MCA_orte_hnp_uri", uri)).starters.empty());
  }
}

BOOST_AUTO_TEST_CASE(where_mpirun_has_addresses_of_ipv6_alone_they_are_known) {
  const std::string uri = "810483712.0;tcp6://[fd00:1::2],[fd00:2::2]:45843";
  BOOST_TEST(engine_place(with(of_open_mpi(), "OMPI_MCA_orte_hnp_uri", uri)).starters ==
                 (std::vector<std::string>{"fd00:1::2", "fd00:2::2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(mpirun_within_a_job_of_slurm_is_open_mpi) {
  Variables both = of_slurm();
  both.merge(of_open_mpi());
  BOOST_TEST((engine_place(both).engine == Engine::open_mpi));
  BOOST_TEST(engine_place(both).rank == 1U);
}

BOOST_AUTO_TEST_CASE(a_missing_variable_is_named) {
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES"}) {
    expect_refusal(without(of_slurm(), name),
                   std::string(name) +
                       " is missing: this process is in a job of Slurm, but it is no task of a step: "
                       "start it with srun, or use `troupe up`");
  }
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}) {
    expect_refusal(without(of_open_mpi(), name),
                   std::string(name) +
                       " is missing: this process is in a run of Open MPI, but it is no task of a "
                       "step: start it with mpirun, or use `troupe up`");
  }
  const Variables nameless = without(without(of_open_mpi(), "PMIX_NAMESPACE"), "OMPI_MCA_ess_base_jobid");
  expect_refusal(nameless,
                 "PMIX_NAMESPACE is missing: this process is in a run of Open MPI, but it is no task of a step: start "
                 "it with mpirun, or use `troupe up`");
  expect_refusal({{"PATH", "/bin"}},
                 "no engine has started this process: neither SLURM_STEP_ID nor OMPI_COMM_WORLD_RANK is set; start it "
                 "with srun or mpirun, give it --keys, or use `troupe up`");
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_not_right_is_named_with_its_value) {
  expect_refusal(with(of_slurm(), "SLURM_PROCID", "5"), "SLURM_PROCID=\"5\": expected an integer in 0..4");
  expect_refusal(with(of_slurm(), "SLURM_PROCID", "-1"), "SLURM_PROCID=\"-1\": expected an integer in 0..4");
  expect_refusal(with(of_slurm(), "SLURM_STEP_NUM_TASKS", "0"),
                 "SLURM_STEP_NUM_TASKS=\"0\": expected an integer in 1..65536");
  expect_refusal(with(of_open_mpi(), "OMPI_COMM_WORLD_RANK", "1 "),
                 "OMPI_COMM_WORLD_RANK=\"1 \": expected an integer in 0..3");
  expect_refusal(with(of_open_mpi(), "OMPI_COMM_WORLD_LOCAL_SIZE", "5"),
                 "OMPI_COMM_WORLD_LOCAL_SIZE=\"5\": expected an integer in 1..4");
}

BOOST_AUTO_TEST_CASE(no_variable_leads_out_of_the_directory_of_jobs) {
  for (const char* name : {"SLURM_CLUSTER_NAME", "SLURM_RESTART_COUNT"}) {
    expect_refusal(with(of_slurm(), name, "../x"),
                   std::string(name) + "=\"../x\": expected at most 100 of A-Z a-z 0-9 . - _ @ +");
  }
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports"}) {
    expect_refusal(with(of_open_mpi(), name, "a/b"),
                   std::string(name) + "=\"a/b\": expected at most 100 of A-Z a-z 0-9 . - _ @ +");
  }
  BOOST_CHECK_THROW((void)engine_place(with(of_open_mpi(), "PMIX_NAMESPACE", std::string(101, 'a'))), EngineError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
