"""A Mac's settings for the fleet, and what a team publishes to its Macs, signed with its key.

Settings: `fleet.toml` beside the policy, for its user alone.

A version holds a policy, quirks (corrections of dictionaries for `iac-gen`) and accepted levels. A
signature covers the number, so an older version cannot come again as a newer one. A Mac keeps the
last version that it took; what is not signed by the key that it was given, or is older, is refused
and written into its audit. The database only carries versions: whoever owns it cannot make one.
"""

import base64
import hashlib
import json
import re
import socket
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from iac_base.errors import IacError, SetupError
from iac_base.files import TEAM_BUILD, config_file, require_private_file, write_whole
from iac_runtime.audit import Audit, AuditIntent, AuditOutcome
from iac_runtime.policy.permissions import TEAM
from iac_runtime.policy.policy_file import parse_policy
from iac_runtime.tool import LEVELS
from iac_runtime.tools.catalogue import tool_folders
from iac_runtime.tools.lock import read_part

BEHIND: Final = 1_000_000
"""Rows that may wait for the database before writes stop: about 700 MB."""


class FleetSettings(NamedTuple):
    """What `fleet.toml` says: the database's address, this Mac's name there, rows that may wait.

    With `key`, the public key of the team in base64, this Mac takes the team's policy over. The
    holders of the keys in `approvers` may answer its questions.
    """

    database: str
    host: str
    behind: int = BEHIND
    key: str = ""
    approvers: tuple[str, ...] = ()


def settings_path() -> Path:
    """Return where the settings lie."""
    return config_file().with_name("fleet.toml")


def read_settings() -> FleetSettings:
    """Return the settings.

    Raises:
        SetupError: There are none, others may read them, or they are wrong.
    """
    path = settings_path()
    try:
        require_private_file(path)
        table = tomllib.loads(path.read_text("utf-8"))["fleet"]
        table["approvers"] = tuple(map(str, table.get("approvers", ())))
        settings = FleetSettings(**{"host": socket.gethostname(), **table})
    except FileNotFoundError:
        raise SetupError(
            "This Mac has not joined a fleet. Run: iac-fleet join postgresql://…"
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        # What is wrong may quote the address, which may hold a password.
        raise SetupError(
            f"{path} cannot be read, or lacks database, host or behind in its section [fleet]."
        ) from None
    kinds = [type(value) for value in settings]
    if kinds != [str, str, int, str, tuple] or not settings.database:
        raise SetupError(f"{path}: database and host must be texts, and behind must be a number.")
    return settings


def write_settings(settings: FleetSettings) -> Path:
    """Keep the settings for this user alone, and return where. Raises SetupError."""
    path = settings_path()
    lines = (f"{key} = {_toml_literal(value)}\n" for key, value in settings._asdict().items())
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, "[fleet]\n" + "".join(lines))
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from None
    return path


def _toml_literal(value: str | int | tuple[str, ...]) -> str:
    import tomlkit

    return str(tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string())


_QUIRK_NAME: Final = re.compile(r"[A-Za-z0-9][\w-]{0,80}\.toml", re.ASCII)
_TAKEN: Final = "team-version.json"
_KEPT: Final = 100
"""Refused versions that are remembered, so that each is recorded once."""


class TeamFiles(NamedTuple):
    """What a version holds: a policy as TOML, quirk files by name, and accepted levels.

    `accepted` maps the full name of a tool, class or property to the levels that it may fall to.
    """

    policy: str
    quirks: Mapping[str, str] = MappingProxyType({})
    accepted: Mapping[str, Sequence[str]] = MappingProxyType({})

    def to_text(self) -> str:
        """Return it as it is published."""
        told = {**self._asdict(), "quirks": dict(self.quirks), "accepted": dict(self.accepted)}
        return json.dumps(told, ensure_ascii=False, sort_keys=True)


def parse_team_files(body: str) -> TeamFiles:
    """Return what a published version holds. Raises SetupError, or what is wrong with a policy."""
    wrong = SetupError("it does not contain a policy, quirks and accepted levels")
    try:
        told = json.loads(body)
        files = TeamFiles(told["policy"], told["quirks"], told["accepted"])
        levels = [level for given in files.accepted.values() for level in given]
        texts = [files.policy, *files.quirks, *files.quirks.values(), *files.accepted]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise wrong from None
    known = all(isinstance(text, str) for text in texts) and {*levels} <= {*LEVELS}
    if len(told) != len(files) or not (known and all(files.accepted.values())):
        raise wrong
    parse_policy(files.policy)
    for name, text in files.quirks.items():
        if not _QUIRK_NAME.fullmatch(name):
            raise SetupError(f"{name} is not a name for a quirk file, such as mail.toml")
        try:
            tomllib.loads(text)
        except ValueError as error:
            raise SetupError(f"{name} is not TOML: {error}") from None
    return files


class TeamVersion(NamedTuple):
    """A version: its number, the share of Macs in percent, and the text of its files."""

    number: int
    share: int
    body: str

    def signed_content(self) -> bytes:
        """Return what its signature covers."""
        return json.dumps(["iac-fleet version", self.number, self.share, self.body]).encode()


def make_key(path: Path) -> str:
    """Write a new private key, for this user alone; return its public half.

    Raises:
        SetupError: The file exists or cannot be written.
    """
    key = Ed25519PrivateKey.generate()
    if path.exists():
        message = f"{path} exists already, and a key is never overwritten. Name another file."
        raise SetupError(message)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        write_whole(path, text, mode=0o600)
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from None
    return public_key(key)


def public_key(key: Ed25519PrivateKey) -> str:
    """Return the public half of a key, in base64."""
    return base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


def read_key(path: Path) -> Ed25519PrivateKey:
    """Return a private key. Raises SetupError."""
    try:
        require_private_file(path)
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError):
        raise SetupError(
            f"{path} is not a private key; make one with: iac-fleet key FILE"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SetupError(f"{path} is a key of another kind; make one with: iac-fleet key FILE")
    return key


def publish_version(connection: Any, key: Ed25519PrivateKey, files: TeamFiles, share: int) -> int:
    """Publish a version to a share of the team's Macs; return its number.

    Raises:
        SetupError: It is no policy, or a file is no quirk file.
    """
    body = files.to_text()
    parse_team_files(body)
    [number] = connection.execute("SELECT coalesce(max(number), 0) + 1 FROM versions").fetchone()
    version = TeamVersion(number, share, body)
    connection.execute(
        "SELECT publish(%s, %s, %s, %s)", (*version, key.sign(version.signed_content()))
    )
    return int(number)


def read_version(connection: Any, number: int) -> TeamFiles:
    """Return what a version holds by its number. Raises SetupError."""
    query = "SELECT body FROM versions WHERE number = %s"
    row = connection.execute(query, (number,)).fetchone()
    if row is None:
        raise SetupError(f"The team has no version {number}.")
    return parse_team_files(row[0])


def adopt_version(connection: Any, settings: FleetSettings, state: Path) -> str:
    """Take the newest version over that is meant for this Mac; return what came of it, in words.

    Empty where there is nothing new, or no key. What is refused is written into the audit, once.
    """
    if not settings.key:
        return ""
    query = "SELECT number, share, body, signature FROM newest(%s)"
    row = connection.execute(query, (settings.host,)).fetchone()
    told = adopted_version(state)
    if row is None or row[0] == told.number or row[0] in told.refused:
        return ""
    version = TeamVersion(*row[:3])
    why = _refusal_reason(version, bytes(row[3]), settings, told.number)
    if why:
        _save_adopted(state, told._replace(refused=(*told.refused, version.number)[-_KEPT:]))
        record_outcome(state, {"version": version.number}, "refused", why)
        return f"This Mac refuses version {version.number} of the team's policy: {why}."
    files = parse_team_files(version.body)
    corrections = {"quirks": dict(files.quirks), "accepted": dict(files.accepted)}
    corrected = files.quirks or files.accepted or (state / TEAM_BUILD).exists()
    if corrected:
        write_whole(state / TEAM_BUILD, json.dumps(corrections), mode=0o600)
    write_whole(state / TEAM, files.policy, mode=0o600)
    _save_adopted(state, AdoptedVersion(version.number))
    build = " Build the tools again with: iac-gen build" if corrected else ""
    return (
        f"This Mac has version {version.number} of the team's policy. It applies to servers"
        f" that start from now on.{build}"
    )


def _refusal_reason(
    version: TeamVersion, signature: bytes, settings: FleetSettings, last: int
) -> str:
    if not is_signed(version.signed_content(), signature, settings.key):
        return "it is not signed with the team's key"
    # As the database reckons it: nobody but the holder of the key stages a version further.
    place = int(hashlib.md5(settings.host.encode(), usedforsecurity=False).hexdigest()[:7], 16)
    if place % 100 >= version.share:
        return "it is not meant for this Mac"
    if version.number < last:
        return f"it is older than version {last}"
    try:
        parse_team_files(version.body)
    except IacError as error:
        return f"it is not a valid policy ({error})"
    return ""


class AdoptedVersion(NamedTuple):
    """The version that this Mac has, and those that it refused lately."""

    number: int = 0
    refused: tuple[int, ...] = ()


def adopted_version(state: Path) -> AdoptedVersion:
    """Return what this Mac has of its team; version 0 is none."""
    try:
        number, refused = json.loads((state / _TAKEN).read_bytes())
        return AdoptedVersion(int(number), tuple(map(int, refused)))
    except (OSError, ValueError, TypeError):
        return AdoptedVersion()


_KINDS: Final = ("class", "property", "field")


def own_levels() -> dict[str, list[str]]:
    """Return the levels of this Mac's tools, and of classes and properties, by full name.

    Raises:
        SetupError: The tools cannot be read.
    """
    levels_by_name: dict[str, list[str]] = {}
    try:
        for folder in reversed(tool_folders([])):
            lock = json.loads(read_part(folder / "tools.lock"))
            for name, row in lock["tools"].items():
                levels_by_name[name] = [row["level"], row["ceiling"]]
            for title, (_, levels, _) in lock.get("terms", {}).items():
                kind, _, name = title.partition(" ")
                if kind in _KINDS and levels:
                    levels_by_name[name] = levels
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(
            f"Your tools cannot be read: {error}. Build them with: iac-gen build"
        ) from None
    return levels_by_name


def team_facts(state: Path) -> dict[str, Any]:
    """Return what this Mac says of the team's version: its number, and which levels differ here.

    `{"team": 3, "levels": [{"name": "mail_send", "accepted": "MODIFY", "here": "DANGEROUS"}]}`
    """
    told: dict[str, Any] = {"team": adopted_version(state).number, "levels": []}
    try:
        accepted = json.loads((state / TEAM_BUILD).read_bytes())["accepted"]
        here = own_levels() if accepted else {}
    except (OSError, ValueError, KeyError, TypeError, SetupError):
        return told
    for name in sorted(accepted.keys() & here.keys()):
        wanted, levels = (_format_levels(one) for one in (accepted[name], here[name]))
        if wanted != levels:
            told["levels"].append({"name": name, "accepted": wanted, "here": levels})
    return told


def _format_levels(levels: Sequence[str]) -> str:
    return levels[0] if levels[0] == levels[-1] else f"{levels[0]} to {levels[-1]}"


def _save_adopted(state: Path, told: AdoptedVersion) -> None:
    write_whole(state / _TAKEN, json.dumps(told), mode=0o600)


def is_signed(text: bytes, signature: bytes, key: str) -> bool:
    """Say whether a text was signed with the private half of a key, which is in base64."""
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(key)).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


def record_outcome(state: Path, told: dict[str, Any], result: str, why: str) -> None:
    """Write into the audit what came of something from the team: `done` or `refused`."""
    audit = Audit.open(state)
    intent = AuditIntent(
        "iac-fleet", "DANGEROUS", client="iac-fleet", source="the team", reasons=(why,),
        decision="allow" if result == "done" else "deny", arguments=told,
    )  # fmt: skip
    audit.record_outcome(audit.record_intent(intent), AuditOutcome(result, 0.0))
    audit.close()
