"""What each step of scripts/gpu-check has found, in a file of its own, so that nothing is lost with the machine.

The files of one device and one commit lie in one folder, OUTPUT/DEVICE-COMMIT: STEP.json has the step, how it ended
and what is kept of its result; STEP.result.json is what ptbench itself wrote; STEP.log what a step printed that did
not pass. Only Python's standard library is used.
"""
import hashlib
import json
import re

import gpu_report

SCHEMA = "ptbench.gpu-step/1"
ANEW = ("build", "doctor", "torch")  # kinds of steps that a later run does again


def ranks_found(result):
    """Runs of a sweep, with the efficiency that it found."""
    return [gpu_report.figures(run) | {"efficiency": (run["scaling"] or {}).get("efficiency")}
            for run in result["runs"]]


def comm_found(result):
    kept = ("collective", "ranks", "bytes", "seconds", "busbw_bytes_per_second", "wrong")
    return [{name: row[name] for name in kept} for row in result]


READERS = {"run": lambda result: gpu_report.figures(result["runs"][0]),
           "verification": lambda result: result["runs"][0]["verification"],
           "ranks": ranks_found, "comm": comm_found}


def write_whole(file, text):
    """The file has all of the text, or what it had before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(file.name + ".ptbench-partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(file)


def name_of(device):
    return re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")


def state_of(about, binaries):
    """The commit, or of a build that is no commit's also which one it is."""
    if not about["dirty"] and about["commit"] != "unknown":
        return about["commit"]
    digest = hashlib.sha256()
    for file in binaries:
        digest.update(file.read_bytes() if file.is_file() else b"")
    return f"{about['commit']}-{digest.hexdigest()[:8]}"


class Records:
    """Of one device and commit. `scratch`: where steps write their results; `again`: without regard to records that
    there are."""

    def __init__(self, output, about, binaries, scratch, again):
        self.folder = output / f"{name_of(about['device']['name'])}-{state_of(about, binaries)}"
        self.about, self.scratch, self.again = about, scratch, again

    def file(self, step, ending):
        return self.folder / (step.file + ending)

    def kept(self, step, command):
        """The record of an earlier run in which this step passed with the same command, or None."""
        if self.again or step.kind in ANEW:
            return None
        try:
            record = json.loads(self.file(step, ".json").read_text(encoding="utf-8"))
            is_same = record["schema"] == SCHEMA and record["step"]["command"] == command
            return record if is_same and record["step"]["status"] == "passed" else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def result_file(self, step):
        """Where the step's command writes its result."""
        return self.scratch / (step.file + ".result.json")

    def found(self, step):
        """What is kept of the step's result, or None where it wrote none that can be read."""
        try:
            return READERS[step.kind](json.loads(self.result_file(step).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, IndexError, TypeError):
            return None

    def save(self, step, entry, found, log):
        """In place of what an earlier run has found."""
        texts = {".log": log if entry["status"] != "passed" else "", ".result.json": ""}
        if self.result_file(step).is_file():
            texts[".result.json"] = self.result_file(step).read_text(encoding="utf-8")
        texts[".json"] = gpu_report.as_json({"schema": SCHEMA, **self.about, "step": entry, "found": found})
        for ending, text in texts.items():
            if text:
                write_whole(self.file(step, ending), text)
            else:
                self.file(step, ending).unlink(missing_ok=True)
