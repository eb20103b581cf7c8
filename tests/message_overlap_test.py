"""Overlap of messages with kernels of traces by hand: the milliseconds of each rank, and which traces are refused."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "message_overlap.py"


class Trace:
    def __init__(self, *processes):
        self.events = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
                       for pid, name in enumerate(processes)]

    def kernel(self, pid, begin, end):
        self.events.append({"ph": "X", "cat": "compute", "name": "k", "pid": pid, "ts": begin, "dur": end - begin})
        return self

    def message(self, pid, name, begin, end, size=8192):
        event = {"cat": "messages", "name": name, "pid": pid, "id": len(self.events), "args": {"bytes": size}}
        self.events += [{**event, "ph": "b", "ts": begin}, {**event, "ph": "e", "ts": end}]
        return self

    def overlap(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "trace.json")
            file.write_text(json.dumps({"traceEvents": self.events}))
            run = subprocess.run([sys.executable, "-B", SCRIPT, file], capture_output=True, text=True)
            return run.returncode, run.stdout + run.stderr


def two():
    return Trace("rank 0: a GPU", "rank 1: a GPU").kernel(0, 0, 10000).kernel(1, 5000, 9000)


def main():
    # Messages of two tags, the last of which comes first: each is under way from the later of its beginnings on.
    trace = two().message(0, "to rank 1, tag 0", 1000, 2000, 65536).message(0, "to rank 1, tag 7", 6000, 6100)
    trace.message(1, "from rank 0, tag 7", 3000, 7000).message(1, "from rank 0, tag 0", 8000, 12000, 65536)
    code, text = trace.overlap()
    assert code == 0, text
    assert text.splitlines() == ["rank 0: kernels 10.0 ms, messages 5.0 ms, both 3.0 ms: 60 %",
                                 "rank 1: kernels 4.0 ms, messages 5.0 ms, both 2.0 ms: 50 %"], text
    # Messages of a tag arrive in order.
    trace = two().message(0, "to rank 1, tag 0", 1000, 1100).message(0, "to rank 1, tag 0", 2000, 2100)
    trace.message(1, "from rank 0, tag 0", 0, 1500).message(1, "from rank 0, tag 0", 1600, 2500)
    assert "rank 1: kernels 4.0 ms, messages 1.0 ms" in trace.overlap()[1], trace.overlap()

    refused = [
        (Trace("a GPU").kernel(0, 0, 1), "a trace of one process"),
        (two(), "no messages of 4096 bytes or more"),
        (two().message(0, "to rank 1, tag 0", 0, 1, 100), "no messages of 4096 bytes or more"),
        (Trace("rank 0: a GPU").kernel(0, 0, 1).message(0, "to rank 1, tag 0", 0, 1), "nothing of rank 1"),
        (two().message(0, "to rank 1", 0, 1), "messages without tags"),
        (two().message(1, "from rank 0, tag 3", 0, 1), "rank 1 received other messages of tag 3 than rank 0 sent"),
    ]
    for trace, words in refused:
        code, text = trace.overlap()
        assert code == 1 and words in text, f"expected '{words}': {text}"


if __name__ == "__main__":
    main()
