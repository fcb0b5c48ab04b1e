#!/usr/bin/env python3
"""sdk/include/ptbench/steps.h and examples/c/train.c, compiled as C11 and C++20, against a fake ptbench."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import fake_ptbench

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILER = os.environ.get("PTBENCH_TEST_CXX") or "g++"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-O1", "-I", str(ROOT / "sdk" / "include")]
LANGUAGES = {"c11": ["-x", "c", "-std=c11"], "c++20": ["-x", "c++", "-std=c++20"]}

# Sleeps, is noisy about its loss, forks, and has too many phases.
PROGRAM = """
#include <ptbench/steps.h>
int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  ptbench_hello hello = {2, 32, "cuda:1", "bf16", "mine\\"", "1.0"};
  ptbench_steps* steps = ptbench_steps_open(hello);
  while (ptbench_steps_next(steps)) {
    int i;
    const struct timespec nap = {0, 1000000};
    if (strcmp(mode, "sleep") == 0) nanosleep(&nap, NULL);
    if (strcmp(mode, "phases") == 0) for (i = 0; i < 100; ++i) ptbench_steps_phase(steps, "communication_exposed");
    if (strcmp(mode, "nan") == 0) ptbench_steps_loss(steps, (double)NAN);
    if (strcmp(mode, "break") == 0 && ptbench_steps_number(steps) == 5) break;
  }
  ptbench_steps_close(steps);
  return 0;
}
"""


class HeaderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which(COMPILER) is None:
            raise unittest.SkipTest(f"there is no {COMPILER}")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        folder = pathlib.Path(cls.folder.name)
        (folder / "program.c").write_text(PROGRAM)
        cls.programs = {}
        builds = []
        for source in (folder / "program.c", ROOT / "examples" / "c" / "train.c"):
            for language, options in LANGUAGES.items():
                output = folder / f"{source.stem}-{language}"
                cls.programs[source.stem, language] = str(output)
                builds.append(subprocess.Popen([COMPILER, *STRICT, *options, str(source), "-o", str(output), "-lm"]))
        # By which compilers take every number for finite.
        cls.programs["program", "fast"] = str(folder / "program-fast")
        builds.append(subprocess.Popen([COMPILER, *STRICT, *LANGUAGES["c11"], "-ffast-math", str(folder / "program.c"),
                                        "-o", cls.programs["program", "fast"], "-lm"]))
        assert all(build.wait() == 0 for build in builds)

    def run_with(self, serve, name, language="c11", arguments=(), **variables):
        with fake_ptbench.FakePtbench() as server:
            program = subprocess.Popen([self.programs[name, language], *arguments], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env={**server.environment, **variables})
            try:
                result = serve(server.accept())
                out, errors = program.communicate(timeout=fake_ptbench.DEADLINE)
            finally:
                program.kill()
                program.wait()
        return result, out, errors, program.returncode

    def test_the_example_is_measured_in_both_languages(self):
        def serve(connection):
            connection.grant(5)
            reports = connection.reports_to(5)
            connection.grant(9, phases=True, unknown={"grant": 1, "error": "inside"})
            connection.grant(1500)
            reports += connection.reports_to(1500)
            connection.close()
            return connection.hello, reports

        for language in LANGUAGES:
            (hello, reports), out, errors, code = self.run_with(serve, "train", language)
            self.assertEqual((code, errors), (0, ""))
            self.assertRegex(out, r"y = \d\.\d+ x \+ \d\.\d+")
            self.assertEqual({key: hello[key] for key in ("protocol", "rank", "world_size", "samples", "device",
                                                          "precision")},
                             {"protocol": "ptbench.steps/1", "rank": 0, "world_size": 1, "samples": 65536,
                              "device": "cpu", "precision": "fp32"})
            steps = fake_ptbench.all_steps(reports)
            fake_ptbench.check_steps(steps)
            self.assertEqual([number for number, _, _ in steps], list(range(1, 1501)))
            phases = [phase for report in reports for phase in report.get("phases", [])]
            self.assertEqual([(number, name) for number, name, _, _ in phases],
                             [(number, name) for number in range(6, 10) for name in ("backward", "optimizer")])
            losses = [loss for report in reports for loss in report["losses"]]
            self.assertEqual(losses[0][0], 1)
            self.assertEqual(losses[-1][0], 1500)
            self.assertLess(losses[-1][1], losses[0][1])

    def test_the_example_runs_alone(self):
        done = subprocess.run([self.programs["train", "c11"]], capture_output=True, text=True, timeout=20,
                              env={key: value for key, value in os.environ.items() if key != "PTBENCH_STEPS"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_hello_has_what_it_was_given(self):
        def serve(connection):
            connection.close()
            return connection.hello

        hello, _, _, code = self.run_with(serve, "program", RANK="1", WORLD_SIZE="2")
        self.assertEqual(code, 0)
        hello.pop("pid")
        self.assertEqual(hello, {"protocol": "ptbench.steps/1", "rank": 1, "world_size": 2, "samples": 2, "tokens": 32,
                                 "device": "cuda:1", "precision": "bf16",
                                 "framework": {"name": "mine", "version": "1.0"}})

    def test_steps_are_told_every_50_ms(self):
        def serve(connection):
            connection.grant(120)
            reports = connection.reports_to(120)
            connection.close()
            return reports

        reports, _, _, _ = self.run_with(serve, "program", arguments=["sleep"])
        self.assertGreater(len(reports), 1)
        fake_ptbench.check_steps(fake_ptbench.all_steps(reports))

    def test_phases_beyond_64_are_left_out(self):
        def serve(connection):
            connection.grant(40, phases=True)
            reports = connection.reports_to(40)
            connection.close()
            return reports

        reports, _, _, code = self.run_with(serve, "program", arguments=["phases"])
        self.assertEqual(code, 0)
        counts = {}
        for report in reports:
            inside = {number for number, _, _ in report["steps"]}
            for number, *_ in report["phases"]:
                self.assertIn(number, inside)
                counts[number] = counts.get(number, 0) + 1
        self.assertEqual(counts, dict.fromkeys(range(1, 41), 64))

    def test_a_loss_that_is_no_number_is_null(self):
        def serve(connection):
            connection.grant(1)
            (report,) = connection.reports_to(1)
            connection.close()
            return report

        for language in ("c11", "fast"):
            report, _, _, _ = self.run_with(serve, "program", language, arguments=["nan"])
            self.assertEqual(report["losses"], [[1, None]])

    def test_a_break_tells_what_is_left(self):
        def serve(connection):
            connection.grant(100)
            return connection.reports_to_end()

        reports, _, _, code = self.run_with(serve, "program", arguments=["break"])
        self.assertEqual(code, 0)
        self.assertEqual([number for number, _, _ in fake_ptbench.all_steps(reports)], [1, 2, 3, 4])

    def test_an_error_of_ptbench_is_told(self):
        def serve(connection):
            connection.error("rank 0 is there twice")
            connection.close()

        _, _, errors, code = self.run_with(serve, "train")
        self.assertEqual((code, errors), (1, "ptbench: ptbench ended the measurement: rank 0 is there twice\n"))

    def test_a_ptbench_that_disappears_is_told(self):
        def serve(connection):
            connection.grant(1_000_000_000)
            connection.read()
            connection.close()

        _, _, errors, code = self.run_with(serve, "train")
        self.assertEqual((code, errors), (1, "ptbench: ptbench is gone, though it had granted more steps\n"))

    def test_nobody_at_the_socket(self):
        done = subprocess.run([self.programs["train", "c++20"]], capture_output=True, text=True, timeout=20,
                              env={**os.environ, "PTBENCH_STEPS": "/nonexistent/steps"})
        self.assertEqual((done.returncode, done.stderr), (1, "ptbench: ptbench does not listen at PTBENCH_STEPS\n"))


if __name__ == "__main__":
    unittest.main()
