"""Planning a million instances: memory and time, and how long commands take to start.

    python benchmarks/planning.py [--instances 1000000]

The suite is roboview-bias with a grid over everything, repeated until there are enough instances; the plan is walked to
its end in a process of its own, whose peak memory is compared with that of one which walks a hundred episodes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

_WALK = """
import json, resource, sys, time
from dataclasses import replace
from rbench.plugins.catalog import build_catalog
from rbench.running.plan import Plan, Selection
from rbench.suites.loading import load_suite

instances, walked = int(sys.argv[1]), int(sys.argv[2])
suite = load_suite(build_catalog(), "roboview-bias")
here = Plan(suite, Selection(repeats=1)).count
task = suite.tasks[0]
tasks = tuple(replace(task, name=f"task-{i}") for i in range(-(-instances // here)))
begin = time.process_time()
plan = Plan(replace(suite, tasks=tasks), Selection(repeats=1))
counted, total = time.process_time(), plan.count
count = 0
for episode in plan:
    count += 1
    if count == walked:
        break
end = time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"planned": total, "walked": count, "seconds": end - counted, "first": counted - begin, "peak": peak}))
"""


def walk(instances: int, walked: int) -> dict[str, float]:
    """Plan so many instances in a new process and walk so many episodes."""
    command = [sys.executable, "-c", _WALK, str(instances), str(walked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def started(*arguments: str, rounds: int = 5) -> float:
    """Least wall seconds of a command."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-m", "rbench", *arguments], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=1_000_000)
    given = parser.parse_args()
    short, whole = walk(given.instances, 100), walk(given.instances, sys.maxsize)
    each = whole["seconds"] / whole["walked"]
    print(
        f"{whole['walked']:,.0f} of {whole['planned']:,.0f} episodes walked:"
        f" {whole['seconds']:.1f} s CPU, {1e6 * each:.1f} us each"
    )
    print(f"peak memory {whole['peak']:.0f} MB; with 100 episodes walked {short['peak']:.0f} MB")
    for arguments in (
        ("--help",),
        ("list-plugins",),
        ("list-plugins", "--json"),
        ("show", "roboview-bias"),
        ("describe", "agent:simple"),
    ):
        print(f"rbench {' '.join(arguments):25} {started(*arguments):6.2f} s")


if __name__ == "__main__":
    main()
