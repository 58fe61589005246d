"""What schemathesis.toml cannot express: which valid requests may be rejected, and which resources the scenarios build on."""

import json
import pathlib

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.generation.meta import TestPhase
from schemathesis.openapi.checks import EnsureResourceAvailability, RejectedPositiveData, UseAfterFree
from schemathesis.specs.openapi import converter, stateful

RULES = json.loads((pathlib.Path(__file__).parent.parent / "rules-beyond-schema.json").read_text())
NOTIFICATIONS = ("addNotification", "listNotifications", "removeNotification")
HEARTBEATS = ("getHeartbeat", "sendHeartbeat", "getHeartbeatFailure", "sendHeartbeatFailure")
URLS = {"http": "https://example.com/", "ping": "example.com", "tcp": "tcp://example.com:443", "heartbeat": None}
known_tokens = []
LONG = 10_000
RULES_OF_EVERY_POST = RULES.pop("every POST that accepts an Idempotency-Key")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    # The tool follows links from deliveries that are about no monitor and no incident.
    if None in (case.path_parameters or {}).values():
        return False
    if isinstance(failure, RejectedPositiveData) and response.status_code == 422:
        codes = {error["code"] for error in response.json()["errors"]}
        return not codes <= {*RULES_OF_EVERY_POST, *RULES.get(operation_id(case), {})}
    if isinstance(failure, AcceptedNegativeData):
        # Forms and queries have no booleans. The service accepts 0 and 1, which the tool generates as numbers.
        return not ("favorite: Incorrect type" in failure.message and {sent_favorite(case.body), sent_favorite(case.query)} & {"0", "1"})
    # A heartbeat creates nothing, and the scenario may have deleted the monitor of the token.
    if isinstance(failure, EnsureResourceAvailability):
        return operation_id(case) not in HEARTBEATS
    # Removing an assignment is a DELETE of its list, which stays.
    return not (isinstance(failure, UseAfterFree) and operation_id(case) in NOTIFICATIONS)


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = operation_id(case)
    # The run uses the first key of a new database, without which every response would be 401, and assigns the first provider.
    if operation in ("deleteKey", "deleteProvider") and str(case.path_parameters.get("id")) == "1":
        case.path_parameters["id"] = 2
    # A generated provider almost never exists, so no monitor would ever have one. And the query and the body would always
    # contradict each other. Ids from earlier responses are kept.
    if operation in NOTIFICATIONS:
        parts = [part for part in (case.query, case.body) if isinstance(part, dict) and is_id(part.get("provider_id"))]
        for part in parts:
            wanted = parts[0]["provider_id"]
            part["provider_id"] = wanted if wanted <= 10_000 else 1
    if case.meta.phase.name != TestPhase.STATEFUL:
        return
    # A generated version never equals the stored one, so no scenario would change anything.
    case.headers.pop("If-Match", None)
    # Nine of ten generated monitors mix the fields of several types. So few scenarios would have a monitor.
    if operation == "createMonitor" and case.meta.generation.mode.is_positive:
        for name in ("http", "heartbeat", "confirmations", "website_id"):
            case.body.pop(name, None)
        case.body["url"] = URLS[case.body.get("type", "http")]
    # A generated token is never that of a monitor.
    if operation in HEARTBEATS and known_tokens:
        case.path_parameters["token"] = known_tokens[-1]


@schemathesis.hook
def after_call(context, case, response):
    if operation_id(case) == "createMonitor" and response.status_code == 201:
        url = response.json()["data"].get("heartbeat_url")
        known_tokens.extend([url.split("/")[-1]] if url else [])


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # To infer links, the tool does not look into oneOf for the id of a resource. Every type of provider requires it already.
    schemas = raw_schema["components"]["schemas"]
    if "Provider" in schemas:
        schemas["Provider"]["properties"] = {"id": schemas["EmailProvider"]["properties"]["id"]}


# The tool takes chat_id for the id of a resource that no operation creates, so no scenario would start with POST /providers.
is_likely_root = stateful.is_likely_root_transition
stateful.is_likely_root_transition = lambda operation, *graph: (
    operation.label == "POST /providers" or is_likely_root(operation, *graph)
)

# The tool writes a length into the pattern, as in ^[^\x00]{0,131072}$, and compiles that anew for every mutation of the schema.
# A long one takes more than a second each time. It stays beside its pattern instead, as one that the tool cannot compile does.
update_quantifier = converter.update_quantifier
converter.update_quantifier = lambda pattern, minimum, maximum: (
    pattern if maximum and maximum > LONG else update_quantifier(pattern, minimum, maximum)
)


def operation_id(case):
    return case.operation.definition.raw["operationId"]


def is_id(value):
    return type(value) is int and 0 < value < 2**53


def sent_favorite(part):
    return str(part["favorite"]) if isinstance(part, dict) and "favorite" in part else None
