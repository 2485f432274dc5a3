"""Every module, committed or built from a real dictionary, says one thing everywhere."""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from builds import Built
from jsonschema import Draft202012Validator
from lxml import etree
from making import imported, is_black

from iac_gen.discover import load_includes
from iac_gen.quirks import apply_quirks, load_quirks
from iac_gen.resolve import hook_reason, resolve_dictionary
from iac_runtime.tool import Schema, Spec, spec_of

ROOT = Path(__file__).parent.parent.parent
# How Python spells the answers that are of one simple type.
RESULTS: Mapping[str, Any] = {
    "any": Any, "boolean": bool, "date": str, "file": str, "integer": int, "real": float,
    "specifier": str, "text": str,
}  # fmt: skip
MUST_EXIST = (
    "finder_list_folder", "finder_open", "finder_move", "finder_delete", "safari_get_url",
    "mail_count_messages", "mail_send_message", "notes_make_note",
)  # fmt: skip


class Folder(NamedTuple):
    """An output folder: its texts, its modules imported, and its index."""

    files: Mapping[str, str]
    modules: Mapping[str, ModuleType]

    @property
    def catalogue(self) -> dict[str, Any]:
        return dict(json.loads(self.files["catalogue.json"]))

    def tools(self) -> Iterator[tuple[str, Any, Spec, Mapping[str, Any]]]:
        """Yield (key.function, function, spec, schemas) of every tool."""
        for key, module in self.modules.items():
            for name, function in vars(module).items():
                spec = spec_of(function) if callable(function) else None
                if spec is not None:
                    yield f"{key}.{name}", function, spec, trees(module.SCHEMAS[name])


def trees(schema: Schema) -> dict[str, Any]:
    """Return the schemas of a tool, read: `input`, and `output` if it has one."""
    parts = {"input": schema.input, "output": schema.output}
    return {name: json.loads(text) for name, text in parts.items() if text}


def open_folder(files: Mapping[str, str], path: Path) -> Folder:
    modules = {}
    for name, text in files.items():
        if name.endswith(".py") and not name.endswith(("__init__.py", "_objects.py")):
            key = name.removesuffix(".py")
            with imported(text, key, path) as module:
                modules[key] = module
    return Folder(files, modules)


@pytest.fixture(scope="session")
def committed(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    files = {path.name: path.read_text() for path in generated.iterdir() if path.is_file()}
    return open_folder(files, tmp_path_factory.mktemp("committed"))


@pytest.fixture(scope="session")
def real(corpus_build: Built, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return open_folder(corpus_build.files, tmp_path_factory.mktemp("real"))


@pytest.fixture(params=["committed", pytest.param("real", marks=pytest.mark.slow)])
def folder(request: pytest.FixtureRequest) -> Folder:
    if request.param == "real" and not (ROOT.parent / "shared" / "corpus").is_dir():
        pytest.skip("needs shared/corpus beside the checkout")
    found: Folder = request.getfixturevalue(request.param)
    return found


def test_signature_params_call_and_schema_say_the_same(folder: Folder) -> None:
    calls = {
        f"{key}.{node.name}": node.body[1]
        for key, module in folder.modules.items()
        for node in ast.parse(folder.files[f"{key}.py"]).body
        if isinstance(node, ast.FunctionDef)
    }
    for name, function, spec, schemas in folder.tools():
        declared = inspect.signature(function).parameters
        names = list(declared)
        # What Python writes with an underscore is a plain word in JSON.
        keys = [key.rstrip("_") for key in names]
        assert keys == list(spec.params), name
        assert keys == list(schemas["input"]["properties"]), name
        required = [n.rstrip("_") for n, row in declared.items() if row.default is row.empty]
        assert required == schemas["input"].get("required", []), name
        statement = calls[name]
        assert isinstance(statement, ast.Return)
        assert isinstance(statement.value, ast.Call)
        passed = [(word.arg, ast.unparse(word.value)) for word in statement.value.keywords]
        assert passed == [(key, key) for key in names], name
        assert ast.unparse(statement.value.args[0]) == name.partition(".")[2]


def test_a_result_is_declared_annotated_and_described_or_none_of_it(folder: Folder) -> None:
    for name, function, spec, schemas in folder.tools():
        returns = inspect.signature(function).return_annotation
        assert (spec.result == "") == (returns is None), name
        assert returns == RESULTS.get(spec.result, returns), name
        assert (spec.result != "") == ("Returns:\n" in function.__doc__), name
        if "output" in schemas:
            assert spec.result, name
            # What an app answers against its dictionary is told in a note.
            assert schemas["output"].get("additionalProperties", True), name


def test_every_argument_is_described_in_its_order(folder: Folder) -> None:
    for name, function, spec, _ in folder.tools():
        _, _, rest = inspect.getdoc(function).partition("Args:\n")  # type: ignore[union-attr]
        told = re.findall(r"^    ([a-z]\w*):", rest.partition("Returns:\n")[0], re.M)
        assert [key.rstrip("_") for key in told] == list(spec.params), name


def test_all_names_what_there_is(folder: Folder) -> None:
    functions: dict[str, list[str]] = {key: [] for key in folder.modules}
    for name, *_ in folder.tools():
        key, _, function = name.partition(".")
        functions[key].append(function)
    for key, module in folder.modules.items():
        assert module.__all__ == ["APP", *sorted(functions[key])], key
        assert list(module.SCHEMAS) == functions[key], key


def test_modules_import_the_contract_and_typing_only(folder: Folder) -> None:
    for key in folder.modules:
        tree = ast.parse(folder.files[f"{key}.py"])
        found = {
            # What `from . import` imports is a module, too.
            node.module or ", ".join(part.name for part in node.names)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
        }
        own = f"{key}_objects"
        assert found <= {"collections.abc", "typing", "iac_runtime.tool", own}, key
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)], key


def test_the_catalogue_and_the_listing_have_the_same_tools(folder: Folder) -> None:
    lines = folder.files["listing.jsonl"].splitlines()
    tools = folder.catalogue["tools"]
    assert [json.loads(line)["name"] for line in lines] == list(tools)
    assert all(
        line.startswith(f'{{"name":"{name}",') for line, name in zip(lines, tools, strict=True)
    )
    lock = json.loads(folder.files["tools.lock"])["tools"]
    facts = ("level", "ceiling")
    held = {name: {fact: row[fact] for fact in facts} for name, row in lock.items()}
    assert held == {name: {fact: row[fact] for fact in facts} for name, row in tools.items()}


def test_a_listing_entry_is_the_docstring_and_the_schemas(folder: Folder) -> None:
    entries = [json.loads(line) for line in folder.files["listing.jsonl"].splitlines()]
    by_name = {entry["name"]: entry for entry in entries}
    tools = {name: (spec, f, schemas) for name, f, spec, schemas in folder.tools()}
    assert len(by_name) == len(entries) == len(tools)
    for name, row in folder.catalogue["tools"].items():
        spec, function, schemas = tools[f"{row['module']}.{row['function']}"]
        entry = by_name[name]
        paragraph = inspect.getdoc(function).partition("\n\n")[0]  # type: ignore[union-attr]
        assert entry["description"] == " ".join(paragraph.split()), name
        assert entry["inputSchema"] == schemas["input"], name
        assert entry.get("outputSchema") == schemas.get("output"), name
        if "output" in schemas:
            assert not Draft202012Validator(schemas["output"]).is_valid({}), name
        assert (row["level"], row["ceiling"]) == (spec.level, spec.ceiling), name
        hints = entry["annotations"]
        assert {*hints} == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert hints["destructiveHint"] == (spec.ceiling == "DANGEROUS"), name
        answers = bool(spec.result) or spec.op in ("get", "list", "count")
        assert hints["readOnlyHint"] == (spec.ceiling == "SAFE" and answers), name
        assert entry["title"].startswith(f"{folder.catalogue['apps'][row['module']]['name']}: "), (
            name
        )
        assert len(entry["description"]) <= 256, name


def test_no_text_of_a_listing_is_cut_or_has_an_empty_mark(folder: Folder) -> None:
    for line in folder.files["listing.jsonl"].splitlines():
        entry = json.loads(line)
        texts = [entry["title"], entry["description"]]
        texts += [row.get("description", "") for row in entry["inputSchema"]["properties"].values()]
        for text in texts:
            assert not re.search(r"(\.\.\.|…)\W*\Z|\(\s*\)|\"\s*\"|[,:]\s*\Z", text), (
                entry["name"],
                text,
            )


def test_no_two_apps_share_a_name_of_a_tool(folder: Folder) -> None:
    names = list(folder.catalogue["tools"])
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name)


def test_descriptions_read_as_sentences(folder: Folder) -> None:
    for line in folder.files["listing.jsonl"].splitlines():
        entry = json.loads(line)
        text = entry["description"]
        assert not text[:1].islower(), entry["name"]
        assert not re.search(r"(?<!\.)\.\.(?!\.)| [.,]|  ", text), (entry["name"], text)


def test_every_visible_command_is_a_tool(real: Folder, corpus_build: Built) -> None:
    quirks, _ = load_quirks()
    by_id = {module.APP.id: module for module in real.modules.values()}
    for loaded in corpus_build.loaded:
        merged, _ = resolve_dictionary(loaded.source, load_includes())
        decided, _, _ = apply_quirks(merged, quirks)
        module = by_id[loaded.source.id]
        specs = [spec_of(getattr(module, name)) for name in module.__all__]
        events = {spec.event for spec in specs if spec is not None}
        for command in decided.commands:
            stands = command.hidden or hook_reason(command) or command.code in events
            assert stands, (loaded.source.name, command.name)


def test_names_that_people_are_told_exist(committed: Folder) -> None:
    assert set(MUST_EXIST) <= committed.catalogue["tools"].keys()


def test_committed_modules_equal_a_fresh_build(generated: Path, bundled_build: Built) -> None:
    here = {path.name for path in generated.iterdir() if path.is_file()} - {"py.typed"}
    assert here == set(bundled_build.files)
    differ = [
        name
        for name, text in bundled_build.files.items()
        if (generated / name).read_text(encoding="utf-8") != text
    ]
    assert differ == [], "run: nox -s regen"


@pytest.mark.slow
@pytest.mark.process
def test_black_leaves_every_module_alone(folder: Folder) -> None:
    for name, text in folder.files.items():
        if name.endswith(".py"):
            assert is_black(text), name
            read = re.sub(r"\nSCHEMAS:.*?\n}\n", "", text, flags=re.DOTALL)
            assert [line for line in read.splitlines() if len(line) > 100] == [], name


@pytest.mark.slow
@pytest.mark.process
def test_the_type_checker_accepts_every_module(real: Folder, tmp_path: Path) -> None:
    package = tmp_path / "built"
    package.mkdir()
    for name, text in real.files.items():
        if name.endswith(".py"):
            (package / name).write_text(text)
    options = ["--strict", "--python-version", "3.11", "--config-file", "", "--no-error-summary"]
    cache = ["--cache-dir", str(tmp_path / "cache"), "--no-incremental"]
    environment = {"MYPYPATH": str(ROOT / "runtime"), "PATH": ""}
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *cache, str(package)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


@pytest.mark.stress
@pytest.mark.process
@pytest.mark.timeout(900)
def test_pyright_accepts_every_module_strictly(corpus_build: Built, tmp_path: Path) -> None:
    (tmp_path / "built").mkdir()
    for name, text in corpus_build.files.items():
        if name.endswith(".py"):
            (tmp_path / "built" / name).write_text(text)
    settings = {
        "include": ["built"],
        "extraPaths": [str(ROOT / "runtime")],
        "pythonVersion": "3.11",
    }
    settings["typeCheckingMode"] = "strict"
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--project", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout[-2000:]


# What anyone would write, operators of AppleScript among it; each was looked at.
COMMON = (
    "The user's home folder", "is greater than or equal to", "is less than or equal to",
    "is not equal to", "start the screen saver", "change the value of the cell",
)  # fmt: skip


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text)


def own_files() -> Iterator[Path]:
    folders = ("generator", "templates", "generated", "runtime", "tests", "docs", "benchmarks")
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    yield from (path for path in sorted(ROOT.glob("*.*")) if path.is_file())


def test_no_sentence_of_a_vendor_s_dictionary_is_ours(corpus: Path) -> None:
    sentences: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for path in sorted((corpus / "sdef").glob("*.sdef")):
        root = etree.fromstring(path.read_bytes(), etree.XMLParser(resolve_entities=False))
        # A term may be described by itself; terms are facts.
        terms = {tuple(words(node.get("name") or "")) for node in root.iter()}
        for node in root.iter():
            said = tuple(words(node.get("description") or ""))
            if len(said) >= 4 and said not in terms and " ".join(said) not in COMMON:
                sentences.setdefault(said[:4], set()).add(said)
    assert sum(map(len, sentences.values())) > 2000
    found: list[str] = []
    for path in own_files():
        ours = words(path.read_text(encoding="utf-8", errors="replace"))
        found += [
            f"{path.relative_to(ROOT)}: {' '.join(said)}"
            for at in range(len(ours) - 3)
            for said in sentences.get(tuple(ours[at : at + 4]), ())
            if tuple(ours[at : at + len(said)]) == said
        ]
    assert found == []
