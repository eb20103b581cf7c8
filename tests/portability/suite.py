"""Work of each implementation: the main job, the self-check, and tests of kernels by group."""
import json
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from .implementations import BUILD, FOLDER

COMMAND = BUILD / "bin" / "halocline"
TESTS = BUILD / "tests"
GROUPS = {
    "denoisers beside their references": ["algorithms/pdu_test", "algorithms/spdu_test", "algorithms/tvgd_test",
                                          "algorithms/tv_operators_test", "algorithms/pdu_variant_test",
                                          "algorithms/filter_test"],
    "projectors and FDK beside theirs": ["algorithms/projector_test", "algorithms/backprojection_test",
                                         "algorithms/upright_test", "algorithms/adjoint_bricks_test",
                                         "algorithms/fdk_test", "algorithms/row_filter_test",
                                         "algorithms/resident_slices_test", "algorithms/counts_test"],
    "solvers beside theirs": ["algorithms/solvers_test"],
    "the same bits: slabs, forms, batches": ["algorithms/fused_pass_test", "algorithms/tvgd_variant_test",
                                             "algorithms/projector_order_test", "scheduling/streaming_test"],
    "devices and memory": ["host/device_test"],
}
SCAN = ["--geometry", "g.xml"]
MAIN_JOB = [
    ["phantom", "--type", "blade", "--size", "64,64,64", "--spacing", "2,2,2", "--phantom-size", "120", "-o", "truth.mha"],
    ["geometry", "circular", "--sid", "600", "--sdd", "1200", "--projections", "90", "-o", "g.xml"],
    ["project", "-i", "truth.mha", *SCAN, "--detector", "96,96", "--pixel", "3,3", "-o", "p.mha"],
    ["noise", "-i", "p.mha", "--photons", "20000", "--seed", "1", "-o", "noisy.mha"],
    ["fdk", "-i", "noisy.mha", *SCAN, "--like", "truth.mha", "--variance-out", "variance.mha", "--photons", "20000", "-o",
     "fdk.mha"],
    ["denoise", "-i", "fdk.mha", "--method", "pdu", "-o", "pdu.mha"],
    ["denoise", "-i", "fdk.mha", "--method", "spdu", "--weights", "variance.mha", "-o", "spdu.mha"],
    ["denoise", "-i", "fdk.mha", "--method", "tvgd", "-o", "tvgd.mha"],
    ["reconstruct", "-i", "noisy.mha", *SCAN, "--like", "truth.mha", "--method", "cgls", "--iterations", "6", "-o",
     "cgls.mha"],
]
FIRST = FOLDER / "main-job" / "pocl-3.1"  # the folder with the volumes that others are compared with
VOLUMES = ["p.mha", "fdk.mha", "variance.mha", "pdu.mha", "spdu.mha", "tvgd.mha", "cgls.mha"]


def run(implementation, words, folder, seconds=3600):
    """Exit code (124: out of time) and output."""
    command, environment = implementation.command(words, folder)
    environment |= {"HALOCLINE_CACHE_DIR": str(FOLDER / f"cache-{implementation.name}"), "HALOCLINE_POISON_MEMORY": "1",
                    "POCL_CACHE_DIR": str(FOLDER / f"cache-{implementation.name}-pocl")}
    try:
        done = subprocess.run(command, env=environment, cwd=folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        return 124, str(late.stdout or "")
    return done.returncode, done.stdout


def main_job(implementation, kept):
    """Volumes of the main job in the folder `kept`; what failed, if something did."""
    kept.mkdir(parents=True, exist_ok=True)
    for words in MAIN_JOB:
        code, said = run(implementation, [COMMAND, *words, "--quiet", "--no-tune"], kept)
        if code != 0:
            return f"{words[0]} ended with {code}: {said.strip()[-200:]}"
    return ""


def distance(folder, other, name, implementation):
    """Largest difference of two volumes, over the largest value; "same bits" where there is none."""
    if (folder / name).read_bytes() == (other / name).read_bytes():
        return "same bits"
    code, said = run(implementation, [COMMAND, "metrics", "-i", folder / name, "--reference", other / name, "--json",
                                      "--quiet"], folder)
    if code != 0:
        return "?"
    stated = json.loads(said[said.index("{"):])
    return f"{stated['reference']['largest_difference'] / max(abs(stated['whole']['maximum']), 1e-300):.1g}"


def self_check(implementation):
    """Findings by kind, and those that are not right."""
    code, said = run(implementation, [COMMAND, "devices", "--check"], FOLDER)
    found = Counter(re.findall(r" {2,}(right|wrong|differs in the last bits|not for this device)\b", said))
    bad = [line.strip() for line in said.splitlines() if re.search(r" {2,}(wrong|differs)", line)]
    return {"code": code, "found": dict(found), "bad": bad}


def tests(implementation, stems):
    """Numbers of cases that passed, failed and were skipped, and the names of those that failed."""
    total, failed = Counter(), []
    for stem in stems:
        program, name = stem.split("/")
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            code, said = run(implementation, [TESTS / f"{program}_tests", f"--file={name}",
                                              f"--gtest_output=json:{folder}/out.json"], folder)
            if not (Path(folder) / "out.json").exists():
                total["ended"] += 1
                failed.append(f"{name} ended with {code}: {said.strip()[-200:]}")
                continue
            stated = json.loads((Path(folder) / "out.json").read_text())
        for suite in stated["testsuites"]:
            for case in suite["testsuite"]:
                kind = ("failed" if case.get("failures") else
                        "skipped" if case.get("result") in ("SKIPPED", "SUPPRESSED") else "passed")
                total[kind] += 1
                if kind == "failed":
                    failed.append(f"{suite['name']}.{case['name']}")
    return {"counts": dict(total), "failed": failed}


def results(implementation, groups):
    """All of it, as docs/portability.md shows it."""
    kept = FOLDER / "main-job" / implementation.name
    found = {"source": implementation.source, "main job": main_job(implementation, kept)}
    if not found["main job"] and kept != FIRST and FIRST.exists():
        found["distances"] = {name: distance(kept, FIRST, name, implementation) for name in VOLUMES}
    found["self-check"] = self_check(implementation)
    found["tests"] = {group: tests(implementation, GROUPS[group]) for group in groups}
    return found
