#!/usr/bin/env python3
"""Writes what ONNX Runtime computes for every case of model_cases.py to test/model/golden/.

    scripts/make_goldens.py              every model that fetch_models.py has stored
    scripts/make_goldens.py ocr_rec      only this one

A folder for each model: cases.json says how the inputs are made and which files hold the outputs.
An output of at most 4096 elements is stored whole as <case>.<output>.npy. Of a larger one 2048
elements are stored that lie evenly in it, the 1024 of largest magnitude and the 1024 that differ
most from their neighbour: their values, and their positions in <case>.<output>.index.npy.
A case that ONNX Runtime rejects has no outputs. Sequences store the outputs of all frames one after another,
and only the last value of an output that is carried over to the next frame.

The tolerance is rtol 1e-3, atol 1e-4. Where ONNX Runtime with and without its optimisations differs
from itself by more than a quarter of that, the model amplifies rounding, and `atol` is written to the
manifest as 4 times the greatest difference.
"""

import json
import pathlib
import shutil
import sys

import fetch_models
import model_cases
import reference_env

reference_env.enter()

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "test/model/golden"
WHOLE = 4096
SAMPLES = 2048
RTOL, ATOL = 1e-3, 1e-4


def open_session(model, optimised=True):
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 2
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(fetch_models.model_path(model)), options,
                                        providers=["CPUExecutionProvider"])


def run_case(session, case):
    """The outputs by name: stacked over the frames, the last one where it is carried."""
    names = [output.name for output in session.get_outputs()]
    collected = {name: [] for name in names}
    state = {}
    for frame in range(case["frames"]):
        feeds = {spec["name"]: model_cases.make_input(spec, frame) for spec in case["inputs"]}
        feeds.update(state)
        for name, array in zip(names, session.run(None, feeds)):
            collected[name].append(array)
            if name in case["carry"]:
                state[case["carry"][name]] = array
    last = case["frames"] == 1
    return {name: arrays[-1] if last or name in case["carry"] else np.stack(arrays)
            for name, arrays in collected.items()}


def sample_positions(flat):
    count = flat.size
    even = (np.arange(SAMPLES, dtype=np.int64) * count) // SAMPLES
    step = count // SAMPLES
    even += (np.arange(SAMPLES, dtype=np.int64) * 7919) % max(step, 1)
    values = flat.astype(np.float64)
    large = np.argsort(-np.abs(values), kind="stable")[:SAMPLES // 2]
    edges = np.argsort(-np.abs(np.diff(values)), kind="stable")[:SAMPLES // 2]
    return np.unique(np.concatenate([even, large, edges])).astype(np.int32)


def needed_atol(array, plain):
    """Greater than ATOL where the two differ by more than a quarter of the tolerance."""
    difference = np.abs(array.astype(np.float64) - plain)
    if (difference <= (ATOL + RTOL * np.abs(plain)) / 4).all():
        return ATOL
    return float(f"{4 * difference.max():.2g}")


def write_output(folder, case, index, name, array, plain):
    flat = array.reshape(-1)
    assert np.isfinite(flat).all(), f"{case} {name} is not finite"
    file = f"{case}.{index}"
    entry = {"name": name, "dims": list(array.shape), "file": file + ".npy"}
    atol = needed_atol(array, plain)
    if atol > ATOL:
        entry["atol"] = atol
    if flat.size <= WHOLE:
        np.save(folder / (file + ".npy"), array)
    else:
        positions = sample_positions(flat)
        entry["index"] = file + ".index.npy"
        np.save(folder / (file + ".npy"), flat[positions])
        np.save(folder / entry["index"], positions)
    spread = f"{array.min():.4g} .. {array.max():.4g}"
    print(f"  {case:14} {name:24} {str(list(array.shape)):22} {spread}"
          + (f"  (atol {atol})" if atol > ATOL else ""))
    return entry


def write_manifest(folder, manifest):
    manifest["producer"] = f"onnxruntime {onnxruntime.__version__}"
    (folder / "cases.json").write_text(json.dumps(manifest, indent=1) + "\n")


def fresh_folder(name):
    folder = GOLDEN / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def make_model(model):
    print(model)
    session, plain_session = open_session(model), open_session(model, optimised=False)
    folder = fresh_folder(model)
    cases = []
    for case in model_cases.CASES[model]:
        try:
            outputs, plain = run_case(session, case), run_case(plain_session, case)
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
            if not case["fails"]:
                raise
            outputs = {}
            print(f"  {case['name']:14} cannot be run, as expected")
        assert not (case["fails"] and outputs), f"{case['name']} runs"
        entries = [write_output(folder, case["name"], i, name, array, plain[name])
                   for i, (name, array) in enumerate(outputs.items())]
        cases.append({**case, "outputs": entries})
    write_manifest(folder, {"model": model, "cases": cases})


def make_chain():
    print("wake_chain")
    chain = model_cases.CHAIN
    mel, embedding, classifier = (open_session(name) for name in chain["models"])
    frames = mel.run(None, {"input": model_cases.make_input(chain["inputs"][0])})[0]
    frames = frames.reshape(-1, 32) / np.float32(10) + np.float32(2)
    starts = range(0, len(frames) - chain["window"] + 1, chain["hop"])
    windows = np.stack([frames[s:s + chain["window"]] for s in starts])[..., None]
    vectors = embedding.run(None, {"input_1": windows})[0].reshape(-1, 96)
    score = classifier.run(None, {"x.1": vectors[None, -16:]})[0]
    folder = fresh_folder("wake_chain")
    entries = [write_output(folder, "chain", 0, "embedding", vectors, vectors),
               write_output(folder, "chain", 1, "score", score, score)]
    write_manifest(folder, {"chain": chain, "outputs": entries})


def main():
    wanted = sys.argv[1:] or list(model_cases.CASES) + ["wake_chain"]
    for name in wanted:
        needed = model_cases.CHAIN["models"] if name == "wake_chain" else [name]
        missing = [model for model in needed if not fetch_models.model_path(model).exists()]
        if missing:
            print(f"SKIP: {name}: {', '.join(missing)} is not stored; run scripts/fetch_models.py")
        elif name == "wake_chain":
            make_chain()
        else:
            make_model(name)


if __name__ == "__main__":
    main()
