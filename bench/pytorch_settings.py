#!/usr/bin/env python3
"""Which of PyTorch's settings win: each the other way beside what peers/pytorch/train.py chooses, by `ptbench gate`.

    scripts/peers                                           # once: PyTorch's environment
    bench/pytorch_settings.py -w resnet18 --precision bf16 -b 64 -o bench/results/pytorch-settings.md
    bench/pytorch_settings.py -w mlp -s ddp -n 2 -b 64 --threads 1 --compile -o bench/results/pytorch-settings.md

One table for each command, below those that the file has; options are train.py's. A setting that is slower the other
way is chosen rightly, one that is the same matters not. What train.py has no option for is tried by a variable.
Only Python's standard library is used.
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "peers" / "pytorch"))

import allocator  # noqa: E402

TRAIN = "peers/pytorch/train.py"
OTHERS = {name: ["--other", name] for name in ("fused", "set_to_none", "denormals", "huge_pages", "tcmalloc")}
OF_EAGER = {"torch.compile": ["--compile"]}
OF_IMAGES = {"channels_last": ["--other", "channels_last"]}
OF_DDP = {"bucket_view": ["--other", "bucket_view"], "static_graph": ["--other", "static_graph"],
          "buckets of 1 MiB": ["--bucket-mb", "1"], "buckets of 100 MiB": ["--bucket-mb", "100"]}
OF_COMPILED = {"max-autotune": "TORCHINDUCTOR_MAX_AUTOTUNE=1"}
OPENMP = "libomp.so.5"  # Debian: libomp5-14
OF_THREADS = {"LLVM's OpenMP": f"LD_PRELOAD={allocator.LIBRARY}:{OPENMP}"}


def variants(arguments):
    """Name -> variables of the environment, options of train.py."""
    options = OTHERS if arguments.compile else OF_EAGER | OTHERS
    if arguments.workload.startswith("resnet"):
        options = options | OF_IMAGES
    if arguments.strategy == "ddp":
        options = options | OF_DDP
    found = {name: ([], more) for name, more in options.items()}
    if allocator.can_load(OPENMP):  # its row would else say that nothing changes
        found |= {name: ([variable], []) for name, variable in OF_THREADS.items()}
    if arguments.compile:
        found |= {name: ([variable], []) for name, variable in OF_COMPILED.items()}
    for name in arguments.only or ():
        if name not in found:
            sys.exit(f"--only {name}: not of these options; choose from {', '.join(found)}")
    return {name: found[name] for name in arguments.only or found}


def options_of(arguments):
    return ["-w", arguments.workload, "-s", arguments.strategy, "-n", str(arguments.nproc), "--precision",
            arguments.precision, "--threads", str(arguments.threads), "-b", str(arguments.batch_size),
            *(["--compile"] if arguments.compile else [])]


def row(arguments, name, variables, more):
    """Of the table: the step with the setting the other way over the chosen one's."""
    chosen = [arguments.python, TRAIN, *options_of(arguments)]
    command = [arguments.ptbench, "gate", "--base-program", shlex.join(["exec", "env", *chosen]), "--new-program",
               shlex.join(["exec", "env", *variables, *chosen, *more]), "--name", "train", "--timeout", "600", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, cwd=ROOT,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    if done.returncode not in (0, 3):
        print(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}", file=sys.stderr)
        return f"| {name} | `{shlex.join([*variables, *more])}` | | failed |"
    one = json.loads(done.stdout)["runs"][0]
    change = one["change"]
    interval = one["change_ci99"]
    text = "" if change is None else f"{100 * change:+.1f} %"
    if interval:
        text += f" [{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]"
    return f"| {name} | `{shlex.join([*variables, *more])}` | {text} | {one['verdict']} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ptbench", default="build/release/ptbench", help="below the project's folder")
    parser.add_argument("--python", default="build/peers/venv/bin/python", help="the same")
    parser.add_argument("-w", "--workload", required=True)
    parser.add_argument("-s", "--strategy", default="serial")
    parser.add_argument("-n", "--nproc", type=int, default=1)
    parser.add_argument("-b", "--batch-size", type=int, required=True)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of a rank")
    parser.add_argument("--compile", action="store_true", help="beside what train.py compiles")
    parser.add_argument("--only", action="append",
                        choices=[*OTHERS, *OF_EAGER, *OF_IMAGES, *OF_DDP, *OF_THREADS, *OF_COMPILED])
    parser.add_argument("-o", "--output", metavar="FILE.md")
    arguments = parser.parse_args()
    tried = variants(arguments)
    path = arguments.output and pathlib.Path(arguments.output)
    lines = ["", f"## {shlex.join(options_of(arguments))}", "",
             f"- {evidence.version_of(ROOT / arguments.ptbench)}; {evidence.machine()}; "
             f"`bench/pytorch_settings.py {shlex.join(sys.argv[1:])}`", "",
             "| setting, the other way | variables, options of train.py | its step over the chosen one's [99 %] | verdict |",
             "|---|---|---|---|"]
    before = path.read_text(encoding="utf-8") if path and path.exists() else "# PyTorch's settings, one by one\n"
    for name, (variables, more) in tried.items():
        lines.append(row(arguments, name, variables, more))
        print(lines[-1], file=sys.stderr, flush=True)
        if path:
            evidence.publish(before + "\n".join([*lines, ""]), path)
    if not path:
        evidence.publish("\n".join([*lines, ""]), None)


if __name__ == "__main__":
    main()
