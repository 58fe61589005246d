"""Fails if a run of Schemathesis tested less than it promises, and prints its totals:

  python check_report.py <contract.json> <report.ndjson>...

Every enabled operation needs generated cases in both phases that generate them, and scenarios need to follow at least 80 % of
the links: those that the contract declares and those that the tool infers from its schemas.
"""

import json
import pathlib
import sys
import tomllib
from collections import Counter

import hooks  # noqa: F401 (it changes which links are inferred)
import schemathesis
from schemathesis.specs.openapi.stateful import collect_transitions

REQUIRED_SHARE = 0.8
# Links that count as not covered: schemathesis.toml replaces the id, because this operation would send messages.
NEVER_FOLLOWED = "-> POST /providers/{id}/test"


def enabled_operations(contract):
    config = tomllib.loads((pathlib.Path(__file__).parent / "schemathesis.toml").read_text())
    disabled = {entry["include-operation-id"] for entry in config["operations"] if not entry.get("enabled", True)}
    schema = schemathesis.openapi.from_path(contract)
    schema.analysis.inject_links()
    operations = [result.ok() for result in schema.get_all_operations()]
    return [operation for operation in operations if operation.definition.raw["operationId"] not in disabled]


def recorded(reports):
    for report in reports:
        with open(report, encoding="utf-8") as lines:
            for line in lines:
                scenario = json.loads(line).get("ScenarioFinished")
                if scenario:
                    yield scenario["phase"], scenario["recorder"]


def main(contract, *reports):
    operations = enabled_operations(contract)
    cases, followed, failed = Counter(), set(), 0
    for phase, recorder in recorded(reports):
        for case in recorder.get("cases", {}).values():
            cases[phase, f"{case['value']['method']} {case['value']['path']}"] += 1
            if case.get("is_transition_applied"):
                followed.add(case["transition"]["id"])
        failed += sum(check["status"] == "failure" for checks in recorder.get("checks", {}).values() for check in checks)

    missing = [
        f"{operation.label}: no cases in the phase {phase}"
        for operation in operations
        for phase in ("coverage", "fuzzing")
        if not cases[phase, operation.label]
    ]
    links = {link.full_name for source in collect_transitions(operations).operations.values() for link in source.outgoing}
    covered = {link for link in links & followed if not link.endswith(NEVER_FOLLOWED)}
    if len(covered) < REQUIRED_SHARE * len(links) or not links:
        missing.append(f"scenarios followed fewer than {REQUIRED_SHARE:.0%} of the links")

    for link in sorted(links - covered):
        print(f"Not followed: {link}")
    print(f"Links: {len(covered)} of {len(links)} followed")
    for problem in missing:
        print(f"Not tested: {problem}")
    # .ci/contract turns this line into a row of its table.
    api = pathlib.Path(contract).stem
    print(f"Schemathesis, {api}: {cases.total()} requests, {failed + len(missing)} failed")
    return 1 if missing else 0


sys.exit(main(*sys.argv[1:]))
