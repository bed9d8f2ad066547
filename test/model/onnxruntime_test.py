#!/usr/bin/env python3
"""onnxruntime_test.py SYMTILE [MODEL...]: every case of scripts/model_cases.py, whole outputs of
`symtile run` against an ONNX Runtime running beside it. One artifact for all shapes of a model.

Where ONNX Runtime cannot be installed it prints SKIP and exits with 77; the golden outputs of
test/model/golden are then what is checked.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import fetch_models  # noqa: E402
import model_cases  # noqa: E402
import reference_env  # noqa: E402

reference_env.enter()

import make_goldens  # noqa: E402
import numpy as np  # noqa: E402

# Of a sequence only so many frames: each is a process here. The golden cases carry state over all.
FRAMES = 3


def symtile_run(symtile, artifact, inputs, folder):
    command = [symtile, "run", artifact, "--output-dir", folder]
    for i, (name, array) in enumerate(inputs.items()):
        np.save(f"{folder}/in{i}.npy", array)
        command += ["--input", f"{name}={folder}/in{i}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")


def output_file(folder, name):
    return pathlib.Path(folder) / (re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".npy")


def difference(actual, optimised, plain):
    """The greatest error as part of what is allowed."""
    if actual.shape != optimised.shape:
        raise RuntimeError(f"shape {actual.shape}, not {optimised.shape}")
    if actual.size == 0:
        return 0.0
    atol = make_goldens.needed_atol(optimised, plain)
    error = np.abs(actual.astype(np.float64) - optimised)
    return float((error / (atol + make_goldens.RTOL * np.abs(optimised))).max())


def run_case(case, sessions, symtile, artifact):
    worst = 0.0
    state = {}
    for frame in range(min(case["frames"], FRAMES)):
        inputs = {spec["name"]: model_cases.make_input(spec, frame) for spec in case["inputs"]}
        inputs.update(state)
        with tempfile.TemporaryDirectory() as folder:
            if case["fails"]:
                try:
                    symtile_run(symtile, artifact, inputs, folder)
                except RuntimeError as error:
                    if "exit code 1:" not in str(error):
                        raise
                    return None
                raise RuntimeError("ran, but must be refused")
            symtile_run(symtile, artifact, inputs, folder)
            names = [output.name for output in sessions[0].get_outputs()]
            optimised, plain = (session.run(None, inputs) for session in sessions)
            for name, expected, other in zip(names, optimised, plain):
                worst = max(worst, difference(np.load(output_file(folder, name)), expected, other))
                if name in case["carry"]:
                    state[case["carry"][name]] = expected
    return worst


def main():
    symtile = sys.argv[1]
    failed = 0
    for model in sys.argv[2:] or model_cases.CASES:
        if not fetch_models.model_path(model).exists():
            print(f"SKIP: {model} not fetched; run scripts/fetch_models.py", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            artifact = f"{folder}/{model}.symtile"
            done = subprocess.run([symtile, "compile", str(fetch_models.model_path(model)), "-o", artifact,
                                   "--quiet"], capture_output=True, text=True)
            if done.returncode:
                failed += 1
                print(f"FAILED {model}: {done.stderr.strip()}", flush=True)
                continue
            sessions = [make_goldens.open_session(model, optimised) for optimised in (True, False)]
            for case in model_cases.CASES[model]:
                try:
                    worst = run_case(case, sessions, symtile, artifact)
                    passed = worst is None or worst <= 1
                    how = "refused" if worst is None else f"{worst:.4f} of the tolerance"
                except RuntimeError as error:
                    passed, how = False, str(error)
                failed += not passed
                print(f"{'ok    ' if passed else 'FAILED'} {model} {case['name']}: {how}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
