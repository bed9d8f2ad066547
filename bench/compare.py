#!/usr/bin/env python3
"""symtile beside ONNX Runtime on the models under test: same machine, threads, inputs and run.

    bench/compare.py                     every fetched model and shape of scripts/model_cases.py
    bench/compare.py ocr_rec densenet121 only these models
    bench/compare.py --threads 2 --rounds 5 --json results.json

The two take turns, round after round, so that a slow spell of the machine meets both; each turn's
median is kept, and the medians of these are reported with their ratio (below 1: symtile is faster).
Each model is compiled once. Memory: symtile's arena and constants, and by how much ONNX Runtime's
process grows while it loads and runs the model.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import fetch_models  # noqa: E402
import model_cases  # noqa: E402
import reference_env  # noqa: E402

reference_env.enter()

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402


def symtile_bench(args, artifact, inputs, folder):
    command = [args.symtile, "bench", artifact, "--threads", str(args.threads), "--json"]
    for i, (name, array) in enumerate(inputs.items()):
        file = f"{folder}/in{i}.npy"
        np.save(file, array)
        command += ["--input", f"{name}={file}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def resident_bytes():
    for line in open("/proc/self/status", encoding="ascii"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def open_onnxruntime(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(fetch_models.model_path(model)), options,
                                        providers=["CPUExecutionProvider"])


def onnxruntime_turn(session, inputs, seconds=1.0):
    """The median of as many runs as fit, after a warm-up; at least 3."""
    session.run(None, inputs)
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, inputs)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def compare_case(args, model, case, artifact):
    inputs = {spec["name"]: model_cases.make_input(spec) for spec in case["inputs"]}
    before = resident_bytes()
    session = open_onnxruntime(model, args.threads)
    ours, theirs = [], []
    report = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.rounds):
            theirs.append(onnxruntime_turn(session, inputs))
            report = symtile_bench(args, artifact, inputs, folder)
            ours.append(report["median_ms"])
    symtile_ms, onnxruntime_ms = statistics.median(ours), statistics.median(theirs)
    return {"model": model, "case": case["name"], "threads": args.threads, "symtile_ms": symtile_ms,
            "onnxruntime_ms": onnxruntime_ms, "ratio": symtile_ms / onnxruntime_ms,
            "symtile_arena_bytes": report.get("arena_bytes"),
            "symtile_constant_bytes": report.get("constant_bytes"),
            "onnxruntime_grown_bytes": max(0, resident_bytes() - before)}


def megabytes(count):
    return "-" if count is None else f"{count / 1e6:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--symtile", default=str(ROOT / "build/release/tools/symtile"))
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    args = parser.parse_args()

    results = []
    failed = False
    print(f"onnxruntime {onnxruntime.__version__}, {args.threads} threads, {args.rounds} rounds; MB: symtile's "
          "arena and constants, growth of ONNX Runtime's process")
    print(f"{'model':20} {'case':12} {'symtile ms':>11} {'ort ms':>9} {'ratio':>6} {'arena':>8} {'const':>8} "
          f"{'ort':>8}", flush=True)
    for model in args.models or model_cases.CASES:
        if not fetch_models.model_path(model).exists():
            print(f"SKIP: {model} is not fetched; run scripts/fetch_models.py")
            continue
        with tempfile.TemporaryDirectory() as folder:
            artifact = f"{folder}/{model}.symtile"
            done = subprocess.run([args.symtile, "compile", str(fetch_models.model_path(model)), "-o", artifact,
                                   "--quiet"], capture_output=True, text=True)
            if done.returncode:
                failed = True
                print(f"FAILED {model}: {done.stderr.strip()}")
                continue
            for case in model_cases.CASES[model]:
                if case["fails"]:
                    continue
                try:
                    r = compare_case(args, model, case, artifact)
                except RuntimeError as error:
                    failed = True
                    print(f"FAILED {model} {case['name']}: {error}")
                    continue
                results.append(r)
                print(f"{model:20} {case['name']:12} {r['symtile_ms']:11.3f} {r['onnxruntime_ms']:9.3f} "
                      f"{r['ratio']:6.2f} {megabytes(r['symtile_arena_bytes']):>8} "
                      f"{megabytes(r['symtile_constant_bytes']):>8} "
                      f"{megabytes(r['onnxruntime_grown_bytes']):>8}", flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
