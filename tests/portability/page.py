"""Results of scripts/portability: tests/portability/results.json, and the tables of docs/portability.md."""
import json
from pathlib import Path

from . import suite
from .implementations import ALL
from .suite import FIRST

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "portability.md"
RESULTS = Path(__file__).with_name("results.json")


def read():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def summary(name, found):
    """Lines to print, and whether something failed. Forms that differ in the last bits alone are no failure: they are
    not taken by default there."""
    wrong = [line for line in found["self-check"]["bad"] if " wrong" in line]
    failed = bool(found["main job"] or wrong or found["self-check"]["code"])
    lines = [f"{name}: main job {found['main job'] or 'right'}; self-check {found['self-check']['found']}"]
    lines += ["  " + line for line in found["self-check"]["bad"]]
    for group, each in found["tests"].items():
        lines.append(f"  {group}: {each['counts']}")
        lines += ["    failed: " + case for case in each["failed"]]
        failed |= bool(each["failed"])
    return "\n".join(lines), failed


def tests_cell(name, found, group):
    if "skipped" in found or group not in found.get("tests", {}):
        return "at every change" if name == FIRST.name else "not run"
    counts = found["tests"][group]["counts"]
    text = f"{counts.get('passed', 0)} passed"
    for kind in ("failed", "skipped", "ended"):
        if counts.get(kind):
            text += f", {counts[kind]} {kind}"
    return text


def tests_table(results):
    lines = ["| what | " + " | ".join(results) + " |", "|---" * (len(results) + 1) + "|"]
    lines.append("| main job | " + " | ".join(
        each.get("skipped") and "not run" or each["main job"] or "right" for each in results.values()) + " |")
    for kind in ("right", "differs in the last bits", "wrong", "not for this device"):
        lines.append(f"| self-check: {kind} | " + " | ".join(
            "-" if "skipped" in each else str(each["self-check"]["found"].get(kind, 0)) for each in results.values()) + " |")
    for group in suite.GROUPS:
        lines.append(f"| {group} | " + " | ".join(tests_cell(name, each, group) for name, each in results.items()) + " |")
    return lines


def distances_table(results):
    others = {name: each for name, each in results.items() if each.get("distances")}
    lines = ["| volume | " + " | ".join(others) + " |", "|---" * (len(others) + 1) + "|"]
    for volume in suite.VOLUMES:
        lines.append(f"| {volume.removesuffix('.mha')} | " + " | ".join(
            each["distances"].get(volume, "-") for each in others.values()) + " |")
    return lines


def put(text, name, lines, script):
    """The text with these lines between the markers of that name."""
    begin, end = f"<!-- {name}: written by scripts/{script} -->\n", f"<!-- {name}: end -->"
    before, rest = text.split(begin)
    return before + begin + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end, 1)[1]


def write(results):
    results = {each.name: results[each.name] for each in ALL if each.name in results}
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    text = PAGE.read_text()
    text = put(text, "tests", tests_table(results), "portability")
    text = put(text, "distances", distances_table(results), "portability")
    PAGE.write_text(text)
