#!/usr/bin/env python3
"""Writes benchmarks/results/<name>.md from benchmarks/results/<name>.json.

write_results.py                              writes every page
write_results.py --check                      fails if a page is not what would be written
write_results.py --add NAME TITLE FILE COMMAND...
    puts the JSON that `COMMAND --json` printed (halocline bench), its --report, or that of halocline_bench
    --benchmark_format=json, from FILE into NAME.json, in place of the section of that title or as the last one, and
    writes the page

NAME.json holds a title, a text about the machine, and sections. A section has a title, the command that made it
unless that of the section before it did, perhaps a note, and one of
  "columns", "rows"    a table as it is
  "bench"              what halocline bench printed
  "google_benchmark"   what halocline_bench printed
Only the standard library is used.
"""
import json
import os
import sys
import textwrap

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
LONGEST_PAGE = 150  # lines


def cell(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "\\|")


def table(columns, rows):
    lines = ["| " + " | ".join(cell(value) for value in columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]


def prose(text):
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def percent(share):
    return f"{100 * share:.3g} %"


def denoise_tables(bench):
    copy = 1e-9 * bench["copy_bytes_per_s"]
    sizes = bench.get("volume", 3 * [bench["size"]])
    voxels = f"{sizes[0]}^3" if len(set(sizes)) == 1 else " x ".join(map(str, sizes))
    lines = [f"{bench['device']['name']}, {voxels} voxels, copy {copy:.4g} GB/s", ""]
    lines += table(["method", "form", "Gvoxel-iterations/s", "bytes", "GB/s", "share of the copy"],
                   [[f["method"], f["form"], 1e-9 * f["voxel_iterations_per_s"], f["bytes_per_voxel_iteration"],
                     1e-9 * f["bytes_per_s"], percent(f["share_of_copy"])] for f in bench["forms"]])
    if bench["time_to_gap"]:
        lines += [""] + table(["method", "form", "relative gap", "iterations", "s on the device", "s host to host"],
                              [[t["method"], t["form"], f"{t['target']:g}" + ("" if t["reached"] else " (not reached)"),
                                t["iterations"], t["seconds_on_device"], t["seconds_host_to_host"]]
                               for t in bench["time_to_gap"]])
    return lines


def scan_tables(bench):
    lines = [f"{bench['device']['name']}, size {bench['size']}, {bench['views']} views", ""]
    if bench["modes"] and "kernel_seconds" in bench["modes"][0]:
        return lines + table(
            ["mode", "s host to host", "GUPS", "s kernels", "s up", "s down", "over the larger", "RMSE/max"],
            [[m["mode"], m["seconds"], 1e-9 * m["updates_per_s"], m["kernel_seconds"], m["upload_seconds"],
              m["download_seconds"], m["ratio_to_least"], f"{m['relative_rmse']:.1e}"] for m in bench["modes"]])
    return lines + table(
        ["mode", "ms", "GUPS", "Grays/s", "share of the limit", "limit", "RMSE/max"],
        [[m["mode"], 1e3 * m["seconds"], 1e-9 * m["updates_per_s"], 1e-9 * m["rays_per_s"] if "rays_per_s" in m else "",
          percent(m["share_of_fetches"] if m["limit"] == "fetches" else m["share_of_copy"]), m["limit"],
          f"{m['relative_rmse']:.1e}"] for m in bench["modes"]])


def scaling_table(bench):
    def share(run, key):
        return percent(run[key]) if key in run else ""
    return [bench['device']['name'], ""] + table(
        ["job", "size", "iterations", "devices", "used", "slabs", "s host to host", "s predicted", "efficiency", "of the iterations"],
        [[r["job"], r["size"], r.get("iterations"), r["team"], r["devices"], r["slabs"], r["seconds"], r["predicted_seconds"], share(r, "efficiency"),
          share(r, "efficiency_of_iterations")] for r in bench["runs"]])


def bench_tables(results):
    if "runs" in results:
        return scaling_table(results)
    lines = []
    for bench in results["benches"]:
        lines += ([""] if lines else []) + (denoise_tables(bench) if "forms" in bench else scan_tables(bench))
    return lines


def google_tables(results):
    ignored = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
               "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", "label"}
    counters = sorted({key for each in results["benchmarks"] for key in each} - ignored)
    context = results.get("context", {})
    lines = [f"{context.get('device', '')}, copy {context.get('copy_GB_per_s', '?')} GB/s", ""]
    return lines + table(["benchmark", "time"] + counters,
                         [[each["name"], f"{each['real_time']:.4g} {each['time_unit']}"] +
                          [each.get(counter) for counter in counters] for each in results["benchmarks"]])


def section_lines(section):
    lines = [f"## {section['title']}", ""]
    if section.get("command"):
        lines += [*prose(f"`{section['command']}`"), ""]
    if section.get("note"):
        lines += [*prose(section["note"]), ""]
    if "bench" in section:
        return lines + bench_tables(section["bench"])
    if "google_benchmark" in section:
        return lines + google_tables(section["google_benchmark"])
    return lines + table(section["columns"], section["rows"])


def page(name, results):
    source = f"Written by `benchmarks/write_results.py` from [{name}.json]({name}.json)."
    lines = [f"# {results['title']}", "", source, "", *prose(results["about"]), ""]
    for section in results["sections"]:
        lines += section_lines(section) + [""]
    if len(lines) - 1 > LONGEST_PAGE:
        raise SystemExit(f"{name}.md would have {len(lines) - 1} lines; at most {LONGEST_PAGE} are meant to be: "
                         f"leave out what is of least use, or begin another page")
    return "\n".join(lines)


def json_text(results):
    """JSON with a row of a table in a line."""
    rows = []

    def marked(value):
        if isinstance(value, dict):
            return {key: marked(each) for key, each in value.items()}
        if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
            return [marked(each) for each in value]
        if isinstance(value, list):
            rows.append(json.dumps(value, ensure_ascii=False))
            return f"@row{len(rows) - 1}@"
        return value

    text = json.dumps(marked(results), indent=1, ensure_ascii=False) + "\n"
    for number, row in enumerate(rows):
        text = text.replace(f'"@row{number}@"', row, 1)
    return text


def names():
    return sorted(file[:-5] for file in os.listdir(FOLDER) if file.endswith(".json"))


def load(name):
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def save(path, text):
    with open(os.path.join(FOLDER, path), "w", encoding="utf-8") as file:
        file.write(text)


def add(name, title, path, command):
    with open(path, encoding="utf-8") as file:
        measured = json.load(file)
    if "benchmarks" in measured:
        context = measured.get("context", {})
        section = {"google_benchmark": {"context": {key: context[key] for key in ("device", "driver", "copy_GB_per_s")
                                                    if key in context}, "benchmarks": measured["benchmarks"]}}
    else:
        section = {"bench": measured.get("results", measured)}  # a --report holds what --json prints
    section = {"title": title, "command": command, **section}
    results = load(name) if name in names() else {"title": name, "about": "", "sections": []}
    places = [n for n, each in enumerate(results["sections"]) if each["title"] == title]
    if places:
        results["sections"][places[0]] = section
    else:
        results["sections"].append(section)
    text = page(name, results)  # refused before anything is written
    save(name + ".json", json_text(results))
    save(name + ".md", text)


def check():
    stale = []
    for name in names():
        path = os.path.join(FOLDER, name + ".md")
        current = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                current = file.read()
        if current != page(name, load(name)):
            stale.append(name)
    for name in stale:
        print(f"benchmarks/results/{name}.md is not what benchmarks/write_results.py writes: run it", file=sys.stderr)
    return 1 if stale else 0


def main(arguments):
    global FOLDER
    if arguments[:1] == ["--folder"] and len(arguments) > 1:
        FOLDER, arguments = arguments[1], arguments[2:]
    if arguments == ["--check"]:
        return check()
    if arguments[:1] == ["--add"] and len(arguments) > 4:
        add(arguments[1], arguments[2], arguments[3], " ".join(arguments[4:]))
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    for name in names():
        save(name + ".md", page(name, load(name)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
