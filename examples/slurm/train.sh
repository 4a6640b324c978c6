#!/bin/bash
# One training on several nodes:
#   sbatch examples/slurm/train.sh biatt-pointer --data nlvr --out runs/first
# Submit the same line again to continue after a failure or the time limit. docs/clusters.md says more.
#SBATCH --job-name=veriscene-train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
# Without this, restarted processes look for the addresses of those that have ended (PyTorch 2.13).
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
export VERISCENE_BACKBONES=${XDG_CACHE_HOME:-$HOME/.cache}/veriscene/backbones # weights that each node copies
export VERISCENE_CACHE=${VERISCENE_CACHE:-${TMPDIR:-/tmp}/veriscene}
export SRUN_CPUS_PER_TASK=${SRUN_CPUS_PER_TASK:-${SLURM_CPUS_PER_TASK:-1}} # some releases of srun do not inherit it

# One torchrun on each node starts a process on each of its GPUs (PROCESSES on a node without one).
exec srun --kill-on-bad-exit=1 bash -c '
  mkdir -p "$VERISCENE_CACHE" && { [ ! -d "$VERISCENE_BACKBONES" ] || cp -rn "$VERISCENE_BACKBONES" "$VERISCENE_CACHE/"; }
  exec torchrun --nnodes="$SLURM_NNODES" --nproc-per-node="${SLURM_GPUS_ON_NODE:-${PROCESSES:-1}}" \
    --rdzv-id="$SLURM_JOB_ID" --rdzv-backend=c10d --rdzv-endpoint="$0:${PORT:-29500}" \
    --rdzv-conf="is_host=$((SLURM_NODEID == 0))" --max-restarts=3 \
    -m veriscene train "$@" --resume-if-present' "${nodes[0]}" "$@"
