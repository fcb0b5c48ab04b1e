import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

import scripts  # finds the modules below
import trace_readers

PTBENCH = os.environ.get("PTBENCH_TEST_EXECUTABLE")


def trace_in(folder, kernels, activity=None, ranks=1):
    """A trace of steps 3 to 5, of which the last was not asked for."""
    own = {"steps": {"asked": 2}}
    if activity:
        own["activity"] = activity
    events = [{"cat": "user_annotation", "name": f"ProfilerStep#{step}"} for step in (3, 4, 5)]
    events += [{"cat": "kernel", "name": name, "args": {"stream": stream}}
               for name, stream in kernels]
    for rank in range(ranks):
        (folder / f"rank{rank}.json").write_text(json.dumps(
            {"ptbench": own, "distributedInfo": {"world_size": ranks}, "traceEvents": events}))
    return trace_readers.Trace(folder)


def found(**other):
    """What HTA says of a trace of one rank."""
    return {"ranks": [0], "steps": [3, 4], "overlap": [{"comp_comm_overlap_pctg": None}],
            "launches": [{"rank": 0, "count": 2, "shortest": 0, "least_delay": 0}],
            "queues": [{"rank": 0, "least": 0, "most": 1}], "streams": 1, "sequences": 1, "critical_path": True,
            "temporal": [{"rank": 0, "compute_time(us)": 5, "non_compute_time(us)": -1}], **other}


class TraceReaders(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_commands_in_documents_are_taken(self):
        said = []
        for document in ("bench/results/gpu/PENDING.md", "docs/traces.md"):
            text = (scripts.ROOT / document).read_text()
            said += re.findall(r"`bench/trace_readers\.py ([^`]*)`", text)
        self.assertEqual(said, ["trace", "trace"])
        for words in said:
            self.assertEqual(trace_readers.arguments_of(words.split()).folders, [pathlib.Path("trace")])
        self.assertEqual(trace_readers.arguments_of([]).folders, [])

    def test_a_folder_without_a_trace_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "no .*rank0.json: name a folder"):
            trace_readers.Trace(self.folder)

    def test_what_is_asked_of_a_reader_is_in_the_trace(self):
        cpu = trace_in(self.folder, [("forward", 7), ("ncclKernel_AllReduce", 20)], ranks=2)
        self.assertEqual((cpu.steps, cpu.asked, cpu.ranks), ([3, 4, 5], 2, 2))
        self.assertTrue(cpu.communicates)
        self.assertEqual(cpu.events, 2 * 5)
        self.assertEqual(cpu.computes(1), 7)

    def test_the_stream_that_computes_is_the_one_with_most_kernels_of_a_gpu(self):
        gpu = trace_in(self.folder, [("relu", 13), ("sum", 9), ("relu", 13), ("copy", 9), ("sum", 13),
                                     *[("ncclDevKernel_AllReduce", 21)] * 5], {"source": "CUPTI 13"})
        self.assertEqual(gpu.computes(0), 13)

    def test_what_a_reader_sees_otherwise_is_a_problem(self):
        alone = trace_in(self.folder, [("forward", 7)])
        self.assertEqual(trace_readers.problems_of(found(), alone), [])
        self.assertIn("ranks [] of 1", trace_readers.problems_of(found(ranks=[]), alone))
        self.assertIn("1 steps of 2", trace_readers.problems_of(found(steps=[3]), alone))
        for wrong, words in (({"launches": [{"rank": 0, "count": 2, "shortest": -1, "least_delay": 0}]}, "-1 µs"),
                             ({"launches": []}, "launches of ranks []"),
                             ({"queues": [{"rank": 0, "least": -1, "most": 1}]}, "queues of -1 to 1 kernels"),
                             ({"queues": []}, "queues of 0 ranks"), ({"sequences": 0}, "no sequence"),
                             ({"critical_path": False}, "no critical path")):
            self.assertIn(words, "; ".join(trace_readers.problems_of(found(**wrong), alone)))
        together = trace_in(self.folder, [("ncclKernel_Reduce", 20)])
        self.assertIn("overlap [None]", trace_readers.problems_of(found(), together))


    @unittest.skipUnless(importlib.util.find_spec("hta") and PTBENCH, "there is no HolisticTraceAnalysis, or no program")
    def test_holistic_trace_analysis_reads_traces_of_this_build(self):
        for name in ("serial linear", "ddp mlp, 2 ranks"):
            with self.subTest(name):
                self.assertEqual(trace_readers.check(PTBENCH, sys.executable, name, trace_readers.RUNS[name])[1], [])


if __name__ == "__main__":
    unittest.main()
