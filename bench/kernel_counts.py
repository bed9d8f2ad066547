#!/usr/bin/env python3
"""Kernels before and after fusion of every fetched model, and the elementwise kernels that are left.

    bench/kernel_counts.py --symtile build/release/tools/symtile [MODEL...] [--left]

`before` counts the calls of kernels after lowering, `after` those after fusion. A kernel without a
reduction or contraction is `elementwise` here (broadcasts, moves of elements). --left lists, for
every such kernel, why no reader took it and why it took none of its producers.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))

import fetch_models  # noqa: E402

MODELS = fetch_models.cache_dir() / "models"


def fusion_of(symtile, path):
    out = subprocess.run([symtile, "inspect", str(path), "--fusion", "--json"],
                         capture_output=True, text=True)
    if out.returncode != 0:
        raise RuntimeError(out.stderr.strip().splitlines()[-1] if out.stderr.strip() else "failed")
    return json.loads(out.stdout)


def is_elementwise(kernel):
    return kernel["kind"] in ("elementwise", "broadcast", "injective")


def reasons(report):
    """value of an elementwise kernel -> why it is apart from what it reads"""
    out = collections.defaultdict(list)
    names = {(k["function"], k["value"]) for k in report["kernels"] if is_elementwise(k)}
    for refusal in report["refusals"]:
        if (refusal["function"], refusal["consumer"]) in names:
            out[refusal["function"], refusal["consumer"]].append(refusal["reason"])
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", help="names or files; all fetched models without")
    parser.add_argument("--symtile", default="build/release/tools/symtile")
    parser.add_argument("--left", action="store_true", help="list the elementwise kernels that are left")
    arguments = parser.parse_args()
    paths = [p if p.suffix else MODELS / f"{p}.onnx" for p in map(pathlib.Path, arguments.models)]
    paths = paths or sorted(MODELS.glob("*.onnx"))
    if not paths:
        sys.exit(f"no models in {MODELS}: run scripts/fetch_models.py")
    print(f"{'model':24} {'before':>7} {'after':>7} {'contraction':>12} {'reduction':>10} {'elementwise':>12}")
    for path in paths:
        try:
            report = fusion_of(arguments.symtile, path)
        except RuntimeError as error:
            print(f"{path.stem:24} {error}")
            continue
        kernels = report["kernels"]
        values = {m["value"] for k in kernels for m in k["members"]}
        kinds = collections.Counter(k["kind"] for k in kernels)
        left = [k for k in kernels if is_elementwise(k)]
        print(f"{path.stem:24} {len(values):7} {len(kernels):7} {kinds['contraction']:12} "
              f"{kinds['reduction']:10} {len(left):12}")
        if not arguments.left:
            continue
        why = reasons(report)
        groups = collections.Counter()
        for k in left:
            found = why[k["function"], k["value"]]
            ops = "_".join(m["op"] for m in k["members"])
            groups[ops, k["apart"],
                   "; ".join(sorted(set(found))) or "it reads no kernel's result"] += 1
        for (ops, readers, producers), count in groups.most_common():
            print(f"    {count:4} x {ops}\n           readers: {readers}\n           producers: {producers}")


if __name__ == "__main__":
    main()
