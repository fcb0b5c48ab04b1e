"""The script gpu-check in a dry run: stand-ins for the driver, the compiler, ptbench and PyTorch."""
import contextlib
import functools
import json
import pathlib
import unittest
import unittest.mock

import gpu_stand_ins
from gpu_stand_ins import FOREVER, Machine, Programs, gpu_machine, gpu_plan, gpu_process

MAIN = ["resnet50-bf16", "resnet50-bf16-pytorch", "resnet50-bf16-pytorch-compiled"]
FOUR_MINUTES = 240
DOCTOR = gpu_stand_ins.doctor(state="emulated")


def living_in_group(group):
    """Processes that are more than the memory of one."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of_group = file.read_text().rpartition(")")[2].split()[:3]
            if int(of_group) == group and state != "Z":
                found.append(file.parent.name)
    return found


@functools.lru_cache(maxsize=None)
def plain_run():
    """The machine and the programs of a run in which all is well; its files are only read."""
    machine = Machine()
    unittest.addModuleCleanup(machine.close)
    programs = Programs(machine.root)
    status, said = machine.check(programs)
    assert status == 0, said
    return machine, programs


def statuses_of(machine):
    return {step["name"]: step["status"] for step in machine.report()["steps"]}


class Dry(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.close)

    def programs(self, **more):
        return Programs(self.machine.root, **more)

    def statuses(self):
        return statuses_of(self.machine)


class Order(Dry):
    def test_what_is_wanted_most_comes_first(self):
        machine, programs = plain_run()
        names = list(statuses_of(machine))
        self.assertEqual(names[:15], [
            "packages", "build", "PyTorch's environment", "doctor", "verify linear bf16", "verify mlp bf16",
            "verify resnet18 bf16", "verify resnet50 bf16", "resnet50 bf16, graph auto", "PyTorch",
            "resnet50 bf16, PyTorch eager", "resnet50 bf16, PyTorch compiled", "mlp bf16, graph auto",
            "mlp bf16, PyTorch eager", "mlp bf16, PyTorch compiled"])
        self.assertEqual(names[15:19], [
            "build the tests", "tests: queues, events and memory", "tests: operators against the reference",
            "tests: runs, verified against the CPU"])
        self.assertIn("build release ptbench ptbench_cuda", programs.commands()[5])

    def test_the_driver_is_asked_before_anything_is_built(self):
        programs = plain_run()[1]
        self.assertIn("gpu_machine.py", programs.commands()[0])
        self.assertIn("nvidia-smi", programs.commands()[1])

    def test_a_driver_that_is_too_old_is_told_before_anything_is_built(self):
        for cuda, text in ((11080, "driver 550.54.15 is too old"), (12040, "install driver 580 or later, or CUDA 12.4")):
            programs = self.programs(cuda=cuda, version="550.54.15")
            with self.assertRaises(gpu_machine.Unusable) as raised:
                self.machine.check(programs)
            self.assertIn(text, str(raised.exception))
            self.assertEqual(raised.exception.status, 5)
            self.assertFalse([command for command in programs.commands() if command.startswith("scripts/")])

    def test_an_older_driver_gets_a_build_with_cuda_12(self):
        programs = self.programs(cuda=12040, version="550.54.15", nvcc="12.8")
        self.assertEqual(self.machine.check(programs)[0], 0)
        (build,) = [(text, environment) for _, text, environment in programs.started if "build cuda12 ptbench " in text]
        self.assertEqual(build[1]["CUDACXX"], "/cuda/bin/nvcc")
        self.assertIn("build/cuda12/ptbench doctor --json", programs.commands())
        self.assertIn("scripts/build cuda12 ptbench_tests_device ptbench_tests_kernels ptbench_tests_cuda",
                      programs.commands())

    def test_the_first_main_figure_is_there_four_minutes_after_the_build(self):
        machine, programs = plain_run()
        begin, end = programs.begin_of("doctor"), programs.begin_of("-w mlp --precision bf16 -b 128")
        self.assertLessEqual(end - begin, FOUR_MINUTES)
        for file in MAIN:
            self.assertEqual(machine.record(file)["step"]["status"], "passed")

    def test_deadlines_before_the_first_main_figure_make_four_minutes_at_most(self):
        machine = gpu_plan.Machine([], [], self.machine.root, [], ["python3"], "cuda:0", gpu_plan.PRECISIONS, 1, False)
        steps = [gpu_plan.doctor(machine), *gpu_plan.plan(machine)]
        files = [step.file for step in steps]
        first, last = files.index(MAIN[0]), files.index(MAIN[-1])
        self.assertLessEqual(sum(step.deadline for step in steps[:first]), FOUR_MINUTES)
        self.assertLessEqual(sum(step.expected for step in steps[:last + 1]), FOUR_MINUTES)
        self.assertTrue(all(step.expected < step.deadline for step in steps))
        self.assertEqual(len(files), len(set(files)))

    def test_pytorch_is_installed_while_the_program_is_compiled(self):
        programs = plain_run()[1]
        self.assertEqual(programs.begin_of("scripts/peers"), programs.begin_of("scripts/build"))
        self.assertEqual(programs.begin_of("doctor") - programs.begin_of("scripts/build"), 230)

    def test_several_gpus_come_after_the_main_figures_and_before_the_rest(self):
        self.assertEqual(self.machine.check(self.programs(gpus=2))[0], 0)
        names = list(self.statuses())
        first = names.index("build the tests")
        self.assertEqual(names[first + 1:first + 9], [
            "build NCCL's module", "tests: NCCL", "tests: ranks on several GPUs", "verify resnet50 bf16, ddp",
            "verify mlp bf16, ddp", "resnet50 bf16, ddp", "mlp bf16, ddp", "comm"])
        self.assertLess(names.index("mlp bf16, PyTorch compiled"), first)
        self.assertIn("## Several GPUs", self.machine.summary())
        self.assertEqual(self.machine.report()["several"]["ranks"][0]["efficiency"], 0.97)

    def test_one_gpu_has_no_steps_of_several(self):
        self.assertNotIn("comm", statuses_of(plain_run()[0]))


class Results(Dry):
    def test_every_workload_runs_in_every_precision_beside_pytorch(self):
        machine, programs = plain_run()
        found, text = machine.report(), machine.summary()
        self.assertEqual(found["driver"], "580.65.06")
        self.assertEqual(len(found["runs"]), 4 * 4 + 4 * 3)  # without a graph again, where there was one
        self.assertEqual(sum(row["pytorch"] is not None for row in found["runs"]), 16)
        mlp = next(row for row in found["runs"] if (row["workload"], row["precision"]) == ("mlp", "fp32"))
        self.assertEqual((mlp["batch"], mlp["ratio_to_pytorch"], mlp["beside_prediction"]), (128, 2, "within"))
        compiled = [(row["workload"], row["precision"], row["graph"]) for row in found["runs"]
                    if row["ratio_to_pytorch_compiled"]]
        self.assertEqual(compiled, [("resnet50", "bf16", "auto"), ("mlp", "bf16", "auto"), ("mlp", "fp32", "auto")])
        self.assertEqual(sum("pytorch-compiled" in command for command in programs.commands()), 3)
        self.assertIn("| verify resnet50 tf32 | passed |", text)
        self.assertIn("2,000,000 (1,900,000 to 2,100,000) | 50 % | 1,000,000 (950,000 to 1,050,000) | 2.00 | - |", text)
        self.assertIn("| 2.00 | 1,000,000 (950,000 to 1,050,000) | 2.00 |", text)
        self.assertNotIn("of/the/machine", json.dumps(found))
        self.assertNotIn(str(machine.root), text)

    def test_each_step_has_a_file_with_device_commit_and_date(self):
        machine = plain_run()[0]
        record = machine.record("resnet50-bf16")
        self.assertEqual((record["device"]["name"], record["commit"], record["dirty"]),
                         (gpu_stand_ins.NAME, "abc", False))
        self.assertRegex(record["date"] + record["step"]["date"], r"^(\d{4}-\d\d-\d\dT[\d:+]+){2}$")
        self.assertEqual(record["found"]["samples_per_second"], 2e6)
        self.assertEqual(machine.record("doctor")["found"]["cuda:0"][0]["value"], 2.5e12)
        self.assertEqual(machine.record("resnet50-bf16.result")["runs"][0]["id"], "resnet50")

    def test_the_python_of_pytorch_is_for_its_engines_alone(self):
        programs = self.programs()
        self.machine.check(programs)
        environments = {text: environment for _, text, environment in programs.started}
        native = next(text for text in environments if "--graph auto" in text)
        eager = next(text for text in environments if "--engine pytorch " in text)
        self.assertNotIn("PTBENCH_PYTHON", environments[native])
        self.assertEqual(environments[eager]["PTBENCH_PYTHON"], "/usr/bin/python3")


class Emulated(Dry):
    def test_an_emulated_device_needs_no_driver_no_build_and_no_pytorch(self):
        program = self.machine.root / "build" / "ci" / "ptbench"
        program.parent.mkdir(parents=True)
        program.touch()
        programs = self.programs()
        status, said = self.machine.check(programs, emulated=True, no_build=True, build=program.parent)
        self.assertEqual(status, 0, said)
        self.assertTrue(all(command.startswith("scripts/emulate-gpu --module") for command in programs.commands()))
        self.assertTrue(all(step["seconds"] is None for step in self.machine.report()["steps"]))
        self.assertEqual([row["workload"] for row in self.machine.report()["runs"]], ["linear", "mlp"] * 3)

    def test_an_emulated_device_is_refused_where_a_real_one_is_meant(self):
        programs = self.programs()
        with unittest.mock.patch.object(gpu_stand_ins, "doctor", lambda gpus, commit, state: DOCTOR), \
                self.assertRaises(gpu_machine.Unusable) as raised:
            self.machine.check(programs)
        self.assertIn("cuda:0 is emulated", str(raised.exception))
        self.assertFalse(self.machine.output.exists())


class Trouble(Dry):
    def test_a_step_that_hangs_costs_its_own_deadline(self):
        programs = self.programs(seconds={"-w resnet18 --precision bf16 -b 16": FOREVER})
        status, said = self.machine.check(programs)
        self.assertEqual(status, 3)
        self.assertEqual({name for name, status in self.statuses().items() if status != "passed"} -
                         {name for name in self.statuses() if "fp16, graph off" in name}, {"verify resnet18 bf16"})
        lost = programs.begin_of("-w resnet50 --precision bf16 -b 4") - programs.begin_of(
            "-w resnet18 --precision bf16 -b 16")
        self.assertEqual(lost, gpu_plan.VERIFY["resnet18"][1])
        self.assertIn("missing: verify resnet18 bf16\n", said)

    def test_what_a_hanging_step_has_started_ends_with_it(self):
        programs = self.programs()
        programs.real = {"-w resnet18 --precision bf16 -b 16": ["sh", "-c", "echo $$ >&2; sleep 60 & sleep 60"]}
        with unittest.mock.patch.object(gpu_process, "SCALE", 0.04):
            self.assertEqual(self.machine.check(programs)[0], 3)
        log = self.machine.output / "nvidia-h100-80gb-hbm3-abc" / "verify-resnet18-bf16.log"
        self.assertEqual(living_in_group(int(log.read_text())), [])

    def test_a_step_that_fails_is_noted_and_the_rest_goes_on(self):
        broken = "-w mlp --precision tf32 -b 128 --device cuda:0 --graph auto"
        status, said = self.machine.check(self.programs(fails=[broken]))
        self.assertEqual(status, 2)
        self.assertEqual(self.statuses()["mlp tf32, graph auto"], "failed")
        self.assertEqual(self.statuses()["mlp tf32, graph off"], "passed")  # it may work where the graph does not
        self.assertIn("exit status 1: it is broken", said)
        self.assertEqual(list(self.statuses())[-1], "resnet50 fp16, graph off")

    def test_without_pytorch_there_are_native_figures(self):
        status, _ = self.machine.check(self.programs(fails=["scripts/peers", "import sys, torch"]))
        self.assertEqual(status, 2)
        statuses = self.statuses()
        self.assertEqual((statuses["resnet50 bf16, graph auto"], statuses["resnet50 bf16, PyTorch eager"]),
                         ("passed", "skipped"))
        self.assertTrue(all(row["pytorch"] is None for row in self.machine.report()["runs"]))

    def test_an_installation_of_pytorch_that_hangs_costs_its_own_deadline(self):
        programs = self.programs(seconds={"scripts/peers": FOREVER})
        self.machine.check(programs)
        self.assertEqual(programs.begin_of("doctor") - programs.begin_of("scripts/peers"), 600)

    def test_a_build_that_fails_ends_it_with_the_reason(self):
        programs = self.programs(fails=["scripts/build"])
        with self.assertRaises(gpu_machine.Unusable) as raised:
            self.machine.check(programs)
        self.assertEqual(raised.exception.status, 2)
        self.assertIn("it is broken", str(raised.exception))
        self.assertNotIn("doctor", " ".join(programs.commands()))

    def test_tests_that_cannot_be_built_are_skipped_alone(self):
        self.assertEqual(self.machine.check(self.programs(fails=["ptbench_tests_kernels"]))[0], 2)
        statuses = self.statuses()
        self.assertEqual(statuses["tests: queues, events and memory"], "skipped")
        self.assertEqual(statuses["linear fp32, graph auto"], "passed")

    def test_what_there_is_no_time_for_is_left_out(self):
        status, _ = self.machine.check(self.programs(), minutes=9)
        self.assertEqual(status, 3)
        self.assertEqual(self.statuses()["resnet50 bf16, PyTorch eager"], "passed")
        self.assertEqual(self.statuses()["resnet50 fp16, graph auto"], "left out")


class Again(Dry):
    def interrupted(self, part="-w mlp --precision bf16 -b 128 --device cuda:0 --graph"):
        return self.machine.check(self.programs(interrupts=part))

    def test_an_interruption_keeps_what_was_measured_and_tells_what_is_missing(self):
        status, said = self.interrupted()
        self.assertEqual(status, 130)
        for file in MAIN:
            self.assertEqual(self.machine.record(file)["step"]["status"], "passed")
        self.assertEqual(self.statuses()["mlp bf16, graph auto"], "left out")
        self.assertEqual(self.statuses()["resnet50 fp16, graph off"], "left out")
        self.assertIn("missing: mlp bf16, graph auto; mlp bf16, PyTorch eager;", said)
        self.assertIn("interrupted; 12 passed", said)
        self.assertEqual(len(self.machine.report()["runs"]), 1)

    def test_an_interruption_before_anything_is_measured_says_so(self):
        status, said = self.interrupted("scripts/build")
        self.assertEqual(status, 130)
        self.assertIn("nothing was measured", said)
        self.assertFalse(self.machine.output.exists())

    def test_a_later_run_goes_on_with_what_is_missing(self):
        self.interrupted()
        programs = self.programs()
        status, said = self.machine.check(programs)
        self.assertEqual(status, 0, said)
        self.assertFalse([command for command in programs.commands() if "-w resnet50 --precision bf16 -b 256" in command
                          and "--graph off" not in command])
        self.assertIn("-w mlp --precision bf16 -b 128", " ".join(programs.commands()))
        self.assertIn("resnet50 bf16, graph auto: passed before, 20", said)
        self.assertEqual(len(self.machine.report()["runs"]), 4 * 4 + 4 * 3)

    def test_what_failed_runs_again(self):
        self.machine.check(self.programs(fails=["--precision tf32"]))
        programs = self.programs()
        self.assertEqual(self.machine.check(programs)[0], 0)
        runs = [command for command in programs.commands() if "ptbench run" in command]
        self.assertTrue(runs and all("--precision tf32" in command for command in runs))

    def test_again_runs_everything(self):
        self.machine.check(self.programs())
        programs = self.programs()
        self.machine.check(programs, again=True)
        self.assertTrue(any("-w resnet50 --precision bf16 -b 256" in command for command in programs.commands()))

    def test_another_commit_has_results_of_its_own(self):
        self.machine.check(self.programs())
        programs = self.programs(commit="def")
        self.machine.check(programs)
        self.assertTrue(any("-w resnet50 --precision bf16 -b 256" in command for command in programs.commands()))
        self.assertEqual(self.machine.record("resnet50-bf16", "def")["commit"], "def")

    def test_a_dirty_build_is_known_by_its_program(self):
        self.machine.check(self.programs(commit="abc-dirty"))
        (folder,) = [path for path in self.machine.output.iterdir() if path.is_dir()]
        self.assertRegex(folder.name, r"-abc-[0-9a-f]{8}$")
        again = self.programs(commit="abc-dirty")
        self.machine.check(again)
        self.assertFalse(any("ptbench run" in command for command in again.commands()))


if __name__ == "__main__":
    unittest.main()
