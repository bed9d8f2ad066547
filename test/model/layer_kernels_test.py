#!/usr/bin/env python3
"""layer_kernels_test.py SYMTILE: a layer of BERT is at most 7 kernels: query, key and value in one product; attention;
projection; normalisation; the two products of the inner layer; normalisation. Skipped (77) where
scripts/export_models.py could not make the models."""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import fetch_models  # noqa: E402

# Layers, kernels of each, and kernels around them (embedding, mask, pooling).
MODELS = {"bert_base": (12, 7, 8), "bert_base_dynamo": (12, 7, 8), "gpt2_block": (1, 7, 0), "gpt2_block_dynamo": (1, 7, 0)}


def main():
    failed = compiled = 0
    for name, (layers, each, around) in MODELS.items():
        path = fetch_models.model_path(name)
        if not path.exists():
            print(f"SKIP: {name} is not stored; run scripts/export_models.py")
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = subprocess.run([sys.argv[1], "compile", str(path), "-o", f"{folder}/m.symtile"],
                                 capture_output=True, text=True, check=True)
        launches = int(re.search(r"in (\d+) launches", out.stdout + out.stderr).group(1))
        compiled += 1
        passed = launches <= layers * each + around
        failed += not passed
        print(f"{'ok    ' if passed else 'FAILED'} {name}: {launches} launches, {layers} layers of {each} and {around}")
    return 1 if failed else 0 if compiled else 77


if __name__ == "__main__":
    sys.exit(main())
