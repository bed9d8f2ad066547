#!/bin/sh
# The main job: fetches the OCR models, compiles each once, and reads the text out of images.
#
#   scripts/run_ocr.sh [IMAGE...]      default: the images of examples/ocr
#
# BUILD (build/release) has the programs; the artifacts go to BUILD/models.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=${BUILD:-$root/build/release}
models=${SYMTILE_CACHE:-$HOME/.cache/symtile}/models
artifacts=$build/models

[ -x "$build/tools/symtile" ] || { echo "run_ocr: $build has no tools; run 'make build'" >&2; exit 3; }
python3 "$root/scripts/fetch_models.py" --require ocr_det ocr_rec ocr_keys || {
  echo "run_ocr: the OCR models cannot be fetched (see above); npm or pip must reach its registry" >&2
  exit 3
}

mkdir -p "$artifacts"
for model in ocr_det ocr_rec; do
  "$build/tools/symtile" compile "$models/$model.onnx" -o "$artifacts/$model.symtile"
done
echo

[ $# -gt 0 ] || set -- "$root"/examples/ocr/images/*.png "$root"/examples/ocr/images/*.jpg
exec "$build/examples/ocr/ocr" "$artifacts/ocr_det.symtile" "$artifacts/ocr_rec.symtile" \
  "$models/ocr_keys.txt" "$@"
