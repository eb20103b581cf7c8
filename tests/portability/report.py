"""Tables of docs/portability.md, and what counts as a fault."""
import json
from collections import defaultdict
from pathlib import Path

from .page import PAGE, put

KNOWN = Path(__file__).with_name("known.json")


def quarter(gpu):
    return gpu.waves / 4


def fault_of(gpu, kernel):
    """Why the kernel is no good form for this GPU; empty: it is."""
    if kernel.fault:
        return f"does not compile: {kernel.fault}"
    if not kernel.by_default:
        return ""
    if kernel.spills > 0:
        return f"spills {kernel.spills} {'registers' if gpu.waves else 'bytes'}"
    if gpu.waves and kernel.occupancy < quarter(gpu):
        return f"{kernel.occupancy} of {gpu.waves} waves a SIMD ({kernel.registers} registers)"
    return ""


def faults(gpus, results):
    """Those that known.json does not explain. It has a reason for each "GPU kernel"; entries without a fault are
    faults, too."""
    known = json.loads(KNOWN.read_text())
    found, seen = [], set()
    for gpu in gpus:
        for kernel in results[gpu.name]:
            fault = fault_of(gpu, kernel)
            key = f"{gpu.name} {kernel.name}"
            if fault and key in known and not kernel.fault:
                seen.add(key)
            elif fault:
                found.append(f"{gpu.name}: {kernel.name} {fault}; options {kernel.options}")
    names = {gpu.name for gpu in gpus}
    found += [f"{key} is in {KNOWN.name}, but has no fault" for key in known
              if key not in seen and key.split()[0] in names]
    return sorted(set(found))


def span(values):
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low}-{high}"


def cell(gpu, kernels):
    if not kernels:
        return "-"
    if any(each.fault for each in kernels):
        return "fails"
    text = span([each.registers for each in kernels])
    if gpu.waves:
        text += " / " + span([each.occupancy for each in kernels])
    spills = max(each.spills for each in kernels)
    return text + (f", **{spills}**" if spills else "")


def table(gpus, results, by_default):
    rows = defaultdict(lambda: defaultdict(list))
    for gpu in gpus:
        for kernel in results[gpu.name]:
            if kernel.by_default or not by_default:
                rows[kernel.name][gpu.name].append(kernel)
    lines = ["| kernel | forms | " + " | ".join(gpu.name for gpu in gpus) + " |", "|---" * (len(gpus) + 2) + "|"]
    for name in sorted(rows):
        most = max(len(each) for each in rows[name].values())
        lines.append(f"| {name} | {most} | " + " | ".join(cell(gpu, rows[name][gpu.name]) for gpu in gpus) + " |")
    return lines


def summary(gpus, results):
    lines = ["| GPU | cards | programs' kernels | do not compile | of jobs' defaults: kernels | spill | fewer than a quarter "
             "of the waves |", "|---" * 7 + "|"]
    for gpu in gpus:
        every = results[gpu.name]
        default = [each for each in every if each.by_default]
        few = sum(gpu.waves > 0 and each.occupancy < quarter(gpu) for each in default)
        lines.append(f"| {gpu.name} | {gpu.cards} | {len(every)} | {sum(bool(each.fault) for each in every)} | "
                     f"{len(default)} | {sum(each.spills > 0 for each in default)} | {few if gpu.waves else '-'} |")
    return lines


def known_table():
    lines = ["| GPU, kernel | why it is as it is |", "|---|---|"]
    lines += [f"| {key} | {reason} |" for key, reason in sorted(json.loads(KNOWN.read_text()).items())]
    return lines


def write(gpus, results):
    """Replaces what stands between the markers of docs/portability.md."""
    amd, intel = [gpu for gpu in gpus if gpu.waves], [gpu for gpu in gpus if not gpu.waves]
    parts = {"summary": summary(gpus, results), "known": known_table(), "amd": table(amd, results, True),
             "amd-all": table(amd, results, False), "intel": table(intel, results, False)}
    text = PAGE.read_text()
    for name, lines in parts.items():
        text = put(text, name, lines, "compile-for-gpus")
    PAGE.write_text(text)
