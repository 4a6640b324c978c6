#!/bin/bash
# A table on many GPUs; each task of the array trains a part of its seeds:
#   sbatch examples/slurm/table.sh reproduce table1 --data nlvr --out runs
#   sbatch examples/slurm/table.sh train biatt --data nlvr --seeds 8 --out runs/biatt
# A task that failed: sbatch --array=3 examples/slurm/table.sh …, with the same arguments. docs/clusters.md says more.
#SBATCH --job-name=veriscene-table
#SBATCH --array=0-7
#SBATCH --ntasks=1
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail

shards=8 # as in --array above; not $SLURM_ARRAY_TASK_COUNT, which is 1 if one task is submitted again
backbones=${XDG_CACHE_HOME:-$HOME/.cache}/veriscene/backbones # weights that were pretrained or downloaded
export VERISCENE_CACHE=${VERISCENE_CACHE:-${TMPDIR:-/tmp}/veriscene}
mkdir -p "$VERISCENE_CACHE" && { [ ! -d "$backbones" ] || cp -rn "$backbones" "$VERISCENE_CACHE/"; }
export SRUN_CPUS_PER_TASK=${SRUN_CPUS_PER_TASK:-${SLURM_CPUS_PER_TASK:-1}} # some releases of srun do not inherit it
exec srun veriscene "$@" --shard "$SLURM_ARRAY_TASK_ID/$shards"
