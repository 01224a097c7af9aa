#!/bin/sh
# Starts COMMAND as the tasks of a step of Slurm on this machine: as_slurm.sh TASKS COMMAND [ARGUMENT...]
tasks=$1
shift
export SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_STEP_NUM_NODES=1 SLURM_STEP_NUM_TASKS="$tasks"
rank=0
while [ "$rank" -lt "$tasks" ]; do
  SLURM_PROCID=$rank "$@" &
  rank=$((rank + 1))
done
wait
