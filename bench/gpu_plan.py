"""What scripts/gpu-check does, as data: each step with its command, how long it takes and its deadline.

The order is that of what is wanted most: a short verification of each workload, then the main figures (MAIN, in the
narrow precision) beside PyTorch, then several GPUs, then everything else. Only Python's standard library is used.
"""
import typing

RESULT = "RESULT"  # the word of a command that stands for the file of its result
TORCH = "PyTorch"  # the step that finds a Python with PyTorch
MAIN = ("resnet50", "mlp")
PRECISIONS = ("bf16", "fp32", "tf32", "fp16")
BATCHES = {"linear": 32, "mlp": 128, "resnet18": 256, "resnet50": 256}  # as docs/gpu_steps.md has them
VERIFIED_BATCHES = {"linear": 32, "mlp": 32, "resnet18": 16, "resnet50": 4}  # the CPU computes them too
COMPILED = (("resnet50", "bf16"), ("mlp", "bf16"), ("mlp", "fp32"))  # by PyTorch too: all would not fit
ENGINES = {"native": "graph auto", "pytorch": "PyTorch eager", "pytorch-compiled": "PyTorch compiled"}
OPERATOR_SUITES = ("operator_contract", "optimizer_contract", "arena_passes_contract",
                   "batch_norm_accuracy_test", "conv2d_accuracy_test", "gelu_accuracy_test",
                   "linear_accuracy_test", "pool_accuracy_test", "softmax_cross_entropy_accuracy_test")
RANK_SUITES = ("collectives_contract_test", "bf16_contract_test", "messages_contract_test", "groups_contract_test",
               "nccl_test")
NOTHING_FAILED = (0, 77)  # of a test program; 77: something was skipped

# Seconds that a step is expected to take on an H100 with what it starts, and its deadline. The deadlines of what
# comes before the first main figure make four minutes together.
VERIFY = {"linear": (5, 25), "mlp": (5, 25), "resnet18": (15, 50), "resnet50": (30, 80)}
NATIVE = {"linear": (12, 60), "mlp": (12, 60), "resnet18": (30, 100), "resnet50": (50, 180)}
EAGER = {"linear": (10, 60), "mlp": (10, 60), "resnet18": (15, 75), "resnet50": (30, 120)}
WITH_COMPILER = {"mlp": (40, 150), "resnet50": (70, 240)}
LEAST_EMULATED = 60  # of deadlines: an emulated device is slow


class Machine(typing.NamedTuple):
    """What the steps depend on."""
    program: list      # ptbench, with what it is started by
    tests: list        # what test programs are started by
    build: object      # the build folder, a path
    builder: list      # scripts/build and its preset; empty if nothing is to be built
    pythons: list      # which may have PyTorch, the best first
    device: str
    precisions: tuple  # of PRECISIONS, those that the device computes
    gpus: int
    emulated: bool

    def narrow(self):
        return "bf16" if "bf16" in self.precisions else "fp16"


class Step(typing.NamedTuple):
    name: str
    file: str        # of its result, without folder and ending
    command: list
    expected: float  # seconds
    deadline: float
    kind: str  # build, doctor, torch, tests, or how its result is read: a key of gpu_records.READERS
    good: tuple = (0,)   # exit codes
    needs: str = ""      # the step that must have passed before
    needs_graph: bool = False  # of the step that it needs: its result must be of steps that were graphs
    run: tuple = ()      # workload, precision, batch, "auto" or "off", engine


def installation(root, brings_toolkit):
    """What building needs. It comes before all else and alone, since apt lets only one in."""
    steps = [Step("packages", "packages", [root / "scripts" / "setup"], 30, 300, kind="build")]
    if brings_toolkit:
        steps.append(Step("CUDA toolkit", "toolkit", [root / "scripts" / "cuda_toolkit"], 60, 600, kind="build"))
    return steps


def build(builder):
    """As much as the first figures need."""
    return Step("build", "build", [*builder, "ptbench", "ptbench_cuda"], 240, 1200, kind="build")


def environment_of_torch(root):
    """Beside the build: it waits for the network."""
    return Step("PyTorch's environment", "peers", [root / "scripts" / "peers"], 150, 600, kind="build")


def torch_found(machine):
    """Prints which Python it is, and the version of PyTorch."""
    code = ("import sys, torch, numpy, safetensors; assert torch.cuda.is_available(), 'PyTorch sees no GPU'; "
            "print(sys.executable, torch.__version__)")
    first_of = 'for python; do "$python" -c "$0" && exit; done; exit 1'
    return Step(TORCH, "torch", ["sh", "-c", first_of, code, *machine.pythons], 10, 120, kind="torch")


def doctor(machine):
    return Step("doctor", "doctor", [*machine.program, "doctor", "--json"], 20, 60, kind="doctor")


def plan(machine):
    """Every step after doctor's."""
    if machine.emulated:
        return emulated_plan(machine)
    first = machine.narrow()
    main = [step for workload in MAIN for step in beside_torch(machine, workload, first)]
    main.insert(1, torch_found(machine))
    return [*(verification(machine, workload, first) for workload in BATCHES), *main,
            *building_tests(machine), *several_gpus(machine), *tests(machine), *other_runs(machine, main),
            *(verification(machine, workload, precision) for precision in machine.precisions if precision != first
              for workload in BATCHES),
            *(timing(machine, workload, precision, graph="off") for precision in machine.precisions
              for workload in BATCHES)]


def emulated_plan(machine):
    pairs = [(workload, precision) for precision in ("fp32", "fp16") for workload in ("linear", "mlp")]
    steps = [verification(machine, workload, "bf16") for workload in ("linear", "mlp")]
    steps += tests(machine)
    steps += [timing(machine, *pair) for pair in pairs] + [timing(machine, *pair, graph="off") for pair in pairs]
    return [step._replace(deadline=max(step.deadline, LEAST_EMULATED)) for step in steps]


# Runs


def command_of(machine, workload, precision, batch, *more):
    return [*machine.program, "run", "-w", workload, "--precision", precision, "-b", str(batch), "--device",
            machine.device, *more, "-o", RESULT]


def verification(machine, workload, precision):
    batch = 2 if machine.emulated else VERIFIED_BATCHES[workload]
    return Step(f"verify {workload} {precision}", f"verify-{workload}-{precision}",
                command_of(machine, workload, precision, batch, "--verify", "only"), *VERIFY[workload],
                kind="verification")


def timing(machine, workload, precision, graph="auto"):
    batch = 4 if machine.emulated else BATCHES[workload]
    length = ["--steps", "2"] if machine.emulated else ["--repeats", "5", "--min-time", "0.5", "--max-time", "6"]
    is_again = graph == "off"  # beside a run whose steps were graphs; else it would be the same
    return Step(f"{workload} {precision}, graph {graph}", f"{workload}-{precision}" + ("-no-graph" if is_again else ""),
                command_of(machine, workload, precision, batch, "--graph", graph, "--verify", "off", *length),
                *NATIVE[workload], kind="run", run=(workload, precision, batch, graph, "native"),
                needs=f"{workload} {precision}, graph auto" if is_again else "", needs_graph=is_again)


def peer(machine, workload, precision, engine):
    """As ptbench's own steps are measured, by one process. Compiling takes a minute and more."""
    expected, deadline = (EAGER if engine == "pytorch" else WITH_COMPILER)[workload]
    return Step(f"{workload} {precision}, {ENGINES[engine]}", f"{workload}-{precision}-{engine}",
                command_of(machine, workload, precision, BATCHES[workload], "--engine", engine, "--verify", "off",
                           "--repeats", "1", "--min-time", "0.5", "--max-time", "3", "--timeout", str(deadline - 10)),
                expected, deadline, kind="run", needs=TORCH,
                run=(workload, precision, BATCHES[workload], "auto", engine))


def beside_torch(machine, workload, precision):
    steps = [timing(machine, workload, precision), peer(machine, workload, precision, "pytorch")]
    if (workload, precision) in COMPILED:
        steps.append(peer(machine, workload, precision, "pytorch-compiled"))
    return steps


def other_runs(machine, done):
    steps = [step for precision in machine.precisions for workload in BATCHES
             for step in beside_torch(machine, workload, precision)]
    return [step for step in steps if step not in done]


# Tests


def building_tests(machine):
    if not machine.builder:
        return []
    programs = ["ptbench_tests_device", "ptbench_tests_kernels", "ptbench_tests_cuda"]
    steps = [Step("build the tests", "build-tests", [*machine.builder, *programs], 240, 1200, kind="build")]
    if machine.gpus > 1:
        steps.append(Step("build NCCL's module", "build-nccl", [*machine.builder, "ptbench_nccl", "ptbench_tests_comm",
                                                                  "ptbench_tests_cuda"], 60, 600, kind="build"))
    return steps


def suite(machine, name, folder, filters, times, needs="build the tests"):
    return Step("tests: " + name, "tests-" + name.split(",")[0].replace(" ", "-").lower(),
                [*machine.tests, machine.build / "tests" / f"ptbench_tests_{folder}", *filters], *times, kind="tests",
                good=NOTHING_FAILED, needs=needs if machine.builder else "")


def tests_of(files):
    return ["-#", ",".join(f"[#{file}]" for file in files)]


def tests(machine):
    operators = ["softmax_cross_entropy_accuracy_test"] if machine.emulated else OPERATOR_SUITES
    runs = tests_of(["engine_test"]) if machine.emulated else ["-#", "~[#ranks_test]"]
    return [suite(machine, "queues, events and memory", "device", tests_of(["device_contract_test"]), (10, 60)),
            suite(machine, "operators against the reference", "kernels", tests_of(operators), (60, 240)),
            suite(machine, "runs, verified against the CPU", "cuda", runs, (60, 240))]


# Several GPUs


def several_gpus(machine):
    """NCCL's tests, ddp, and comm, where there are two GPUs or more."""
    if machine.gpus < 2:
        return []
    module = "build NCCL's module"
    pairs = [(workload, machine.narrow()) for workload in MAIN]
    steps = [suite(machine, "NCCL", "comm", tests_of(RANK_SUITES), (60, 240), module),
             suite(machine, "ranks on several GPUs", "cuda", tests_of(["ranks_test"]), (90, 300), module)]
    steps += [ranks_verified(machine, *pair) for pair in pairs] + [ranks_timed(machine, *pair) for pair in pairs]
    steps.append(Step("comm", "comm", [*machine.program, "comm", "-n", str(machine.gpus), "--device", "cuda", "-b", "8",
                                       "-e", "128M", "-f", "2", "-o", RESULT], 30, 150, kind="comm"))
    return [step._replace(needs=module if machine.builder else "") for step in steps]


def ranks_verified(machine, workload, precision):
    return Step(f"verify {workload} {precision}, ddp", f"verify-{workload}-{precision}-ddp",
                [*machine.program, "run", "-w", workload, "--precision", precision, "-b",
                 str(VERIFIED_BATCHES[workload]), "-s", "ddp", "-n", "2", "--device", "cuda", "--verify", "only", "-o",
                 RESULT], 30, 150, kind="verification")


def ranks_timed(machine, workload, precision):
    counts = [count for count in (1, 2, 4, 8) if count <= machine.gpus]
    return Step(f"{workload} {precision}, ddp", f"{workload}-{precision}-ddp",
                [*machine.program, "sweep", "-w", workload, "--precision", precision, "-b", str(BATCHES[workload]),
                 "-s", "ddp", "-n", ",".join(str(count) for count in counts), "--device", "cuda", "--verify", "off",
                 "--max-time", "40", "-o", RESULT], 50 * len(counts), 120 * len(counts), kind="ranks")
