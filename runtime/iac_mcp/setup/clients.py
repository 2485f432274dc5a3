"""The clients that can be told of this server, and telling them: read, merge, back up, write.

The clients themselves, and the sources of what is known of them, are in `clients.toml`.
"""

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import FileContent, read_file_content, remove_file, replace_file_content
from iac_mcp.setup.client_files import (
    Form,
    NotJsonError,
    entry_of,
    merge_entry,
    restore_text,
    servers_of,
)

_SUFFIX: Final = ".before-iac"

_FORMER: Final = "iac_runtime"
"""The package that entries of earlier versions start."""


class Launch(NamedTuple):
    """How a client starts the server: absolute paths only, for apps know no shell's PATH."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = MappingProxyType({})


class Client(NamedTuple):
    """A client.

    Attributes:
        places: Its file by platform (`sys.platform`; `other` for every other).
        then: What to do afterwards.
        root: The key under which servers stand.
        typed: Whether an entry says `"type": "stdio"` too.
        form: What its file is written in.
        terminal: Whether it runs in a terminal, so that macOS asks in the terminal's name.
        asks: Who shows an approval prompt: the client, a dialog of the Mac, or the client if it
            says that it can, else the Mac.
    """

    key: str
    name: str
    places: Mapping[str, str]
    then: str
    root: str = "mcpServers"
    typed: bool = False
    form: Form = "json"
    terminal: bool = False
    asks: Literal["client", "dialog", "either"] = "either"


_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CLIENTS: Final = {key: Client(key, **row) for key, row in _TABLE.items()}


def client_file(client: Client, environ: Mapping[str, str], system: str = sys.platform) -> Path:
    """Return where a client's file is; it need not be there.

    Args:
        environ: HOME (USERPROFILE) and APPDATA are read from it.
        system: The platform, as `sys.platform` names it.
    """
    pattern = client.places.get(system) or client.places["other"]
    home = environ.get("HOME") or environ.get("USERPROFILE") or str(Path.home())
    folder, _, rest = pattern.partition("/")
    data = environ.get("APPDATA") or str(Path(home, "AppData", "Roaming"))
    return Path({"~": home, "%APPDATA%": data}[folder], *rest.split("/"))


def client_entry(client: Client, launch: Launch) -> dict[str, Any]:
    """Return what stands under a server's name in the client's file."""
    entry: dict[str, Any] = {"type": "stdio"} if client.typed else {}
    entry |= {"command": launch.command, "args": [*launch.args]}
    if launch.env:
        entry["env"] = dict(launch.env)
    return entry


def settings_snippet(client: Client, name: str, said: Mapping[str, Any]) -> str:
    """Return what to paste into the client's file, as a whole file would have it."""
    whole = {client.root: {name: dict(said)}}
    if client.form != "toml":
        return json.dumps(whole, ensure_ascii=False, indent=2)
    import tomlkit

    return tomlkit.dumps(whole).rstrip("\n")


def is_ours(said: Any) -> bool:
    """Say whether an entry starts this server, as `install` or a reader of the docs wrote it."""
    if not isinstance(said, dict) or not isinstance(said.get("args"), list):
        return False
    words = (said.get("command"), *said["args"])
    return is_serve_command([word for word in words if isinstance(word, str)])


def is_serve_command(command: Sequence[str]) -> bool:
    """Say whether a command line is that of `iac-mcp serve`, however it was started."""
    words = [word.replace("\\", "/").rpartition("/")[2] for word in command]
    before = words[: words.index("serve")] if "serve" in words else []
    return "iac-mcp" in before or _launched_package(before) in ("iac_mcp", _FORMER)


def is_former(said: Mapping[str, Any]) -> bool:
    """Say whether an entry of this server names a module that the server was in once."""
    return (
        _launched_package([word for word in said.get("args", ()) if isinstance(word, str)])
        == _FORMER
    )


def _launched_package(command: Sequence[str]) -> str:
    """Return the package that a command line has Python run, empty if it does not."""
    named = (module.partition(".")[0] for flag, module in pairwise(command) if flag == "-m")
    return next(named, "")


class NotMergedError(SetupError):
    """A client's file is left as it is; `snippet` is what a person can paste into it."""

    def __init__(self, message: str, snippet: str = "") -> None:
        super().__init__(message)
        self.snippet = snippet


class InstallResult(NamedTuple):
    """What `install` did.

    Attributes:
        changed: Whether it was written; False if all was right already.
        backup: Where the file is kept as it was; None if there was none, or it was not changed.
        kept: Options of `serve` that an earlier entry had and this one has again.
    """

    changed: bool
    backup: Path | None
    kept: tuple[str, ...] = ()


Removed = Literal["absent", "taken out", "as before", "file removed"]
"""What `uninstall` did."""


def install_server(
    client: Client, path: Path, name: str, launch: Launch, *, keep_options: bool = True
) -> InstallResult:
    """Put the server into a client's file.

    Args:
        path: The client's file.
        name: Under which the server stands there.
        launch: How it is started.
        keep_options: Take the options of `serve` from an earlier entry.

    Raises:
        NotMergedError: The file is broken, or another server has this name; it
            is as it was, and the error has the snippet.
        SetupError: The file cannot be read or written safely; it is as it was.
    """
    file = read_file_content(path)
    entry = client_entry(client, launch)
    try:
        text = _content_text(file)
        old = entry_of(text or "", client.root, name, client.form)
        kept: tuple[str, ...] = ()
        if old is not None:
            if not is_ours(old):
                raise NotMergedError(
                    f'{path} has another server called "{name}"; choose a name with --name.'
                )
            kept = serve_options(old) if keep_options else ()
            entry["args"] += kept
        after = merge_entry(text, client.root, name, entry, client.form)
        encoded = after.encode()
    except (NotJsonError, UnicodeError) as error:
        raise _not_merged(path, error, settings_snippet(client, name, entry)) from None
    if after == text:
        return InstallResult(changed=False, backup=None, kept=kept)
    backup = _backup_path(file.path)
    if old is None and file.content is not None:
        # An entry that is there was written after the backup was made, which stays the older one.
        replace_file_content(read_file_content(backup)._replace(mode=file.mode), file.content)
    elif old is None:
        remove_file(read_file_content(backup))
    replace_file_content(file, encoded)
    return InstallResult(changed=True, backup=backup if backup.exists() else None, kept=kept)


def uninstall_server(client: Client, path: Path, name: str) -> Removed:
    """Take the server out of a client's file.

    Where nothing else was changed since `install`, the file is as before to the byte, and the
    backup is removed; a file that `install` made is gone.

    Raises:
        NotMergedError: The file is broken, or another server has this name; it
            is as it was.
        SetupError: The file cannot be read or written safely; it is as it was.
    """
    file = read_file_content(path)
    try:
        text = _content_text(file)
        old = entry_of(text, client.root, name, client.form) if text is not None else None
        if text is None or old is None:
            return "absent"
        if not is_ours(old):
            raise NotMergedError(
                f'{path}: the server called "{name}" does not belong to IAC, so it stays.'
            )
        backup = read_file_content(_backup_path(file.path))
        earlier = None
        with suppress(UnicodeError):
            earlier = _content_text(backup)
        after = restore_text(text, client.root, name, earlier, client.form)
    except (NotJsonError, UnicodeError) as error:
        raise _not_merged(path, error, "") from None
    if after is None:
        remove_file(file)
        # A folder that is left would look like the client's.
        with suppress(OSError):
            file.path.parent.rmdir()
        return "file removed"
    replace_file_content(file, after.encode())
    if after != earlier:
        return "taken out"
    remove_file(backup)
    return "as before"


def installed_entry(client: Client, path: Path, name: str) -> dict[str, Any] | None:
    """Return the entry of this server in a client's file, None if there is none.

    Raises:
        NotMergedError: The file is not of its form.
        SetupError: It cannot be read at all.
    """
    try:
        entry = entry_of(
            _content_text(read_file_content(path)) or "", client.root, name, client.form
        )
    except (NotJsonError, UnicodeError) as error:
        raise _not_merged(path, error, "") from None
    return entry if is_ours(entry) else None


def server_entries(client: Client, path: Path) -> dict[str, Any]:
    """Return all servers in a client's file by name. Raises as `installed_entry`."""
    try:
        return servers_of(_content_text(read_file_content(path)) or "", client.root, client.form)
    except (NotJsonError, UnicodeError) as error:
        raise _not_merged(path, error, "") from None


def bundle_versions(environ: Mapping[str, str], system: str = sys.platform) -> list[str]:
    """Return the versions of this server that Claude Desktop has as bundles.

    The folder is where Claude Desktop unpacks them; not confirmed on a Mac yet.
    """
    folder = client_file(CLIENTS["claude-desktop"], environ, system).with_name("Claude Extensions")
    versions = []
    for path in sorted(folder.glob("*/manifest.json")):
        with suppress(OSError, ValueError, AttributeError):
            manifest = json.loads(path.read_bytes())
            if manifest.get("name") == "iac":
                versions.append(str(manifest.get("version")))
    return versions


def _content_text(found: FileContent) -> str | None:
    return None if found.content is None else found.content.decode()


def _backup_path(path: Path) -> Path:
    return path.with_name(path.name + _SUFFIX)


def serve_options(old: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options of `serve` that an entry has."""
    args = [word for word in old.get("args", ()) if isinstance(word, str)]
    return tuple(args[args.index("serve") + 1 :]) if "serve" in args else ()


def _not_merged(path: Path, error: Exception, words: str) -> NotMergedError:
    reason = "it is not UTF-8" if isinstance(error, UnicodeError) else str(error)
    way = "paste this into it" if words else "take the entry out by hand"
    return NotMergedError(
        f"{path} cannot be changed safely ({reason}), so it is unchanged; {way}.", words
    )
