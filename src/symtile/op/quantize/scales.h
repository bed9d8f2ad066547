// Which scale belongs to which element: one for all, one for each position on `axis`, or (with
// `block_size`) one for each block of positions on `axis`. ONNX QuantizeLinear /
// DequantizeLinear-21.
#pragma once

#include "symtile/op/elementwise.h"

namespace symtile {

/// Schema shared by both operators.
std::vector<AttrSpec> quantize_attrs();
/// Checks axis, ranks and extents of scale (argument 1) and zero point (argument 2).
void check_scales(DeduceContext& c);
/// Position in the scale (or zero point) for an element.
int64_t scale_offset(const EvalContext& c, const RefTensor& scale,
                     const std::vector<int64_t>& index);
/// The scale (i = 1) or zero point (i = 2) as `dtype`, at an index of the output.
Expr load_scale(const LowerContext& c, int i, const Index& index, DType dtype);
/// True when there is no zero point (argument 2) or it is known to be 0 everywhere.
bool no_zero_point(const LowerContext& c);
/// Samples: per tensor, per axis and blocked, with `x` values and `zero` points of the dtypes.
std::vector<OpSample> quantize_samples(DType x, DType zero, double low, double high);

}  // namespace symtile
