#!/usr/bin/env python3
"""Overlap of kernels with messages between ranks, from a trace of several ranks.

  mpirun -n 2 halocline denoise ... --trace trace.json
  benchmarks/message_overlap.py trace.json

A message is under way from the later of its two beginnings (sending, receiving) to its arrival as its receiver sees it.
Prints for each rank the milliseconds of its kernels, those in which messages to or from it are under way, and those of
both at a time, with their share of the shorter one: an upper bound. Messages below 4 KiB (sums, checks) are left out.
Between two ranks, messages of a tag arrive in the order of sending.
"""

import json
import re
import sys
from collections import defaultdict

LEAST_BYTES = 4096


def union(intervals):
    """Sorted intervals that do not meet, of any intervals (begin, end)."""
    result = []
    for begin, end in sorted(intervals):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        elif end > begin:
            result.append([begin, end])
    return result


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def common(a, b):
    """Length of the part that two unions share."""
    total, n = 0.0, 0
    for begin, end in a:
        while n < len(b) and b[n][1] <= begin:
            n += 1
        k = n
        while k < len(b) and b[k][0] < end:
            total += max(0.0, min(end, b[k][1]) - max(begin, b[k][0]))
            k += 1
    return total


def read(path):
    """Kernels by rank, and messages by (direction, rank, other rank, tag): lists of (begin, end, bytes) in us."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    ranks = {}
    for event in events:
        if event["name"] == "process_name":
            rank = re.match(r"rank (\d+): ", event["args"]["name"])
            if rank is None:
                sys.exit(f"{path}: a trace of one process; give one of several: mpirun -n N halocline ... --trace FILE")
            ranks[event["pid"]] = int(rank.group(1))
    kernels, messages, begun = defaultdict(list), defaultdict(list), {}
    for event in events:
        if event["ph"] == "X" and event["cat"] == "compute":
            kernels[ranks[event["pid"]]].append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] == "b":
            begun[event["id"]] = event["ts"]
        elif event["ph"] == "e" and event.get("args", {}).get("bytes", 0) >= LEAST_BYTES:
            name = re.match(r"(to|from) rank (\d+), tag (\d+)", event["name"])
            if name is None:
                sys.exit(f"{path}: messages without tags; make the trace by this version of Halocline")
            direction, other, tag = name.groups()
            messages[direction, ranks[event["pid"]], int(other), int(tag)].append(
                (begun[event["id"]], event["ts"], event["args"]["bytes"])
            )
    absent = {other for _, _, other, _ in messages} - set(ranks.values())
    if absent:
        sys.exit(f"{path}: nothing of rank {min(absent)}; give the trace of a job that did not fail")
    if not messages:
        sys.exit(f"{path}: no messages of {LEAST_BYTES} bytes or more; give the trace of a job whose ranks send some")
    return kernels, messages


def under_way(messages):
    """By rank, when messages are under way to or from it: those of a tag arrive in the order of sending."""
    result = defaultdict(list)
    for (direction, rank, other, tag), received in messages.items():
        if direction != "from":
            continue
        sent = sorted(messages.get(("to", other, rank, tag), []))
        if sorted(size for _, _, size in received) != sorted(size for _, _, size in sent):
            sys.exit(f"rank {rank} received other messages of tag {tag} than rank {other} sent it: the trace has a part")
        for (begin, end, _), (sent_at, _, _) in zip(sorted(received), sent):
            for each in rank, other:
                result[each].append((max(begin, sent_at), end))
    return result


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    kernels, messages = read(sys.argv[1])
    way = under_way(dict(messages))
    for rank in sorted(kernels.keys() | way.keys()):
        busy, moving = union(kernels[rank]), union(way[rank])
        both, shorter = common(busy, moving), min(length(busy), length(moving))
        print(
            f"rank {rank}: kernels {length(busy) / 1e3:.1f} ms, messages {length(moving) / 1e3:.1f} ms, "
            f"both {both / 1e3:.1f} ms: {100 * both / max(shorter, 1e-9):.0f} %"
        )


if __name__ == "__main__":
    main()
