// (x - zero point) * scale: ONNX DequantizeLinear-21; the result has the dtype of the scale.
#include "symtile/op/quantize/scales.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_int, "an integer type");
  c.require_dtype(1, is_float_dtype, "a float type");
  if (c.has(2)) c.require_same_dtype(0, 2);
  check_scales(c);
  Type t = c.arg(0);
  t.dtype = c.dtype(1);
  return {t};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  RefTensor& out = c.out(c.in(1).dtype, x.dims);
  int64_t at = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    const double scale = c.in(1).as_double(scale_offset(c, c.in(1), index));
    const double zero = c.has(2) ? c.in(2).as_double(scale_offset(c, c.in(2), index)) : 0;
    out.set(at, (x.as_double(at) - zero) * scale);
    ++at;
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const DType dtype = compute_dtype(c.out_dtype());
  // The difference of short integers is exact in 32 bits.
  const DType wide = size_of(x.dtype()) < 4 ? DType::i32 : DType::i64;
  const bool symmetric = no_zero_point(c);
  c.compute(0, [&](const Index& i) {
    const Expr scale = load_scale(c, 1, i, dtype);
    if (symmetric) return cast(dtype, x(i)) * scale;
    return cast(dtype, cast(wide, x(i)) - load_scale(c, 2, i, wide)) * scale;
  });
}

std::vector<OpSample> samples() {
  std::vector<OpSample> out = quantize_samples(DType::u8, DType::u8, 0, 255);
  for (OpSample& s : quantize_samples(DType::i8, DType::i8, -128, 127)) out.push_back(std::move(s));
  for (OpSample& s : quantize_samples(DType::i32, DType::i32, -1000, 1000))
    out.push_back(std::move(s));
  return out;
}

}  // namespace

extern const OpRecord dequantize_linear_op;
const OpRecord dequantize_linear_op = {
    .name = "dequantize_linear",
    .min_args = 2,
    .max_args = 3,
    .attrs = quantize_attrs(),
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
