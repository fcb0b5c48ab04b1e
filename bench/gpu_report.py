"""What scripts/gpu-check has seen of a GPU, as JSON and as a summary in Markdown.

A report is plain data, see `report`; all of its values are in plain units, and null where nothing was
measured, as on an emulated device. Only Python's standard library is used.
"""
import json
import re

SCHEMA = "ptbench.gpu-check/2"
# A row of docs/gpu_steps.md: workload, precision and batch in front, the range of samples/s at the end.
PREDICTION = re.compile(r"^\| `(\w+)` \| (\w+) \| (\d+) \|.*\| \*\*([\d,]+) to ([\d,]+)\*\* \|$", re.MULTILINE)
BAD = ("failed", "left out")


def predictions(document):
    """{(workload, precision, batch): [least, most samples/s]} of docs/gpu_steps.md."""
    return {(workload, precision, int(batch)): [float(end.replace(",", "")) for end in ends]
            for workload, precision, batch, *ends in PREDICTION.findall(document)}


def is_predicted(device_name):
    """Whether predictions are for this device: an H100 SXM, which is not its PCIe card."""
    return "H100" in device_name and not re.search(r"PCIe|NVL", device_name)


def figures(run):
    """What is kept of a run in a result file of ptbench."""
    compute, throughput = run["compute"], run["throughput"]
    return {"status": run["status"], "reason": run["reason"], "id": run["id"],
            "graph": run["strategy"]["graph"],
            "samples_per_second": throughput["value"], "ci95": throughput["ci95"],
            "repetitions": len(run["samples"]["repetitions"]),
            "peak_flops_per_second": compute["peak_flops_per_second"],
            "utilization": compute["utilization"], "peak_source": compute["peak_source"],
            "memory_bytes": run["memory"]["peak_bytes"],
            "warnings": [warning["code"] for warning in run["warnings"]]}


def beside(row, device_name, predicted):
    """`row` with what it is compared with: PyTorch's figures, if it has them, and the prediction."""
    done = row["figures"] and row["status"] == "passed"
    own = row["figures"]["samples_per_second"] if done else None

    def ratio_to(peer):
        return own / peer["samples_per_second"] if own and peer and peer["samples_per_second"] else None

    ends = predicted.get((row["workload"], row["precision"], row["batch"]))
    if own is None or not is_predicted(device_name):
        ends = None
    return row | {"ratio_to_pytorch": ratio_to(row["pytorch"]),
                  "ratio_to_pytorch_compiled": ratio_to(row["pytorch_compiled"]),
                  "predicted_samples_per_second": ends,
                  "beside_prediction": beside_range(own, ends) if ends else None}


def beside_range(value, ends):
    return "below" if value < ends[0] else "above" if value > ends[1] else "within"


def outcome(steps):
    """"passed", or how many steps did what instead."""
    counts = {status: sum(step["status"] == status for step in steps) for status in BAD}
    text = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return text or "passed"


def report(about, steps, doctor, rows, document, several=None):
    """All that is known. `about`: device, versions, date; `steps` and `rows` as gpu-check fills them;
    `doctor`: what `ptbench doctor --json` printed; `document`: the text of docs/gpu_steps.md; `several`: what was
    measured of several GPUs, {"ranks": …, "comm": …}."""
    predicted = predictions(document)
    return {"schema": SCHEMA, **about, "outcome": outcome(steps), "steps": steps, "doctor": doctor,
            "runs": [beside(row, about["device"]["name"], predicted) for row in rows],
            "several": several or {"ranks": [], "comm": []}}


def rows_of(steps, found, statuses):
    """Rows of runs on one GPU: each of ptbench, with PyTorch's beside it. `found` and `statuses` by step's name, of
    those that there are."""
    rows = {}
    for step in steps:
        if not step.run or step.name not in statuses:
            continue
        workload, precision, batch, graph, engine = step.run
        key = workload, precision, graph
        if engine == "native" and (statuses[step.name] in ("passed", "failed") or step.name in found):
            rows[key] = {"workload": workload, "precision": precision, "batch": batch, "graph": graph,
                         "status": statuses[step.name], "figures": found.get(step.name), "pytorch": None,
                         "pytorch_compiled": None}
        elif engine != "native" and key in rows and statuses[step.name] == "passed":
            rows[key][engine.replace("-", "_")] = found.get(step.name)
    return list(rows.values())


def as_json(found):
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


# Markdown


def table(head, rows):
    def line(cells):
        return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return "\n".join([line(head), "|" + "---|" * len(head), *(line(row) for row in rows)])


def number(value):
    return "-" if value is None else f"{value:,.4g}" if value < 1e3 else f"{value:,.0f}"


def with_interval(value, interval):
    if value is None or not interval:
        return number(value)
    return f"{number(value)} ({number(interval[0])} to {number(interval[1])})"


def range_text(ends):
    return f"{number(ends[0])} to {number(ends[1])}" if ends else "-"


def ratio(value):
    return "-" if value is None else f"{value:.2f}"


def share(value):
    return "-" if value is None else f"{100 * value:.0f} %"


def peer_text(peer):
    return "-" if not peer else with_interval(peer["samples_per_second"], peer["ci95"])


def run_cells(row):
    kept = row["figures"]
    done = kept and row["status"] == "passed"
    own = with_interval(kept["samples_per_second"], kept["ci95"]) if done else row["status"]
    graph = "-" if not kept or kept["graph"] is None else "on" if kept["graph"] else "off"
    return [f"`{row['workload']}`", row["precision"], row["batch"], graph, own,
            share(kept["utilization"] if kept else None),
            peer_text(row["pytorch"]), ratio(row["ratio_to_pytorch"]),
            peer_text(row["pytorch_compiled"]), ratio(row["ratio_to_pytorch_compiled"]),
            range_text(row["predicted_samples_per_second"]), row["beside_prediction"] or "-"]


def measured_rows(found):
    """What doctor measured of the device."""
    group = found["doctor"].get(found["device"]["id"], [])
    return [[finding["name"], finding["state"], number_or_text(finding["value"]), finding["detail"]]
            for finding in group]


def number_or_text(value):
    return number(value) if isinstance(value, float) else "-" if value is None else value


def as_markdown(found):
    device = found["device"]
    dirty = " (dirty: not a published state)" if found["dirty"] else ""
    facts = [["device", f"{device['id']}, {device['description']}"], ["driver", found["driver"]],
             ["commit", found["commit"] + dirty], ["date", found["date"]],
             ["outcome", found["outcome"]]]
    steps = [[step["name"], step["status"],
              "-" if step["seconds"] is None else f"{step['seconds']:.1f}", step["detail"]]
             for step in found["steps"]]
    emulated = ("\nThis device is emulated: it has no speed, and nothing below is a figure.\n"
                if found["emulated"] else "")
    return f"""# {device['name']}, {found['date'][:10]}: scripts/gpu-check
{emulated}
{table(["", ""], facts)}

## Steps

{table(["step", "status", "seconds", "detail"], steps)}

## What the device reaches

Measured by `ptbench doctor`, in operations and bytes a second.

{table(["what", "state", "value", "how"], measured_rows(found))}

## Throughput

Samples/s of global batches, with the 95 % interval across processes; of PyTorch, whose batches lie on the
device, by one process. "of peak": executed operations as a share of the products that were measured beside the run.
Predictions are those of docs/gpu_steps.md, for an H100 SXM alone.

{table(["workload", "precision", "batch", "graph", "samples/s (95 %)", "of peak", "PyTorch eager", "ratio",
        "PyTorch compiled", "ratio", "predicted", "it is"], [run_cells(row) for row in found["runs"]])}
{several_text(found["several"])}"""


def several_text(several):
    if not several["ranks"] and not several["comm"]:
        return ""
    ranks = [[kept["id"], kept["status"], with_interval(kept["samples_per_second"], kept["ci95"]),
              ratio(kept["efficiency"])] for kept in several["ranks"]]
    sizes = [[row["collective"], row["ranks"], f"{row['bytes']:,}", number(row["seconds"]),
              number(row["busbw_bytes_per_second"]), row["wrong"]] for row in several["comm"]]
    return f"""
## Several GPUs

{table(["run", "status", "samples/s (95 %)", "efficiency"], ranks)}

{table(["collective", "GPUs", "bytes", "seconds", "bus bandwidth, bytes/s", "wrong"], sizes)}
"""
