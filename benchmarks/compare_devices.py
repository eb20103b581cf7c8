#!/usr/bin/env python3
"""Writes benchmarks/results/devices.json and .md, a column a device, from the files of `halocline bench device`.

compare_devices.py FILE...    adds the devices of these files (--report, or what --json printed), or replaces them
compare_devices.py            writes the page again
  --folder FOLDER             there, in place of benchmarks/results; the first argument

A file of yours, from a GPU that is not there, is welcome: see CONTRIBUTING.md.
"""
import json
import os
import sys

import write_results

ABOUT = ("What `halocline bench device` says of each device: G a second, and of that the share of the device's limit, "
         "the nearer of reads or texels and a copy, measured in the same run. FDK is from host to host and has no such "
         "limit. RabbitCT: back-projection of 496 views of 1248 x 960 pixels on a circle (the size of Rohkohl et al.'s "
         "scan, 2009; its own matrices are not among these inputs), which needs as many updates as its measure counts.")


def cards_of(file):
    """The devices' cards in a report, or in what --json printed."""
    try:
        with open(file, encoding="utf-8") as text:
            found = json.load(text)
        benches = found.get("results", found)["benches"]
        complete = bool(benches) and all({"device", "rows", "check", "version"} <= set(each) for each in benches)
    except OSError as error:
        raise SystemExit(f"{file} cannot be read: {error.strerror}")
    except (ValueError, AttributeError, KeyError, TypeError):
        complete = False
    if not complete:
        raise SystemExit(f"{file} is no file of 'halocline bench device --report'")
    return benches


def name_of(card):
    return f"{card['device']['name']}, {card['device']['platform']} {card['device']['driver']}"


def cards_folder():
    return os.path.join(write_results.FOLDER, "devices")


def keep(card):
    os.makedirs(cards_folder(), exist_ok=True)
    stem = "".join(c if c.isalnum() else "-" for c in name_of(card).lower()).strip("-")
    with open(os.path.join(cards_folder(), f"{stem}.json"), "w", encoding="utf-8") as out:
        out.write(write_results.json_text(card))


def kept():
    folder = cards_folder()
    if not os.path.isdir(folder):
        raise SystemExit(f"there are no cards in {folder}; give a file of 'halocline bench device --report'")
    cards = []
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            cards.append(json.load(text))
    return cards


def rate_cell(row):
    if row is None:
        return None
    share = row.get("share_of_limit")
    return f"{1e-9 * row['rate_per_s']:.3g}" + (f" ({100 * share:.0f} %)" if share is not None else "")


def rates_rows(cards):
    found = {}
    for n, card in enumerate(cards):
        for row in card["rows"]:
            found.setdefault((row["work"], row["mode"], row["unit"]), {})[n] = row
    return [[work, mode, unit, *(rate_cell(rows.get(n)) for n in range(len(cards)))]
            for (work, mode, unit), rows in found.items()]


def device_rows(cards):
    rows = []
    for card in cards:
        answers = list(card["check"].values())
        rates = card.get("rates", {})
        rows.append([name_of(card), card["device"]["compute_units"],
                     *(1e-9 * rates[key] if key in rates else None
                       for key in ("copy_bytes_per_s", "upload_bytes_per_s", "download_bytes_per_s")),
                     sum(each == "right" for each in answers), sum(each.startswith("differs") for each in answers),
                     sum(each.startswith("wrong") for each in answers), card["version"]])
    return rows


def results_of(cards):
    return {"title": "Devices side by side", "about": ABOUT, "sections": [
        {"title": "Devices", "command": "halocline bench device --report card.json",
         "columns": ["device", "units", "copy GB/s", "up", "down", "forms right", "differ in last bits", "wrong", "version"],
         "rows": device_rows(cards)},
        {"title": "Rates", "columns": ["work", "mode", "G/s of", *(card["device"]["name"] for card in cards)],
         "rows": rates_rows(cards)}]}


def main(files):
    if files[:1] == ["--folder"] and len(files) > 1:
        write_results.FOLDER, files = files[1], files[2:]
    for card in [card for file in files for card in cards_of(file)]:  # all are read before one is kept
        keep(card)
    results = results_of(kept())
    for suffix, text in ((".json", write_results.json_text(results)), (".md", write_results.page("devices", results))):
        with open(os.path.join(write_results.FOLDER, "devices" + suffix), "w", encoding="utf-8") as out:
            out.write(text if text.endswith("\n") else text + "\n")


if __name__ == "__main__":
    if any(each in ("-h", "--help") for each in sys.argv[1:]):
        print(__doc__)
    else:
        main(sys.argv[1:])
