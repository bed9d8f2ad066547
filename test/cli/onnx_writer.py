"""Writes ONNX models and .npy files with nothing but the standard library.

Messages are plain bytes: every function returns one encoded message, so that a test can put
together anything, also what no exporter would write.
"""

import struct

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE = 1, 2, 3, 6, 7, 8, 9, 10, 11


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    if isinstance(value, str):
        value = value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, dtype, dims, raw=None, external=None):
    """`external`: pairs such as ("location", "weights.bin")."""
    out = b"".join(number(1, d) for d in dims) + number(2, dtype) + data(8, name)
    if raw is not None:
        out += data(9, raw)
    if external is not None:
        out += b"".join(data(13, data(1, k) + data(2, v)) for k, v in external)
        out += number(14, 1)
    return out


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def int64s(values):
    return struct.pack(f"<{len(values)}q", *values)


def value_info(name, dtype, dims):
    """Dimensions are numbers, names, or None for neither; `dims` None: no shape."""
    shape = b""
    if dims is not None:
        encoded = b""
        for d in dims:
            body = b"" if d is None else data(2, d) if isinstance(d, str) else number(1, d)
            encoded += data(1, body)
        shape = data(2, encoded)
    return data(1, name) + data(2, data(1, number(1, dtype) + shape))


def attribute(name, value):
    out = data(1, name)
    if isinstance(value, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return out + number(3, value) + number(20, 2)
    if isinstance(value, str):
        return out + data(4, value) + number(20, 3)
    return out + b"".join(number(8, v) for v in value) + number(20, 7)


def node(op, inputs, outputs, name="", domain="", **attributes):
    out = b"".join(data(1, i) for i in inputs) + b"".join(data(2, o) for o in outputs)
    out += data(3, name or outputs[0]) + data(4, op)
    out += b"".join(data(5, attribute(k, v)) for k, v in attributes.items())
    return out + (data(7, domain) if domain else b"")


def graph(nodes, inputs, outputs, initializers=()):
    out = b"".join(data(1, n) for n in nodes) + data(2, "graph")
    out += b"".join(data(5, t) for t in initializers)
    out += b"".join(data(11, i) for i in inputs) + b"".join(data(12, o) for o in outputs)
    return out


def model(graph_bytes, opset=13, ir_version=7):
    out = number(1, ir_version) if ir_version is not None else b""
    out += data(7, graph_bytes) if graph_bytes is not None else b""
    return out + (data(8, data(1, "") + number(2, opset)) if opset is not None else b"")


def npy(descr, shape, payload, version=1, header=None):
    if header is None:
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.encode() + b"\n"
    length = struct.pack("<H", len(header)) if version == 1 else struct.pack("<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + payload


def small_model(batch="B", width="W"):
    """y = relu(x * w + b) over (batch, width, 4), and s = sum of y * v over the width; v doubles."""
    return model(graph(
        [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["a"]),
         node("Relu", ["a"], ["y"]), node("MatMul", ["y", "v"], ["t"]),
         node("ReduceSum", ["t", "axes"], ["s"], keepdims=0)],
        [value_info("x", FLOAT, [batch, width, 4])],
        [value_info("y", FLOAT, [batch, width, 8]), value_info("s", FLOAT, [batch, 8])],
        [tensor("w", FLOAT, [4, 8], floats([i / 32 - 0.4 for i in range(32)])),
         tensor("b", FLOAT, [8], floats([i / 8 - 0.5 for i in range(8)])),
         tensor("v", FLOAT, [8, 8], floats([2.0 * (i % 9 == 0) for i in range(64)])),
         tensor("axes", INT64, [1], int64s([1]))]))


def unary(op="Relu", dims=("N", 4), dtype=FLOAT, **attributes):
    return model(graph([node(op, ["x"], ["y"], **attributes)],
                       [value_info("x", dtype, list(dims))],
                       [value_info("y", dtype, None)]))
