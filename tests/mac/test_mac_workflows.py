"""What the workflows run is there: sessions, programs and files."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github" / "workflows"

yaml = pytest.importorskip("yaml")


def jobs(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text("utf-8"))["jobs"]
    return found


def commands(job: dict[str, Any]) -> Iterator[str]:
    yield from (step["run"] for step in job["steps"] if "run" in step)


def test_linux_runs_what_proves_a_clean_checkout() -> None:
    assert "bash .ci/run" in list(commands(jobs("ci.yml")["linux"]))
    assert "bash .ci/run" in list(commands(jobs("release.yml")["release"]))
    assert (ROOT / ".ci" / "run").exists()


def test_each_night_runs_what_a_push_draws_from() -> None:
    said = "\n".join(commands(jobs("nightly.yml")["everything"]))
    assert "nox -s tests-all" in said
    assert "--all" in (ROOT / "noxfile.py").read_text("utf-8")
    for script in re.findall(r"\.ci/\w+", said):
        assert (ROOT / script).exists()


def test_two_versions_of_macos_run_what_needs_no_consent() -> None:
    job = jobs("ci.yml")["macos"]
    assert len(set(job["strategy"]["matrix"]["os"])) == 2
    said = "\n".join(commands(job))
    assert "nox -s mac -- --unattended" in said
    sessions = re.findall(r"@nox.session\ndef (\w+)", (ROOT / "noxfile.py").read_text("utf-8"))
    assert set(re.findall(r"nox -s (\w+)", said)) <= set(sessions)
    for program in re.findall(r"^(iac-\w+)", said, re.MULTILINE):
        assert (Path(sys.executable).parent / program).exists()
    for path in re.findall(r"tests/\w+", said):
        assert (ROOT / path).is_dir()
    [kept] = (step["with"]["path"] for step in job["steps"] if "upload" in step.get("uses", ""))
    assert kept == "evidence/*.json"


def test_a_release_has_checksums_and_attestations_of_all_that_it_publishes() -> None:
    job = jobs("release.yml")["release"]
    assert job["permissions"]["attestations"] == job["permissions"]["id-token"] == "write"
    steps = [step.get("uses", step.get("run", "")) for step in job["steps"]]
    order = ["build -q", "bundle", "sha256sum", "attest-build-provenance", "release create"]
    at = [next(i for i, step in enumerate(steps) if word in step) for word in order]
    assert at == sorted(at)
    assert job["steps"][at[3]]["with"]["subject-path"] == "dist/*"
    assert "dist/*" in steps[at[4]]
