"""Where requests of a script arrive: names are decided, events logged, worlds asked and changed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from iac_runtime.tools.tables import Tables
from iac_simulator.app_behaviour import ask_person, idle_seconds, run_steps
from iac_simulator.dictionary import (
    ANY_ITEM,
    chain_meaning,
    element_class,
    encode_direct,
    encode_properties,
    encode_value,
    is_member,
    member_names,
    property_named,
    unknown_name,
)
from iac_simulator.errors import EventRefusedError, Unreachable
from iac_simulator.events import (
    AppCommand,
    DescriptorWriter,
    command_for_event,
    command_named,
    event_params,
    modifier_timeout,
    read_arguments,
    read_event,
    reflection_answer,
    value_of_list,
)
from iac_simulator.field_faults import perform_event
from iac_simulator.field_profile import FieldProfile, Occasion, Perform, find_occasion
from iac_simulator.resolve import FoundValue, VerbCall, answer_value, fold_filter
from iac_simulator.scenario import FaultCounter, InjectedFault
from iac_simulator.values import (
    UNDEFINED,
    AppReference,
    Chain,
    SentEvent,
    chain_from_wire,
    format_chain,
    from_wire,
    record_fields,
    to_wire,
)
from iac_simulator.verbs import VERBS, make_object, objects_examined, set_value, shift_list
from iac_simulator.world import AppWorld, answer_by_type, handle_disk_request

FRONT: Final = "@front"
"""Stands in the world of the app that is in front."""

_EVENTS: Final = "system_events"
_FIRST: Final = "com.apple.finder"
_DISPLAYS: Final = ({"width": 1440, "height": 900, "scale": 2},)


def activate_app(worlds: Mapping[str, AppWorld], front: AppWorld) -> None:
    """Bring an app to the front."""
    for world in worlds.values():
        world.data.pop(FRONT, None)
    front.data[FRONT] = True
    processes = _process_rows(worlds)
    if any(row.get("name") == front.tables.app.name for row in processes):
        for row in processes:
            row["frontmost"] = row.get("name") == front.tables.app.name


def machine_state(
    worlds: Mapping[str, AppWorld], runs: Callable[[AppWorld], bool]
) -> dict[str, Any]:
    """Return the apps as launch services know them, the look and the displays; sends no event."""
    apps = [world for world in worlds.values() if world.tables.app.kind == "application"]
    running = [world for world in apps if runs(world)]
    processes = _process_rows(worlds)
    front_name = next((row.get("name") for row in processes if row.get("frontmost")), "")
    candidates = (
        *(world for world in running if FRONT in world.data),
        *(world for world in running if world.tables.app.name == front_name),
        *(world for world in running if world.tables.app.id == _FIRST),
        *running,
    )
    front = next(iter(candidates), None)
    events = worlds.get(_EVENTS)
    looks = events.data.get("appearancePreferences", {}) if events else {}
    rows = []
    for place, world in enumerate(apps):
        facts = {"running": world in running, "front": world is front, "pid": 500 + place}
        rows.append({"id": world.tables.app.id, "name": world.tables.app.name, **facts})
    return {"apps": rows, "dark": looks.get("darkMode") is True, "displays": [*_DISPLAYS]}


def _process_rows(worlds: Mapping[str, AppWorld]) -> list[dict[str, Any]]:
    events = worlds.get(_EVENTS)
    rows = events.data.get("applicationProcesses", []) if events else []
    return [row for row in rows if isinstance(row, dict)]


_STANDARD_VERBS: Final = {"coregetd": "get", "coresetd": "set", "corecnte": "count"}

OPERATIONS: Final = frozenset(
    "application kind member names reflect machine filter disk get set length call create"
    " transmit".split()
)
"""The requests; each is carried out by `_answer_` and its name."""

CURRENT: Final = ""
"""The key of the current application: osascript itself, which has no dictionary of its own."""

_OF_CURRENT: Final[Mapping[str, Any]] = (
    {"id": "com.apple.osascript", "name": "osascript", "version": "1.0"}
    | {"running": True, "frontmost": False}
)  # fmt: skip

Request = Mapping[str, Any]


def _canned_answer(world: AppWorld, data: Mapping[str, Any], code: str, _target: Any) -> Any:
    return answer_value(world, FoundValue(data["@results"][code]))


@dataclass(frozen=True)
class Dispatcher:
    """The apps of a simulator. `now` gives the moment as ISO 8601, `log` gets each event,
    `warn` what the strict variant has to say; `clock` counts seconds, those that were waited
    included, and `used` says when by it each app had its last event.
    """

    worlds: Mapping[str, AppWorld]
    now: Callable[[], str]
    log: Callable[[SentEvent], None]
    faults: FaultCounter
    warn: Callable[[str], None]
    clock: Callable[[], float]
    used: dict[str, float]
    profile: FieldProfile | None = None
    struck: list[InjectedFault] = field(default_factory=list)

    def answer_request(self, name: str, request: Request, struck: list[InjectedFault]) -> Any:
        """Carry out the request called `name`; what struck on the way is added to `struck`.

        Raises:
            EventRefusedError: The app refuses.
            Unreachable: There is no such app.
        """
        if self.faults.scenario.strict and name in ("get", "set", "length", "call"):
            self._warn_unknown_name(request)
        try:
            return getattr(self, f"_answer_{name}")(request)
        finally:
            struck += self.struck
            self.struck.clear()

    def _warn_unknown_name(self, request: Request) -> None:
        tables, chain = self._request_tables(request), chain_from_wire(request["chain"])
        unknown = unknown_name(tables, chain) if tables is not None else None
        if tables is not None and unknown and not command_named(tables, chain[-1].value):
            where = f"{tables.app.name}: {format_chain(chain)}"
            self.warn(f"{where}: {unknown} is not in the dictionary")

    # What a script can ask without an event.

    def _app_worlds(self) -> Iterator[tuple[str, AppWorld]]:
        """Yield the apps that are no additions."""
        for key, world in self.worlds.items():
            if world.tables.app.kind == "application":
                yield key, world

    def _answer_application(self, request: Request) -> Any:
        name = request["name"]
        if name is None:
            return {"key": CURRENT, "name": "osascript", "current": True, "dictionary": True}
        stem = str(name).rstrip("/").rpartition("/")[2].removesuffix(".app")
        for key, world in self._app_worlds():
            app = world.tables.app
            if stem in (app.name, app.id):
                dictionary = world.data.get("@dictionary", True) is not False
                return {"key": key, "name": app.name, "current": False, "dictionary": dictionary}
        raise Unreachable(name)

    def _request_tables(self, request: Request) -> Tables | None:
        world = self.worlds.get(request["root"]["key"])
        return world.tables if world is not None else None

    def _answer_kind(self, request: Request) -> Any:
        tables = self._request_tables(request)
        if tables is None:
            return {"kind": "unknown", "term": None, "jxa": None}
        place = chain_meaning(tables, chain_from_wire(request["chain"]))
        row = tables.classes.get(place.term) if place.term else None
        return {"kind": place.kind, "term": place.term, "jxa": row and row.jxa}

    def _answer_member(self, request: Request) -> bool:
        """Say whether a name after a collection is one of its terms; else it names an object."""
        tables, name = self._request_tables(request), request["name"]
        if tables is None:
            return not request.get("command")
        if request.get("command"):
            return command_named(tables, name) is not None
        place = chain_meaning(tables, chain_from_wire(request["chain"]))
        if request.get("own"):
            return place.term is not None and element_class(tables, place.term, name) is not None
        return is_member(tables, place.term, name) or command_named(tables, name) is not None

    def _answer_names(self, request: Request) -> list[str]:
        tables = self._request_tables(request)
        place = chain_meaning(tables, chain_from_wire(request["chain"])) if tables else None
        return member_names(tables, place.term) if tables and place and place.term else []

    def _answer_machine(self, _request: Request) -> dict[str, Any]:
        return machine_state(self.worlds, self._is_running)

    def _is_running(self, world: AppWorld) -> bool:
        """Say whether an app runs; a helper that was idle for long has ended."""
        last, idle = self.used.get(world.tables.key), idle_seconds(world)
        if idle and last is not None and self.clock() - last > idle:
            world.data["@running"] = False
        return world.data.get("@running", True) is not False

    def _answer_reflect(self, request: Request) -> Any:
        tables = self._request_tables(request)
        arguments = [from_wire(argument) for argument in request["args"]]
        return to_wire(reflection_answer(tables, request["name"], arguments)) if tables else None

    def _answer_filter(self, request: Request) -> Any:
        return fold_filter(request["filter"])

    def _answer_disk(self, request: Request) -> Any:
        return handle_disk_request(self.worlds, request, self.now())

    # What sends an event.

    def _request_world(self, request: Request) -> AppWorld:
        world = self.worlds.get(request["root"]["key"])
        if world is None:
            raise EventRefusedError(-1708)
        return world

    def _send_event(self, event: SentEvent, occasion: Occasion, run: Perform) -> Any:
        """Log an event, then let faults, canned answers and the world have their say."""
        world = occasion.call.world
        app, code = world.tables.app, event.event
        self.log(event)
        struck = self.faults.due_faults("event", (app.id, app.name, world.tables.key), code)
        self.struck.extend(struck)
        for fault in struck:
            self._apply_fault(world, fault)
        if code != "aevtquit" and not self._is_running(world):
            del world.data["@running"]
        self.used[world.tables.key] = self.clock()
        for data in self._answering_worlds(world):
            number = data.get("@errors", {}).get(code)
            if number is not None:
                raise EventRefusedError(number)
            if code in data.get("@results", {}):
                return self._perform(occasion, partial(_canned_answer, world, data, code))
        given = self._perform(occasion, run)
        for fault in struck:
            if fault.error is not None:
                raise EventRefusedError(fault.error)
            if fault.size:
                given = "x" * fault.size
            elif fault.value is not None:
                given = answer_value(world, FoundValue(fault.value))
        return given

    def _perform(self, occasion: Occasion, run: Perform) -> Any:
        if self.profile is None:
            return run(occasion.target)
        return perform_event(self.profile, occasion, run)

    def _apply_fault(self, world: AppWorld, fault: InjectedFault) -> None:
        """Do what happens before the app gets to its work.

        Raises:
            EventRefusedError: It does not get there.
        """
        if fault.shift:
            shift_list(world, fault.shift, fault.how)
        if fault.quit:
            world.data["@running"] = False
            raise EventRefusedError(-600 if fault.error is None else fault.error)
        if fault.error is not None and not fault.after:
            raise EventRefusedError(fault.error)

    def _answering_worlds(self, world: AppWorld) -> list[Mapping[str, Any]]:
        """Return the worlds whose faults and answers count: an addition is loaded into an app."""
        if world.tables.app.kind != "addition":
            return [world.data]
        return [world.data, *(other.data for other in self.worlds.values() if other is not world)]

    def _send_standard(
        self,
        world: AppWorld,
        event: str,
        chain: Chain,
        run: Perform | None = None,
        params: Mapping[str, Any] | None = None,
        modifiers: Any = None,
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send an event of the core suite about what `chain` names; `run` stands for its verb."""
        direct, timeout = world.make_reference(chain), modifier_timeout(from_wire(modifiers))
        about = encode_direct(world.tables, direct, "any")
        sent = SentEvent(world.tables.app.id, event, about, params or {}, timeout)
        call = VerbCall(world, direct, named or {}, self.now(), timeout)
        self._add_latency(world, chain)
        occasion = find_occasion(call, _STANDARD_VERBS[event], direct, values=params)
        perform = run or (lambda target: VERBS[event](call._replace(direct=target)))
        return to_wire(self._send_event(sent, occasion, perform))

    def _answer_get(self, request: Request) -> Any:
        chain = chain_from_wire(request["chain"])
        if request["root"]["key"] == CURRENT:
            if len(chain) != 1 or chain[0].value not in _OF_CURRENT:
                raise EventRefusedError(-1708)
            return _OF_CURRENT[chain[0].value]
        world = self._request_world(request)
        self._is_running(world)
        if len(chain) == 1 and chain[0].value in ("id", "running"):
            call = VerbCall(world, world.make_reference(chain), {}, self.now())
            return to_wire(VERBS["coregetd"](call))
        return self._send_standard(world, "coregetd", chain, modifiers=request.get("modifiers"))

    def _answer_length(self, request: Request) -> Any:
        world, chain = self._request_world(request), chain_from_wire(request["chain"])
        params = {"kocl": {"type": ANY_ITEM}}
        return self._send_standard(world, "corecnte", chain, params=params)

    def _answer_set(self, request: Request) -> None:
        world, chain = self._request_world(request), chain_from_wire(request["chain"])
        value = from_wire(request["value"])
        place = chain_meaning(world.tables, chain)
        params = {
            "data": encode_value(world.tables, value, place.prop.type if place.prop else "any")
        }

        def set_data(target: AppReference) -> None:
            set_value(VerbCall(world, None, {}, self.now()), target.chain, value)

        modifiers = request.get("modifiers")
        self._send_standard(world, "coresetd", chain, set_data, params, modifiers, {"to": value})

    def _answer_create(self, request: Request) -> Any:
        """Make what a constructor described: `.make()`, or pushed to the place `at`."""
        world, term = self._request_world(request), request["term"]
        tables = world.tables
        properties = record_fields(from_wire(request["properties"]))
        if properties is None:
            raise EventRefusedError(-1700)
        params: dict[str, Any] = {"kocl": {"type": tables.classes[term].code}}
        data = from_wire(request["data"]) if "data" in request else None
        at = None
        if properties:
            params["prdt"] = encode_properties(tables, term, properties)
        if data is not None:
            params["data"] = encode_value(tables, data, "any")
        if "at" in request:
            at = world.make_reference(chain_from_wire(request["at"]["chain"]))
            params["insh"] = encode_value(tables, at, "any")
        call = VerbCall(world, None, {}, self.now())
        event = SentEvent(tables.app.id, "corecrel", None, params)
        occasion = find_occasion(call, "make", at, term, properties)
        made = self._send_event(
            event, occasion, lambda place: make_object(call, term, properties, data, place)
        )
        return to_wire(made if isinstance(made, AppReference) else world.make_reference(()))

    def _answer_call(self, request: Request) -> Any:
        chain = chain_from_wire(request["chain"])
        args = [from_wire(arg) for arg in request["args"]]
        target = self._find_command(request, chain, bool(args))
        if target is None:
            modifiers = request["args"][-1] if args else None
            if args and modifier_timeout(args[-1]) is None and request["root"]["key"] == CURRENT:
                raise EventRefusedError(-1708)
            return self._answer_get({**request, "modifiers": modifiers})
        world, command = target
        receiver = AppReference(request["root"]["key"], chain[:-1]) if len(chain) > 1 else None
        return to_wire(self._run_command(world, command, receiver, args))

    def _answer_transmit(self, request: Request) -> Any:
        """Carry out a raw event; the answer is a descriptor, or None."""
        world = self._request_world(request)
        tables, event = world.tables, request["event"]
        direct, values, modifiers = read_event(tables, request)
        if event == "coresetd" and isinstance(direct, AppReference) and set(values) == {"data"}:
            prop = chain_meaning(tables, direct.chain).prop
            value = value_of_list(values["data"], prop.type if prop else "any")
            body = {"chain": direct.chain, "value": to_wire(value)}
            self._answer_set({**request, **body, "modifiers": to_wire(modifiers)})
            return None
        command = command_for_event(tables, event)
        if command is None:
            raise EventRefusedError(-1708)
        keys = {row.code: key for key, row in command.params.items()}
        named = {keys.get(code, code): value for code, value in values.items()}
        args = [direct] if command.direct is not None else []
        args += [{"record": named}, modifiers]
        type_ = command.result
        if event == "coregetd" and isinstance(direct, AppReference):
            prop = chain_meaning(tables, direct.chain).prop
            type_ = prop.type if prop else "any"
        answer = self._run_command(world, command, None, args)
        return DescriptorWriter(tables).write_value(answer, type_)

    def _find_command(
        self, request: Request, chain: Chain, given: bool
    ) -> tuple[AppWorld, AppCommand] | None:
        """Return the app and command that the last step means, or None where it is to be read."""
        if chain[-1].kind != "p":
            return None
        name, world = chain[-1].value, self.worlds.get(request["root"]["key"])
        if world is not None:
            if not given and self._is_own_property(world, chain):
                return None
            command = command_named(world.tables, name)
            if command is not None:
                return world, command
        if request["root"]["additions"]:
            for other in self.worlds.values():
                command = command_named(other.tables, name)
                if other.tables.app.kind == "addition" and command is not None:
                    return other, command
        if world is None or not given:
            return None
        if chain_meaning(world.tables, chain).kind == "unknown":
            raise EventRefusedError(-1708)
        return None

    def _is_own_property(self, world: AppWorld, chain: Chain) -> bool:
        """Say whether the last step is a property that the object before it really has."""
        term = chain_meaning(world.tables, chain[:-1]).term
        return term is not None and property_named(world.tables, term, chain[-1].value) is not None

    def _run_command(
        self, world: AppWorld, command: AppCommand, receiver: AppReference | None, args: list[Any]
    ) -> Any:
        """Send a command; the app's answer as it keeps values."""
        tables = world.tables
        call = read_arguments(command, receiver, args)
        params = event_params(tables, command, call.named)
        type_ = command.direct.type if command.direct else "any"
        direct = None if call.direct is None else encode_direct(tables, call.direct, type_)
        verb, named = VERBS.get(command.event), dict(call.named)
        new = command.event == "corecrel" and tables.find_class(str(call.named.get("new")))
        whole = VerbCall(world, call.direct, call.named, self.now(), call.timeout, self.worlds)

        if new:
            given = record_fields(named.get("withProperties")) or {}
            occasion = find_occasion(whole, "make", named.pop("at", None), new, given)
        else:
            occasion = find_occasion(whole, command.name, call.direct, values=named)

        def activate(_target: Any) -> None:
            activate_app(self.worlds, world)

        def perform_command(target: Any) -> Any:
            live = whole._replace(direct=target)
            if new:
                live = whole._replace(named={**named, "at": target} if target else named)
            if call.refused:
                raise EventRefusedError(-1700)
            ask_person(live, command.event, self.faults.scenario.dialogs, self.struck)
            done, given = run_steps(live, command.event)
            if verb is not None and not done:
                return verb(live)
            if done and (given is not UNDEFINED or not command.result):
                return answer_value(world, FoundValue(given))
            return answer_by_type(world, command.result, call.direct, live.now)

        self._add_latency(world, receiver.chain if receiver else ())
        sent = SentEvent(tables.app.id, command.event, direct, params, call.timeout)
        perform = activate if command.event == "miscactv" else perform_command
        return self._send_event(sent, occasion, perform)

    def _add_latency(self, world: AppWorld, chain: Chain) -> None:
        """Take the time that the scenario says an event takes, by the objects it looks at."""
        base, each = self.faults.scenario.latency, self.faults.scenario.latency_each
        if base or each:
            objects = objects_examined(world, chain) if each else 0
            self.struck.append(InjectedFault(delay=base + each * objects))
