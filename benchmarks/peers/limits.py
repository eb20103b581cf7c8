"""Least seconds that a device needs for a work, by what `halocline bench` measures in the same run: fetches, copies, transfers."""
import json


def bench(command, *words):
    return json.loads(command("bench", *words, "--json"))["benches"][0]


def share(mode):
    return mode["share_of_fetches"] if mode["limit"] == "fetches" else mode["share_of_copy"]


def of_projector(command, scan, verb, mode):
    words = ["--views", len(scan.degrees)]
    words += ["--size", scan.n] if scan.slices == scan.n else ["--size", scan.n, "--slices", scan.slices]
    found = bench(command, verb, *words, "--modes", mode, "--seconds", 0.1)["modes"][0]
    return found["seconds"] * share(found)


def of_fdk(command, scan):
    found = bench(command, "fdk", "--size", scan.n, "--views", len(scan.degrees), "--modes", "exact", "--seconds", 0.1)["modes"][0]
    return found["seconds"] / found["ratio_to_least"]


def of_denoise(command, problem):
    """Seconds of Halocline's iterations to the energy."""
    found = bench(command, "denoise", "--size", problem.n, "--method", "pdu", "--forms", "in-place", "--seconds", 0.1)
    bytes_ = min(form["bytes_per_voxel_iteration"] for form in found["forms"])
    return problem.iterations * problem.n**3 * bytes_ / found["copy_bytes_per_s"] if problem.iterations else None


def of_matrix(command, problem):
    rays = f"{len(problem.degrees)}x{problem.columns}"
    found = bench(command, "matrix", "--sizes", problem.n, "--rays", rays, "--slices", problem.slices, "--seconds", 0.05)["problems"][0]
    return min((mode["forward_seconds"] + mode["adjoint_seconds"]) * mode["share_of_copy"] for mode in found["modes"])


def limit_of(work, problem, place):
    """Seconds, or None where nothing is measured for it."""
    if place.command is None or getattr(problem, "kind", "cone") not in ("cone", "parallel"):
        return None
    if work == "forward":
        return of_projector(place.command, problem, "project", "joseph")
    if work == "adjoint":
        return of_projector(place.command, problem, "backproject", "exact")
    if work == "iterative":
        return of_projector(place.command, problem, "project", "joseph") + of_projector(place.command, problem, "backproject", "exact")
    rest = {"fdk": of_fdk, "denoise": of_denoise, "matrix": of_matrix}
    return rest[work](place.command, problem) if work in rest else None
