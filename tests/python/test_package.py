#!/usr/bin/env python3
"""The package ptbench, against a fake ptbench. Only Python's standard library is used."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "sdk" / "python"))

import fake_ptbench  # noqa: E402
import ptbench  # noqa: E402
from ptbench import _link, _loop, _recorder, _spans, _world  # noqa: E402


class Loss:
    """As a tensor: a number only when it is asked for."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


def in_thread(work):
    """Runs `work`, the program's side, while the test is ptbench; `join` returns what it returned or raised."""
    result = {}

    def run():
        try:
            result["value"] = work()
        except BaseException as error:
            result["value"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def join():
        thread.join(fake_ptbench.DEADLINE)
        assert not thread.is_alive(), "the program's side goes on"
        return result["value"]

    return join


class LoopTest(unittest.TestCase):
    def setUp(self):
        _loop._loops_begun = 0
        self.server = self.enterContext(fake_ptbench.FakePtbench())
        self.enterContext(mock.patch.dict(os.environ, {"PTBENCH_STEPS": self.server.environment["PTBENCH_STEPS"]}))

    if sys.version_info < (3, 11):
        def enterContext(self, context):
            value = context.__enter__()
            self.addCleanup(context.__exit__, None, None, None)
            return value

    def begin(self, body=lambda step: None, **options):
        """A program whose steps are `body`; its connection, and what waits for the number of its steps."""
        def train():
            made = 0
            for step in ptbench.steps(**{"samples": 8, **options}):
                body(step)
                made = step.number
            return made

        join = in_thread(train)
        return self.server.accept(), join

    def test_says_hello_as_the_launcher_placed_it(self):
        with mock.patch.dict(os.environ, {"RANK": "1", "WORLD_SIZE": "2"}):
            connection, join = self.begin(samples=64, tokens=4096, precision="bf16", device="cuda:1")
        hello = connection.hello
        self.assertEqual(hello["framework"]["name"], "python")
        self.assertEqual({key: hello[key] for key in hello if key != "framework"}, {
            "protocol": "ptbench.steps/1", "rank": 1, "world_size": 2, "samples": 64, "device": "cuda:1",
            "pid": os.getpid(), "precision": "bf16", "tokens": 4096})
        connection.close()
        self.assertEqual(join(), 0)

    def test_ends_after_the_last_granted_step(self):
        connection, join = self.begin()
        connection.grant(2)
        first = connection.reports_to(2)
        connection.grant(300)
        rest = connection.reports_to(300)
        connection.close()
        self.assertEqual(join(), 300)
        fake_ptbench.check_steps(fake_ptbench.all_steps(first + rest))
        self.assertEqual(len(fake_ptbench.all_steps(first + rest)), 300)

    def test_a_step_begins_where_the_last_ended_but_after_a_report(self):
        connection, join = self.begin(lambda step: time.sleep(0.001))
        connection.grant(10)
        steps = fake_ptbench.all_steps(connection.reports_to(10))
        self.assertTrue(all(end == begin for (_, _, end), (_, begin, _) in zip(steps, steps[1:])))
        self.assertTrue(all(end - begin >= 1_000_000 for _, begin, end in steps))
        connection.grant(11)
        ((_, begin, _),) = fake_ptbench.all_steps(connection.reports_to(11))
        self.assertGreater(begin, steps[-1][2])
        connection.close()
        join()

    def test_reports_every_50_ms_and_at_the_latest_after_1024_steps(self):
        connection, join = self.begin(lambda step: time.sleep(0.06 if step.number <= 2 else 0))
        connection.grant(3000)
        lengths = [len(report["steps"]) for report in connection.reports_to(3000)]
        self.assertEqual(lengths[:2], [1, 1])
        self.assertLessEqual(max(lengths), 1024)
        connection.close()
        join()

    def test_takes_grants_that_come_while_it_trains(self):
        connection, join = self.begin(lambda step: time.sleep(0.02))
        connection.grant(6)
        connection.read()
        connection.grant(9)
        fake_ptbench.check_steps(fake_ptbench.all_steps(connection.reports_to(9)))
        connection.close()
        join()

    def test_sleeps_while_it_waits(self):
        connection, join = self.begin()
        connection.grant(1)
        connection.reports_to(1)
        before = time.process_time()
        time.sleep(0.1)
        self.assertLess(time.process_time() - before, 0.05)
        connection.close()
        join()

    def test_tells_the_first_and_the_newest_loss(self):
        def body(step):
            step.loss = Loss(10.0 - step.number)

        connection, join = self.begin(body)
        connection.grant(4)
        (report,) = connection.reports_to(4)
        self.assertEqual(report["losses"], [[1, 9.0], [4, 6.0]])
        connection.grant(5)
        (report,) = connection.reports_to(5)
        self.assertEqual(report["losses"], [[5, 5.0]])
        connection.close()
        join()

    def test_a_loss_that_is_not_finite_is_null(self):
        def body(step):
            step.loss = float("nan")

        connection, join = self.begin(body)
        connection.grant(1)
        self.assertEqual(connection.read()["losses"], [[1, None]])
        connection.close()
        join()

    def test_times_phases_only_where_they_are_wanted(self):
        def body(step):
            with step.phase("backward"):
                time.sleep(0.001)
                with step.phase("communication_exposed"):
                    time.sleep(0.001)
            with step.phase("optimizer"):
                pass

        connection, join = self.begin(body)
        connection.grant(3)
        self.assertNotIn("phases", connection.reports_to(3)[-1])
        connection.grant(5, phases=True)
        connection.grant(6)
        reports = connection.reports_to(6)
        phases = [phase for report in reports for phase in report.get("phases", [])]
        # What is inside is cut out: backward goes on behind the communication.
        names = ("backward", "communication_exposed", "backward", "optimizer")
        self.assertEqual([(number, name) for number, name, _, _ in phases],
                         [(number, name) for number in (4, 5) for name in names])
        steps = {number: (begin, end) for number, begin, end in fake_ptbench.all_steps(reports)}
        for number, _, begin, end in phases:
            self.assertTrue(steps[number][0] <= begin <= end <= steps[number][1])
        self.assertEqual(phases[0][3], phases[1][2])
        connection.close()
        join()

    def test_a_break_tells_what_is_left(self):
        def train():
            for step in ptbench.steps(samples=1):
                if step.number == 6:
                    break
            return step.number

        join = in_thread(train)
        connection = self.server.accept()
        connection.grant(100)
        reports = connection.reports_to_end()
        self.assertEqual([number for number, _, _ in fake_ptbench.all_steps(reports)], [1, 2, 3, 4, 5])
        self.assertEqual(join(), 6)

    def test_a_count_is_of_programs_that_nobody_measures(self):
        connection, join = self.begin(count=4)
        connection.grant(20)
        self.assertEqual(len(fake_ptbench.all_steps(connection.reports_to(20))), 20)
        connection.close()
        self.assertEqual(join(), 20)

    def test_one_iterator_serves_all_epochs(self):
        def train():
            steps = ptbench.steps(samples=1)
            epochs = []
            for _ in range(4):
                epochs.append([step.number for _, step in zip("abc", steps)])
            return epochs

        join = in_thread(train)
        connection = self.server.accept()
        connection.grant(8)
        reports = connection.reports_to(8)
        connection.close()
        self.assertEqual(join(), [[1, 2, 3], [4, 5, 6], [7, 8], []])
        fake_ptbench.check_steps(fake_ptbench.all_steps(reports))

    def test_a_second_loop_has_no_steps(self):
        connection, join = self.begin()
        connection.close()
        join()
        with mock.patch("sys.stderr") as errors:
            self.assertEqual(list(ptbench.steps(samples=1)), [])
        self.assertIn("before the epochs", "".join(call.args[0] for call in errors.write.call_args_list))

    def test_an_error_of_ptbench_is_raised(self):
        connection, join = self.begin()
        connection.error("rank 0 is there twice")
        connection.close()
        error = join()
        self.assertIsInstance(error, ptbench.StepsError)
        self.assertIn("rank 0 is there twice", str(error))

    def test_a_ptbench_that_disappears_amid_steps_is_an_error(self):
        connection, join = self.begin(lambda step: time.sleep(0.01))
        connection.grant(1000)
        connection.read()
        connection.close()
        with mock.patch("sys.stderr"):
            error = join()
        self.assertIsInstance(error, ptbench.StepsError)
        self.assertIn("gone", str(error))

    def test_nobody_at_the_socket(self):
        with mock.patch.dict(os.environ, {"PTBENCH_STEPS": "/nonexistent/steps"}), \
                self.assertRaisesRegex(ptbench.StepsError, "PTBENCH_STEPS=/nonexistent/steps"):
            next(iter(ptbench.steps(samples=1)))

    def test_watchers_are_attached_only_where_phases_are_wanted(self):
        seen = []
        watcher = mock.Mock(attach=lambda: seen.append("attach"), detach=lambda: seen.append("detach"))
        _recorder.recorder.add(watcher)
        self.addCleanup(_recorder.recorder.remove, watcher)
        connection, join = self.begin(lambda step: seen.append(step.number))
        connection.grant(1)
        connection.reports_to(1)
        connection.grant(2, phases=True)
        connection.reports_to(2)
        connection.grant(3)
        connection.reports_to(3)
        connection.close()
        join()
        self.assertEqual(seen, [1, "attach", 2, "detach", 3])


class DeviceClockTest(LoopTest):
    """A device whose moments come to pass only later."""

    class Clock:
        def __init__(self):
            self.done = 0
            self.marks = []

        def mark(self):
            self.marks.append(time.monotonic_ns())
            return ("mark", len(self.marks) - 1)

        def reached(self, mark):
            return mark[1] < self.done

        def nanoseconds(self, mark):
            return self.marks[mark[1]]

        def synchronize(self):
            self.done = len(self.marks)

    def setUp(self):
        super().setUp()
        _recorder.recorder.use(self.Clock())
        self.addCleanup(_recorder.recorder.use, None)

    def test_reports_every_50_ms_and_at_the_latest_after_1024_steps(self):
        connection, join = self.begin(lambda step: time.sleep(0.06))
        connection.grant(3)
        (report,) = connection.reports_to(3)  # at the end alone the device is waited for
        self.assertEqual(len(report["steps"]), 3)
        connection.close()
        join()

    # Of a device's steps, none is told before the device is waited for: here at the grant's end.
    test_takes_grants_that_come_while_it_trains = None
    test_a_ptbench_that_disappears_amid_steps_is_an_error = None


class ProcessTest(unittest.TestCase):
    """Programs of their own."""

    def run_program(self, text, serve):
        with fake_ptbench.FakePtbench() as server:
            program = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, env={**server.environment, "PYTHONPATH": str(ROOT / "sdk" / "python")})
            try:
                result = serve(server.accept())
                out, errors = program.communicate(timeout=fake_ptbench.DEADLINE)
            finally:
                program.kill()
                program.wait()
        return result, out, errors, program.returncode

    def test_an_exit_in_the_loop_loses_no_step(self):
        def serve(connection):
            connection.grant(100)
            return fake_ptbench.all_steps(connection.reports_to_end())

        steps, _, errors, code = self.run_program(
            "import sys, ptbench\n"
            "loop = ptbench.steps(samples=1)\n"
            "for step in loop:\n"
            "    if step.number == 5: sys.exit(3)\n", serve)
        self.assertEqual([number for number, _, _ in steps], [1, 2, 3, 4])
        self.assertEqual((code, errors), (3, ""))

    def test_an_iterator_that_is_kept_is_told_at_exit(self):
        def serve(connection):
            connection.grant(100)
            return fake_ptbench.all_steps(connection.reports_to_end())

        steps, _, errors, code = self.run_program(
            "import ptbench\n"
            "loop = ptbench.steps(samples=1)\n"
            "for _ in range(4): next(loop)\n", serve)
        self.assertEqual(len(steps), 3)  # the fourth has not ended
        self.assertEqual((code, errors), (0, ""))

    def test_forked_children_leave_the_connection_alone(self):
        def serve(connection):
            connection.grant(4)
            reports = connection.reports_to(4)
            connection.close()
            return fake_ptbench.all_steps(reports)

        steps, out, errors, code = self.run_program(
            "import os, sys, ptbench\n"
            "loop = ptbench.steps(samples=1)\n"
            "for step in loop:\n"
            "    child = os.fork()\n"
            "    if child == 0 and step.number == 2:\n"
            "        try: next(loop)\n"
            "        except ptbench.StepsError as error: print(error, flush=True)\n"
            "    if child == 0: sys.exit()\n"
            "    os.waitpid(child, 0)\n", serve)
        self.assertEqual([number for number, _, _ in steps], [1, 2, 3, 4])
        self.assertIn("forked", out)
        self.assertEqual((code, errors), (0, ""))


class UnmeasuredTest(unittest.TestCase):
    def setUp(self):
        self.environment = mock.patch.dict(os.environ)
        self.environment.start()
        self.addCleanup(self.environment.stop)
        os.environ.pop("PTBENCH_STEPS", None)

    def test_the_loop_just_runs(self):
        numbers = []
        for step in ptbench.steps(samples=8, count=3):
            with step.phase("forward"):
                step.loss = 1.0
            numbers.append(step.number)
        self.assertEqual(numbers, [1, 2, 3])

    def test_without_a_count_it_is_endless(self):
        loop = ptbench.steps(samples=8)
        self.assertEqual([next(loop).number for _ in range(2000)][-1], 2000)

    def test_a_step_has_samples(self):
        with self.assertRaisesRegex(ValueError, "at least 1 sample"):
            ptbench.steps(samples=0)


class PartsTest(unittest.TestCase):
    def test_place(self):
        for variables, expected in (
            ({}, (0, 1)),
            ({"RANK": "3", "WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, (3, 4)),
            ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2)),
            ({"PMI_RANK": "1", "PMI_SIZE": "3"}, (1, 3)),
            ({"SLURM_PROCID": "0"}, (0, 1)),
        ):
            self.assertEqual(_world.place(variables), expected)

    def test_inner_spans_are_cut_out(self):
        self.assertEqual(
            _spans.disjoint([("backward", 10, 50), ("communication_exposed", 40, 50), ("communication", 0, 100),
                             ("data", 20, 30), ("optimizer", 60, 70)]),
            [("communication", 0, 100), ("backward", 10, 20), ("data", 20, 30), ("backward", 30, 40),
             ("communication_exposed", 40, 50), ("optimizer", 60, 70)])

    def test_spans_that_overlap_are_cut_where_the_next_begins(self):
        self.assertEqual(_spans.disjoint([("a", 0, 10), ("b", 5, 20)]), [("a", 0, 5), ("b", 5, 20)])

    def test_the_longest_spans_are_kept(self):
        spans = [("forward" if at % 2 else "backward", 100 * at, 100 * at + at) for at in range(100)]
        kept = _spans.disjoint(spans)
        self.assertEqual(len(kept), 64)
        self.assertEqual(min(end - begin for _, begin, end in kept), 36)

    def test_no_message_is_too_long(self):
        moment = 12_345_678_901_234_567
        steps = [(10_000_000 + at, moment, moment) for at in range(5000)]
        spans = {number: [("communication_exposed", moment, moment)] * 64 for number, _, _ in steps[::100]}
        messages = list(_link.reports(steps, {steps[0][0]: 1.5}, spans))
        self.assertLessEqual(max(map(len, messages)), _link.LARGEST_MESSAGE)
        read = [json.loads(message) for message in messages]
        self.assertEqual([tuple(step) for one in read for step in one["steps"]], steps)
        self.assertEqual(sum(len(one.get("phases", [])) for one in read), 50 * 64)
        for one in read:  # phases come with their steps
            self.assertLessEqual({phase[0] for phase in one.get("phases", [])}, {step[0] for step in one["steps"]})


if __name__ == "__main__":
    unittest.main()
