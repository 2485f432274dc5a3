"""Which calls may run: rules in Claude's syntax, modes, answers."""
# ruff: noqa: E501

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_helpers import Make, Run

from iac_scenario.model import PermissionRules
from iac_scenario.permissions import (
    PermissionRequest,
    UnclearLineError,
    decide_permission,
    is_read_only_line,
    parse_commands,
    rule_fault,
)
from iac_scenario.sandbox import Parts, path_parts


def place(path: str) -> Parts:
    return path_parts(path, ("/sandbox", "/home/me/project"))


def request(tool: str, value: str = "", *, reads: bool = False) -> PermissionRequest:
    key = "command" if tool == "Bash" else "file_path"
    return PermissionRequest(tool, {key: value} if value else {}, reads, place)


@pytest.mark.parametrize(("rule", "tool", "value", "expected"), [
    ("Bash", "Bash", "ls", True), ("Bash(*)", "Bash", "anything", True),
    ("Bash(git *)", "Bash", "git status", True), ("Bash(git *)", "Bash", "git", True),
    ("Bash(git *)", "Bash", "gitk", False), ("Bash(git:*)", "Bash", "git log -1", True),
    ("Bash(git:*)", "Bash", "github", False),
    ("Bash(git * --stat)", "Bash", "git log --stat", True), ("Bash(ls)", "Bash", "ls -l", False),
    ("Bash(ls *)", "Bash", "ls a && ls b", True), ("Bash(ls *)", "Bash", "ls a && rm b", False),
    ("Bash(ls *)", "Bash", "ls a; rm b", False), ("Bash(ls *)", "Bash", "ls a | tee b", False),
    ("Bash(ls *)", "Bash", "ls $(rm b)", False), ("Bash(ls *)", "Bash", "ls `rm b`", False),
    ("Bash(ls *)", "Bash", "ls $X", False), ("Bash(ls *)", "Bash", "ls | xargs rm", False),
    ("Bash(xargs *)", "Bash", "xargs -n 1 rm", False),
    ("Bash(xargs *)", "Bash", "xargs -a ls", False),
    ("Bash(ls *)", "Bash", "ls <<E\n$(rm b)\nE", False),
    ("Bash(ls *)", "Bash", "ls <<E\nx\nE\nrm b", False),
    ("Bash(ls *)", "Bash", "ls <<'E'\n$(rm b)\nE", True),
    ("Bash(ls *)", "Bash", "ls \\\n -l | ls", True),
    ("Bash(find *)", "Bash", "find . -exec rm {} +", False),
    ("Bash(find *)", "Bash", "find . -name '*.md'", True),
    ("Bash(bash *)", "Bash", "bash -c 'rm b'", False),
    ("Bash(bash *)", "Bash", "bash build.sh", True), ("Bash(env *)", "Bash", "env rm b", False),
    ("Bash(echo *)", "Bash", "echo a & rm b", False),
    ("Bash([[ *)", "Bash", "[[ 'a[$(rm b)]' -eq 0 ]]", False),
    ("Bash(echo $(date))", "Bash", "echo $(date)", True),
    ("Bash(grep *)", "Bash", "grep -q x a", True), ("Read(./docs/**)", "Read", "docs/a/b.md", True),
    ("Read(./docs/**)", "Read", "/sandbox/docs/a.md", True),
    ("Read(./docs/**)", "Glob", "docs/a.md", True),
    ("Read(./docs/**)", "Read", "docs/../src/a.md", False),
    ("Read(./docs/**)", "Read", "../docs/a.md", False),
    ("Read(/docs/*)", "Read", "docs/a/b.md", False),
    ("Read(//home/me/project/docs/**)", "Read", "docs/a.md", True),
    ("Read(~/docs/**)", "Read", "docs/a.md", False),
    ("Read(*.env)", "Read", "deep/down/.env", True), ("Edit(./src/**)", "Write", "src/a.py", True),
    ("Write", "Edit", "src/a.py", False), ("Read", "Write", "src/a.py", False),
    ("mcp__mail", "mcp__mail__send", "", True), ("mcp__mail", "mcp__mailer__send", "", False),
    ("mcp__mail__*", "mcp__mail__send", "", True),
    ("mcp__mail__get_*", "mcp__mail__get_one", "", True),
    ("mcp__mail__get_*", "mcp__mail__set_one", "", False),
    ("mcp__mail__send(x)", "mcp__mail__send", "", False),
])  # fmt: skip
def test_a_rule_allows_what_it_names(rule: str, tool: str, value: str, expected: bool) -> None:
    permissions = PermissionRules(mode="default", allow=(rule,))
    verdict = decide_permission(request(tool, value), permissions).verdict
    assert verdict == ("allow" if expected else "ask")


@pytest.mark.parametrize(("rule", "tool", "value"), [
    ("Bash(rm *)", "Bash", "ls && rm -rf x"), ("Bash(rm *)", "Bash", "echo a | rm b"),
    ("Bash(rm *)", "Bash", "FOO=$(date); rm b"), ("Bash(rm *)", "Bash", "sleep 1 & rm b"),
    ("Bash(rm *)", "Bash", "ls | xargs -0 rm"), ("Bash(rm *)", "Bash", "X=a; rm $X"),
    ("Bash(rm *)", "Bash", "! rm a"), ("Bash(rm *)", "Bash", "echo $(rm b)"),
    ("Bash(rm *)", "Bash", "for f in *; do rm $f; done"), ("Bash(rm *)", "Bash", "bash -c 'rm b'"),
    ("Bash(rm *)", "Bash", "env -i rm b"), ("Bash(rm *)", "Bash", "find . -exec rm {} +"),
    ("Bash(rm *)", "Bash", "/bin/rm b"), ("Bash(rm *)", "Bash", '\\rm b; r""m c'),
    ("Bash(rm *)", "Bash", "{rm,-f,b}"), ("Bash(rm *)", "Bash", "x=1 rm b"),
    ("Bash(git push *)", "Bash", "(git push origin)"), ("Read(./secret/**)", "Read", "Secret/key"),
    ("Read(./secret/**)", "Read", "./secret/./key"),
    ("Read(./caf\u00e9/**)", "Read", "cafe\u0301/key"),
    ("Read(./secret/**)", "Read", "/etc/passwd"),
])  # fmt: skip
def test_a_rule_denies_in_doubt(rule: str, tool: str, value: str) -> None:
    assert decide_permission(request(tool, value), PermissionRules(deny=(rule,))).verdict == "deny"


@pytest.mark.parametrize(
    "line",
    ["$X b", "eval $(echo cm0gYg== | base64 -d)", "r\\\nm b", "`cat x`", "a=r; ${a}m b", "echo '"],
)
def test_a_line_that_cannot_be_read_is_asked_about_where_a_rule_may_mean_it(line: str) -> None:
    asked = decide_permission(
        request("Bash", line), PermissionRules(allow=("Bash",), deny=("Bash(rm *)",))
    )
    assert asked.verdict == "ask"
    assert asked.reason.startswith("the rule Bash(rm *) may apply to it: ")
    unasked = PermissionRules(mode="dont-ask", allow=("Bash",), ask=("Bash(rm *)",))
    assert decide_permission(request("Bash", line), unasked).verdict == "deny"
    assert (
        decide_permission(request("Bash", line), PermissionRules(deny=("Read",))).verdict == "allow"
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -la | sort | uniq -c | head -3", True), ("cat a; echo 'b $c'", True), ("", True),
        ("find . -name '*.py' | xargs grep -l x", True), ("sed -n 2,3p a", True), ("sed 's/a/b/g' a", True),
        ("sort -k2 a && ! test -f b", True), ("[ $? -eq 0 ]", True), ("find . -name *.md", True),
        ("echo a > b", False), ("rm a", False), ("sed -i 1d a", False), ("sed '1w b' a", False),
        ("sed 's/a/b/e' a", False), ("sed -n '1e rm a'", False), ("sed -f x a", False), ("sort -o b a", False),
        ("sort --compress-program=./x a", False), ("sort {-o,b} a", False), ("sort *", False), ("uniq a b", False),
        ("find . -delete", False), ("find . -fprint b", False), ("find . -{delete,print}", False),
        ("find . -exec cat {} +", False), ("ls | xargs rm", False), ("ls | xargs sort", False), ("ls | xargs", True),
        ("echo $X", False), ("echo `rm a`", False), ("X=1; ls", False), ("export PATH=.; ls", False),
        ("test -v 'a[$(rm b)]'", False), ("cat <<E\n$(rm b)\nE", False), ("awk 1 a", False), ("(ls)", False),
    ],
)  # fmt: skip
def test_what_only_reads(line: str, expected: bool) -> None:
    assert is_read_only_line(line) is expected


@given(st.text("abrmls -&|;$`'\"\\\n()<>", max_size=25))
def test_no_line_that_runs_a_denied_command_slips_through(line: str) -> None:
    try:
        names = {seen.words[0].text for seen in parse_commands(line)}
    except UnclearLineError:
        names = set()
    verdict = decide_permission(
        request("Bash", line or " "), PermissionRules(deny=("Bash(rm *)",))
    ).verdict
    if "rm" in names:
        assert verdict == "deny"


@pytest.mark.parametrize(("mode", "verdicts"), [
    (None, "allow allow allow"), ("default", "allow ask ask"), ("plan", "allow deny deny"),
    ("accept-edits", "allow allow ask"), ("bypass-permissions", "allow allow allow"),
    ("dont-ask", "allow deny deny"),
])  # fmt: skip
def test_a_mode_says_what_no_rule_says(mode: str | None, verdicts: str) -> None:
    permissions = PermissionRules(mode=mode)  # type: ignore[arg-type]
    calls = (request("Read", "a", reads=True), request("Write", "a"), request("Bash", "make"))
    assert [decide_permission(call, permissions).verdict for call in calls] == verdicts.split()


DOCUMENTED = [
    # Compound commands: "A rule must match each subcommand independently."
    ("allow", "Bash(npm test *)", "Bash", "npm test a & npm test b", "allow"),
    ("allow", "Bash(npm test *)", "Bash", "npm test a |& tee log", "ask"),
    ("allow", "Bash(npm test *)", "Bash", "npm test a\nrm b", "ask"),
    # Process wrappers: "timeout, time, nice, nohup, stdbuf, command, builtin and bare xargs".
    ("allow", "Bash(npm test *)", "Bash", "timeout 30 npm test", "allow"),
    ("allow", "Bash(npm test *)", "Bash", "timeout -k 5 30 nice -n 3 npm test", "allow"),
    ("allow", "Bash(npm test *)", "Bash", "stdbuf -oL nohup npm test", "allow"),
    ("allow", "Bash(npm test *)", "Bash", "time npm test && command npm test", "allow"),
    ("allow", "Bash(grep *)", "Bash", "xargs grep x", "allow"),
    ("allow", "Bash(grep *)", "Bash", "xargs -n1 grep x", "ask"),
    ("allow", "Bash(npm test *)", "Bash", "npx npm test", "ask"),
    ("allow", "Bash(timeout *)", "Bash", "timeout 3 rm b", "ask"),
    ("deny", "Bash(rm *)", "Bash", "timeout 3 rm b", "deny"),
    ("deny", "Bash(timeout *)", "Bash", "timeout 3 ls", "deny"),
    ("allow", "Bash(find *)", "Bash", "find . -delete -exec rm {} +", "ask"),
    # Redirections: "the check covers your Edit allow and deny rules, protected paths, and the
    # working directories."
    # The client asks about each, as `nox -s oracle` has it.
    ("allow", "Bash(echo *)", "Bash", "echo a > b", "ask"),
    ("allow", "Bash(echo *)", "Bash", "echo a > /dev/null 2>&1", "allow"),
    ("allow", "Bash(echo *)", "Bash", "echo a > ../b", "ask"),
    ("allow", "Bash(echo *)", "Bash", "echo a >> /etc/hosts", "ask"),
    ("allow", "Bash(echo *)", "Bash", "echo a > .git/hooks/pre-commit", "ask"),
    ("allow", "Bash(echo *)", "Bash", "echo a 2>&1 > /dev/null", "allow"),
    ("deny", "Edit(./src/**)", "Bash", "echo a > src/b", "deny"),
    ("deny", "Edit(./src/**)", "Bash", "make 2> src/b", "deny"),
    ("deny", "Edit(./src/**)", "Bash", "echo a > src*", "ask"),
    ("deny", "Edit(./src/**)", "Bash", "echo a | tee src/b", "deny"),
    ("deny", "Edit(./src/**)", "Bash", "cat src/b", "allow"),
    ("ask", "Edit(./src/**)", "Bash", "cp a src/b", "ask"),
    # Read and Edit: "deny rules apply to the file commands that are recognized in Bash".
    ("deny", "Read(./.env)", "Bash", "cat .env", "deny"),
    ("deny", "Read(./.env)", "Bash", "wc -l < .env", "deny"),
    ("deny", "Read(.env)", "Bash", "ls && head -1 deep/.env", "deny"),
    ("deny", "Read(./secret)", "Bash", "grep -r x secret/a", "deny"),
    ("deny", "Read(./.env)", "Bash", "cat .e*", "ask"),
    ("deny", "Read(./.env)", "Bash", "cd a && cat b", "ask"),
    ("deny", "Read(./.env)", "Bash", "cat $X", "ask"),
    ("deny", "Read(./.env)", "Bash", "echo .env", "allow"),
    # "Read rules apply to Grep and Glob"; what they may not read is left out of what they find.
    ("deny", "Read(./secret/**)", "Grep", "secret", "deny"),
    ("deny", "Read(./secret/**)", "Grep", ".", "allow"),
    ("ask", "Read(./secret/**)", "Grep", ".", "ask"),
    ("ask", "Read(./secret/**)", "Glob", "src", "allow"),
    # "Only Read(path) and Edit(path) are consulted."
    ("deny", "Write(./src/**)", "Write", "src/a", "allow"),
    ("deny", "Glob(./src/**)", "Glob", "src/a", "allow"),
    # MCP: "allow rules only accept globs after a literal mcp__<server>__ prefix".
    ("allow", "mcp__*", "mcp__mail__send", "", "ask"),
    ("allow", "mcp__mail__*", "mcp__mail__send", "", "allow"),
    ("deny", "mcp__*", "mcp__mail__send", "", "deny"),
]
"""Rows of https://code.claude.com/docs/en/permissions (September 2026), by section."""


@pytest.mark.parametrize(("kind", "rule", "tool", "value", "expected"), DOCUMENTED)
def test_rules_hold_as_they_are_documented(
    kind: str, rule: str, tool: str, value: str, expected: str
) -> None:
    rules = {kind: (rule,)}
    permissions = PermissionRules(mode="default" if kind == "allow" else None, **rules)  # type: ignore[arg-type]
    asked = request(tool, value)
    if tool in ("Grep", "Glob"):
        asked = PermissionRequest(tool, {"path": value}, True, place)
    assert decide_permission(asked, permissions).verdict == expected


@pytest.mark.parametrize(("line", "expected"), [
    ("mkdir a && cp b a/b && ls", "allow"), ("rm -rf a", "allow"), ("mv a ../b", "ask"),
    ("touch .git/config", "ask"), ("make", "ask"), ("ls > b", "allow"),
])  # fmt: skip
def test_accepted_edits_are_file_commands_too(line: str, expected: str) -> None:
    assert (
        decide_permission(request("Bash", line), PermissionRules(mode="accept-edits")).verdict
        == expected
    )


@pytest.mark.usefixtures("confinement")
def test_what_may_not_be_read_is_not_found_and_paths_begin_where_bash_is(
    make: Make, run: Run
) -> None:
    path = make("""
        tool_execution.mode = "simulated"
        [tool_execution.files]
        "a/key" = "hi"
        "secret/key" = "hi"
        ".env" = "hi"
        [permissions]
        deny = ["Read(./secret/**)", "Read(.env)", "Write(a)"]
        [default_response]
        tool_calls = [
          { tool = "Grep", input = { pattern = "hi" }, expect = { equals = "Found 1 file\\na/key" } },
          { tool = "Glob", input = { pattern = "**/key" }, expect = { equals = "a/key" } },
          { tool = "Bash", input = { command = "cat a/key; cd secret" }, expect = { equals = "hi" } },
          { tool = "Bash", input = { command = "cat key" }, expect = { contains = "denied", is_error = true } },
        ]
        """)
    ran = run("run", path, "-p", "x")
    assert ran.status == 0, ran.err
    assert "'Write(a)' is ignored, as it is in Claude Code. Write Edit(a) instead." in ran.err


def test_deny_wins_over_ask_and_ask_over_allow() -> None:
    rules = {"allow": ("Bash",), "ask": ("Bash(git *)",), "deny": ("Bash(git push *)",)}
    permissions = PermissionRules(mode="bypass-permissions", **rules)  # type: ignore[arg-type]
    said = [
        decide_permission(request("Bash", line), permissions).verdict
        for line in ("ls", "git a", "git push b")
    ]
    assert said == ["allow", "ask", "deny"]
    plan = PermissionRules(mode="plan", allow=("Bash",))
    assert decide_permission(request("Bash", "make"), plan).verdict == "deny"
    asked = PermissionRules(mode="dont-ask", ask=("Bash",))
    assert decide_permission(request("Bash", "make"), asked).verdict == "deny"


def test_rules_that_are_none() -> None:
    assert rule_fault("Bash(git *)") is None
    assert rule_fault("mcp__a__b*") is None
    assert "is not a rule" in str(rule_fault("Bash(git"))


@pytest.mark.usefixtures("confinement")
def test_denied_is_a_result_and_the_run_goes_on(make: Make, run: Run) -> None:
    path = make("""
        tool_execution.mode = "simulated"
        tool_execution.tools.Grep.auto_approve = true
        [permissions]
        mode = "default"
        deny = ["Bash(rm *)"]
        ask = ["Grep", "Read(./secret/**)"]
        [default_response]
        tool_calls = [
          { tool = "Bash", input = { command = "rm x" }, expect = { contains = "has been denied", is_error = true } },
          { tool = "Write", input = { file_path = "a", content = "1" }, expect = { is_error = true } },
          { tool = "Write", input = { file_path = "a", content = "1" }, approve = true, expect = { is_error = false } },
          { tool = "Read", input = { file_path = "a" }, expect = { contains = "1" } },
          { tool = "Read", input = { file_path = "secret/a" }, expect = { contains = "haven't granted it yet", is_error = true } },
          { tool = "Bash", input = { command = "cat a | wc -c" }, expect = { equals = 1 } },
          { tool = "Bash", input = { command = "echo 1 > b" }, expect = { is_error = true } },
          { tool = "Grep", input = { pattern = "1" }, approve = false, expect = { is_error = true } },
        ]
        """)
    ran = run("run", path, "-p", "x")
    assert ran.status == 0, ran.err
    ran = run("run", path, "-p", "x", "--permission-mode", "bypass-permissions")
    assert ran.status == 1
    answered = make(
        path.read_text().replace('mode = "default"', 'mode = "default"\nanswer = "allow"')
    )
    assert "File created" in run("run", answered, "-p", "x").out
