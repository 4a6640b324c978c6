"""What the tests change in the commands of the README and the guides, and which they leave out."""

from __future__ import annotations

SMALL = (
    "--set model.embedding=4 --set model.hidden=4 --set model.item=4"
    " --set data.minimum_count=1 --set training.epochs=1 --set training.threads=1"
)
TAUGHT = f"{SMALL} --set teacher.scenes=4 --set teacher.grammar_scenes=4 --set teacher.workers=1"
SPATIAL = TAUGHT.replace(" --set model.item=4", " --set model.joint=4 --set model.mlp=4")

# What is added to a command that would take minutes on a GPU and hours on a CPU.
ADDED = {
    "veriscene train biatt-pointer --data nlvr": SMALL,
    "veriscene train biatt --data nlvr --teacher nlvr/programs/train.jsonl --out runs/taught": TAUGHT,
    "veriscene train biatt --data nlvr --set teacher.statements=17000": f"{TAUGHT} --set teacher.statements=10",
    "veriscene train biatt --data nlvr --teacher own.jsonl --set teacher.statements=17000": (
        f"{TAUGHT} --set teacher.statements=10"
    ),
    "veriscene train biatt --data nlvr --init runs/taught": SMALL,
    "veriscene train biatt --data nlvr --seeds 3": SMALL,
    "veriscene train biatt-pointer --data nlvr --out runs/first --resume-if-present": SMALL,
    "veriscene train biatt --data nlvr --seeds 4 --out runs/seeds --shard 0/2": SMALL,
    "veriscene train biatt --data nlvr --seeds 4 --out runs/seeds --shard 1/2": SMALL,
    "veriscene reproduce table1 --data nlvr --out runs --shard 0/8": "--row MaxEnt",
    "veriscene train quick --data nlvr --train-share 0.25 --out runs/quarter": SMALL,
    "veriscene train deep-sets --set training.epochs=5": "--set data.statements=20",
    "python make_corpus.py shelf": "60",
    "veriscene train quick --data shelf --out runs/shelf": SMALL,
    "veriscene reproduce paper --data nlvr": "--row MaxEnt",
    "veriscene reproduce paper --data nlvr --row BiATT --row BiENC": f"{SMALL} --out runs/two-rows",
    "veriscene reproduce table1 --data nlvr": "--row MaxEnt",
    "veriscene reproduce ablations --data nlvr": f"--row 'BiATT, pooling mean, order random' {SMALL}",
    "veriscene reproduce pointers --data nlvr": f"--row 'BiATT-Pointer, four orders compared' {SMALL}",
    "veriscene reproduce beyond --data nlvr --teacher nlvr/programs/train.jsonl": (
        f"--row 'Spatial, programs' {SPATIAL} --set teacher.statements=10"
    ),
    "veriscene tune biatt-pointer --data nlvr --trials 40 --space training.learning_rate=1e-4:1e-2:log"
    " --space model.dropout=0:0.5": f"{SMALL} --trials 1",
    "veriscene pretrain eyes --minutes 30": "--steps 1 --batch 1 --workers 1",
}

_INSTALLS = "installs packages; tests/test_wheel.py and tests/test_install.py install the wheel"
_LIKE_BEYOND = "trains and compares rows as `reproduce beyond`, which is run"
_REPOSITORY = "needs the repository; tests/benchmarks and tests/cli run it"
_NETWORK = "downloads; tests/worlds/nlvr/test_download.py runs it against a server of its own"

_TRACKED = "needs the corpus or a tracker; tests/training/test_train.py checks the events"
_CLUSTER = "needs a cluster; tests/test_clusters.py runs or checks what it starts"

# Commands, and Python blocks by their first line, that are not run.
LEFT_OUT = {
    "import ray.data  # gives parts to the actors of a cluster": "needs a cluster; tests/judge/test_ray.py runs it",
    "import veriscene  # trains on a corpus folder called nlvr": _TRACKED,
    "import veriscene  # and writes more to TensorBoard": _TRACKED,
    "import veriscene, wandb": _TRACKED,
    "import mlflow, veriscene": _TRACKED,
    "veriscene train spatial-synthetic --data nlvr": _LIKE_BEYOND,
    "veriscene reproduce spatial --data nlvr --teacher nlvr/programs/train.jsonl": _LIKE_BEYOND,
    "veriscene reproduce orders --data nlvr": _LIKE_BEYOND,
    "veriscene reproduce recipe --data nlvr": _LIKE_BEYOND,
    **dict.fromkeys([f"veriscene reproduce {plan} --data nlvr" for plan in ("nmn", "imagenet")], "needs a backbone"),
    "veriscene train-reader shelf.safetensors --world shelf.toml --dim 192 --layers 3 --epochs 6 --steps 1200"
    " --statements 60000 --seed 1": "takes long; tests/lab/test_train_reader.py",
    "veriscene train-reader cpu.safetensors --world shelf.toml --start-from best --epochs 6 --steps 300 --batch 96"
    " --statements 6000 --learning-rate 6e-4 --seed 1": "takes half an hour; tests/lab/test_train_reader.py",
    "veriscene serve shelf.safetensors": "needs that reader; docs/own-world.md serves a model below",
    "veriscene site public": "downloads; tests/service/page/test_site.py runs what it runs",
    "python -m http.server --directory public": "a server; tests/service/page/test_site.py has one like it",
    "make run": "installs packages; tests/lab/test_quickstart.py runs what it runs",
    "make demo": "installs packages; docs/serving.md has a command like it",
    "make test": "these tests",
    "make docs": "installs packages; tests/test_docs.py builds them",
    "torchrun --standalone --nproc-per-node=gpu --max-restarts=3 -m veriscene train biatt-pointer --data "
    "nlvr --out runs/first --resume-if-present": _CLUSTER,
    "export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1": _CLUSTER,
    "torchrun --nnodes=2 --nproc-per-node=gpu --max-restarts=3 --rdzv-backend=c10d --rdzv-id=first "
    "--rdzv-endpoint=machine0:29500 --rdzv-conf=is_host=$((NODE == 0)) -m veriscene train biatt-pointer "
    "--data nlvr --out runs/first --resume-if-present": _CLUSTER,
    "sbatch examples/slurm/train.sh biatt-pointer --data nlvr --out runs/first": _CLUSTER,
    "sbatch examples/slurm/table.sh reproduce table1 --data nlvr --out runs": _CLUSTER,
    "kubectl apply -f examples/kubernetes/table.yaml": _CLUSTER,
    "kubectl apply -f examples/kubernetes/serve.yaml": _CLUSTER,
    "helm install prometheus-adapter prometheus-community/prometheus-adapter -f "
    "examples/kubernetes/adapter.yaml": _CLUSTER,
    "pip install 'veriscene[serve]'": _INSTALLS,
    "pip install 'veriscene[plot]'": _INSTALLS,
    "pip install 'veriscene[tune]'": _INSTALLS,
    "REPOSITORY=https://github.com/OWNER/veriscene": _INSTALLS,
    'pip install "git+$REPOSITORY"': _INSTALLS,
    'pip install "veriscene[serve] @ git+$REPOSITORY"': _INSTALLS,
    'pip install "veriscene[train] @ git+$REPOSITORY"': _INSTALLS,
    'uv tool install "veriscene @ git+$REPOSITORY"': _INSTALLS,
    "veriscene data get nlvr": _NETWORK,
    "git clone https://github.com/lil-lab/nlvr": "downloads the pictures",
    "git clone … && cd veriscene": "the repository is here",
    ". .venv/bin/activate": "belongs to the clone",
    "pytest tests/models tests/training/test_step.py tests/judge/test_checkpoint.py tests/judge/test_judge.py"
    " -k deep-sets": "runs in the repository; tests/test_extending.py does so",
    "veriscene bench teacher --data nlvr --teacher nlvr/programs/train.jsonl": _REPOSITORY,
    "python benchmarks/robustness.py nlvr/dev/dev.json --model biatt-pointer --out robustness.md": _REPOSITORY,
    "docker build -t veriscene .": "needs docker and the network",
    "docker run --rm -p 127.0.0.1:8000:8000 veriscene": "needs docker",
    "veriscene pretrain resnet50-rendered --minutes 7": "a step on a CPU takes long; tests/lab/test_pretrain.py",
    'judge.push_to_hub("me/nlvr-judge", private=True)  # after `hf auth login`': "needs an account",
    '"""Deep sets: words and items are embedded one by one and added up."""': "a file; added to the package instead",
    "from veriscene.models.deep_sets import DeepSets": "a line; added to the package instead",
}

# Commands that the text only mentions, with no block that runs them.
ONLY_MENTIONED = {
    "train-reader": "takes long; tests/lab/test_train_reader.py",
    "data backbone": "needs a download; tests/models/vision/test_convert.py",
    "bench train": _REPOSITORY,
    "bench predict": _REPOSITORY,
    "bench judge": _REPOSITORY,
    "bench serve": _REPOSITORY,
    "bench quality": _REPOSITORY,
    "bench costs": _REPOSITORY,
    "bench kernels": _REPOSITORY,
}
