#!/bin/sh
# Starts COMMAND as the tasks of a run of Open MPI on this machine: as_mpi.sh TASKS COMMAND [ARGUMENT...]
# Its status is that of a task that failed, else 0.
set -eu
tasks=$1
shift
export PMIX_NAMESPACE=$$ OMPI_COMM_WORLD_SIZE="$tasks" OMPI_COMM_WORLD_LOCAL_SIZE="$tasks"
pids=
# Ctrl-C does not reach what a script has in the background.
trap 'trap "" HUP INT TERM; kill $pids ${!-} 2> /dev/null || true; wait; exit 1' HUP INT TERM
rank=0
while [ "$rank" -lt "$tasks" ]; do
  OMPI_COMM_WORLD_RANK=$rank "$@" &
  pids="$pids $!"
  rank=$((rank + 1))
done
status=0
for pid in $pids; do
  wait "$pid" || status=$?
  pids=${pids#" $pid"}
done
exit "$status"
