"""The example of several processes, and the files for schedulers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import kubernetes_validate
import numpy as np
import pytest
import yaml

from tests.cluster.groups import workers
from tests.examples.test_examples import EXAMPLES, losses, printed

RUN = ["-m", "manyhands.cli.main", "run"]
PROGRAM = EXAMPLES / "multi_worker.py"


def test_the_same_losses_on_any_number_of_processes(tmp_path):
    alone = losses(printed([PROGRAM]))
    text = printed([*RUN, "--processes", "2", PROGRAM, "--directory", tmp_path])
    together = losses("\n".join(line[4:] for line in text.splitlines()))
    np.testing.assert_allclose(together, alone, rtol=2e-4)
    assert "[0] replicas 2" in text


def test_the_guide_on_two_workers(tmp_path):
    guide = EXAMPLES / "tensorflow_programs" / "guide_multi_worker.py"
    alone = losses(printed([*RUN, guide]))
    said = workers([*RUN, str(guide), str(tmp_path)], devices=[2, 1])
    for text in said:
        assert "replicas: 3 workers: 2" in text
        np.testing.assert_allclose(losses(text), alone, rtol=2e-4)
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint", "ckpt-3"}


def test_the_manifests_are_what_kubernetes_takes():
    manifests = list(yaml.safe_load_all((EXAMPLES / "clusters" / "job.yaml").read_text()))
    assert [manifest["kind"] for manifest in manifests] == ["Service", "Job"]
    for manifest in manifests:
        kubernetes_validate.validate(manifest, "1.29", strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifests[1] | {"spec": {"completions": "four"}}, "1.29")


def test_the_batch_file_is_a_shell_script():
    bash = shutil.which("bash")
    script = EXAMPLES / "clusters" / "train.sbatch"
    done = subprocess.run([str(bash), "-n", str(script)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_links_to_files_that_are_there():
    page = Path(__file__).parents[2] / "docs" / "many-machines.md"
    for part in page.read_text().split("](")[1:]:
        assert (page.parent / part.split(")")[0]).exists()
