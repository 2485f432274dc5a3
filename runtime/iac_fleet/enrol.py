"""How a Mac comes into a fleet with one file, and how it is sent away.

The owner of the database makes a role for the Mac, with a password that is good until the Mac is
in, and writes both into a file with the address, the team's public key and the Mac's settings. The
team's key signs the file. The Mac checks it, uses the enrolment, which the database allows once,
and gives its role a password that nobody else knows: afterwards the file opens nothing.
"""

import base64
import hashlib
import json
import plistlib
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, LiteralString, NamedTuple
from uuid import NAMESPACE_URL, uuid5

import psycopg
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from iac_base.errors import SetupError
from iac_fleet import database
from iac_fleet.versions import FleetSettings, is_signed, public_key, write_settings
from iac_runtime.version import VERSION

MANAGED: Final = Path("/Library/Managed Preferences/iac-for-mac.plist")
"""What the profile of `make_profile` puts on a Mac: a person there cannot change it."""

_DOMAIN: Final = MANAGED.stem


class Enrolment(NamedTuple):
    """What a file holds: its id, its last moment, the Mac's settings, whether launchd runs it."""

    id: str
    until: str
    settings: FleetSettings
    service: bool


def enrol_mac(
    owner: psycopg.Connection[Any],
    key: Ed25519PrivateKey,
    team: str,
    settings: FleetSettings,
    *,
    days: float,
    service: bool,
) -> str:
    """Make the role of a Mac and its file, whose text is returned; earlier files open nothing.

    `settings` have the address that the Mac is to use; its user and password are replaced.

    Raises:
        SetupError: A name is empty or has hidden characters, or there is no such time.
    """
    for what, text in (("team", team), ("Mac", settings.host)):
        if not text.strip() or not text.isprintable():
            raise SetupError(f"Give the {what} a name of visible characters, not {text!a}.")
    name = hashlib.sha256(json.dumps([team, settings.host]).encode()).hexdigest()[:12]
    role = f"iac_{re.sub('[^a-z0-9]+', '_', settings.host.lower())[:40]}_{name}"
    password, ident = secrets.token_urlsafe(24), secrets.token_hex(16)
    try:
        until = datetime.now(UTC) + timedelta(days=days)
    except (ValueError, OverflowError):
        raise SetupError(f"A file cannot be used for {days:g} days.") from None
    with owner.transaction():
        known = owner.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
        _set_password(owner, _CREATE if known is None else _ALTER, role, password)
        database.add_team(owner, team, role, host=settings.host)
        owner.execute("DELETE FROM enrolments WHERE role = %s AND used IS NULL", (role,))
        owner.execute(
            "INSERT INTO enrolments VALUES (%s, %s, %s, %s, %s)",
            (ident, team, settings.host, role, until),
        )
        owner.execute(
            "UPDATE hosts SET revoked = NULL WHERE team = %s AND host = %s", (team, settings.host)
        )
    address = make_conninfo(settings.database, user=role, password=password)
    given = settings._replace(database=address, key=public_key(key))
    content = json.dumps([ident, until.isoformat(timespec="seconds"), given._asdict(), service])
    signature = base64.b64encode(key.sign(_signed_text(content))).decode()
    return json.dumps({"enrolment": content, "key": given.key, "signature": signature}, indent=1)


def _signed_text(content: str) -> bytes:
    return json.dumps(["iac-fleet enrolment", content]).encode()


_CREATE: Final = "CREATE ROLE {} LOGIN PASSWORD {}"
_ALTER: Final = "ALTER ROLE {} LOGIN PASSWORD {}"
_CLOSE: Final = "ALTER ROLE {} NOLOGIN"
_CHANGE: Final = "ALTER ROLE {} PASSWORD {}"
"""What a role may do to itself."""


def _set_password(
    connection: psycopg.Connection[Any], line: LiteralString, role: str, password: str
) -> None:
    """Give a role a password; the server and its log see what it is checked with, not itself."""
    hashed = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
    names = sql.Identifier(role), sql.Literal(hashed.decode())
    connection.execute(sql.SQL(line).format(*names))


def read_enrolment(text: str, trusted: Sequence[str] = ()) -> Enrolment:
    """Return what a file holds.

    Args:
        text: The text of the file.
        trusted: Public keys of teams, one of which must have signed it. Without any, the key that
            the file names is believed.

    Raises:
        SetupError: It is no such file, was changed, or is of another team or too old.
    """
    try:
        told = json.loads(text)
        content, key = str(told["enrolment"]), str(told["key"])
        signature = base64.b64decode(told["signature"])
        ident, until, given, service = json.loads(content)
        given["approvers"] = tuple(map(str, given["approvers"]))
        found = Enrolment(str(ident), str(until), FleetSettings(**given), service is True)
        late = datetime.fromisoformat(found.until) < datetime.now(UTC)
        if not conninfo_to_dict(str(found.settings.database)).get("user"):
            raise ValueError("it names no role")
    except (ValueError, KeyError, TypeError, RecursionError, psycopg.ProgrammingError):
        raise SetupError(
            "This is not an enrolment file. The owner of the database makes one with:"
            " iac-fleet enrol"
        ) from None
    if not is_signed(_signed_text(content), signature, key) or found.settings.key != key:
        raise SetupError("The enrolment file was changed after it was signed. Ask for a new one.")
    if trusted and key not in trusted:
        raise SetupError(
            f"The enrolment file is signed with the key {key}, and this Mac trusts {trusted[0]}."
        )
    if late:
        raise SetupError(f"The enrolment file was good until {found.until}. Ask for a new one.")
    return found


def managed_keys(path: Path = MANAGED) -> tuple[str, ...]:
    """Return the team's public key that a configuration profile put on this Mac, if one did."""
    try:
        key = plistlib.loads(path.read_bytes()).get("TeamKey")
    except (OSError, ValueError):
        return ()
    return (key,) if isinstance(key, str) else ()


def use_enrolment(found: Enrolment) -> FleetSettings:
    """Use an enrolment, and keep the settings that follow from it; return them.

    Raises:
        SetupError: It was used, or the database cannot be reached.
    """
    role = str(conninfo_to_dict(found.settings.database)["user"])
    password = secrets.token_urlsafe(24)
    address = make_conninfo(found.settings.database, password=password)
    settings = found.settings._replace(database=address)
    with database.open_connection(found.settings.database) as connection, connection.transaction():
        connection.execute("SELECT use_enrolment(%s)", (found.id,))
        database.report_host(connection, settings.host, {"version": VERSION})
        _set_password(connection, _CHANGE, role, password)
        # Before the end of the transaction: what fails now leaves the file as good as it was.
        write_settings(settings)
    return settings


def revoke_mac(owner: psycopg.Connection[Any], team: str, host: str) -> None:
    """Take a Mac's role its rights, at once and for connections that are open too; rows stay.

    Raises:
        SetupError: The Mac has no role of its own.
    """
    with owner.transaction():
        found = owner.execute(
            "DELETE FROM teams WHERE team = %s AND host = %s RETURNING role", (team, host)
        ).fetchall()
        if not found:
            raise SetupError(f"{host} has no role of its own in {team}, so it cannot be revoked.")
        owner.execute(
            "UPDATE hosts SET revoked = now() WHERE team = %s AND host = %s", (team, host)
        )
        for (role,) in found:
            owner.execute("DELETE FROM enrolments WHERE role = %s AND used IS NULL", (role,))
            owner.execute(sql.SQL(_CLOSE).format(sql.Identifier(role)))


class AutomationGrant(NamedTuple):
    """A program that may control apps without a question of macOS, and the apps.

    `requirement` is what `codesign -d -r -` says of the program.
    """

    program: str
    requirement: str
    apps: tuple[str, ...]


def make_profile(key: str, grant: AutomationGrant | None = None) -> bytes:
    """Return a configuration profile (.mobileconfig) for the Macs of a team.

    It names the team's key, so a Mac takes no other team's file, and lets IAC's launchd agents run.
    With `grant`, macOS does not ask whether a program may control apps by Apple of these ids.
    Source: Apple, Profile-Specific Payload Keys (ServiceManagementManagedLoginItems,
    PrivacyPreferencesPolicyControl).
    """
    rule = {"RuleType": "LabelPrefix", "RuleValue": f"{_DOMAIN}.", "Comment": "IAC"}
    payloads: list[dict[str, Any]] = [
        _payload(_DOMAIN, key, TeamKey=key),
        _payload("com.apple.servicemanagement", key, Rules=[rule]),
    ]
    if grant:
        events = [
            {
                "Identifier": grant.program,
                "IdentifierType": "path",
                "CodeRequirement": grant.requirement,
                "Authorization": "Allow",
                "AEReceiverIdentifier": app,
                "AEReceiverIdentifierType": "bundleID",
                "AEReceiverCodeRequirement": f'identifier "{app}" and anchor apple',
            }
            for app in grant.apps
        ]
        services = {"AppleEvents": events}
        payloads.append(
            _payload("com.apple.TCC.configuration-profile-policy", key, Services=services)
        )
    return plistlib.dumps(
        {
            **_payload("Configuration", key, PayloadContent=payloads),
            "PayloadDisplayName": "IAC for this team",
            "PayloadScope": "System",
        }
    )


def _payload(kind: str, key: str, **content: Any) -> dict[str, Any]:
    # The same team has the same ids, so a new profile takes the place of the one before.
    ident = str(uuid5(NAMESPACE_URL, f"{_DOMAIN}:{key}:{kind}")).upper()
    return {
        "PayloadType": kind,
        "PayloadVersion": 1,
        "PayloadIdentifier": f"{_DOMAIN}.{kind}",
        "PayloadUUID": ident,
        **content,
    }
