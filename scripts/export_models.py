#!/usr/bin/env python3
"""Exports networks from PyTorch, with random but seeded weights, into the folder of the models.

    scripts/export_models.py                   every model that is not there yet
    scripts/export_models.py bert_base         only this one
    scripts/export_models.py --again           replace what is there

resnet50, bert_base, gpt2_block and llama_block come from the exporter that traces (opset 17);
bert_base_dynamo and the like from the newer one that captures bytecode. All dimensions that vary are
symbolic. PyTorch is installed into an environment in the cache; where it cannot be, this prints
`SKIP: reason` and exits with 77. SYMTILE_EXPORT=0 skips too: PyTorch and its models are 2 GB.
"""

import argparse
import inspect
import os
import pathlib
import sys
import tempfile
import warnings

import fetch_models
import reference_env

if os.environ.get("SYMTILE_EXPORT") == "0":
    print("SKIP: SYMTILE_EXPORT is 0, nothing is exported from PyTorch")
    sys.exit(reference_env.SKIPPED)
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements-export.txt")
reference_env.enter(REQUIREMENTS, ("numpy", "onnx", "torch"), "SYMTILE_EXPORT_ENV", "PyTorch")

import onnx  # noqa: E402
import torch  # noqa: E402

import export_networks as networks  # noqa: E402

TOKENS = {"input_ids": {0: "batch", 1: "length"}, "attention_mask": {0: "batch", 1: "length"},
          "token_type_ids": {0: "batch", 1: "length"}}
HIDDEN = {"x": {0: "batch", 1: "length"}}

# name: network, example inputs, names of the outputs, dimensions that vary
MODELS = {
    "resnet50": (networks.ResNet50, lambda: [torch.randn(2, 3, 224, 224)], ["logits"],
                 {"x": {0: "batch"}}),
    # Three tensors: one tensor given three times would become one input.
    "bert_base": (networks.Bert, lambda: [torch.ones(2, 24, dtype=torch.int64) for _ in range(3)],
                  ["hidden", "pooled"], TOKENS),
    "gpt2_block": (networks.Gpt2Block, lambda: [torch.randn(2, 24, 256)], ["y"], HIDDEN),
    "llama_block": (networks.LlamaBlock, lambda: [torch.randn(2, 24, 256)], ["y"], HIDDEN),
}
DYNAMO = "_dynamo"


def build(network):
    torch.manual_seed(20240607)
    model = network()
    with torch.no_grad():
        getattr(network, "settle", lambda m: None)(model)
    return model.eval()


def export(name, path):
    network, example, outputs, axes = MODELS[name.removesuffix(DYNAMO)]
    model, inputs = build(network), tuple(example())
    names = list(inspect.signature(model.forward).parameters)
    if name.endswith(DYNAMO):
        shapes = {n: {axis: torch.export.Dim(label) for axis, label in axes[n].items()} for n in names}
        torch.onnx.export(model, inputs, path, input_names=names, output_names=outputs, dynamo=True,
                          dynamic_shapes=shapes, external_data=False, verbose=False)
    else:
        torch.onnx.export(model, inputs, path, input_names=names, output_names=outputs, opset_version=17,
                          dynamic_axes={**axes, **{o: {0: "batch"} for o in outputs}}, dynamo=False)
    onnx.checker.check_model(path)


def main():
    every = list(MODELS) + [name + DYNAMO for name in MODELS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(every))
    parser.add_argument("--again", action="store_true", help="also what is there already")
    args = parser.parse_args()
    if set(args.names) - set(every):
        parser.error(f"no such model: {', '.join(sorted(set(args.names) - set(every)))}")
    warnings.filterwarnings("ignore")
    failed = 0
    for name in args.names or every:
        path = fetch_models.model_path(name)
        if path.exists() and not args.again:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = f"{folder}/{name}.onnx"
            try:
                export(name, made)
            except Exception as error:  # the exporters raise anything at all
                failed += 1
                first = (str(error).strip().splitlines() or [""])[0]
                print(f"FAILED {name}: {type(error).__name__}: {first}", flush=True)
                continue
            os.replace(made, path)
        print(f"exported {name} ({path.stat().st_size / 1e6:.1f} MB) with PyTorch {torch.__version__}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
