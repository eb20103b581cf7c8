"""Rows as a page of benchmarks/write_results.py. Where a peer is ahead comes first."""
from collections import OrderedDict

from ..write_results import section_lines

AHEAD = ["work", "problem", "peer", "job", "s", "times ours", "error", "our error"]
TITLE_AHEAD, TITLE_LEFT_OUT = "Where a peer is ahead", "Left out"


def seconds(value):
    return f"{value:.4g}"


def error(row, which="error"):
    return "" if row[which] is None else f"{row[which]:.2e}"


def times(row):
    return "" if row["times_ours"] is None else f"{row['times_ours']:.3g}"


def percent(share):
    return "" if share is None else f"{100 * share:.3g} %"


# Column, and its cell; columns without any cell are left out.
COLUMNS = [("problem", lambda row: row["problem"]), ("group", lambda row: row["group"]), ("peer", lambda row: row["peer"]),
           ("job", lambda row: row["job"]), ("arrays", lambda row: row["arrays"]), ("iterations", lambda row: row["iterations"] or ""),
           ("best, s", lambda row: seconds(row["best"]) if row["best"] > 0 else ""), ("mean", lambda row: seconds(row["mean"])),
           ("deviation", lambda row: f"{row['deviation']:.2g}"), ("processor, s", lambda row: seconds(row["processor"])),
           ("of the limit", lambda row: percent(row["share"])), ("times ours", times), ("error", error),
           ("adaptor, lines", lambda row: row["lines"] or ""),
           ("note", lambda row: row["note"])]


def table(rows):
    used = [(name, cell) for name, cell in COLUMNS if any(cell(row) for row in rows)]
    return [name for name, _ in used], [[cell(row) for _, cell in used] for row in rows]


def ahead_section(rows, command):
    """The gravest first."""
    ahead = sorted((row for row in rows if row["ahead"]), key=lambda row: row["times_ours"])
    note = f"Of {len(rows)} rows, {len(ahead)} are of a peer that is faster than the fastest of ours in its group."
    cells = [[row["work"], row["problem"], row["peer"], row["job"], seconds(row["best"]), times(row), error(row),
              error(row, "our_error")] for row in ahead]
    return {"title": TITLE_AHEAD, "command": command, "note": note, "columns": AHEAD, "rows": cells}


def left_out_section(left_out):
    """Works of a peer and a reason together."""
    works = OrderedDict()
    for peer, work, reason in left_out:
        works.setdefault((peer, reason), []).append(work)
    rows = [[peer, "; ".join(names), reason] for (peer, reason), names in works.items()]
    return {"title": TITLE_LEFT_OUT, "columns": ["peer", "work", "reason"], "rows": rows}


def page_of(rows, left_out, works, place, command):
    """The page. rows: of all works; left_out: (peer, work, reason)."""
    sections = [ahead_section(rows, command)]
    for name in OrderedDict.fromkeys(row["work"] for row in rows):
        columns, cells = table([row for row in rows if row["work"] == name])
        sections.append({"title": works[name].title, "note": works[name].note, "columns": columns, "rows": cells})
    if left_out:
        sections.append(left_out_section(left_out))
    return {"title": f"Halocline beside other packages: {place.name}",
            "about": "The same works on the same device in one run, in turns. times ours: over the fastest of Halocline in the group; "
                     "below 1 the peer is ahead. of the limit: the least time that the device needs by what halocline bench measures, over "
                     "the best. lines: of code of the adaptor, with what it needs for other scans and devices.",
            "sections": sections}


def text_of(page):
    return "\n".join("\n".join(section_lines(section)) + "\n" for section in page["sections"])
