// DepthToSpace and SpaceToDepth: reshape, transpose, reshape.
#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {
namespace {

int64_t block_size(ImportContext& c) {
  const int64_t b = c.attr_int("blocksize", 0);
  if (b < 1) c.fail(DiagId::bad_attribute, "blocksize must be at least 1");
  if (c.rank(0) != 4)
    c.fail(DiagId::type_mismatch, "the input has rank {}, must have rank 4", c.rank(0));
  return b;
}

/// Whether the channels of a block stand together (CRD), or the blocks of all channels (DCR).
bool channels_first(ImportContext& c) {
  const std::string mode = c.attr_text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    c.fail(DiagId::bad_attribute, "mode '{}' is not DCR or CRD", mode);
  return mode == "CRD";
}

}  // namespace

void import_depth_to_space(ImportContext& c) {
  const int64_t b = block_size(c);
  const Dims x = c.dims(0);
  const DimExpr depth = floordiv(x[1], b * b);
  const ValueId y =
      channels_first(c)
          ? c.transpose(c.reshape(c.in(0), {x[0], depth, b, b, x[2], x[3]}), {0, 1, 4, 2, 5, 3})
          : c.transpose(c.reshape(c.in(0), {x[0], b, b, depth, x[2], x[3]}), {0, 3, 4, 1, 5, 2});
  c.out(0, c.reshape(y, {x[0], depth, x[2] * b, x[3] * b}));
}

void import_space_to_depth(ImportContext& c) {
  const int64_t b = block_size(c);
  const Dims x = c.dims(0);
  const DimExpr h = floordiv(x[2], b), w = floordiv(x[3], b);
  const ValueId split = c.reshape(c.in(0), {x[0], x[1], h, b, w, b});
  const std::vector<int64_t> order = channels_first(c) ? std::vector<int64_t>{0, 1, 3, 5, 2, 4}
                                                       : std::vector<int64_t>{0, 3, 5, 1, 2, 4};
  c.out(0, c.reshape(c.transpose(split, order), {x[0], x[1] * b * b, h, w}));
}

}  // namespace symtile::onnx_import
