#!/usr/bin/env python3
"""attention_test.py SYMTILE: the operators Attention and RotaryEmbedding of operator set 23, in every form that is
imported, against an ONNX Runtime running beside it. Skipped (77) where that cannot be installed or has none of them.
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import reference_env  # noqa: E402

reference_env.enter()

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.bool_): TensorProto.BOOL,
         np.dtype(np.int64): TensorProto.INT64}
RANDOM = np.random.default_rng(5)


def real(*dims):
    return RANDOM.standard_normal(dims).astype(np.float32)


def cases():
    """name, operator, inputs by name in order (None: absent), number of outputs, attributes"""
    q, k, v = real(2, 4, 7, 8), real(2, 2, 11, 8), real(2, 2, 11, 6)
    yield "heads", "Attention", {"q": q, "k": k, "v": v}, 1, {}
    yield "causal", "Attention", {"q": q, "k": real(2, 4, 7, 8), "v": real(2, 4, 7, 8)}, 1, {"is_causal": 1}
    yield "mask", "Attention", {"q": q, "k": k, "v": v, "m": real(7, 11)}, 1, {"scale": 0.5}
    shown = RANDOM.random((2, 1, 7, 11)) < 0.7
    shown[..., 0] = True
    yield "choice", "Attention", {"q": q, "k": k, "v": v, "m": shown}, 1, {}
    flat = {"q": real(2, 7, 32), "k": real(2, 11, 16), "v": real(2, 11, 12)}
    yield "flat", "Attention", flat, 1, {"q_num_heads": 4, "kv_num_heads": 2}
    past = {"q": real(1, 2, 3, 4), "k": real(1, 2, 3, 4), "v": real(1, 2, 3, 4), "m": None,
            "pk": real(1, 2, 5, 4), "pv": real(1, 2, 5, 4)}
    yield "past", "Attention", past, 3, {}
    angles = RANDOM.uniform(-3, 3, (2, 7, 4)).astype(np.float32)
    turn = {"x": real(2, 3, 7, 8), "c": np.cos(angles), "s": np.sin(angles)}
    yield "rotary", "RotaryEmbedding", turn, 1, {}
    yield "interleaved", "RotaryEmbedding", turn, 1, {"interleaved": 1}
    table = {"x": real(2, 7, 24), "c": np.cos(angles[0]), "s": np.sin(angles[0]),
             "p": RANDOM.integers(0, 7, (2, 7))}
    yield "positions", "RotaryEmbedding", table, 1, {"num_heads": 3}


def model_of(operator, inputs, outputs, attributes):
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, [n if a is not None else "" for n, a in inputs.items()], names, **attributes)
    given = [helper.make_tensor_value_info(n, TYPES[a.dtype], a.shape)
             for n, a in inputs.items() if a is not None]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names]
    model = helper.make_model(helper.make_graph([node], "g", given, results),
                              opset_imports=[helper.make_opsetid("", 23)])
    model.ir_version = 10
    return model, names


def main():
    symtile = sys.argv[1]
    failed = compared = 0
    for name, operator, inputs, outputs, attributes in cases():
        model, names = model_of(operator, inputs, outputs, attributes)
        feeds = {n: a for n, a in inputs.items() if a is not None}
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            expected = session.run(None, feeds)
        except Exception as error:  # this ONNX Runtime cannot
            print(f"SKIP: {name}: {str(error).splitlines()[0]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, f"{folder}/m.onnx")
            command = [symtile, "run", f"{folder}/m.onnx", "--output-dir", folder]
            for n, a in feeds.items():
                np.save(f"{folder}/{n}.npy", a)
                command += ["--input", f"{n}={folder}/{n}.npy"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                failed += 1
                print(f"FAILED {name}: {done.stderr.strip()}")
                continue
            worst = 0.0
            for n, want in zip(names, expected):
                got = np.load(f"{folder}/{n}.npy")
                difference = np.abs(got - want).max() if got.shape == want.shape else np.inf
                worst = max(worst, float(difference))
            compared += 1
            passed = worst < 1e-4
            failed += not passed
            print(f"{'ok    ' if passed else 'FAILED'} {name}: greatest difference {worst:.2e}")
    if compared == 0 and failed == 0:
        print("SKIP: this ONNX Runtime has none of the operators")
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
