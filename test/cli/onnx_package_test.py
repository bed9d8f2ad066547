"""onnx_package_test.py SYMTILE: the node tests of the ONNX release in requirements-reference.txt, newer
than the distribution's and up to its newest operator set, and the cases converted from PyTorch.

ONNX keeps its node tests as code: they are written out as folders first. Exit code 77: skipped,
because the package cannot be installed.
"""

import pathlib
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "scripts"))

import reference_env  # noqa: E402

reference_env.enter()

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnx.backend.test.case.node as node_cases  # noqa: E402
from onnx import numpy_helper  # noqa: E402


def as_message(value, info):
    if isinstance(value, onnx.TensorProto):
        return value
    kind = info.type.WhichOneof("value")
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    return numpy_helper.from_array(np.array(value), info.name)


def write_case(folder, case):
    folder.mkdir()
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for i, sides in enumerate(case.data_sets):
        data = folder / f"test_data_set_{i}"
        data.mkdir()
        infos = case.model.graph.input, case.model.graph.output
        for side, values, of in zip(("input", "output"), sides, infos):
            for k, value in enumerate(values):
                (data / f"{side}_{k}.pb").write_bytes(as_message(value, of[k]).SerializeToString())


def conform(folder):
    return subprocess.run([sys.executable, HERE / "conform_test.py", sys.argv[1], folder]).returncode


with tempfile.TemporaryDirectory() as temporary:
    nodes = pathlib.Path(temporary) / "node"
    nodes.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in node_cases.collect_testcases(None):
            write_case(nodes / case.name, case)
    written = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    print(f"ONNX {onnx.__version__}")
    codes = [conform(f) for f in (nodes, written / "pytorch-converted", written / "pytorch-operator")]
    sys.exit(max(codes))
