#!/usr/bin/env python3
"""Peak activation memory of every fetched model, at up to two shapes, beside ONNX Runtime's.

    bench/memory.py                      every fetched model of scripts/model_cases.py
    bench/memory.py ocr_rec densenet121  only these
    bench/memory.py --json results.json

MB in each column:
  arena          what symtile reserves for one run; a formula of the dimensions, known before it
  intermediates  what all computed values would take, each in memory of its own
  held           what a session holds after some runs: arenas, heap, scratch of threads, outputs
  ort            what ONNX Runtime holds at most during its first two runs beyond what it held after
                 loading the model: its arena with default settings, memory patterns on
  ort no arena   the same with every value allocated and freed by itself
Outputs are in "held" and in ONNX Runtime's figures; bodies of If and Loop are not in the first two.
"""

import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import fetch_models  # noqa: E402
import model_cases  # noqa: E402
import reference_env  # noqa: E402


def peak_of_onnxruntime(model, case_name, arena):
    """Runs in a process of its own with bench/malloc_peak.c preloaded."""
    reference_env.enter()
    import onnxruntime

    counter = ctypes.CDLL(None)
    counter.malloc_peak.restype = counter.malloc_peak_reset.restype = ctypes.c_long
    case = next(c for c in model_cases.CASES[model] if c["name"] == case_name)
    inputs = {spec["name"]: model_cases.make_input(spec) for spec in case["inputs"]}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = arena
    session = onnxruntime.InferenceSession(str(fetch_models.model_path(model)), options,
                                           providers=["CPUExecutionProvider"])
    before = counter.malloc_peak_reset()
    for _ in range(2):
        session.run(None, inputs)
    print(counter.malloc_peak() - before)


def ask_onnxruntime(library, model, case, arena):
    command = [sys.executable, __file__, "--peak", model, case["name"], "arena" if arena else "plain"]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "LD_PRELOAD": library})
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return int(done.stdout.split()[-1])


def symtile_json(args, *command):
    done = subprocess.run([args.symtile, *command, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def measure(args, library, model, case):
    path = str(fetch_models.model_path(model))
    with tempfile.TemporaryDirectory() as folder:
        flags = []
        import numpy
        for i, spec in enumerate(case["inputs"]):
            numpy.save(f"{folder}/{i}.npy", model_cases.make_input(spec))
            flags += ["--input", f"{spec['name']}={folder}/{i}.npy"]
        bench = symtile_json(args, "bench", path, *flags)
    dims = [flag for name, value in bench["dims"].items() for flag in ("--dim", f"{name}={value}")]
    memory = symtile_json(args, "inspect", path, "--memory", *dims)
    return {"model": model, "case": case["name"], "arena": bench["arena_bytes"], "held": bench["held_bytes"],
            "intermediates": memory["intermediates"]["bytes"],
            "unknown": memory["intermediates"]["unknown"],
            "ort": ask_onnxruntime(library, model, case, True),
            "ort_no_arena": ask_onnxruntime(library, model, case, False)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--symtile", default=str(ROOT / "build/release/tools/symtile"))
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    parser.add_argument("--peak", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak:
        peak_of_onnxruntime(args.peak[0], args.peak[1], args.peak[2] == "arena")
        return 0
    reference_env.enter()

    results, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/malloc_peak.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, str(ROOT / "bench/malloc_peak.c")],
                       check=True)
        columns = ("intermediates", "arena", "held", "ort", "ort_no_arena")
        print(f"{'model':20} {'case':12}" + "".join(f" {c.replace('_', ' '):>13}" for c in columns), flush=True)
        for model in args.models or model_cases.CASES:
            if not fetch_models.model_path(model).exists():
                print(f"SKIP: {model} is not fetched; run scripts/fetch_models.py")
                continue
            cases = [c for c in model_cases.CASES[model] if not c["fails"]]
            for case in (cases if len(cases) < 3 else [cases[0], cases[-1]]):
                try:
                    r = measure(args, library, model, case)
                except RuntimeError as error:
                    failed = True
                    print(f"FAILED {model} {case['name']}: {error}")
                    continue
                results.append(r)
                more = f"  and {r['unknown']} values of unknown size" if r["unknown"] else ""
                print(f"{model:20} {case['name']:12}" +
                      "".join(f" {r[c] / 1e6:13.3f}" for c in columns) + more, flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
