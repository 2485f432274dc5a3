"""Traces and metrics of calls: what is told, and what never is."""

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SECRET = "the-words-of-the-note"


class Collector(HTTPServer):
    """A collector on loopback that keeps what it gets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: dict[str, list[bytes]] = {}


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        packed = self.headers.get("content-encoding") == "gzip"
        self.server.got.setdefault(self.path, []).append(gzip.decompress(body) if packed else body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


def call(data: Path, collector: Collector, *arguments: str) -> int:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}"}
    env = {**os.environ, "IAC_DATA": str(data), **named}
    argv = [sys.executable, "-m", "iac_mcp", "call", "--simulate", "--allow", "MODIFY", *arguments]
    return subprocess.run(argv, env=env, capture_output=True, stdin=subprocess.DEVNULL).returncode


def test_a_collector_gets_spans_and_measures_without_what_a_call_is_about(
    tmp_path: Path, collector: Collector
) -> None:
    note = json.dumps({"name": SECRET, "body": SECRET, "folder": "folders[0]"})
    assert call(tmp_path, collector, "notes_make_note", note) == 0
    assert call(tmp_path, collector, "notes_get", '{"target": "notes[99]"}') == 1
    spans = [
        span
        for body in collector.got["/v1/traces"]
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    told = {
        span.name: {row.key: row.value.string_value for row in span.attributes} for span in spans
    }
    assert told["tools/call notes_make_note"] == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "notes_make_note",
        "iac.decision": "allow", "iac.level": "MODIFY", "mcp.method.name": "tools/call",
    }  # fmt: skip
    assert told["tools/call notes_get"]["error.type"] == "NOT_FOUND"
    assert told["app Notes"]["iac.app"] == "com.apple.Notes"
    inner = next(span for span in spans if span.name == "app Notes")
    assert inner.parent_span_id in {span.span_id for span in spans}
    names = {
        metric.name
        for body in collector.got["/v1/metrics"]
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert names == {
        "mcp.server.operation.duration", "iac.app.duration", "iac.decisions", "iac.queue",
    }  # fmt: skip
    everything = b"".join(body for bodies in collector.got.values() for body in bodies)
    assert SECRET.encode() not in everything


IN_MEMORY = """
import json
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
traces = TracerProvider()
traces.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(traces)
metrics.set_meter_provider(MeterProvider([reader]))

from iac_runtime.gate.opening import GateOptions, build_gate
from iac_runtime.gate.plans import Call
from iac_runtime.policy.permissions import Requester

gate = build_gate(GateOptions(simulate=""))
who = Requester("tester", ("client",))
gate.call(Call("notes_count", {"element": "note"}, who))
gate.call(Call("notes_make_note", {"name": "a", "body": "b"}, who))
gate.call(Call("mail_count", {"element": "account"}, who))
gate.close()
told = json.loads(reader.get_metrics_data().to_json())
points = {
    metric["name"]: {
        point["attributes"].get("iac.decision", ""): point.get("value", point.get("count"))
        for point in metric["data"]["data_points"]
    }
    for scope in told["resource_metrics"][0]["scope_metrics"]
    for metric in scope["metrics"]
}
print(json.dumps([[span.name for span in spans.get_finished_spans()], points]))
"""


def test_the_sdk_in_memory_sees_calls_decisions_questions_and_the_queue(
    tmp_path: Path, collector: Collector
) -> None:
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}"}
    env = {**os.environ, "IAC_DATA": str(tmp_path), **named}
    (tmp_path / "policy.toml").write_text('[[deny]]\napp = "com.apple.mail"\n')
    done = subprocess.run(
        [sys.executable, "-c", IN_MEMORY], env=env, capture_output=True, text=True, check=True
    )
    spans, points = json.loads(done.stdout)
    assert {"tools/call notes_count", "tools/call notes_make_note", "app Notes"} <= {*spans}
    assert points["iac.decisions"] == {"allow": 1, "ask": 1, "refused": 1}
    assert points["iac.questions"] == {"": 1}
    assert points["mcp.server.operation.duration"] == {"allow": 1, "ask": 1, "refused": 1}
    assert points["iac.app.duration"][""] >= 1
    assert points["iac.queue"] == {"": 0}


def test_without_a_collector_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from iac_runtime.gate.opening import GateOptions, build_gate;"
        " build_gate(GateOptions(simulate='')).close();"
        " sys.exit(any('opentelemetry' in name for name in sys.modules))"
    )
    env = {**os.environ, "IAC_DATA": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=env).returncode == 0
