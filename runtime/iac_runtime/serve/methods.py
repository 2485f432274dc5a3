"""What the server answers to the requests of the protocol that lead behind the front.

Results are in the form of the older era, their keys in the order in which the SDK writes them; the
one who sends them adds what the newer era wants. Nothing here knows the SDK: the front calls it
from threads of its own, `handlers` for the sessions of the SDK.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from iac_base.errors import CallRefusedError, Cancellation, IacError, ToolError, nearest_names
from iac_base.words import fold_name
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, RefusedCall
from iac_runtime.gate.results import clean_value
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.prompts import Question
from iac_runtime.serve.call import CallMethod, Method, Peer, Result, read_requester, text_content
from iac_runtime.serve.listing import CALL_SECONDS, Listings
from iac_runtime.serve.protocol import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError
from iac_runtime.serve.status import StatusFile, status_facts
from iac_runtime.tool import Level, at_most
from iac_runtime.tools.catalogue import Catalogue

if TYPE_CHECKING:
    from iac_runtime.serve.resources import ResourceSources
    from iac_runtime.serve.tasks import TaskCalls

MAX_COMPLETIONS: Final = 100
"""Values of one answer, as the protocol limits them."""

_ABSENT: Final = ("INVALID_PARAMETER", "NOT_FOUND", "UNKNOWN_TOOL")


class Methods(NamedTuple):
    """The methods, by what they do."""

    call_tool: Method
    read_resource: Method
    get_prompt: Method
    complete: Method
    list_skills: Method
    get_skill: Method
    get_task: Method
    update_task: Method
    cancel_task: Method

    def by_name(self) -> Mapping[str, Method]:
        """Return them by the names that the protocol gives them."""
        names = (
            *("tools/call", "resources/read", "prompts/get", "completion/complete"),
            *("skills/list", "skills/get", "tasks/get", "tasks/update", "tasks/cancel"),
        )
        return dict(zip(names, self, strict=True))


def build_methods(
    gate: Gate, lines: Listings, status: StatusFile | None = None, patience: float = CALL_SECONDS
) -> Methods:
    """Return the methods on a gate with a catalogue.

    Args:
        gate: Carries out calls.
        lines: What is listed.
        status: Counts the calls.
        patience: Seconds after which a call is ended.
    """

    def current_catalogue() -> Catalogue:
        assert gate.catalogue is not None
        return gate.catalogue

    def make_sources(peer: Peer) -> "ResourceSources":
        from iac_runtime.serve.resources import ResourceSources

        call, shown = (
            partial(_through_gate, gate, read_requester(peer)),
            partial(status_facts, status),
        )
        if peer.remote is not None:
            # Whoever else is served here is no concern of its.
            shown = partial(
                dict[str, Any], servers=[status.facts()] if status else [], paused=[], unshown=[]
            )
        return ResourceSources(current_catalogue, gate.read_only, shown, call)

    calls = CallMethod(gate, current_catalogue, status, patience, finds=lines.has_find_tools)

    @cache
    def open_tasks() -> "TaskCalls":
        from iac_runtime.serve import tasks

        return tasks.TaskCalls(calls, tasks.DIRECT_SECONDS)

    def call_tool(params: Mapping[str, Any], peer: Peer, cancel: Cancellation) -> Result:
        method = open_tasks().call_tool if peer.modern and peer.tasks else calls
        return method(params, peer, cancel)

    return Methods(
        call_tool,
        partial(_read_resource, make_sources, calls.pending_questions),
        partial(_get_prompt, lines),
        partial(_complete_argument, make_sources),
        _list_skills,
        _get_skill,
        lambda *request: open_tasks().get_task(*request),
        lambda *request: open_tasks().update_task(*request),
        lambda *request: open_tasks().cancel_task(*request),
    )


def protocol_error(error: IacError) -> ProtocolError:
    """Return the protocol's error for what cannot be read.

    What is not there is the caller's mistake in both eras; the code of its own that older versions
    had was withdrawn. Source: MCP 2026-07-28, "Resources".
    """
    absent = isinstance(error, ToolError) and error.type in _ABSENT
    return ProtocolError(INVALID_PARAMS if absent else INTERNAL_ERROR, str(clean_value(str(error))))


# What these need is loaded when one is asked for: most servers are asked for calls alone.


def _read_resource(
    sources: "Callable[[Peer], ResourceSources]",
    questions: Callable[[str], list[Question]],
    params: Mapping[str, Any],
    peer: Peer,
    _cancel: Cancellation,
) -> Result:
    from iac_runtime.serve.resources import read_resource

    uri = params["uri"]
    if peer.views and uri.startswith("ui:"):
        from iac_runtime.serve.resources import read_view

        view = read_view(uri, questions(read_requester(peer).token_client))
        if view is not None:
            return {"contents": [view]}
    try:
        text, mime, note_text = read_resource(uri, sources(peer))
    except IacError as error:
        raise protocol_error(error) from None
    note = {"_meta": {"iac/note": note_text}} if note_text else {}
    return {"contents": [{**note, "mimeType": mime, "text": text, "uri": uri}]}


def _list_skills(_params: Mapping[str, Any], _peer: Peer, _cancel: Cancellation) -> Result:
    from iac_runtime.serve.skills import skill_entries

    return {"skills": skill_entries()}


def _get_skill(params: Mapping[str, Any], _peer: Peer, _cancel: Cancellation) -> Result:
    from iac_runtime.serve.skills import find_skill_entry

    try:
        return {"skill": find_skill_entry(params["uri"])}
    except IacError as error:
        raise protocol_error(error) from None


def _through_gate(gate: Gate, who: Requester, tool: str, given: Mapping[str, Any]) -> Any:
    """Return what a tool answers; nobody is asked, for a resource has no way to.

    Raises:
        ToolError: It was refused or failed; what would ask names the tool to call instead.
    """
    outcome = gate.call(Call(tool, given, who))
    if isinstance(outcome, CompletedCall):
        return outcome.value
    assert isinstance(outcome, RefusedCall)
    if not outcome.requires_prompt:
        raise outcome.error
    raise CallRefusedError(
        "Reading this resource requires approval, and a resource cannot show a prompt.",
        f"Call the tool {tool} with {json.dumps(given)} instead.",
        app=outcome.app,
        command=tool,
        kind=outcome.kind,
    )


def _get_prompt(
    lines: Listings, params: Mapping[str, Any], _peer: Peer, _cancel: Cancellation
) -> Result:
    from iac_runtime.serve.resources import find_prompt, guide_text, prompt_text

    given = clean_value(params.get("arguments") or {})
    try:
        prompt = find_prompt(params["name"], lines.app_ids())
        text = prompt_text(prompt, given)
        if prompt.guide:
            text = f"{text}\n\n{guide_text(given[prompt.guide])}"
    except IacError as error:
        raise protocol_error(error) from None
    message = {"content": text_content(text), "role": "user"}
    return {"description": prompt.description, "messages": [message]}


def _complete_argument(
    sources: "Callable[[Peer], ResourceSources]",
    params: Mapping[str, Any],
    peer: Peer,
    _cancel: Cancellation,
) -> Result:
    """Return completions; what is not known has none."""
    ref, name, begun = params["ref"], params["argument"]["name"], params["argument"]["value"]
    values: Collection[str] = ()
    if ref["type"] == "ref/prompt":
        values = _prompt_values(ref["name"], name)
    else:
        # What is wrong with the tools is said where one is asked for.
        with suppress(IacError):
            values = _template_values(ref["uri"], name, sources(peer))
    matching = _matching_values(begun, values)
    rest = {
        "hasMore": len(matching) > MAX_COMPLETIONS,
        "total": len(matching),
        "values": matching[:MAX_COMPLETIONS],
    }
    return {"completion": rest}


def _matching_values(begun: str, values: Iterable[str]) -> list[str]:
    """Return the values that begin like `begun`, then those that hold it, else the nearest."""
    known = sorted(set(values))
    wanted = fold_name(begun)
    if not wanted:
        return known
    first = [value for value in known if fold_name(value).startswith(wanted)]
    within = [value for value in known if wanted in fold_name(value) and value not in first]
    return [*first, *within] or nearest_names(begun, known)


def _prompt_values(prompt: str, argument: str) -> Collection[str]:
    from iac_runtime.serve.resources import PROMPTS, guide_names

    recipe = next((found for found in PROMPTS if found.name == prompt), None)
    if recipe is None:
        return ()
    if argument == recipe.guide:
        return guide_names()
    return next((row.values for row in recipe.arguments if row.name == argument), ())


def _template_values(uri: str, argument: str, sources: "ResourceSources") -> Collection[str]:
    from iac_runtime.serve.resources import TEMPLATES, guide_names
    from iac_runtime.serve.tool_pages import known_names, tool_ceiling

    kind = next((row["name"] for row in TEMPLATES if row["uriTemplate"] == uri), None)
    catalogue = sources.catalogue()
    match kind, argument:
        case "model", "key":
            return list(catalogue.apps)
        case "tool", "name":
            most: Level = "SAFE" if sources.read_only else "DANGEROUS"
            names = known_names(catalogue)
            return [name for name in names if at_most(tool_ceiling(catalogue, name), most)]
        case "skill", "name":
            return guide_names()
    return ()
