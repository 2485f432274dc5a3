"""Traces and metrics of calls, for a collector of OpenTelemetry; loaded only where one is named.

Names follow the semantic conventions for MCP and generative AI where they have one. What a call is
about stays out: no argument, no result, no line, no reference.
"""

import atexit
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from iac_base.errors import SetupError, ToolError, pip_install
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall
from iac_runtime.language.steps import Event
from iac_runtime.policy.facts import Verdict
from iac_runtime.version import VERSION


def export_telemetry(variable: str) -> None:
    """Send what is observed to the collector that the environment names by a variable.

    Raises:
        SetupError: The SDK is not installed.
    """
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        install = pip_install("otel")
        raise SetupError(f"{variable} is set, but {error.name} is missing: {install}") from None
    resource = Resource.create({"service.name": "iac", "service.version": VERSION})
    traces = TracerProvider(resource=resource)
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(traces)
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    meters = MeterProvider([reader], resource=resource)
    metrics.set_meter_provider(meters)
    # Each does so itself too, but only where the interpreter ends in the usual way.
    atexit.register(traces.force_flush)
    atexit.register(meters.force_flush)


class TelemetryInstruments:
    """What is measured: the providers are those that are set when it is made."""

    def __init__(self) -> None:
        from opentelemetry import metrics, trace

        self.tracer = trace.get_tracer("iac", VERSION)
        meter = metrics.get_meter("iac", VERSION)
        self.calls = meter.create_histogram(
            "mcp.server.operation.duration", "s", "How many seconds a call took, including waiting."
        )
        self.apps = meter.create_histogram(
            "iac.app.duration",
            "s",
            "How many seconds passed until an app answered, including waiting for its turn.",
        )
        self.decisions = meter.create_counter(
            "iac.decisions", "{call}", "How many calls were made, by decision."
        )
        self.questions = meter.create_counter("iac.questions", "{question}", "Approval prompts.")
        self.queue = meter.create_up_down_counter(
            "iac.queue", "{request}", "How many requests to apps are waiting or running."
        )

    @contextmanager
    def record_span(
        self, name: str, histogram: Any, told: dict[str, str], **more: Any
    ) -> Iterator[dict[str, str]]:
        """Watch over some work: what is put into the dict is told of it besides."""
        from opentelemetry.trace import Status, StatusCode

        began, added = time.perf_counter(), dict[str, str]()
        with self.tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False, **more
        ) as span:
            try:
                yield added
            except BaseException as error:
                kind = error.type if isinstance(error, ToolError) else type(error).__name__
                added["error.type"] = kind
                span.set_status(Status(StatusCode.ERROR, kind))
                raise
            finally:
                span.set_attributes({**told, **added})
                histogram.record(time.perf_counter() - began, {**told, **added})


@cache
def get_instruments() -> TelemetryInstruments:
    """Return the instruments of this process."""
    return TelemetryInstruments()


class ObservedGate(Gate):
    """A gate whose calls are traced and measured."""

    def call(self, call: Call, **more: Any) -> CallAnswer:
        return self._observe(call.tool, partial(super().call, call, **more))

    def answer(self, pending: PendingCall, verdict: Verdict, **more: Any) -> CallAnswer:
        if not pending.plan.resumable:
            return super().answer(pending, verdict, **more)
        return self._observe(pending.call.tool, partial(super().answer, pending, verdict, **more))

    def _observe(self, tool: str, run: Callable[[], CallAnswer]) -> CallAnswer:
        from opentelemetry.trace import SpanKind

        told = {
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
        }
        name, instruments = f"tools/call {tool}", get_instruments()
        with instruments.record_span(name, instruments.calls, told, kind=SpanKind.SERVER) as added:
            answer = run()
            said = "allow" if isinstance(answer, CompletedCall) else "ask"
            if isinstance(answer, PendingCall):
                instruments.questions.add(1, {"iac.way": answer.way})
            elif not isinstance(answer, CompletedCall):
                said = added["error.type"] = "refused"
            added |= {"iac.decision": said, "iac.level": answer.level}
            instruments.decisions.add(1, {"iac.decision": said, "iac.level": answer.level})
            return answer


class ObservedExecutor(Executor):
    """An executor whose requests to apps are traced and measured."""

    def execute(self, event: Event, *, app: str, command: str, **more: Any) -> AppAnswer:
        from opentelemetry.trace import SpanKind

        instruments = get_instruments()
        told = {"iac.app": event.app, "iac.event": event.code}
        instruments.queue.add(1)
        try:
            with instruments.record_span(
                f"app {app}", instruments.apps, told, kind=SpanKind.CLIENT
            ):
                return super().execute(event, app=app, command=command, **more)
        finally:
            instruments.queue.add(-1)
