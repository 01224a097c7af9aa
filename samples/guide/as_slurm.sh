#!/bin/sh
# Starts COMMAND as the tasks of a step of Slurm on this machine: as_slurm.sh TASKS COMMAND [ARGUMENT...]
# Its status is that of a task that failed, else 0.
set -eu
tasks=$1
shift
export SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_STEP_NUM_NODES=1 SLURM_STEP_NUM_TASKS="$tasks"
pids=
# Ctrl-C does not reach what a script has in the background.
trap 'trap "" HUP INT TERM; kill $pids ${!-} 2> /dev/null || true; wait; exit 1' HUP INT TERM
rank=0
while [ "$rank" -lt "$tasks" ]; do
  SLURM_PROCID=$rank "$@" &
  pids="$pids $!"
  rank=$((rank + 1))
done
status=0
for pid in $pids; do
  wait "$pid" || status=$?
  pids=${pids#" $pid"}
done
exit "$status"
