"""Secrets never reach the record: by name, by type, by shape."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_secrets import planted_secrets

from iac_base.secrets import (
    DEPTH,
    REDACTED,
    is_secret,
    redact_arguments,
    redact_text,
    secrets_of,
    without_secrets,
)
from iac_base.text import text_literal
from iac_runtime.audit.writer import (
    Audit,
    AuditIntent,
    AuditOutcome,
    arguments_digest,
    shorten_value,
)

ROOT = Path(__file__).parents[2]

SHAPES = [
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdefghijkl",
    "sk_live_abcdefghijklmnop1234",
    "sk-proj-abcdefghijklmnop1234",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "4111 1111 1111 1111",
    "5500-0000-0000-0004",
    "378282246310005",
    "5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYz9kEYabcDEF12",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc+/=\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\nMIIEabc",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ-x\n-----END PGP PRIVATE KEY BLOCK-----",
    "hunter2:letmein",
    "hunter2:let@mein",
    ":letmein",
    "it's:me",
    "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567",
    "ya29.a0AfH6SMBx-abc_defGHI",
    "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",
    "ASIAIOSFODNN7EXAMPLE",
    "sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxx",
    "pk_live_abcdefghijklmnop1234",
    "rk_org_abcdefghijklmnop1234",
    "xoxb-1234567890",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ",
    # The shortest that is taken for random text; its parts are short, or it has a long one.
    "wJ4lrX7UtnF2EMI9K7MD8ENGbPxR3fiCYzk5Ea1b",
    "sk-ab12-cd34-ef56",
    "pk_abcdefghij123456",
]
HARMLESS = [
    "/Users/anna/Documents/Projects/2026-Invoices/March/Invoice_0042_final.pdf",
    "x-coredata://5B4C2C1A-8F2D-4E36-9B5E-0E7A3F0C9D11/ICNote/p123",
    "/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/TemporaryItems",
    "https://example.com/a/very/long/path/to/some-page-with-a-descriptive-title.html?page=2",
    "messages.whose({readStatus: false})[0]",
    "1767225600000",
    "1234567890123456",
    "The meeting is on 2026-03-01 at 10:30: bring passwords? No.",
    "window.title = Report",
    "supercalifragilisticexpialidocioussupercalifragilistic",
    # One kind of letter, no digit, or long pieces.
    "A1-B2/C3-D4/A1-B2/C3-D4/A1-B2/C3-D4/A1-B2/C3-D4",
    "a1-b2/c3-d4/a1-b2/c3-d4/a1-b2/c3-d4/a1-b2/c3-d4",
    "aB-cD/eF-gH/aB-cD/eF-gH/aB-cD/eF-gH/aB-cD/eF-gH",
    "Xyz123Xyz123Xyz123Xyz123Xyz123Xyz123Xyz123",
    "1234567890123456789012345678901234567890",
    "abcdefababcdefababcdefababcdefababcdefab",
    "pk-this-is-a-name-with-dashes",
    # Words about secrets, and names beside one.
    "Basic commands, and the basic properties of a text",
    'name="access" code="accs" name="security" code="sec?"',
    "With max_tokens: 20000 it is cut; the next access gives -1728.",
    "| a wrong token | the answer is 401 |",
    "The docs on /docs/hooks/useState and /hooks/reference say so.",
    "character, paragraph, word, item, audio clip, shape, chart, image, group, line, table, cell",
    "please remember that every single person has been there before those other times",
    "secrets = [ and password = ${PASSWORD} and token: <token> and PASSWORD '…'",
    "from:anna42@example.org mailto:bob99@example.org 10:30@work",
    "The order code is 4711, the area code: 49221, invoice 2026-0042.",
    # Short random text stays short beside an object's id.
    "wJ4lrX7UtnF2EMI9K7MD8ENGbPxR3fiCYzk5Ea/5B4C2C1A-8F2D-4E36-9B5E-0E7A3F0C9D11",
]


TOLD = """\
pw: ⟦hunter2x⟧
wifi pw ⟦hunter2x⟧
pwd ⟦hunter22⟧
set theNote to "Passwort: ⟦geheim123⟧"
<div>Passwort: <b>⟦geheim⟧</b></div>
<td>Passwort</td><td>⟦geheim⟧</td>
Passwort:&nbsp;⟦geheim⟧
PIN ⟦4711⟧
Die PIN lautet ⟦4711⟧
Das Passwort ist ⟦geheim123⟧
Passwort ist "⟦geheim⟧"
le mot de passe est ⟦secret42⟧
la contraseña es ⟦secreto42⟧
enter code ⟦123456⟧ to verify your account
Your code: ⟦123456⟧. Do not share this verification code.
hooks.slack.com/services/⟦T01234567/B01234567/abcdefGHIJ0123456789abcd⟧
"Authorization":"Basic ⟦dXNlcjpwYXNzd29yZA==⟧"
Set-Cookie: ⟦session=abcdef123456⟧; HttpOnly
document.cookie = "⟦session=abcdef123456⟧"
https://zoom.us/j/123?pwd=⟦abcDEF12⟧
Kartennummer ⟦4111-1111-1111-1111⟧ CVC ⟦123⟧
API key ⟦abcd1234efgh5678⟧
my api token is ⟦abcd1234efgh5678⟧
Passwords: ⟦hunter2x⟧, ⟦hunter3x⟧
**Passwort:** ⟦geheim⟧
Passwort = ⟦geheim⟧
Passwort – ⟦geheim12⟧
PASSWORT: ⟦GEHEIM⟧
Benutzer: anna, Passwort: ⟦geheim⟧, Ort: Wien
user anna pass ⟦geheim12⟧
パスワードは⟦himitsu12⟧です
密码是⟦mima1234⟧
비밀번호는 ⟦bimil1234⟧입니다
пароль от почты: ⟦sekret1⟧
пароль — ⟦sekret12⟧
Пароль: ⟦Секрет123⟧
κωδικός: ⟦mystiko12⟧
Hasło do wifi: ⟦tajne123⟧
Heslo k wifi: ⟦tajne123⟧
Das WLAN-Passwort für Gäste lautet: ⟦geheim123⟧
mot de passe wifi : ⟦geheim123⟧
contraseña del wifi: ⟦geheim123⟧
the password for the router is ⟦geheim123⟧
password for router: ⟦geheim123⟧
Passwort für den Router: ⟦geheim123⟧
senha do wifi: ⟦geheim123⟧
password (wifi): ⟦geheim123⟧
TAN: ⟦123456⟧
Ihr Bestätigungscode lautet ⟦123456⟧
⟦123456⟧ ist Ihr Bestätigungscode
Votre code de vérification est ⟦123456⟧
Su código de verificación es ⟦123456⟧
Il tuo codice di verifica è ⟦123456⟧
security answer: ⟦Fluffy⟧
sk_test_⟦abcdefghijklmnop1234⟧
client_id=x&client_secret=⟦abcdefgh1234⟧
curl -H "X-Auth-Token: ⟦abcdef123456⟧" https://x
aws configure set aws_secret_access_key ⟦wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY⟧
ssh anna:⟦geheim12⟧@host.example.org
smb://anna:⟦geheim12⟧@nas.local/share
keychain password: '⟦geheim⟧'
{"password":"⟦ge\\"heim⟧"}
{\\"password\\":\\"⟦geheim⟧\\"}
Recovery code ⟦ABCD-EFGH-1234⟧
wallet seed: ⟦witch collapse practice feed shame open despair creek road again ice least⟧
https://discordapp.com/api/webhooks/⟦123456789012345678/abcDEF-ghi_JKL0123456789⟧
webhook: https://chat.example.com/hooks/⟦abcdef0123456789abcdef0123⟧
https://open.larksuite.com/open-apis/bot/v2/hook/⟦0a1b2c3d-1111-2222-3333-444455556666⟧
https://outlook.office.com/webhook/⟦0a1b2c3d-1111-2222-3333-444455556666@x/IncomingWebhook/abc1234567⟧
https://api.telegram.org/bot⟦1234567890:AAabcdefghijklmnopqrstuvwxyzABCDE01⟧/sendMessage
https://webhook.site/⟦0a1b2c3d-1111-2222-3333-444455556666⟧
https://hook.integromat.com/⟦abcdef0123456789abcdef0123456789⟧
https://api.pushover.net?token=⟦abcdefgh123⟧&user=u1
Account: anna\\nPasswort: ⟦geheim12⟧\\nOrt: Wien
otpauth://totp/X:me?secret=⟦JBSWY3DPEHPK3PXP⟧
2FA secret ⟦JBSWY3DPEHPK3PXP⟧
Authenticator key: ⟦JBSW Y3DP EHPK 3PXP⟧
two-factor key ⟦JBSWY3DPEHPK3PXP⟧
""".splitlines()
"""How people and programs write a secret down, which stands between `⟦` and `⟧`."""


@pytest.mark.parametrize("secret", SHAPES)
def test_a_secret_is_known_by_its_shape(secret: str) -> None:
    around = f"https://{secret}@host/x" if ":" in secret and "\n" not in secret else f"x {secret}."
    kept, _ = redact_arguments({"body": around, "list": [{"deep": around}]})
    assert secret not in json.dumps(kept)
    assert REDACTED in kept["body"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_planted_secret_is_left_in_a_text(seed: int) -> None:
    for frame in ("{}", "Please note this: {}\nThanks, Anna", "<div>{}</div>"):
        for planted in planted_secrets(seed):
            found = redact_text(frame.format(planted.text))
            assert not planted.seen_in(found), (planted.kind, found)
            assert redact_text(found) == found


@pytest.mark.parametrize("text", TOLD)
def test_a_secret_is_known_by_the_words_around_it(text: str) -> None:
    found = redact_text(text.replace("⟦", "").replace("⟧", ""))
    for secret in re.findall("⟦(.*?)⟧", text):
        assert secret not in found


def test_pages_of_ordinary_text_are_left_as_they_are() -> None:
    pages = [path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    alarms = [line for page in pages for line in page.split("\n") if redact_text(line) != line]
    assert len(pages) > 50
    assert len(alarms) <= 6, alarms


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(("text", "shown"), [
    ("password=letmein;x=1", "password=[redacted];x=1"), ("token=ab", "token=[redacted]"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[redacted]"),
    ('-----BEGIN PRIVATE KEY-----\npassword="', "[redacted]"),
    ('password: token="ab cd"', 'password: [redacted]"[redacted]"'),
    ("https://e.example/?access_token=abc&x=1", "https://e.example/?access_token=[redacted]&x=1"),
    ('a.password = "let me \\" in"', 'a.password = "[redacted]"'),
    ('{"api key": "k"}', '{"api key": "[redacted]"}'),
    ("curl -H 'Authorization: Bearer abcdefgh12'", None),
    ("mysql --password letmein db", "mysql --password [redacted] db"),
    ("usePassword: true, password == 1", "usePassword: true, password == 1"),
    ("{'password': 'let me in', 'a': 1}", "{'password': '[redacted]', 'a': 1}"),
    (r'"{\"password\": \"let me in\"}"', r'"{\"password\": \"[redacted]\"}"'),
    ("session_key=ab12&x=1", "session_key=[redacted]&x=1"),
    ('sessionKey = "ab 12"', 'sessionKey = "[redacted]"'),
    ("API key: ab12, x", "API key: [redacted], x"),
    ("API keys: ab12, x", "API keys: [redacted], x"),
    ("PGPASSWORD=letmein psql", "PGPASSWORD=[redacted] psql"), ("_token=abcd", "_token=[redacted]"),
    ("secret => 'abcd'", "secret => '[redacted]'"),
    ('env["DB_PASS"] := "abcd"', 'env["DB_PASS"] := "[redacted]"'),
    ('user name "me" password "let me in"', 'user name "me" password "[redacted]"'),
    ('set password to "let me in"', 'set password to "[redacted]"'),
    ('password = "never closed; x', 'password = "[redacted]'),
    ("Cookie: a=b; c=d\nHost: x", "Cookie: [redacted]\nHost: x"),
    ("Authorization: Basic abc\nHost: x", "Authorization: [redacted]\nHost: x"),
    ("tool --token abcd -v", "tool --token [redacted] -v"),
    ("tool --api-key=abcd -v", "tool --api-key=[redacted] -v"),
    ("tool -token 'ab cd' -v", "tool -token [redacted] -v"),
    ('tool --Client-Secret "ab \\" cd" -v', "tool --Client-Secret [redacted] -v"),
    ("sshpass -p letmein ssh me@host", "sshpass -p [redacted] ssh me@host"),
    ("mysql -u me -pletmein db", "mysql -u me -p[redacted] db"),
    ("curl -s -u me:letmein https://x/", "curl -s -u [redacted] https://x/"),
    ("mkdir -p /tmp/a; cp -pr b c", "mkdir -p /tmp/a; cp -pr b c"),
    ("openssl rsa -passin pass:letmein", "openssl rsa -passin pass:[redacted]"),
    ("the compass: north, by the overpass: left", "the compass: north, by the overpass: left"),
])  # fmt: skip
def test_a_value_under_a_secret_name_in_a_text_goes(text: str, shown: str | None) -> None:
    found = redact_text(text)
    assert found == shown if shown else "abcdefgh12" not in found


@pytest.mark.parametrize("arguments", [
    {"with_password": "hunter2"}, {"target": "accounts[0]", "properties": {"password": "hunter2"}},
    {"where": {"password": {"contains": "hunter2"}}},
    {"properties": [{"apiKey": ["hunter2", {"x": "hunter2"}]}]},
])  # fmt: skip
def test_a_named_secret_is_in_neither_row_nor_line_nor_error(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    audit = Audit.open(tmp_path / "state")
    line = 'Application("com.apple.mail").accounts[0].password = "hunter2"; login(hunter2)'
    call = audit.record_intent(AuditIntent("mail_set", "DANGEROUS", arguments=arguments, line=line))
    audit.record_outcome(
        call, AuditOutcome("EXECUTION_ERROR", 0.1, error="Can't set password to hunter2.")
    )
    audit.close()
    # Not in the database, not in its log.
    stored = b"".join(path.read_bytes() for path in (tmp_path / "state").glob("audit.db*"))
    assert b"hunter2" not in stored
    assert b"[redacted]" in stored


@given(st.text(min_size=4, max_size=20))
def test_a_secret_of_any_spelling_leaves_the_line(secret: str) -> None:
    line = f'Application("x").make({{password: {text_literal(secret)}}})'
    kept, secrets = redact_arguments({"password": secret})
    assert kept == {"password": REDACTED}
    found = redact_text(line, secrets)
    assert text_literal(secret) not in found
    assert found.startswith('Application("x")') or secret in 'Application("x").make({password: '


def test_a_short_number_goes_where_it_is_a_word() -> None:
    _, secrets = redact_arguments({"pin_code": 12})
    assert redact_text("enter(12); wait(120)", secrets) == "enter([redacted]); wait(120)"


@pytest.mark.parametrize(
    ("text", "secrets", "shown"),
    [
        # One lies in another, in either order of the alphabet.
        ("it is abzzz1cd!", ("zzz1", "abzzz1cd"), "it is [redacted]!"),
        ("it is zabc1z, no abc1", ("zabc1z", "abc1"), "it is [redacted], no [redacted]"),
        (r'f("pa\"ssw")', ('pa"ssw',), 'f("[redacted]")'),
        (r'f("my pa\"ssw is")', ('pa"ssw',), 'f("my [redacted] is")'),
        ('say pa"ssw is', ('pa"ssw',), "say [redacted] is"),
        ("say ab1z, abab1zab", ("ab1z",), "say [redacted], ab[redacted]ab"),
        # So short a text is a part of many words.
        ('say ab1, f("ab1", null)', ("ab1",), 'say ab1, f("[redacted]", null)'),
        ("ab1z", ("ab1z", ""), "[redacted]"),
    ],
)
def test_a_given_secret_goes_wherever_it_stands(
    text: str, secrets: tuple[str, ...], shown: str
) -> None:
    assert redact_text(text, secrets) == shown


def test_a_secret_deep_in_an_argument_is_replaced_and_known() -> None:
    kept, secrets = redact_arguments(
        {"a": {"b": [{"password": "hunter2", "c": 1}], "d": {"token": "ab"}}}
    )
    assert kept == {"a": {"b": [{"password": REDACTED, "c": 1}], "d": {"token": REDACTED}}}
    assert secrets == ("hunter2", "ab")


def test_types_tell_of_secrets_and_of_raw_data() -> None:
    kept, _ = redact_arguments(
        {"value": "abc", "blob": "00ff", "ask": True},
        {"value": "AXSecureTextField", "blob": "data", "ask": "boolean"},
    )
    assert kept == {"value": REDACTED, "blob": REDACTED, "ask": True}


def test_a_card_number_given_as_a_number_goes() -> None:
    assert redact_arguments({"n": 4111111111111111, "m": 41})[0] == {"n": REDACTED, "m": 41}


def test_the_digest_tells_arguments_apart_and_no_secret() -> None:
    assert (
        arguments_digest({"a": 1, "b": 2})
        == arguments_digest({"b": 2, "a": 1})
        != arguments_digest({"a": 1})
    )
    first, second = redact_arguments({"password": "a"})[0], redact_arguments({"password": "b"})[0]
    assert arguments_digest(first) == arguments_digest(second)


def test_what_is_long_is_cut_and_says_so() -> None:
    found = shorten_value({"t": "x" * 5_000, "l": list(range(99))})
    assert found["t"].endswith("[5000 characters]")
    assert found["l"][-1] == "… [99 items]"
    assert (
        shorten_value([["y" * 900] * 40]) == f"[{len(json.dumps([['y' * 900] * 40]))} characters]"
    )


def test_what_json_cannot_hold_is_told_by_its_kind() -> None:
    deep: Any = "end"
    for _ in range(5_000):
        deep = [deep]
    values = {"a": float("nan"), "b": b"x", "c": 1 << 60_000, "d": deep, "password": deep}
    kept, _ = redact_arguments(values)
    assert (kept["a"], kept["b"], kept["c"]) == ("nan", "[bytes]", "[integer of 60001 bits]")
    assert "[deeper]" in json.dumps(kept, allow_nan=False)
    for _ in range(5_000):
        deep = {"a": deep}
    redact_arguments({"password": deep})


def test_what_json_can_hold_stays_as_it_is() -> None:
    values = {"a": 2.5, "b": None, "c": True, "d": 1 << 511, "e": -7, "f": [None, {"g": 0.5}]}
    assert redact_arguments(values) == (values, ())
    assert redact_arguments({"a": 1 << 512})[0] == {"a": "[integer of 513 bits]"}


@pytest.mark.parametrize("lists", [True, False])
def test_an_argument_is_looked_at_as_deep_as_it_says(lists: bool) -> None:
    def nested(value: Any, levels: int) -> Any:
        for _ in range(levels):
            value = [value] if lists else {"a": value}
        return value

    assert redact_arguments({"password": nested("hunter2", DEPTH)})[1] == ("hunter2",)
    assert redact_arguments({"password": nested("hunter2", DEPTH + 1)})[1] == ()
    assert redact_arguments({"x": nested(7, DEPTH)})[0] == {"x": nested(7, DEPTH)}
    assert redact_arguments({"x": nested(7, DEPTH + 1)})[0] == {"x": nested("[deeper]", DEPTH + 1)}


def test_under_a_secret_name_only_texts_and_numbers_are_looked_for() -> None:
    kept, secrets = redact_arguments(
        {"password": [None, True, b"x", "hunter2", 1234, 2.5, "hunter2"]}
    )
    assert kept == {"password": REDACTED}
    assert secrets == ("hunter2", "1234", "2.5")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=12), JSON, max_size=4))
def test_any_arguments_can_be_stored(arguments: dict[str, Any]) -> None:
    kept, _ = redact_arguments(arguments)
    assert len(arguments_digest(kept)) == 64
    json.dumps(shorten_value(kept), allow_nan=False)


def test_a_value_loses_its_secrets_and_keeps_the_rest() -> None:
    environment = {"DB_PASSWORD": "hunter22", "HOME": "/home/me", "PIN_CODE": "123456"}
    known = secrets_of(environment | {"TOKEN": "abcde"})
    assert known == {"hunter22", "123456"}
    value = {
        "password": "p", "session_key": 7, "token": None, "secret": "", "note": "it is hunter22",
        "header": "Bearer abcdefghij", "n": [1, 2.5, ("a",)],
        "notes": ["hunter22 it is", {"x": ["hunter22"]}],
    }  # fmt: skip
    assert without_secrets(value, known) == {
        "password": REDACTED, "session_key": REDACTED, "token": None, "secret": "",
        "note": f"it is {REDACTED}", "header": f"Bearer {REDACTED}", "n": [1, 2.5, ("a",)],
        "notes": [f"{REDACTED} it is", {"x": [REDACTED]}],
    }  # fmt: skip
    assert without_secrets("postgres://me:pw1@host/db") == f"postgres://{REDACTED}@host/db"


@pytest.mark.parametrize(
    "name",
    "session_key|sessionKey|SESSION-KEYS|passWord|toKEN|dbpassword|authtoken|SMTP_PASS|userpass"
    "|x-api-key|MYAPIKEY|AWS_SECRET_ACCESS_KEY|client_secret|Set-Cookie|credentials|pin code|CVV"
    "|private_key|privatekey|oneTimeCode|Authorization".split("|"),
)
def test_a_name_of_a_secret_is_known_in_any_spelling(name: str) -> None:
    assert is_secret(name)
    assert redact_arguments({name: "abc"})[0] == without_secrets({name: "abc"}) == {name: REDACTED}


@pytest.mark.parametrize(
    "name", "keyboard|session|pass through|compass|author|secretary|tokenize|key|code|bypass"
    "|passive|monkey key|number".split("|"),
)  # fmt: skip
def test_other_names_are_none(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(("name", "type", "secret"), [
    ("require password", "boolean | missing value", False), ("password changed", "date", False),
    ("token", "boolean | date | point | rectangle", False), ("token", "boolean | text", True),
    ("token", "missing value", True), ("value", "text | missing value", False),
    ("value", "secure text | missing value", True),
])  # fmt: skip
def test_a_type_tells_whether_a_name_is_believed(name: str, type: str, secret: bool) -> None:
    assert is_secret(name, type) == secret


# Each was redacted by one of the readers that were here before: (before, secret, after).
RECORDED = [
    ("", secret, "")
    for secret in SHAPES
    if ":" not in secret and not secret[0].isdigit() and "BEGIN" not in secret
]
RECORDED += [
    ("postgres://me:", "pw1x", "@host/db"),
    ("password=", "letmein", ";x=1"),
    ("?access_token=", "abcq", "&x=1"),
    ('a.password = "', 'let me \\" in', '"'),
    ('{"api key": "', "kkkq", '"}'),
    ('"private key" : "', "a;b,c", '"'),
    ("Authorization: Bearer ", "abcdefgh12", ""),
    ("bearer\t", "abcdefgh12", ""),
    ("BASIC  ", "QWxhZGRpbjpv", ""),
    ("mysql --password ", "letmein", " db"),
    ("--secret ", "a'b\"c", " x"),
    ("pin_code: ", "1234", ","),
    ("card ", "4111 1111 1111 1111", " x"),
    ("", "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc+/=\n-----END RSA PRIVATE KEY-----", ""),
]
AROUND = st.text(max_size=20) | st.sampled_from(
    [
        "", "x ", "{", '{"a": "', "f('", "--", "a=b ", "https://x/?a=b ", "\n", "token ", '"', "'",
        "é",
    ]
)  # fmt: skip


@given(st.sampled_from(RECORDED), AROUND, AROUND)
def test_what_was_redacted_ever_is_redacted(
    recorded: tuple[str, str, str], before: str, after: str
) -> None:
    lead, secret, tail = recorded
    # A gap, as it was recorded: what a secret touches may be a part of a longer word.
    text = f"{before} {lead}{secret}{tail} {after}"
    if secret not in before + after:
        assert secret not in redact_text(text)
        assert secret not in json.dumps(without_secrets({"a": [text]}), ensure_ascii=False)


HOSTILE = [
    "a=", "token=", "'token': ", "password: '", '\\"token\\": \\"', "api key: ", "eyJ-", "sk_a-",
    "://a:b", "a:b@", "-----BEGIN PRIVATE KEY-----", "-----END ", "bearer ", "4-", "A1b", "0f",
    "--token ", "mysql ", "curl -u ", '\\"', "\"'", "a-", "key: ", "cookie: a=b;",
    "password ", "password is 1a", "password of ", "password of to ", "<password>", "password</b>",
    "</td>", "witch ", "1. ab\n", "witch\\n",
    "%3A%2F%2Fa%3A", "%3A", "/hooks/", "//hook.a",
    "/reset/",

    "sess", "sessid", "123456 is ", "otp a ", "auth", "Passwort:", "mot de passe ", "A1B2-", "Ab1_",
    "Ab1.", "aB", "aB ", "1a ", "codes: 1a ", "password:\n",
    "password: x ", "{{", "$A", "<a ", "a<",
    "12345678:AA", "Mabc.", "aaa1Q~", "验证码", "пароль: ", "1 ",
]  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("part", HOSTILE)
@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.stress)])
@pytest.mark.uncounted
def test_a_hostile_text_is_read_in_linear_time(part: str, size: int) -> None:
    text = (part * (size // len(part) + 1))[:size] + "!"
    begun = time.process_time()
    redact_text(text)
    # What grows with the square takes minutes, or hours.
    assert time.process_time() - begun < size / 20_000
