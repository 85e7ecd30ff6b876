#!/usr/bin/env -S python3 -B
"""The dashboard can be used: promtool can read each expression, each asks for what there is, each panel says what it shows
and in which unit, and none covers another.

    dashboard.py [DASHBOARD]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from names import ROOT, unknown_names

VARIABLES = {"$job": ".*", "$family": ".*", "$__rate_interval": "5m"}


def expressions(board):
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for mark in board["annotations"]["list"]:
        yield mark["name"], mark["expr"]


def what_promtool_says(exprs):
    rules = [{"record": f"panel:{i}", "expr": expr} for i, (_, expr) in enumerate(exprs)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:  # JSON is YAML
        json.dump({"groups": [{"name": "panels", "rules": rules}]}, file)
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def faults(board, metrics):
    panels = board["panels"]
    charts = [p for p in panels if p["type"] != "row"]
    if not charts:
        yield "there are no panels"
    ids = [p["id"] for p in panels]
    for p in panels:
        if ids.count(p["id"]) > 1:
            yield f"{p['title']}: its id {p['id']} is not its own"
    taken = {}
    for p in panels:
        at = p["gridPos"]
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                other = taken.setdefault((x, y), p["title"])
                if other != p["title"] or x >= 24:
                    yield f"{p['title']}: it covers {other}, or is too wide"
                    break
    for p in charts:
        if not p.get("description"):
            yield f"{p['title']}: it does not say what it shows"
        if not p["fieldConfig"]["defaults"].get("unit"):
            yield f"{p['title']}: it has no unit"
        if not p.get("targets"):
            yield f"{p['title']}: it shows nothing"
    exprs = []
    for title, expr in expressions(board):
        for name, value in VARIABLES.items():
            expr = expr.replace(name, value)
        if "$" in expr:
            yield f"{title}: a variable is not known here: {expr}"
        exprs.append((title, expr))
    if said := what_promtool_says(exprs):
        yield said
    yield from unknown_names("\n".join(e for _, e in exprs), metrics)


def main():
    path = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "monitoring/holdfast.dashboard.json"
    board = json.loads(path.read_text(encoding="utf-8"))
    found = list(faults(board, (ROOT / "docs/monitoring.md").read_text(encoding="utf-8")))
    for one in found:
        print(one)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
