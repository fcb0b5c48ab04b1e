"""Which half seconds of a measurement were the program's own, by the rule that ptbench goes by.

A slice is clean if other programs used at most 5 % of the cores' time and the hypervisor stole at
most 1.5 %: docs/measuring.md. Only Python's standard library is used.
"""
import os
import resource
import statistics
import time

SLICE_SECONDS = 0.5
LEAST_SECONDS = 0.25  # load does not show in less
MOST_FOREIGN = 0.05
MOST_STOLEN = 0.015
TICKS = os.sysconf("SC_CLK_TCK")


def core_times(cpus):
    """Busy and stolen seconds of these CPUs since they started."""
    busy = stolen = 0
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            name, *fields = line.split()
            if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cpus:
                user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
                busy += user + nice + system + irq + softirq
                stolen += steal
    return busy / TICKS, stolen / TICKS


def own_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def is_clean(seconds, cores, busy, stolen, own):
    """Of a slice of so many seconds on so many cores, with these CPU seconds in it. `own` are the
    program's: what is busy beyond them is foreign."""
    if seconds < LEAST_SECONDS:
        return False
    share = 1 / (seconds * cores)
    return max(0, busy - own) * share <= MOST_FOREIGN and stolen * share <= MOST_STOLEN


class CoreWatch:
    """Who used the program's cores, by default all that it may run on."""

    def __init__(self, cpus=None):
        self.cpus = set(os.sched_getaffinity(0)) if cpus is None else set(cpus)
        self.begin()

    def begin(self):
        self.start = self.now()

    def was_clean(self):
        """Since `begin`."""
        seconds, busy, stolen, own = (end - start for end, start in zip(self.now(), self.start))
        return is_clean(seconds, len(self.cpus), busy, stolen, own)

    def now(self):
        return (time.perf_counter(), *core_times(self.cpus), own_seconds())


def summary(slices):
    """Of (clean, seconds of its steps) a slice: the median over clean slices of their medians, or
    over all where none is clean, as in a repetition of ptbench; and how many are clean."""
    clean = [statistics.median(steps) for is_clean_one, steps in slices if is_clean_one]
    every = [statistics.median(steps) for _, steps in slices]
    return {"step_seconds": statistics.median(clean or every), "clean_slices": len(clean),
            "slices": len(slices), "steps": sum(len(steps) for _, steps in slices)}


class Memory:
    """The largest resident size since this was made, above what it was then: after start-up and
    imports, which are not the model's."""

    def __init__(self):
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # forgets the peak so far
        self.before = peak_bytes()

    def increase(self):
        return peak_bytes() - self.before


def peak_bytes():
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])
