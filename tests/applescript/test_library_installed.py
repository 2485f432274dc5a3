"""The library as the wheel has it: each script needs the level that was reviewed."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from library_checks import LOCK

JUDGE = """
from pathlib import Path
import iac_applescript, iac_tools
from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.library import shipped_scripts
from iac_runtime.tools.catalogue import Catalogue
print(iac_applescript.__file__)
analyser = ScriptAnalyzer(Catalogue([Path(iac_tools.__path__[0])]))
for row in shipped_scripts():
    print(row.name, analyser.analyze_script(row.script, row.language).level, sep="\\t")
"""


@pytest.mark.slow
@pytest.mark.process
def test_the_wheel_judges_each_script_as_the_checkout_does(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    root = Path(__file__).parents[2]
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    path = {"PYTHONPATH": str(tmp_path / "installed"), "HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", JUDGE], cwd=tmp_path, env=path, check=True, capture_output=True
    )
    place, *levels = ran.stdout.decode().splitlines()
    assert place.startswith(str(tmp_path / "installed"))
    reviewed = LOCK.read_text(encoding="utf-8").splitlines()
    assert levels == ["\t".join(line.split("\t")[:2]) for line in reviewed]
