"""Ways to run a job: what is done to it, and what has to come of it."""
import filecmp
import os
import shlex
import shutil
import signal
import subprocess

from . import process
from .process import Disturbance

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
# Kinds, codes and scopes of faults: tests/support/fault_layer.hpp.
FAULTS = [("enqueue", -5, "once"), ("enqueue", -5, "event"), ("enqueue", -2, "device"), ("enqueue", -2, "all"),
          ("allocation", -4, "once"), ("allocation", -4, "kind"), ("build", -11, "once"), ("argument", -38, "once"),
          ("wait", -5, "once"), ("wait", -36, "device"), ("open", -6, "once")]


class Tally:
    """Outcomes of each way. right: the bits of the plain job. error: ended with a message, nothing left. refused: does not
    fit the devices or the disk, says the plan. resumed: right after being interrupted. wrong: all else, kept in build/soak/findings."""

    def __init__(self):
        self.rows, self.wrong = {}, 0

    def count(self, way, outcome):
        row = self.rows.setdefault(way, dict.fromkeys(("runs", "right", "resumed", "error", "refused", "wrong"), 0))
        row["runs"] += 1
        row[outcome] += 1

    def finding(self, way, job, ran, amiss):
        self.wrong += 1
        folder = process.FINDINGS / f"{self.wrong:03d}"
        shutil.copytree(job.scene.folder, folder)
        text = f"{way}: {amiss}\n{shlex.join(ran.words)}\nexit code {ran.code}\n{ran.said}"
        (folder / "finding.txt").write_text(text)
        print(text, flush=True)

    def print(self):
        names = ["runs", "right", "resumed", "error", "refused", "wrong"]
        print(f"{'way':<28}" + "".join(f"{name:>9}" for name in names))
        total = dict.fromkeys(names, 0)
        for way, row in self.rows.items():
            print(f"{way:<28}" + "".join(f"{row[name]:>9}" for name in names))
            total = {name: total[name] + row[name] for name in names}
        print(f"{'all':<28}" + "".join(f"{total[name]:>9}" for name in names), flush=True)


class Trial:
    """A job in a folder of its own, `out`, in which nothing but the result may be left, and nothing in `scratch`."""

    def __init__(self, job, plain, seconds, tally):
        self.job, self.plain, self.seconds, self.tally = job, plain, seconds, tally
        self.out, self.scratch = process.FOLDER / "out", process.FOLDER / "scratch"
        for folder in (self.out, self.scratch):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        self.result, self.state = self.out / "out.mha", self.out / "state"

    def words(self, *more):
        return [*self.job.words, *more, "-o", self.result]

    def keeping(self, dice):
        every = ["--checkpoint-every", dice.choice(["0", "0.05"])] if self.job.words[0] != "fdk" else []
        return ["--checkpoint", self.state, *every]

    def outcome(self, ran, keeping=False, survives=True):
        """right, error or refused, or a text that says what is amiss."""
        left = {path.name for path in self.out.iterdir()} | {f"scratch/{path.name}" for path in self.scratch.iterdir()}
        if ran.code == 0:
            if not self.result.exists():
                return "there is no result"
            if not filecmp.cmp(self.result, self.plain, shallow=False):
                return "the result has other bits"
            left -= {"out.mha"}
        elif ran.code is None:
            return "it hangs"
        elif keeping:
            left -= {"state"}
        if "ended the process" in ran.said:  # the driver, over a file of its own; the next run removes what is left
            left = {name for name in left if not name.startswith(".halocline-")}
        if left:
            return f"left behind: {', '.join(sorted(left))}"
        if ran.code == 0:
            return "right"
        if ran.code in (1, 2) and "error: " not in ran.said:
            return "there is no message"
        if ran.code == 2 and ("--device-memory" in ran.words or "the disk has" in ran.said or "cannot be split" in ran.said):
            return "refused"
        return "error" if survives and ran.code == 1 else f"it ended with {ran.code}"

    def judge(self, way, ran, outcome):
        if outcome not in ("right", "resumed", "error", "refused"):
            self.tally.finding(way, self.job, ran, outcome)
            outcome = "wrong"
        self.tally.count(way, outcome)


def _slabs(trial, dice):
    """--device-memory of a small part of what the job takes."""
    memory = int(trial.plain.stat().st_size * dice.uniform(1, 8)) + dice.choice([20_000, 100_000, 400_000])
    more = ["--device-memory", memory]
    if dice.random() < 0.3:
        more += ["--scratch", trial.scratch]
    if dice.random() < 0.3:
        more += ["--sub-devices", 2]
    return more


def slabs(trial, dice):
    ran = process.run(trial.words(*_slabs(trial, dice)))
    trial.judge("slabs", ran, trial.outcome(ran))


def devices(trial, dice):
    ran = process.run(trial.words("--sub-devices", 2))
    trial.judge("two devices", ran, trial.outcome(ran))


def again(trial, dice):
    more = trial.keeping(dice) if trial.job.kept else []
    ran = process.run(trial.words(*more))
    trial.judge("again, with checkpoints", ran, trial.outcome(ran, survives=False))


def fault(trial, dice):
    kind, code, scope = dice.choice(FAULTS)
    more = dice.choice([[], ["--sub-devices", 2], _slabs(trial, dice)])
    number = min(int(dice.expovariate(1 / 12)) + 1, 200)
    ran = process.run(trial.words(*more), Disturbance(fault=f"{kind}:{number}:{code}:{scope}"))
    trial.judge("failing OpenCL calls", ran, trial.outcome(ran))


def interrupted(trial, dice):
    disturbance = Disturbance(moment=dice.uniform(0, 1.05) * trial.seconds, signal=dice.choice(ENDING))
    ran = process.run(trial.words(), disturbance)
    outcome = trial.outcome(ran)
    if ran.code == -disturbance.signal:  # before the command has its handlers
        outcome = outcome if "left" in outcome else "error"
    trial.judge("interrupted", ran, outcome)


def resumed(trial, dice):
    """Killed or interrupted up to five times, resumed each time, in slabs or not, then to the end."""
    more = [*trial.keeping(dice), "--resume"]
    times = dice.randrange(1, 6)
    for _ in range(times):
        how = dice.choice([signal.SIGKILL, signal.SIGKILL, *ENDING])
        ran = process.run(trial.words(*more), Disturbance(moment=dice.uniform(0.1, 1.05) * trial.seconds, signal=how))
        if ran.code == 0 or ran.code is None:
            break
    if ran.code:
        ran = process.run(trial.words(*more))
    outcome = trial.outcome(ran, survives=False)
    trial.judge("killed and resumed", ran, "resumed" if outcome == "right" else outcome)


def small_files(trial, dice):
    """No file of this run may be larger than a part of the result, and a bit."""
    size = max(1, int(trial.plain.stat().st_size * dice.uniform(0, 1.2)))
    more = trial.keeping(dice) if trial.job.kept and dice.random() < 0.5 else []
    ran = process.run(trial.words(*more), Disturbance(file_size=size))
    trial.judge("files limited in size", ran, trial.outcome(ran, keeping=bool(more)))


def full_disk(trial, dice):
    """The folder of the result is a disk that holds a part of it, or of its states."""
    if os.geteuid() != 0:
        return
    size = int(trial.plain.stat().st_size * dice.uniform(0.1, 4)) + 4096
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", trial.out], check=True)
    try:
        more = trial.keeping(dice) if trial.job.kept and dice.random() < 0.7 else []
        ran = process.run(trial.words(*more))
        trial.judge("full disks", ran, trial.outcome(ran, keeping=bool(more)))
    finally:
        subprocess.run(["umount", trial.out], check=True)


def damaged_cache(trial, dice):
    files = sorted(path for path in process.CACHE.rglob("*") if path.is_file())
    for path in dice.sample(files, min(3, len(files))):
        data = bytearray(path.read_bytes())
        if data and dice.random() < 0.5:
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        else:
            del data[dice.randrange(len(data) + 1):]
        path.write_bytes(data)
    ran = process.run(trial.words())
    trial.judge("damaged caches", ran, trial.outcome(ran, survives=False))


def beside(trial, dice):
    """Another job writes to the same folder at the same time, and may be killed."""
    other = trial.out / "other.mha"
    killed = Disturbance(moment=dice.uniform(0, trial.seconds), signal=signal.SIGKILL) if dice.random() < 0.5 else None
    second = process.Running([*trial.job.words, "-o", other], killed)
    ran = process.run(trial.words())
    done = second.wait()
    ok = done.code == -signal.SIGKILL if killed and done.code else done.code == 0 and filecmp.cmp(other, trial.plain, False)
    for path in trial.out.iterdir():
        if path != trial.result and (killed or path == other):  # the next output removes those of a killed run
            path.unlink()
    outcome = trial.outcome(ran, survives=False)
    trial.judge("beside another", ran if outcome != "right" else done, outcome if ok else "the other job is wrong")


def disturb(job, dice, tally):
    """Runs a job plainly, then in some ways."""
    plain = process.FOLDER / "plain.mha"
    plain.unlink(missing_ok=True)
    process.run([*job.words, "-o", plain])  # compiles kernels
    ran = process.run([*job.words, "-o", plain])
    trial = Trial(job, plain, ran.seconds, tally)
    if ran.code != 0:
        trial.judge("plain", ran, f"the plain job ended with {ran.code}")
        return
    tally.count("plain", "right")
    possible = [slabs, devices, again, fault, fault, interrupted, small_files, full_disk, damaged_cache, beside]
    for way in dice.sample(possible + [resumed, resumed] * job.kept, 5):
        way(Trial(job, plain, ran.seconds, tally), dice)
