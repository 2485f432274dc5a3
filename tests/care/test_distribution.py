"""What clients and indexes read of IAC: that it is fresh, and that a release says where it is."""

import base64
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "distribution" / "make_distribution.py"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    sys.path.insert(0, str(PROGRAM.parent))
    from make_distribution import WHEEL

    (folder / WHEEL).write_bytes(b"a wheel")
    command = [sys.executable, str(PROGRAM), "--release", "someone/apps", "--output", str(folder)]
    subprocess.run(command, check=True, timeout=100)
    return folder


def wheel_address(folder: Path) -> str:
    wheel = next(folder.glob("*.whl")).name
    version = wheel.split("-")[1]
    return f"https://github.com/someone/apps/releases/download/v{version}/{wheel}"


def read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_what_is_committed_is_what_the_program_writes() -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--check"],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("", 0), "run nox -s distribution"


def test_the_registry_finds_the_bundle_by_its_digest(release: Path) -> None:
    entry = read_json(release / "server.json")
    assert entry["name"] == "io.github.someone/iac"
    assert len(entry["description"]) <= 100
    bundle = next(row for row in entry["packages"] if row["registryType"] == "mcpb")
    digest = hashlib.sha256((release / "iac.mcpb").read_bytes()).hexdigest()
    assert bundle["fileSha256"] == digest


def test_the_registrys_own_schema_takes_the_entry(release: Path) -> None:
    skillsaw = pytest.importorskip("skillsaw", reason="nox -s distribution has it")
    import jsonschema

    schema = Path(skillsaw.__file__).parent / "schemas/mcp_registry/v2025_12_11/server.schema.json"
    jsonschema.validate(read_json(release / "server.json"), read_json(schema))


def test_an_entry_for_a_signed_bundle_has_the_digest_of_that(release: Path, tmp_path: Path) -> None:
    from make_distribution import Address, write_registry_entry

    (tmp_path / "iac.mcpb").write_bytes(b"signed")
    write_registry_entry(Address("someone/apps"), tmp_path)
    said = (tmp_path / "server.json").read_text()
    assert hashlib.sha256(b"signed").hexdigest() in said


def test_a_signature_is_the_comment_of_its_archive(release: Path) -> None:
    from make_distribution import with_comment_length

    # As `mcpb sign` leaves it: the signature behind the archive, its length nowhere.
    signed = (release / "iac.mcpb").read_bytes() + b"MCPB_SIG_V1 ... MCPB_SIG_END"
    with zipfile.ZipFile(io.BytesIO(with_comment_length(signed))) as bundle:
        assert bundle.comment == b"MCPB_SIG_V1 ... MCPB_SIG_END"
        assert bundle.testzip() is None


def test_a_released_bundle_says_where_its_pages_are_and_shows_an_icon(release: Path) -> None:
    with zipfile.ZipFile(release / "iac.mcpb") as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
        assert bundle.read(manifest["icon"]).startswith(b"\x89PNG")
    assert manifest["homepage"] == "https://github.com/someone/apps"
    (privacy,) = manifest["privacy_policies"]
    assert (ROOT / privacy.rpartition("/")[2]).is_file()
    assert {"find_tools", "dangerous_tool"} <= {tool["name"] for tool in manifest["tools"]}


def test_every_door_of_a_release_starts_the_same_wheel(release: Path) -> None:
    command = ["uvx", "--from", wheel_address(release), "iac-mcp", "serve"]
    links = read_json(release / "links.json")
    query = parse_qs(urlsplit(links["cursor"]).query)
    said = [json.loads(base64.b64decode(query["config"][0]))]
    said.append(json.loads(unquote(links["vscode"].partition("?")[2])))
    with tarfile.open(release / "darwin.iac.tar.gz") as plugin:
        for name in (".mcp.json", "gemini-extension.json"):
            file = plugin.extractfile(name)
            assert file
            said.append(json.load(file)["mcpServers"]["iac"])
    assert [[row["command"], *row["args"]] for row in said] == [command] * 4


def test_the_formula_is_for_the_wheel_beside_it(release: Path) -> None:
    formula = (release / "iac.rb").read_text()
    assert hashlib.sha256(b"a wheel").hexdigest() in formula
    assert f'url "{wheel_address(release)}"' in formula


def test_a_plugin_before_a_release_starts_the_installed_program() -> None:
    plugin = ROOT / "distribution" / "plugin"
    said = [
        read_json(plugin / name)["mcpServers"] for name in (".mcp.json", "gemini-extension.json")
    ]
    assert said == [{"iac": {"command": "iac-mcp", "args": ["serve"]}}] * 2


def test_the_guides_are_skills_that_name_their_folder() -> None:
    files = list((ROOT / "distribution" / "plugin" / "skills").glob("*/SKILL.md"))
    assert len(files) > 15
    for file in files:
        head = file.read_text("utf-8").split("---\n")[1]
        assert f"name: {file.parent.name}\n" in head
        assert "description: " in head
