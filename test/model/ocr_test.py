#!/usr/bin/env python3
"""ocr_test.py SYMTILE OCR: what `make run` reads must be what is on the images, to the letter.

Compiles detector and recogniser once and reads all images of examples/ocr with them.
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import fetch_models  # noqa: E402


def main():
    symtile, ocr = sys.argv[1:]
    files = {name: fetch_models.model_path(name) for name in ("ocr_det", "ocr_rec", "ocr_keys")}
    missing = [name for name, path in files.items() if not path.exists()]
    if missing:
        print(f"SKIP: {', '.join(missing)} not fetched; run scripts/fetch_models.py")
        return 77
    images = sorted(path for path in (ROOT / "examples/ocr/images").iterdir()
                    if path.suffix in (".png", ".jpg"))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        artifacts = []
        for name in ("ocr_det", "ocr_rec"):
            artifacts.append(f"{folder}/{name}.symtile")
            subprocess.run([symtile, "compile", str(files[name]), "-o", artifacts[-1], "--quiet"], check=True)
        for image in images:
            done = subprocess.run([ocr, *artifacts, str(files["ocr_keys"]), "--plain", str(image)],
                                  stdout=subprocess.PIPE, check=True)
            read, expected = done.stdout.decode(), image.with_suffix(".txt").read_text("utf-8")
            failed += read != expected
            print("ok" if read == expected else f"FAILED: read\n{read}instead of\n{expected}", image.name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
