#!/usr/bin/env -S python3 -B
"""Rules, their tests and documents belong together: every alert has a heading in docs/alerts.md with commands, a test in
which it fires and ends, and asks for metrics that docs/monitoring.md describes.

    alerts.py [RULES TESTS ALERTS MONITORING]
"""

import re
import sys
from pathlib import Path

from names import ROOT, unknown_names

FILES = ("monitoring/holdfast.rules.yml", "tests/monitoring/rules.test.yml", "docs/alerts.md", "docs/monitoring.md")


def faults(rules, tests, page, metrics):
    alerts = re.findall(r"- alert: (\w+)", rules)
    headings = re.findall(r"^## (\w+)$", page, re.MULTILINE)
    if not alerts:
        yield "there are no alerts"
    for name in sorted({n for n in alerts if alerts.count(n) > 1}):
        yield f"{name}: there are two of that name"
    for name in alerts:
        if name not in headings:
            yield f"{name}: docs/alerts.md has no heading for it"
        if f"docs/alerts.md#{name.lower()}\n" not in rules:
            yield f"{name}: its runbook_url is not docs/alerts.md#{name.lower()}"
        if not re.search(rf"alertname: {name}\n\s+exp_alerts:", tests):
            yield f"{name}: it fires in no test"
        if not re.search(rf"alertname: {name}\}}", tests):
            yield f"{name}: there is no test in which it does not fire"
    for name in headings:
        if name not in alerts:
            yield f"{name}: docs/alerts.md explains an alert that is not there"
    yield from unknown_names(rules, metrics)


def main():
    paths = sys.argv[1:] or [ROOT / name for name in FILES]
    found = list(faults(*(Path(p).read_text(encoding="utf-8") for p in paths)))
    for one in found:
        print(one)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
