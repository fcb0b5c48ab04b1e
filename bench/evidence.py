"""What figures that are published rest on: intervals, and builds that can be named.

Only Python's standard library is used. tests/bench tests it.
"""
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
from typing import NamedTuple, Optional

LEVEL = 0.95


class Interval(NamedTuple):
    """An estimate and the ends of its 95 % interval: None where `count` values have none."""
    middle: float
    low: Optional[float]
    high: Optional[float]
    count: int


def t_quantile(freedom):
    """97.5 % quantile of Student's t: a table, then Fisher's expansion (A&S 26.7.5)."""
    if freedom <= 4:
        return (12.706, 4.303, 3.182, 2.776)[freedom - 1]
    z = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
    return (z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3))


def mean(values):
    """Of values that scatter alike about it. Two values know their spread too badly to tell."""
    middle = statistics.mean(values)
    if len(values) < 3:
        return Interval(middle, None, None, len(values))
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Interval(middle, middle - half, middle + half, len(values))


def ratio(ratios):
    """The geometric mean of ratios, each of one round in which both sides met the same machine."""
    logs = mean([math.log(one) for one in ratios])
    low, high = (None if end is None else math.exp(end) for end in (logs.low, logs.high))
    return Interval(math.exp(logs.middle), low, high, logs.count)


def with_interval(value, low, high, text, half_text=None):
    """"10.7 ± 0.3", or "10.7 (10.1 to 12.0)" where the halves are a fifth apart, or "4 to 12" where the interval is
    wider than its value or reaches below 0: as src/measure/interval_text.h tells all values. `text` writes a number,
    `half_text` half a width."""
    shorter, longer = sorted((value - low, high - value))
    if low < 0 or high - low > value:
        return f"{text(low)} to {text(high)}"
    if longer >= 1.2 * shorter and longer > shorter:
        return f"{text(value)} ({text(low)} to {text(high)})"
    return f"{text(value)} ± {(half_text or text)((high - low) / 2)}"


def is_within(interval, limit):
    """Whether it is shown that what was measured is at most `limit`: the high end is."""
    return interval.high is not None and interval.high <= limit


def proportion(hits, trials):
    """Clopper and Pearson's exact interval (Biometrika 1934)."""
    if not 0 <= hits <= trials or trials == 0:
        raise ValueError(f"{hits} of {trials}")
    tail = (1 - LEVEL) / 2

    def at_least(share):  # the probability of so many hits or more
        return sum(math.comb(trials, k) * share**k * (1 - share)**(trials - k)
                   for k in range(hits, trials + 1))

    def at_most(share):
        return sum(math.comb(trials, k) * share**k * (1 - share)**(trials - k)
                   for k in range(hits + 1))

    low = 0.0 if hits == 0 else root(lambda share: at_least(share) - tail)
    high = 1.0 if hits == trials else root(lambda share: tail - at_most(share))
    return Interval(hits / trials, low, high, trials)


def root(rising):
    """Where a rising function on [0, 1] is zero."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


class Unpublishable(Exception):
    """Why figures of these measurements are not to be published."""


def require_origin(generators):
    """The one commit that all were measured with: a clean Release build's."""
    for generator in generators:
        commit = generator.get("git_commit")
        if not commit:
            raise Unpublishable("a build whose commit is not known")
        if commit.endswith("-dirty"):
            raise Unpublishable(f"commit {commit}: the build holds changes that no commit has")
        if generator.get("build_type") != "Release":
            raise Unpublishable(f"a build of type {generator.get('build_type')}")
    commits = sorted({generator["git_commit"] for generator in generators})
    if len(commits) != 1:
        raise Unpublishable(f"builds of {len(commits)} commits: {', '.join(commits)}")
    return commits[0]


def require_origin_or_exit(generators):
    try:
        return require_origin(generators)
    except Unpublishable as reason:
        sys.exit(f"nothing is published of {reason}")


def version_of(ptbench):
    """What that build says of itself, in a line."""
    try:
        said = subprocess.run([ptbench, "--version"], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        sys.exit(f"{ptbench} does not start ({error.strerror}): build it with scripts/build, or name another")
    return said.splitlines()[0]


def processor():
    """The model of this machine's CPU as the kernel tells it, or its architecture."""
    model = re.search(r"^model name\s*: (.+)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return model.group(1) if model else platform.machine()


def machine():
    """What a report says of where it was measured, in a line."""
    return f"{processor()}, {os.cpu_count()} cores; {platform.system()} {platform.release()}"


def publish(text, output):
    """Into that file, or onto standard output where none is named."""
    if output:
        pathlib.Path(output).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
