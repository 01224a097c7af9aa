// A task's place in the job step of an engine, from the variables that the engine sets in each task.
//
//   Slurm      SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_NUM_NODES, SLURM_JOB_ID, SLURM_STEP_ID; if they are
//   there:
//              SLURM_GTIDS, SLURM_RESTART_COUNT, SLURM_CLUSTER_NAME, SLURM_LAUNCH_NODE_IPADDR
//   Open MPI   OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_SIZE, PMIX_NAMESPACE or OMPI_MCA_ess_base_jobid; if they are there:
//              OMPI_MCA_orte_precondition_transports, OMPI_MCA_orte_hnp_uri
//
// Where both are set, it is mpirun within a job of Slurm: each of its tasks has the variables of Open MPI, and those of
// Slurm are of the batch script or of the step that started mpirun's daemons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "node/config/settings.h"

namespace troupe::detail {

enum class Engine : std::uint8_t { slurm, open_mpi };

/// Returns the program that starts tasks: "srun" or "mpirun".
[[nodiscard]] std::string_view starter_of(Engine engine);

struct EnginePlace {
  Engine engine = Engine::slurm;
  std::string job;             ///< of this step alone: "slurm-mycluster-1234.0"; letters, digits and . - _ @ + only
  std::size_t rank = 0;        ///< in 0 .. tasks - 1
  std::size_t tasks = 1;       ///< in the step
  std::size_t tasks_here = 1;  ///< of these, on this host
  bool several_hosts = false;
  std::vector<std::string> starters;  ///< numeric addresses of the machine where the step was started, if known
};

/// The variables do not describe a task, or are invalid. The text names the variable and says what to do.
class EngineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns the place that `variables` describe. Throws EngineError.
[[nodiscard]] EnginePlace engine_place(const Variables& variables);

}  // namespace troupe::detail
