"""Local servers that speak the published interfaces of score servers, keep what they get, fail on order.

`fail(times, status, headers)` answers the next calls with a status; `hold()` keeps all callers waiting until
`release()`; `drip` sends an answer byte by byte and never to its end;
`poison` is a metric that the server refuses for its content. Every server has `values()`: record id to value.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import threading
import time
import urllib.parse
from collections import Counter
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def iso(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, timezone.utc).isoformat().replace("+00:00", "Z")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _go(self):
        owner = self.server.owner
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        parts = urllib.parse.urlsplit(self.path)
        headers = {k.lower(): v for k, v in self.headers.items()}
        status, body, more = owner.handle(self.command, parts.path, parts.query, headers, raw)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            self.send_response(status)
            kind = "application/x-protobuf" if isinstance(body, bytes) else "application/json"
            size = 10_000_000 if owner.drip else len(data)
            for key, value in {"content-type": kind, "content-length": size, **more}.items():
                self.send_header(key, str(value))
            self.end_headers()
            while owner.drip and not owner.gate.wait(0.02):
                self.wfile.write(b" ")
            self.wfile.write(data)
        except OSError:  # the caller went away
            self.close_connection = True

    do_GET = do_POST = do_PATCH = _go


class ScoreServer:
    "A server on a loopback port. Subclasses answer `{METHOD}` and a path by `answer`."

    secret = ""  # What `authorization` must be
    always: dict = {}

    def __init__(self):
        self.requests, self.faults, self.poison, self.drip, self.arrived = [], [], None, False, 0
        self.gate = threading.Event()
        self.gate.set()
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.server.daemon_threads, self.server.owner = True, self
        self.base_url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()
        self.server.shutdown()
        self.server.server_close()

    def fail(self, times=1, status=429, headers=None, method=None):
        self.faults += [(status, headers or {}, method)] * times

    def hold(self, drip=False):
        self.drip = drip
        self.gate.clear()

    def release(self):
        self.drip = False
        self.gate.set()

    def count(self, path, method="POST"):
        return sum(p.startswith(path) and m == method for m, p, _ in self.requests)

    def handle(self, method, path, query, headers, raw):
        self.arrived += 1
        if not self.drip:
            self.gate.wait(600)
        with self.lock:
            self.requests.append((method, path, raw))
            for i, (status, more, only) in enumerate(self.faults):
                if only in (None, method):
                    del self.faults[i]
                    return status, {"message": "on order"}, {**self.always, **more}
            if self.secret and headers.get("authorization") != self.secret:
                return 401, {"message": f"unknown {headers.get('authorization')}"}, self.always
            asked = {k: v if len(v) > 1 else v[0] for k, v in urllib.parse.parse_qs(query).items()}
            status, body = self.answer(method, path, asked, raw)
            return status, body, self.always


def page(rows, query, most, default=50):
    "One page of rows and the cursor of the next, or `None`."
    limit = int(query.get("limit", default))
    start = int(base64.urlsafe_b64decode(query["cursor"]).decode()) if query.get("cursor") else 0
    if limit > most:
        return None
    more = (
        base64.urlsafe_b64encode(str(start + limit).encode()).decode() if start + limit < len(rows) else None
    )
    return rows[start : start + limit], more


class LangfuseServer(ScoreServer):
    "Langfuse 4.60: OTLP, list of scores, v2 observations, v3 scores. What was dropped answers 404."

    public_key, secret_key = "pk-lf-local", "sk-lf-local"
    secret = "Basic " + base64.b64encode(b"pk-lf-local:sk-lf-local").decode()
    GROUPS = {
        "core": "id traceId startTime endTime projectId parentObservationId type",
        "basic": "name level statusMessage version environment userId sessionId isRootObservation",
        "io": "input output",
        "metadata": "metadata",
        "model": "model",
        "usage": "usageDetails",
        "trace_context": "tags release traceName",
    }

    def __init__(self):
        super().__init__()
        self.observations, self.scores, self.errors = {}, {}, []

    def values(self):
        return {k: s["value"] for k, s in self.scores.items()}

    def answer(self, method, path, query, raw):
        routes = {
            ("POST", "/api/public/otel/v1/traces"): self.take_traces,
            ("POST", "/api/public/scores"): self.take_scores,
            ("GET", "/api/public/v2/observations"): self.list_observations,
            ("GET", "/api/public/v3/scores"): self.list_scores,
        }
        if (method, path) == ("GET", "/api/public/health"):
            return 200, {"status": "OK", "version": "4.60.0"}
        if (method, path) not in routes:
            return 404, {"message": f"Not found: {method} {path}", "error": "LangfuseNotFoundError"}
        return routes[method, path](query, raw)

    def take_traces(self, query, raw):
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as otlp

        def plain(value):
            kind = value.WhichOneof("value")
            if kind == "array_value":
                return [plain(v) for v in value.array_value.values]
            return getattr(value, kind) if kind else None

        for resource in otlp.ExportTraceServiceRequest.FromString(raw).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.keep_span(span, {kv.key: plain(kv.value) for kv in span.attributes})
        return 200, otlp.ExportTraceServiceResponse().SerializeToString()

    def keep_span(self, span, known):
        parent = span.parent_span_id.hex() or None
        app_root = str(known.get("langfuse.internal.is_app_root")).lower() == "true"
        self.observations[span.span_id.hex()] = {
            "id": span.span_id.hex(),
            "traceId": span.trace_id.hex(),
            "parentObservationId": parent,
            "isRootObservation": parent is None or app_root,
            "projectId": "local",
            "name": span.name,
            "type": str(known.get("langfuse.observation.type", "span")).upper(),
            "startTime": iso(span.start_time_unix_nano),
            "endTime": iso(span.end_time_unix_nano),
            "level": known.get("langfuse.observation.level", "DEFAULT"),
            "statusMessage": known.get("langfuse.observation.status_message"),
            "sessionId": known.get("session.id"),
            "userId": known.get("user.id"),
            "environment": known.get("langfuse.environment", "default"),
            "version": known.get("langfuse.version"),
            "input": known.get("langfuse.observation.input"),
            "output": known.get("langfuse.observation.output"),
            "metadata": {k.split("metadata.", 1)[1]: v for k, v in known.items() if ".metadata." in k},
            "model": known.get("langfuse.observation.model.name"),
            "usageDetails": json.loads(known.get("langfuse.observation.usage_details") or "{}"),
            "traceName": known.get("langfuse.trace.name") or span.name,
            "tags": known.get("langfuse.trace.tags") or [],
            "release": known.get("langfuse.release"),
        }

    def wrong(self, score):
        "Why the server refuses a score: its interface's types, and the rules that it documents."
        from langfuse.api import CreateScoreRequest

        try:
            CreateScoreRequest.model_validate(score)
        except ValueError as e:
            return str(e)[:200]
        if self.poison and score["name"] == self.poison:
            return "refused on order"
        kind = score.get("dataType") or ("CATEGORICAL" if isinstance(score["value"], str) else "NUMERIC")
        value, targets = score["value"], [k for k in ("traceId", "sessionId", "datasetRunId") if score.get(k)]
        if kind in ("NUMERIC", "BOOLEAN") and (isinstance(value, str) or value is None or value != value):
            return f"{kind} needs a finite number"
        if kind == "BOOLEAN" and value not in (0, 1):
            return "BOOLEAN must be 0 or 1"
        if kind in ("CATEGORICAL", "TEXT") and not isinstance(value, str):
            return f"{kind} needs a string"
        if kind == "TEXT" and not 1 <= len(value) <= 500:
            return "TEXT has 1 to 500 characters"
        if len(targets) != 1:
            return f"exactly one of traceId, sessionId, datasetRunId, got {targets}"
        if len(score["name"]) > 35:
            return "a name has at most 35 characters"
        if not re.fullmatch(r"(?!langfuse)[a-z0-9-_]+", score.get("environment") or "default"):
            return "a bad environment"
        if not re.search(r"(Z|[+-]\d\d:\d\d)$", score.get("timestamp") or "Z"):
            return "a time stamp needs an offset"
        return None

    def take_scores(self, query, raw):
        rows, errors = json.loads(raw), []
        for score in rows:
            if why := self.wrong(score):
                errors.append({"message": f"{score.get('name')}: {why}"})
                self.errors.append(why)
            else:
                self.keep_score(score)
        if errors:
            return 207, {"accepted": len(rows) - len(errors), "rejected": len(errors), "errors": errors}
        return 202, {"message": "Accepted"}

    def keep_score(self, score):
        kind = score.get("dataType") or "NUMERIC"
        now = iso(time.time_ns())
        if score.get("traceId"):
            subject = {"kind": "trace", "id": score["traceId"]}
        else:
            subject = {"kind": "session", "id": score["sessionId"]}
        name = score.get("id") or f"made-{len(self.scores)}"
        self.scores[name] = {
            "id": name,
            "projectId": "local",
            "name": score["name"],
            "source": "API",
            "dataType": kind,
            "value": bool(score["value"]) if kind == "BOOLEAN" else score["value"],
            "timestamp": score.get("timestamp") or now,
            "environment": score.get("environment") or "default",
            "createdAt": now,
            "updatedAt": now,
            "comment": score.get("comment"),
            "configId": None,
            "metadata": score.get("metadata"),
            "subject": subject,
        }

    def list_observations(self, query, raw):
        rows = sorted(self.observations.values(), key=lambda o: (o["startTime"], o["id"]), reverse=True)
        for asked, key in {"name": "name", "sessionId": "sessionId", "traceId": "traceId"}.items():
            if asked in query:
                rows = [r for r in rows if r[key] == query[asked]]
        if "isRootObservation" in query:
            rows = [
                r for r in rows if r["isRootObservation"] == (query["isRootObservation"].lower() == "true")
            ]
        got = page(rows, query, 1000)
        if got is None:
            return 400, {"message": "limit is at most 1000", "error": "InvalidRequestError"}
        groups = ["core", *query.get("fields", "core,basic").split(",")]
        keep = " ".join(self.GROUPS[g] for g in groups).split()
        meta = {"cursor": got[1]} if got[1] else {}
        return 200, {"data": [{k: r[k] for k in keep} for r in got[0]], "meta": meta}

    def list_scores(self, query, raw):
        rows = sorted(self.scores.values(), key=lambda s: s["id"])
        if "id" in query:
            rows = [r for r in rows if r["id"] in query["id"].split(",")]
        if "name" in query:
            rows = [r for r in rows if r["name"] in query["name"].split(",")]
        if "traceId" in query:
            rows = [r for r in rows if r["subject"]["id"] in query["traceId"].split(",")]
        if "sessionId" in query:
            rows = [r for r in rows if r["subject"] == {"kind": "session", "id": query["sessionId"]}]
        got = page(rows, query, 100)
        if got is None:
            return 400, {"message": "limit is at most 100", "error": "InvalidRequestError"}
        groups, drop = query.get("fields", "").split(","), {"comment", "configId", "metadata", "subject"}
        drop -= {"comment", "configId", "metadata"} if "details" in groups else set()
        drop -= {"subject"} if "subject" in groups else set()
        meta = {"limit": len(got[0])} | ({"cursor": got[1]} if got[1] else {})
        return 200, {"data": [{k: v for k, v in r.items() if k not in drop} for r in got[0]], "meta": meta}


class PhoenixStandIn(ScoreServer):
    "The calls of Phoenix 20.26 that scores need, with its traps: an unknown span refuses the whole batch."

    always = {"x-phoenix-server-version": "20.26.1"}
    KINDS = {"span": "Spans", "trace": "Traces", "session": "Sessions"}

    def __init__(self):
        super().__init__()
        self.known, self.notes = {"span": set(), "trace": set(), "session": set()}, {}

    def values(self):
        return {key[2]: n["result"].get("score", n["result"].get("label")) for key, n in self.notes.items()}

    def answer(self, method, path, query, raw):
        if path == "/arize_phoenix_version":
            return 200, "20.26.1"
        if method == "POST" and (found := re.fullmatch(r"/v1/(span|trace|session)_annotations", path)):
            return self.take(found[1], json.loads(raw)["data"])
        if method == "GET" and (
            found := re.fullmatch(r"/v1/projects/[^/]+/(span|trace|session)_annotations", path)
        ):
            kind = found[1]
            asked = query.get(f"{kind}_ids", [])
            asked = {asked} if isinstance(asked, str) else set(asked)
            rows = [n for n in self.notes.values() if n.get(f"{kind}_id") in asked]
            rows, more = page(rows, query, 10_000)
            return 200, {"data": rows, "next_cursor": more}
        return 404, "Not Found"

    def take(self, kind, rows):
        if any(r["name"] == self.poison for r in rows):
            return 422, {"detail": "refused on order"}
        absent = [r[f"{kind}_id"] for r in rows if r[f"{kind}_id"] not in self.known[kind]]
        if absent:
            return 404, f"{self.KINDS[kind]} with IDs {', '.join(dict.fromkeys(absent))} do not exist."
        for row in rows:
            self.notes[row["name"], row[f"{kind}_id"], row["identifier"]] = row
        return 200, {"data": [{"id": str(i)} for i in range(len(rows))]}


class MlflowServer(ScoreServer):
    "The assessments of MLflow 3's tracking interface."

    def __init__(self):
        super().__init__()
        self.traces: dict[str, list] = {}

    def values(self):
        return {
            a["metadata"]["record_id"]: a["feedback"]["value"] for rows in self.traces.values() for a in rows
        }

    def answer(self, method, path, query, raw):
        found = re.fullmatch(r"/api/3\.0/mlflow/traces/([^/]+)(?:/assessments(?:/([^/]+))?)?", path)
        if not found or found[1] not in self.traces:
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no such trace"}
        rows = self.traces[found[1]]
        if method == "GET":
            return 200, {"trace": {"trace_info": {"trace_id": found[1], "assessments": rows}}}
        body = json.loads(raw)
        if method == "PATCH":
            next(a for a in rows if a["assessment_id"] == found[2]).update(body["assessment"])
            return 200, {}
        given = body["assessment"]
        if given["assessment_name"] == self.poison:
            return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "refused on order"}
        rows.append(given | {"assessment_id": f"a-{len(rows)}"})
        return 200, {"assessment": rows[-1]}


class OtelCollector(ScoreServer):
    "OTLP logs over HTTP in JSON; refuses by partial success, as the protocol says."

    def __init__(self):
        super().__init__()
        self.events: list[dict] = []

    def named(self, event):
        return {a["key"]: next(iter(a["value"].values())) for a in event["attributes"]}

    def values(self):
        found = map(self.named, self.events)
        return {
            e["llm_dojo.record_id"]: e.get(
                "gen_ai.evaluation.score.value", e.get("gen_ai.evaluation.score.label")
            )
            for e in found
        }

    def repeats(self):
        return max(Counter(self.named(e)["llm_dojo.record_id"] for e in self.events).values(), default=0)

    def answer(self, method, path, query, raw):
        if (method, path) != ("POST", "/v1/logs"):
            return 404, {}
        events = json.loads(raw)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        good = [e for e in events if self.named(e)["gen_ai.evaluation.name"] != self.poison]
        self.events += good
        if len(good) < len(events):
            refused = {"rejectedLogRecords": str(len(events) - len(good)), "errorMessage": "refused on order"}
            return 200, {"partialSuccess": refused}
        return 200, {}
