"""The models under test, the shapes they are run at, and how the inputs are made.

Inputs are made from a formula that test/model/ repeats in C++ bit by bit:

    r(s, i) = splitmix64 number i of the stream with seed s, its upper 24 bits
    u(i)    = (r(i) + r(i+1) + ... + r(i+smooth-1)) / (smooth * 2^24)      in [0, 1)
    x(i)    = float32(lo + (hi - lo) * u(i))                               in double

`smooth` takes the sharpest edges off the noise. Frame f of a sequence has the seed s + 1000 * f.
Detectors see nothing in noise: `glyphs` are rows of random black marks of 3 x 3 pixels on white.
`tokens` are the numbers r(s, i) mod `count`; `lengths` are rows of so many ones, then zeros.
"""

CASES = {}


def noise(name, dims, seed, lo=-1.0, hi=1.0, smooth=4):
    return {"name": name, "dtype": "f32", "dims": list(dims),
            "noise": {"seed": seed, "lo": lo, "hi": hi, "smooth": smooth}}


def glyphs(name, dims, seed, ink=-2.0, paper=2.4):
    return {"name": name, "dtype": "f32", "dims": list(dims),
            "glyphs": {"seed": seed, "ink": ink, "paper": paper}}


def tokens(name, dims, seed, count, dtype="i64"):
    return {"name": name, "dtype": dtype, "dims": list(dims), "tokens": {"seed": seed, "count": count}}


def lengths(name, dims, ones):
    return {"name": name, "dtype": "i64", "dims": list(dims), "lengths": list(ones)}


def value(name, dtype, dims, number):
    """`number` for every element, or a list of them."""
    return {"name": name, "dtype": dtype, "dims": list(dims), "value": number}


def case(model, name, inputs, frames=1, carry=None, fails=False):
    """`carry` maps outputs to the inputs that take them over in the next frame. `fails`: the model
    cannot be run at this shape, and must say so."""
    CASES.setdefault(model, []).append(
        {"name": name, "frames": frames, "carry": carry or {}, "fails": fails, "inputs": inputs})


for batch in (1, 2, 3):
    for width in (48, 160, 320, 500, 777):
        case("ocr_rec", f"b{batch}_w{width}",
             [noise("x", (batch, 3, 48, width), seed=batch * 10000 + width, smooth=6)])
for height, width in ((320, 480), (736, 736), (64, 992)):
    case("ocr_det", f"h{height}_w{width}", [glyphs("x", (1, 3, height, width), seed=height)])
# Its down- and upsampling paths meet only at multiples of 32: 63 and 64 columns here.
case("ocr_det", "h64_w1000", [glyphs("x", (1, 3, 64, 1000), seed=64)], fails=True)
for batch in (1, 5):
    case("ocr_cls", f"b{batch}", [noise("x", (batch, 3, 48, 192), seed=batch)])

for rate, samples in ((16000, 512), (8000, 256)):
    case("silero_v5", f"hz{rate}",
         [noise("input", (1, samples), seed=rate, lo=-0.7, hi=0.7, smooth=5),
          value("state", "f32", (2, 1, 128), 0), value("sr", "i64", (), rate)],
         frames=20, carry={"stateN": "state"})
case("silero_legacy", "b2",
     [noise("input", (2, 512), seed=7, lo=-0.7, hi=0.7, smooth=5), value("sr", "i64", (), 16000),
      value("h", "f32", (2, 2, 64), 0), value("c", "f32", (2, 2, 64), 0)],
     frames=20, carry={"hn": "h", "cn": "c"})

for batch, samples in ((1, 12400), (1, 16001), (2, 4000)):
    case("wake_melspectrogram", f"b{batch}_n{samples}",
         [noise("input", (batch, samples), seed=samples, lo=-9000.0, hi=9000.0, smooth=3)])
for batch in (1, 16):
    case("wake_embedding", f"b{batch}",
         [noise("input_1", (batch, 76, 32, 1), seed=batch, lo=-1.0, hi=6.0)])
case("wake_hey_jarvis", "static", [noise("x.1", (1, 16, 96), seed=3, lo=-20.0, hi=20.0)])

case("densenet121", "static", [noise("input", (1, 3, 224, 224), seed=4, lo=-2.0, hi=2.5, smooth=12)])
case("ultraface", "static", [noise("input", (1, 3, 240, 320), seed=5, smooth=12)])
case("mobilefacenet", "static", [noise("input", (1, 3, 112, 112), seed=6, smooth=12)])
case("blazeface", "static", [noise("input:0", (1, 256, 256, 3), seed=8, smooth=12)])
case("mlsd", "static",
     [noise("input_image_with_alpha:0", (1, 512, 512, 4), seed=9, lo=0.0, hi=255.0, smooth=24)])
case("isnet_int8", "static", [noise("input", (1, 3, 1024, 1024), seed=10, lo=-0.5, hi=0.5, smooth=48)])

for batch in (1, 3):
    case("magika", f"b{batch}", [tokens("bytes", (batch, 2048), seed=batch, count=256, dtype="i32")])
    case("basic_pitch", f"b{batch}",
         [noise("serving_default_input_2:0", (batch, 43844, 1), seed=30 + batch, smooth=9)])
# Speech without noise (the first and last of `scales`): how long it gets depends on the phonemes.
for phonemes in (1, 7, 40):
    case("piper_voice", f"n{phonemes}",
         [tokens("input", (1, phonemes), seed=phonemes, count=150),
          value("input_lengths", "i64", (1,), phonemes),
          value("scales", "f32", (3,), [0.0, 1.0, 0.0])])

# Of scripts/export_models.py, from both exporters.
for batch in (1, 4):
    case("resnet50", f"b{batch}", [noise("x", (batch, 3, 224, 224), seed=50 + batch, lo=-2.0, hi=2.5, smooth=12)])
for batch, length in ((1, 128), (4, 37), (3, 1)):
    for suffix in ("", "_dynamo"):
        case("bert_base" + suffix, f"b{batch}_s{length}",
             [tokens("input_ids", (batch, length), seed=length, count=30522),
              lengths("attention_mask", (batch, length), [max(1, length - 9 * i) for i in range(batch)]),
              tokens("token_type_ids", (batch, length), seed=length + 1, count=2)])
for block in ("gpt2_block", "llama_block", "gpt2_block_dynamo", "llama_block_dynamo"):
    for batch, length in ((1, 64), (2, 37)):
        case(block, f"b{batch}_s{length}", [noise("x", (batch, length, 256), seed=length, smooth=2)])

# Audio through all three wake-word models: melspectrogram; windows of 76 frames, 8 apart, through
# the embedding as one batch; the last 16 of these through the classifier.
CHAIN = {"models": ["wake_melspectrogram", "wake_embedding", "wake_hey_jarvis"], "window": 76, "hop": 8,
         "inputs": [noise("input", (1, 32000), seed=11, lo=-9000.0, hi=9000.0, smooth=3)]}


def random_bits(seed, count):
    """Numbers 0 .. count-1 of the stream, 24 bits each."""
    import numpy as np

    with np.errstate(over="ignore"):
        i = np.arange(1, count + 1, dtype=np.uint64)
        z = np.uint64(seed) + i * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((z ^ (z >> np.uint64(31))) >> np.uint64(40)).astype(np.int64)


def make_noise(recipe, count, frame):
    import numpy as np

    smooth = recipe["smooth"]
    r = random_bits(recipe["seed"] + 1000 * frame, count + smooth - 1)
    sums = np.zeros(count, np.int64)
    for k in range(smooth):
        sums += r[k:k + count]
    u = sums.astype(np.float64) / float(smooth * 2**24)
    return recipe["lo"] + (recipe["hi"] - recipe["lo"]) * u


def make_glyphs(recipe, dims):
    import numpy as np

    y, x = np.arange(dims[-2])[:, None], np.arange(dims[-1])[None, :]
    columns = (dims[-1] + 2) // 3
    bits = random_bits(recipe["seed"], columns * ((dims[-2] + 2) // 3)) % 2 == 1
    ink = bits[y // 3 * columns + x // 3] & (y % 40 >= 10) & (y % 40 < 28) & (x % 15 < 12) & (x % 150 < 128)
    return np.broadcast_to(np.where(ink, recipe["ink"], recipe["paper"]), dims)


def make_input(spec, frame=0):
    """The array of an input; needs numpy."""
    import numpy as np

    dtype = {"f32": np.float32, "i32": np.int32, "i64": np.int64}[spec["dtype"]]
    if "value" in spec:
        return np.broadcast_to(np.asarray(spec["value"], dtype), spec["dims"]).copy()
    if "tokens" in spec:
        count = int(np.prod(spec["dims"], dtype=np.int64))
        numbers = random_bits(spec["tokens"]["seed"], count) % spec["tokens"]["count"]
        return numbers.astype(dtype).reshape(spec["dims"])
    if "lengths" in spec:
        return (np.arange(spec["dims"][-1])[None] < np.asarray(spec["lengths"])[:, None]).astype(dtype)
    if "glyphs" in spec:
        return np.ascontiguousarray(make_glyphs(spec["glyphs"], spec["dims"]), dtype)
    count = int(np.prod(spec["dims"], dtype=np.int64))
    return make_noise(spec["noise"], count, frame).astype(dtype).reshape(spec["dims"])
