"""The policy file: what it says, and what a person is told when it is not right."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_calls import settings_of

from iac_base.errors import SetupError
from iac_runtime.policy.escalation import RULES
from iac_runtime.policy.places import (
    BUILT_IN,
    FIXED,
    BlockedApp,
    find_blocklist_entry,
    is_app_identity,
    is_unreadable_app,
)
from iac_runtime.policy.policy_file import (
    _KEYS,
    _MATCH,
    _NEVER,
    _SECTIONS,
    load_policy,
    parse_policy,
    policy_path,
)
from iac_runtime.policy.rules import CONDITIONS, MATCHER, Match
from iac_runtime.policy.settings import (
    APPROVERS,
    DEFAULT_RATE,
    PRESETS,
    Policy,
    PolicyFlags,
    PolicySetting,
    read_settings,
)

WHOLE = """\
preset = "private"
read_only = false
rate_limit = 5
launch = ["com.apple.Notes"]
reads = "com.apple.mail"
secrets = ["account *"]
approvers = ["dialog"]

[limits]
reads_per_second = 50
dangerous_per_second = 0.5

[blocklist]
add = ["com.example.Bank", "org.x.*"]
remove = ["com.apple.terminal"]

[[deny]]
tool = ["mail_send*", "mail_forward"]
why = "I send my mail
 myself."

[[ask]]
app = "notes"
level = "safe"

[[allow]]
app = "com.apple.Notes"
level = "MODIFY"

[[rule]]
tool = "mail_move"
argument = { to = "*Archive*", with = { deep = [true] } , count = 3, empty = ""}
level = "SAFE"
accept = ["many-objects"]
"""


def test_everything_in_a_file_is_read() -> None:
    text = WHOLE.replace("mail\n myself", "mail myself").replace("[true]", "true")
    policy = parse_policy(text)
    assert policy.preset == "private"
    assert policy.read_only is False
    assert policy.rate_limit == 5.0
    assert (policy.reads_per_second, policy.dangerous_per_second) == (50.0, 0.5)
    assert policy.launch == ("com.apple.Notes",)
    assert policy.reads == ("com.apple.mail",)
    assert policy.approvers == ("dialog",)
    assert policy.blocklist_add == ("com.example.Bank", "org.x.*")
    assert policy.blocklist_remove == ("com.apple.Terminal",)
    (deny,) = policy.deny
    assert (deny.tool, deny.why) == (("mail_send*", "mail_forward"), "I send my mail myself.")
    assert deny.source == "policy.toml line 17"
    assert policy.ask[0].level == ("SAFE",)
    (rule,) = policy.rules
    assert rule.level == "SAFE"
    assert rule.accept == ("many-objects",)
    assert rule.match.argument == (
        ("to", ("*Archive*",)), ("with.deep", ("true",)), ("count", ("3",)), ("empty", ("",)),
    )  # fmt: skip
    assert policy.source_of_key("rate_limit") == "policy.toml line 3"
    assert policy.source_of_key("nothing") == ""


WRONG = [
    ("prest = 'cautious'", 'line 1: there is no key "prest". Nearest: preset'),
    ("\n\npreset = 'cautios'", 'line 3: there is no preset "cautios". Nearest: cautious'),
    ("preset = 3", 'line 1: there is no preset "3".'),
    ("read_only = 'yes'", "line 1: read_only must be true or false."),
    ("rate_limit = 0", "line 1: rate_limit must be a number above 0 and below 1,000,000."),
    ("rate_limit = true", "line 1: rate_limit must be a number above 0 and below 1,000,000."),
    ("rate_limit = nan", "line 1: rate_limit must be a number above 0 and below 1,000,000."),
    ("[limits]\nreads_per_secnd = 3",
     'line 2: there is no key "reads_per_secnd". Nearest: reads_per_second'),
    ("[limits]\nreads = 50",
     "line 2: reads is now called reads_per_second: write reads_per_second = 50."),
    ("[limits]\ndangerous = 20",
     "line 2: dangerous is now called dangerous_per_second: write dangerous_per_second ="
     " 0.00556."),
    ("[limits]\ndangerous = 0", "line 2: dangerous must be a number above 0"),
    ("limits = 3", "line 1: limits must be a table."),
    ("launch = [3]", "line 1: launch must be a text or a list of texts."),
    ("launch = ['Notes; rm']", 'line 1: "Notes; rm" is not a bundle id, such as com.apple.Notes.'),
    ("approvers = ['clint']", 'line 1: there is no approver "clint". Nearest: client'),
    ("[blocklist]\nadd = ['a b']", 'line 2: "a b" is not a bundle id'),
    ("[blocklist]\nremove = [\n  'com.apple.SecurityAgent',\n]",
     'line 2: "com.apple.SecurityAgent" cannot be removed from the blocklist'),
    ("[blocklist]\nremove = ['iac*']", '"iac*" cannot be removed from the blocklist'),
    ("[blocklist]\nremove = ['com.apple.Termnal']",
     'line 2: "com.apple.Termnal" is not on the blocklist. Nearest: com.apple.Terminal'),
    ("[[deny]]\nwhy = 'x'", "line 1: this deny would match every call"),
    ("[[rule]]\nlevel = 'SAFE'", "line 1: this rule would match every call"),
    ("[[rule]]\ntool = 'x'", "line 1: the rule has no level."),
    ("[[rule]]\ntool = 'x'\nlevel = 'SAFE'\naccept = 'many-object'",
     'line 4: no such rule: "many-object". Nearest: many-objects'),
    ("[[rule]]\ntool='x'\nlevel='SAFE'\naccept='own-state'", 'line 4: no such rule: "own-state".'),
    ("[[deny]]\ntool = 'x'\n[[deny]]\n# no\ntol = 'y'", 'line 5: there is no key "tol".'),
    ("[[ask]]\ntool='x'\nlevel = 'DANGER'", 'line 3: there is no level "DANGER". Nearest:'),
    ("[[allow]]\nlevel = 'DANGEROUS'", "line 2: DANGEROUS calls always require approval"),
    ("[[allow]]\ntool = ''", "line 2: tool must be a text"),
    ("[[ask]]\nargument = 3", "line 2: argument must be a table"),
    ("[[ask]]\nargument = {a = [3]}", "a must be a text or a list of texts."),
    ("[[ask]]\ntool = 'x'\nwhy = 3", "line 3: why must be a text."),
    ("deny = 'mail_*'", "line 1: write each deny under a separate line: [[deny]]"),
    ("[deny]\ntool = 'x'", "write each deny under a separate line: [[deny]]"),
    ("preset = 'a'\npreset = 'b'", "line 2: Cannot overwrite a value."),
    ("a = 1\nb = [", "line 2: "), ("x = " + "[" * 3000, "line 1: "),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_what_is_wrong_is_told_with_its_line(text: str, expected: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse_policy(text)
    assert expected in str(caught.value)
    assert str(caught.value).startswith("policy.toml line ")
    assert "\n" not in str(caught.value)


@given(
    st.recursive(
        st.booleans() | st.integers(-9, 9) | st.text(max_size=8) | st.floats(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=8,
    ),
    st.sampled_from(
        "allow approvers ask blocklist deny launch limits preset rate_limit read_only reads rule"
        " secrets".split()
    ),
)
def test_no_value_of_a_key_is_taken_wrongly_or_crashes(value: object, key: str) -> None:
    text = f"{key} = {_toml(value)}\n"
    try:
        policy = parse_policy(text)
    except SetupError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(policy, Policy)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "nan" if value != value else str(value).replace("inf", "inf")
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    return str(value)


def _quoted(text: str) -> str:
    shown = "".join(f"\\U{ord(ch):08x}" if not "\ud800" <= ch <= "\udfff" else "?" for ch in text)
    return f'"{shown}"'


def test_a_thousand_rules_are_read_at_once() -> None:
    rule = '\n[[deny]]\ntool = ["mail_send{0}*"]\nwhy = "no {0}"\nargument = {{ to = "*/{0}" }}\n'
    text = 'preset = "cautious"\n' + "".join(rule.format(number) for number in range(1000))
    begun = time.process_time()
    policy = parse_policy(text)
    assert time.process_time() - begun < 2
    assert policy.deny[-1].source == "policy.toml line 4998"


def test_the_file_lies_where_the_platform_or_iac_data_says(
    own_data_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert policy_path() == own_data_folder / "policy.toml"
    assert policy_path(tmp_path / "x") == tmp_path / "x"
    monkeypatch.delenv("IAC_DATA")
    assert policy_path().name == "policy.toml"
    assert policy_path().parent.name == "iac"


def test_without_a_file_the_defaults_hold_but_a_chosen_one_must_be_there(tmp_path: Path) -> None:
    assert load_policy() == Policy()
    with pytest.raises(SetupError, match=r"does not exist; create it with: iac-mcp policy edit"):
        load_policy(tmp_path / "none.toml")


def test_a_file_that_others_can_write_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("preset = 'trusted'")
    path.chmod(0o600)
    assert load_policy(path).preset == "trusted"
    path.chmod(0o666)
    with pytest.raises(SetupError, match="can be written by other users"):
        load_policy(path)


def test_a_file_that_cannot_be_read_is_an_error_and_no_default(
    tmp_path: Path, own_data_folder: Path
) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b"a = 1\nb = '\xff'\n")
    path.chmod(0o600)
    with pytest.raises(SetupError, match="line 2: this is not UTF-8"):
        load_policy(path)
    with pytest.raises(SetupError, match="is not a file"):
        load_policy(tmp_path)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(SetupError, match="larger than"):
        load_policy(path)
    own_data_folder.mkdir()
    (own_data_folder / "policy.toml").symlink_to(tmp_path / "gone.toml")
    with pytest.raises(SetupError, match="does not exist"):
        load_policy()
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(SetupError, match="cannot be read"):
        load_policy(loop)


def test_of_a_flag_the_environment_and_the_file_the_strictest_holds() -> None:
    policy = parse_policy("read_only = true\nrate_limit = 3")
    both = {"IAC_RATE_LIMIT": "4", "ACCESSIBILITY_MCP_RATE_LIMIT": "5", "IAC_READ_ONLY": "0"}
    flags = read_settings(PolicyFlags(True, 2), both, policy)
    assert flags.rate_limit == PolicySetting(2.0, "--rate-limit")
    assert flags.read_only == PolicySetting(True, "--read-only")
    for environ in (both, {}):
        kept = read_settings(PolicyFlags(rate_limit=50), environ, policy)
        assert kept.rate_limit == PolicySetting(3.0, "policy.toml line 2")
        assert kept.read_only == PolicySetting(True, "policy.toml line 1")
    alone = read_settings(PolicyFlags(), both, Policy())
    assert alone.rate_limit == PolicySetting(4.0, "IAC_RATE_LIMIT")
    assert alone.read_only == PolicySetting(False, "IAC_READ_ONLY")
    assert settings_of().rate_limit == PolicySetting(DEFAULT_RATE, "default")
    assert settings_of().read_only == PolicySetting(False, "default")
    other = {
        "IAC_READ_ONLY": "0", "ACCESSIBILITY_MCP_READ_ONLY": "TRUE", "IAC_RATE_LIMIT": "20",
        "ACCESSIBILITY_MCP_RATE_LIMIT": "2.5",
    }  # fmt: skip
    named = read_settings(PolicyFlags(), other, Policy())
    assert named.read_only == PolicySetting(True, "ACCESSIBILITY_MCP_READ_ONLY")
    assert named.rate_limit == PolicySetting(2.5, "ACCESSIBILITY_MCP_RATE_LIMIT")
    # The default is no wish of anybody's.
    assert read_settings(PolicyFlags(rate_limit=50), {}, Policy()).rate_limit.value == 50


@given(
    st.dictionaries(
        st.sampled_from(
            [
                f"{spelling}_{name}"
                for spelling in ("IAC", "ACCESSIBILITY_MCP")
                for name in ("READ_ONLY", "RATE_LIMIT", "BLOCKLIST")
            ]
        ),
        st.sampled_from(["", " ", "\t\n", "0", "1", "false", "99", "a.b", "maybe", "\u00a0"]),
    )
)
def test_no_variable_loosens_the_file(environ: dict[str, str]) -> None:
    text = "read_only = true\nrate_limit = 0.5\n[blocklist]\nadd = 'g.h'"
    file = read_settings(PolicyFlags(), {}, parse_policy(text))
    try:
        found = read_settings(PolicyFlags(), environ, parse_policy(text))
    except SetupError as error:
        assert any(name in str(error) for name in environ)
        return
    assert found.read_only.value is True
    assert found.rate_limit.value == 0.5
    assert {*file.added_blocklist} <= {*found.added_blocklist}
    if not "".join(environ.values()).strip():
        assert found == file


@pytest.mark.parametrize("environ", [
    {"IAC_READ_ONLY": "maybe"}, {"IAC_RATE_LIMIT": "fast"}, {"IAC_RATE_LIMIT": "inf"},
    {"IAC_RATE_LIMIT": "-1"}, {"IAC_BLOCKLIST": "com.apple.Notes, a/b"},
])  # fmt: skip
def test_a_variable_without_sense_is_an_error(environ: dict[str, str]) -> None:
    with pytest.raises(SetupError, match=next(iter(environ))):
        read_settings(PolicyFlags(), environ, Policy())


def test_the_blocklist_grows_from_every_side() -> None:
    environ = {"IAC_BLOCKLIST": "a.b; c.d", "ACCESSIBILITY_MCP_BLOCKLIST": "e.f"}
    policy = parse_policy("[blocklist]\nadd = 'g.h'")
    found = read_settings(PolicyFlags(blocklist=["i.j,k.l"]), environ, policy)
    assert found.added_blocklist == ("i.j", "k.l", "a.b", "c.d", "e.f", "g.h")
    assert found.blocklist[0].source == "--blocklist"
    assert found.blocklist[-1].source == "policy.toml line 1"


def test_the_blocklist_goes_by_bundle_id_without_case() -> None:
    for app in ("com.apple.TERMINAL", "com.1password.1password", "com.apple.securityagent"):
        assert find_blocklist_entry(app) is not None
    assert find_blocklist_entry("com.apple.Notes") is None
    assert find_blocklist_entry("local.notes") is None
    assert find_blocklist_entry("com.example.Bank", ["COM.example.*"]) is not None
    for nobody in ("", " ", "com apple", "../x", "a\nb", "é"):
        assert not is_app_identity(nobody)
        unread = "an app that could not be identified"
        assert find_blocklist_entry(nobody) == BlockedApp("without identity", unread, True)


@pytest.mark.parametrize(("app", "found"), [
    ("com.apple.Terminal", BlockedApp("com.apple.Terminal", "Terminal", False)),
    ("com.agilebits.x", BlockedApp("com.agilebits.*", "1Password", False)),
    ("IAC.x", BlockedApp("iac*", FIXED["iac*"], True)),
    ("com.example.Bank", BlockedApp("com.example.*", "com.example.*", False)),
])  # fmt: skip
def test_a_blocked_app_is_told_by_its_entry_and_name(app: str, found: BlockedApp) -> None:
    assert find_blocklist_entry(app, ["com.example.*", "iac*"]) == found


def test_texts_of_settings_and_terminals_may_be_read() -> None:
    for app in ("com.apple.Terminal", "com.apple.systempreferences", "com.apple.Notes"):
        assert not is_unreadable_app(app)
    assert not is_unreadable_app("com.apple.systempreferences.GeneralSettings")
    for app in ("com.apple.Passwords", "com.1password.1password", "com.apple.securityagent", ""):
        assert is_unreadable_app(app)


def test_only_the_file_shortens_the_blocklist_and_never_what_is_fixed() -> None:
    assert find_blocklist_entry("com.apple.Terminal", removed=["com.apple.Terminal"]) is None
    for entry in FIXED:
        found = find_blocklist_entry(entry.replace("*", "x"), removed=[*BUILT_IN, *FIXED])
        assert found is not None
        assert found.fixed


def test_the_page_on_the_policy_shows_a_policy_that_is_right_and_every_rule() -> None:
    page = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
    sample = page.split("```toml\n")[1].split("```")[0]
    assert len(parse_policy(sample).rules) == 1
    for rule in RULES:
        assert rule.to == "deny" or f"`{rule.name}`" in page
    for key in (*PRESETS, *APPROVERS):
        assert f"`{key}`" in page


def test_the_page_on_the_policy_names_every_key_verb_and_matcher() -> None:
    page = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
    sections = (key for keys in _SECTIONS.values() for key in keys)
    for key in (*_NEVER, *_MATCH, *sections, *MATCHER, *_KEYS):
        assert re.search(rf"`[^`]*\b{key}\b[^`]*`", page), key


def test_every_part_of_a_rule_is_a_row_of_the_table_of_conditions() -> None:
    assert CONDITIONS.keys() == {*Match._fields} - {"source", "why", "lines"}
