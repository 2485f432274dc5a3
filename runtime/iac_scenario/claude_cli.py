"""`claude` as a command: the flags of Claude Code 2.1, answered by a scenario.

`iac-scenario install-claude` puts it on the PATH of a test as `claude`, so that a program that
drives the client can be tested. It is no script of the wheel: that would hide the real client.
"""

import json
import os
import re
import select
import shlex
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from click.core import ParameterSource

from iac_scenario.conversation import FAILURES
from iac_scenario.mcp_servers import read_config
from iac_scenario.model import (
    CLIENT_VERSION,
    InjectedFailure,
    PlayError,
    PromptPattern,
    ResponseRule,
    ScenarioError,
    ScenarioScript,
    ScriptedReply,
)
from iac_scenario.output import OUTPUT_FORMATS, parts_format
from iac_scenario.play_cli import load_with_warnings, play_prompts
from iac_scenario.player import PlaySettings
from iac_scenario.reader import session_identity
from iac_scenario.results import shorten_value
from iac_scenario.session import CLIENT_MODES, fork_session, latest_session

_COMMANDS: Final = frozenset(
    "agents auth auto-mode doctor install mcp plugin plugins project setup-token ultrareview update"
    " upgrade".split()
)
_VALUES: Final = (
    "--add-dir --agent --agents --append-system-prompt --append-system-prompt-file --betas"
    " --debug-file --effort --fallback-model --file --from-pr --json-schema --max-budget-usd"
    " --max-thinking-tokens --name --permission-prompt-tool --plugin-dir --system-prompt"
    " --system-prompt-file --tools"
)
"""Flags with a value that a scripted answer does not depend on."""
_SWITCHES: Final = (
    "--allow-dangerously-skip-permissions --bare --chrome --disable-slash-commands --ide"
    " --mcp-debug --no-chrome --strict-mcp-config"
)
_ALLOWED: Final = frozenset(("unreached", "unchecked", "unjudged", "error"))
"""Each run is a part of the conversation that the file describes."""
_FOLDERS: Final = (
    "IAC_SCENARIO_CONFIG_DIR", "CLAUDELESS_CONFIG_DIR", "CLAUDELESS_STATE_DIR", "CLAUDE_CONFIG_DIR",
)  # fmt: skip
_SECONDS_FOR_INPUT: Final = 3
_NO_INPUT: Final = (
    "Error: Input must be provided either through stdin or as a prompt argument when using --print"
)
_UNSCRIPTED: Final = "No scenario is set: name one with --scenario or IAC_SCENARIO_FILE."


def _names_servers(word: str) -> bool:
    return word.startswith("{") or Path(word).is_file()


_VARIADIC: Final[Mapping[str, Callable[[str], bool]]] = {
    # A prompt may follow, which the client itself takes for a further file.
    "--mcp-config": _names_servers,
    **dict.fromkeys(("--add-dir", "--plugin-dir", "--file"), os.path.exists),
    **dict.fromkeys(
        ("--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools", "--betas",
         "--tools"), bool,
    ),
}  # fmt: skip
"""Flags that take several words, and which words after the first are theirs."""


def _repeated_flags(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line with a flag before each of its values."""
    flag, first = "", False
    for word in words:
        if word.startswith("-") and word != "-":
            flag, first = word if word in _VARIADIC else "", True
            if not flag:
                yield word
        elif flag and (first or _VARIADIC[flag](word)):
            yield from (flag, word)
            first = False
        else:
            flag = ""
            yield word


@contextmanager
def _client_errors() -> Iterator[None]:
    """End as the client does: with one line and status 1."""
    try:
        yield
    except click.NoSuchOption as error:
        _end(f"error: unknown option '{error.option_name}'")
    except click.ClickException as error:
        _end(f"error: {error.format_message()}")
    except (PlayError, ScenarioError) as error:
        _end(str(error))


def _end(text: str) -> NoReturn:
    click.echo(text, err=True)
    sys.exit(1)


class ClaudeCommand(click.Command):
    """A command that reads its words as the client does, and fails as it does."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        """Return the context of these words."""
        with _client_errors():
            return super().make_context(info_name, [*_repeated_flags(args)], parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _client_errors():
            return super().invoke(ctx)


def _unused_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags of the client that change nothing here."""
    for flag in _VALUES.split():
        command = click.option(flag, multiple=True, hidden=True, expose_value=False)(command)
    for flag in _SWITCHES.split():
        command = click.option(flag, is_flag=True, hidden=True, expose_value=False)(command)
    return command


@click.command(
    cls=ClaudeCommand,
    epilog="Other flags of Claude Code 2.1 are taken too, and change nothing.",
)
@click.version_option(f"{CLIENT_VERSION} (Claude Code)", "-v", "--version", message="%(version)s")
@click.argument("words", nargs=-1, metavar="[TEXT]")
@click.option("-p", "--print", "printed", is_flag=True, help="Answer and end, as without it.")
@click.option("--scenario", envvar=("IAC_SCENARIO_FILE", "CLAUDELESS_SCENARIO"),
              type=click.Path(path_type=Path), help="The scenario that answers.")  # fmt: skip
@click.option("--failure", type=click.Choice([kind.replace("_", "-") for kind in FAILURES]),
              help="Fail at every prompt.")  # fmt: skip
@click.option("--config-dir", envvar=_FOLDERS, type=click.Path(path_type=Path),
              help="Store sessions in this folder.")  # fmt: skip
@click.option("--output-format", "form", type=click.Choice(OUTPUT_FORMATS), default="text")
@click.option("--input-format", type=click.Choice(("text", "stream-json")), default="text")
@click.option("--verbose", is_flag=True, help="Required by stream-json.")
@click.option("--include-partial-messages", "partial", is_flag=True)
@click.option("--replay-user-messages", "replay", is_flag=True)
@click.option("--model")
@click.option("--max-turns", type=click.IntRange(1), help="Replies to one prompt, at most.")
@click.option("--permission-mode", "mode", type=click.Choice([*CLIENT_MODES]))
@click.option("--dangerously-skip-permissions", "skipped", is_flag=True)
@click.option("--allowedTools", "--allowed-tools", "allow", multiple=True)
@click.option("--disallowedTools", "--disallowed-tools", "deny", multiple=True)
@click.option("--mcp-config", "configs", multiple=True, help="A file, or JSON; repeatable.")
@click.option("--settings", multiple=True, help="A settings file, or JSON; repeatable.")
@click.option("--setting-sources", "sources", default="user,project,local", show_default=True)
@click.option("-c", "--continue", "continued", is_flag=True)
@click.option("-r", "--resume", type=click.UUID)
@click.option("--session-id", type=click.UUID)
@click.option("--fork-session", "forked", is_flag=True)
@click.option("--no-session-persistence", "unkept", is_flag=True)
@click.option("-d", "--debug", is_flag=False, flag_value="", hidden=True, expose_value=False)
@_unused_options
def claude(words: tuple[str, ...], scenario: Path | None, form: str, **given: Any) -> None:
    """Answer TEXT as Claude Code's `claude -p` does, from a scenario.

    Tools work in this folder. Each run is one session; --continue and --resume go on with one.
    """
    if words[:1] and words[0] in _COMMANDS:
        _end(f"error: `claude {words[0]}` is not simulated; only prompts are.")
    streamed = given["input_format"] == "stream-json"
    if streamed and form != "stream-json":
        _end("Error: --input-format=stream-json requires output-format=stream-json.")
    # Whoever names the scenario as claudeless does gets what claudeless takes.
    named = click.get_current_context().get_parameter_source("scenario")
    as_client = named == ParameterSource.ENVIRONMENT and "CLAUDELESS_SCENARIO" not in os.environ
    if form == "stream-json" and not given["verbose"] and as_client:
        _end("Error: When using --print, --output-format=stream-json requires --verbose")
    prompts = streamed_prompts(replay=given["replay"]) if streamed else [_whole_prompt(words)]
    folder = None if given["unkept"] else given["config_dir"]
    script, resumed = _with_session(_client_scenario(scenario, given), folder, given)
    rules = {"allow": _tool_rules(given["allow"]), "deny": _tool_rules(given["deny"])}
    configs = [read_config(one) for one in given["configs"]]
    settings = PlaySettings(
        sandbox_root=Path.cwd(),
        servers={name: server for config in configs for name, server in config.items()},
        allowed=_ALLOWED,
        config_dir=folder,
        resumed=resumed,
        settings=(*_found_settings(folder, given["sources"]), *given["settings"],
                  json.dumps({"permissions": rules})),
        max_turns=given["max_turns"],
    )  # fmt: skip
    form = parts_format(form) if given["partial"] else "result text" if form == "text" else form
    sys.exit(play_prompts(script, prompts, settings, form))


def _client_scenario(path: Path | None, given: Mapping[str, Any]) -> ScenarioScript:
    """Return the scenario that the flags mean."""
    if path is not None:
        script = load_with_warnings(path).scenario
    else:
        script = ScenarioScript(Path("claude"), "claude", session_identity({}, "claude"),
                                default=ScriptedReply(_UNSCRIPTED))  # fmt: skip
    if given["failure"]:
        failure = InjectedFailure(given["failure"].replace("-", "_"))
        rule = ResponseRule(PromptPattern("any"), ScriptedReply(), failure)
        script = replace(script, rules=(rule,))
    rules, identity = script.permissions, script.identity
    mode = rules.mode or ("default" if given["allow"] else None)
    mode = CLIENT_MODES[given["mode"]] if given["mode"] else mode
    mode = "bypass-permissions" if given["skipped"] else mode
    model, place = given["model"] or identity.model, identity.working_directory or str(Path.cwd())
    identity = replace(identity, model=model, working_directory=place)
    return replace(script, identity=identity, permissions=replace(rules, mode=mode))


def _with_session(
    script: ScenarioScript, folder: Path | None, given: Mapping[str, Any]
) -> tuple[ScenarioScript, bool]:
    """Return the scenario with its session's id, and whether that session goes on."""
    identity, known = script.identity, given["resume"]
    if given["continued"] and not known:
        known = latest_session(folder, identity.working_directory)
    own = given["session_id"] or identity.session_id
    # As in the client: each run is another session, unless somebody gives the id.
    if own == session_identity({"seed": identity.seed}, script.name).session_id:
        own = uuid.uuid4()
    if known and (given["forked"] or given["session_id"]):
        fork_session(folder, identity.working_directory or "", str(known), str(own))
    elif known:
        own = known
    return replace(script, identity=replace(identity, session_id=str(own))), bool(known)


def _found_settings(folder: Path | None, sources: str) -> Iterator[Path]:
    """Yield the settings files that are there, in the order of the client."""
    files = {"user": folder and folder / "settings.json", "project": Path(".claude/settings.json"),
             "local": Path(".claude/settings.local.json")}  # fmt: skip
    for source in filter(None, sources.split(",")):
        if source not in files:
            _end(f"Error processing --setting-sources: Invalid setting source: {source}.")
    yield from (file for name, file in files.items() if name in sources and file and file.is_file())


def _tool_rules(words: Sequence[str]) -> list[str]:
    """Return the rules of lists that commas or spaces separate."""
    return [rule for word in words for rule in re.findall(r"[^\s,(]+(?:\([^)]*\))?", word)]


def _whole_prompt(words: Sequence[str]) -> str:
    """Return the prompt: the first word, then what standard input holds."""
    source, given = sys.stdin, ""
    if not source.isatty():
        ready = not words or select.select([source], [], [], _SECONDS_FOR_INPUT)[0]
        given = source.buffer.read().decode("utf-8", "replace") if ready else ""
    prompt = "\n".join(filter(None, (*words[:1], given.strip())))
    if not prompt:
        _end(_NO_INPUT)
    return prompt


def streamed_prompts(*, replay: bool) -> Iterator[str]:
    """Yield the prompts of messages on standard input, and answer what a program asks beside."""
    for line in filter(bytes.strip, sys.stdin.buffer):
        try:
            message = json.loads(line)
            kind = message["type"]
            if kind == "control_request":
                told = {"commands": [], "output_style": "default", "models": [], "account": {}}
                answer = {"subtype": "success", "request_id": message["request_id"],
                          "response": told if _asks_to_begin(message) else {}}  # fmt: skip
                click.echo(json.dumps({"type": "control_response", "response": answer}))
            elif kind == "user":
                content = message["message"]["content"]
                if replay:
                    click.echo(json.dumps({**message, "isReplay": True}, ensure_ascii=False))
                blocks = [{"text": content}] if isinstance(content, str) else content
                yield "\n".join(block["text"] for block in blocks if "text" in block)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            shown = shorten_value(line.decode("utf-8", "replace").strip())
            raise PlayError(f"Error parsing streaming input line: {shown}: {error!r}") from None


def _asks_to_begin(message: Mapping[str, Any]) -> bool:
    return bool(message["request"]["subtype"] == "initialize")


@click.command("install-claude")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
def install_claude(folder: Path, file: Path) -> None:
    """Write a program called `claude` to DIR, which answers as the scenario FILE says.

    Put DIR first on the PATH of the program that you test. Sessions are stored in
    DIR/config, unless CLAUDE_CONFIG_DIR names another folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program, here = folder / "claude", shlex.quote(str(folder.resolve() / "config"))
    words = shlex.join([sys.executable, "-m", "iac_scenario", "claude"])
    lines = (
        "#!/bin/sh",
        f'[ -n "$IAC_SCENARIO_FILE" ] || IAC_SCENARIO_FILE={shlex.quote(str(file.resolve()))}',
        f'[ -n "$CLAUDE_CONFIG_DIR" ] || CLAUDE_CONFIG_DIR={here}',
        f'export IAC_SCENARIO_FILE CLAUDE_CONFIG_DIR; exec {words} "$@"\n',
    )
    program.write_text("\n".join(lines), encoding="utf-8")
    program.chmod(0o755)
    click.echo(f"{program} answers as {file} says. Put it on the PATH: "
               f"export PATH={shlex.quote(str(folder.resolve()))}:$PATH")  # fmt: skip
