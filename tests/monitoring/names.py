"""What expressions in PromQL may name: metrics of docs/monitoring.md, and values of their labels."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def unknown_names(text, metrics):
    """Yields a sentence for each metric and each kind of event that is not there."""
    described = set(re.findall(r"`(holdfast_\w+)`", metrics))
    for name in sorted(set(re.findall(r"(?<!:)\b(holdfast_\w+)", re.sub(r"job:\w+:\w+", "", text)))):
        if not {name, name.removesuffix("_bucket")} & described:
            yield f"{name}: docs/monitoring.md does not describe it"
    events = (ROOT / "include/holdfast/event.hpp").read_text(encoding="utf-8")
    kinds = set(re.findall(r"^    (\w+),", events, re.MULTILINE))
    for kind in sorted(set(re.findall(r'kind="(\w+)"', text.replace('\\"', '"'))) - kinds):
        yield f'kind="{kind}": there is no such event'
