#!/bin/sh
# Starts COMMAND as the tasks of a run of Open MPI on this machine: as_mpi.sh TASKS COMMAND [ARGUMENT...]
tasks=$1
shift
export PMIX_NAMESPACE=$$ OMPI_COMM_WORLD_SIZE="$tasks" OMPI_COMM_WORLD_LOCAL_SIZE="$tasks"
rank=0
while [ "$rank" -lt "$tasks" ]; do
  OMPI_COMM_WORLD_RANK=$rank "$@" &
  rank=$((rank + 1))
done
wait
