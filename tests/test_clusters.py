"""The examples of docs/clusters.md: manifests fit schema and program; scripts run under a stand-in for Slurm."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.shell import settings
from guides import ROOT
from samples import write_corpus, yellow_circle_examples
from veriscene.training.log import read_log
from waiting import wait_until

KUBERNETES, SLURM = ROOT / "examples" / "kubernetes", ROOT / "examples" / "slurm"
SMALL = settings(
    *("model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=4", "training.epochs=60"),
    *("training.evaluate_every=20", "training.patience=100000", "data.minimum_count=1"),
)
SRUN = """#!/bin/bash
# Stands in for Slurm's: a task on each node, which gets the signals of the step.
while [[ $1 == --* ]]; do shift; done
for ((node = 0; node < ${SLURM_NNODES:-1}; node++)); do SLURM_NODEID=$node "$@" & tasks+=($!); done
trap 'kill -TERM "${tasks[@]}"' TERM
for task in "${tasks[@]}"; do
  while kill -0 "$task" 2>/dev/null; do wait "$task"; status=$?; done
  ((worst = status > worst ? status : worst))
done
exit "$worst"
"""


def documents(name: str) -> dict[str, Any]:
    """The parts of a manifest, by kind."""
    return {each["kind"]: each for each in yaml.safe_load_all((KUBERNETES / name).read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", ["serve.yaml", "table.yaml"])
def test_the_manifests_fit_the_schema_of_kubernetes(name: str) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for document in documents(name).values():
        for version in ("1.31", kubernetes_validate.latest_version()):
            kubernetes_validate.validate(document, version, strict=True)
        document["spec"]["misspelled"] = 1
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(document, version, strict=True)


def test_probes_labels_and_the_autoscaled_metric_are_those_of_the_service() -> None:
    from veriscene.service.middleware import ALWAYS_ANSWERED, Metrics

    parts = documents("serve.yaml")
    template = parts["Deployment"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    labels = template["metadata"]["labels"]
    assert parts["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert parts["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert parts["Service"]["spec"]["selector"].items() <= labels.items()
    (port,) = container["ports"]
    assert {container[f"{kind}Probe"]["httpGet"]["port"] for kind in ("startup", "readiness", "liveness")} == {
        port["name"]
    }
    paths = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")]
    annotations = template["metadata"]["annotations"]
    assert {*paths, annotations["prometheus.io/path"]} == set(ALWAYS_ANSWERED)
    assert annotations["prometheus.io/port"] == str(port["containerPort"])
    scaler = parts["HorizontalPodAutoscaler"]["spec"]
    assert scaler["scaleTargetRef"]["name"] == parts["Deployment"]["metadata"]["name"]
    assert container["resources"]["requests"]["cpu"], "the share of the CPU is a share of this"
    (rule,) = yaml.safe_load((KUBERNETES / "adapter.yaml").read_text(encoding="utf-8"))["rules"]["custom"]
    (metric,) = (each["pods"]["metric"]["name"] for each in scaler["metrics"] if each["type"] == "Pods")
    known = {family.name for family in Metrics().registry.collect()}
    assert rule["name"]["as"] == metric and rule["seriesQuery"].partition("{")[0] in known
    assert f"--uid {template['spec']['securityContext']['runAsUser']}" in (ROOT / "Dockerfile").read_text()


def test_as_many_shards_are_started_as_there_are(tmp_path: Path) -> None:
    job = documents("table.yaml")["Job"]["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert container["args"][0].endswith(f'--shard "$SHARD/{job["completions"]}"')
    assert "SHARD" in {variable["name"] for variable in container["env"]}
    script = (SLURM / "table.sh").read_text(encoding="utf-8")
    first, last = map(int, re.findall(r"#SBATCH --array=(\d+)-(\d+)", script)[0])
    with slurm(tmp_path, veriscene='#!/bin/bash\nprintf "%s\\n" "$@"\n') as variables:
        variables |= {"SLURM_NNODES": "1", "SLURM_ARRAY_TASK_ID": str(last), "SLURM_ARRAY_TASK_COUNT": "1"}  # repeated
        command = ["bash", str(SLURM / "table.sh"), "reproduce", "table1", "--data", "my nlvr"]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [*command[2:], "--shard", f"{last}/{last + 1}"] and first == 0


@contextmanager
def slurm(folder: Path, **programs: str) -> Iterator[dict[str, str]]:
    """The variables of a job on two nodes, both of them this machine."""
    torchrun = f'#!/bin/bash\nexec {shlex.quote(sys.executable)} -m torch.distributed.run --local-addr=127.0.0.1 "$@"\n'
    stand_ins = {
        "srun": SRUN,
        "scontrol": "#!/bin/bash\necho 127.0.0.1\necho second\n",
        "torchrun": torchrun,
        **programs,
    }
    (folder / "bin").mkdir(exist_ok=True)
    for name, text in stand_ins.items():
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    yield {
        **{name: value for name, value in os.environ.items() if not name.startswith("SLURM_")},
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "VERISCENE_CACHE": str(folder / "cache"),
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_NNODES": "2",
        "PORT": str(free_port()),
    }


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def started(command: list[str], variables: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A command with all that it starts, which ends at the latest with the context."""
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()  # its workers have sessions of their own, and it ends them
        process.communicate(timeout=60)


def test_a_job_on_two_nodes_saves_at_its_time_limit_and_continues_when_it_is_submitted_again(tmp_path: Path) -> None:
    examples = yellow_circle_examples(40)
    corpus, run = write_corpus(tmp_path / "corpus", examples, examples[:10]), tmp_path / "run"
    arguments = ["bienc", "--data", str(corpus), "--out", str(run), *SMALL]
    with slurm(tmp_path) as variables:
        command = ["bash", str(SLURM / "train.sh"), *arguments]
        with started(command, variables) as job:
            wait_until(lambda: len(read_log(run)) > 1)
            job.send_signal(signal.SIGTERM)  # as --signal=TERM@120 does
            assert job.wait(timeout=90) != 0
        at = read_log(run)[-1].step
        assert at < 600 and (run / "last").is_dir()
        with started(command, variables) as job:
            output, errors = job.communicate(timeout=120)
            assert job.returncode == 0, errors
    assert output == f"{run}\n" and "2 processes" in (run / "spec.json").read_text()
    assert [line.step for line in read_log(run)] == list(range(20, 601, 20))


def test_the_second_machine_is_lost_and_started_again_and_the_first_continues_with_it(tmp_path: Path) -> None:
    examples = yellow_circle_examples(40)
    corpus, run, port = write_corpus(tmp_path / "corpus", examples, examples[:10]), tmp_path / "run", free_port()
    variables = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}

    def agent(node: int) -> list[str]:
        return [
            *(sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", "--max-restarts=3"),
            *("--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=1", "--local-addr=127.0.0.1"),
            # On one machine each agent could keep the store of the rendezvous.
            f"--rdzv-conf=is_host={1 - node},keep_alive_interval=1",
            *("-m", "veriscene", "train", "bienc", "--data", str(corpus), "--out", str(run), "--resume-if-present"),
            *SMALL,
        ]

    with started(agent(0), variables) as first:
        with started(agent(1), variables) as second:
            wait_until(lambda: len(read_log(run)) > 1)
            workers = Path(f"/proc/{second.pid}/task/{second.pid}/children").read_text().split()
            for number in (second.pid, *map(int, workers)):
                os.kill(number, signal.SIGKILL)
        with started(agent(1), variables) as again:
            _, errors = first.communicate(timeout=240)
            assert first.returncode == 0, errors
            assert again.wait(timeout=60) == 0
    assert read_log(run)[-1].step == 600
