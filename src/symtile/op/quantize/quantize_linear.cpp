// saturate(round half to even(x / scale) + zero point) as dtype `to`: ONNX QuantizeLinear-21 for
// 8, 16 and 32 bit integers. The quotient is one of f32; NaN gives 0.
#include <algorithm>
#include <cmath>

#include "symtile/ir/scalar_eval.h"
#include "symtile/op/quantize/scales.h"

namespace symtile {

namespace {

std::vector<AttrSpec> attrs() {
  std::vector<AttrSpec> out = quantize_attrs();
  out.push_back({"to", AttrSpec::Kind::dtype, true});
  return out;
}

double lowest(DType t) { return static_cast<double>(cast_float_to_int(t, -HUGE_VAL)); }
double highest(DType t) { return static_cast<double>(cast_float_to_int(t, HUGE_VAL)); }

std::vector<Type> deduce(DeduceContext& c) {
  const DType to = c.attrs().get_dtype("to");
  if (!is_int(to) || size_of(to) > 4) {
    c.fail(DiagId::bad_attribute, "'to' must be an integer type of 8, 16 or 32 bits, not {}",
           name_of(to));
  }
  c.require_dtype(0, is_number, "a float or integer type");
  c.require_dtype(1, is_float_dtype, "a float type");
  if (c.has(2) && c.dtype(2) != to) {
    c.fail(DiagId::type_mismatch, "the zero point is {}, but the result {}", name_of(c.dtype(2)),
           name_of(to));
  }
  check_scales(c);
  Type t = c.arg(0);
  t.dtype = to;
  return {t};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const DType to = c.attrs().get_dtype("to");
  RefTensor& out = c.out(to, x.dims);
  int64_t at = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    const double scale = c.in(1).as_double(scale_offset(c, c.in(1), index));
    const int64_t zero = c.has(2) ? c.in(2).as_int(scale_offset(c, c.in(2), index)) : 0;
    // Ties depend on the precision of the quotient: f32, except for f64 arguments.
    const double quotient = x.dtype == DType::f64
                                ? x.as_double(at) / scale
                                : static_cast<float>(x.as_double(at)) / static_cast<float>(scale);
    const double q = std::nearbyint(quotient) + static_cast<double>(zero);
    out.set(at++, std::isnan(q) ? 0 : std::clamp(q, lowest(to), highest(to)));
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const DType to = c.out_dtype();
  const DType dtype = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  // f32 holds every 8 or 16 bit sum that does not saturate, but not every 32 bit one.
  const DType wide = size_of(to) == 4 ? DType::f64 : dtype;
  const bool symmetric = no_zero_point(c);
  c.compute(0, [&](const Index& i) {
    const Expr quotient = cast(dtype, x(i)) / load_scale(c, 1, i, dtype);
    Expr q = cast(wide, unary(UnaryOp::round, quotient));
    if (!symmetric) q = q + load_scale(c, 2, i, wide);
    return cast(to, min(max(q, imm(wide, lowest(to))), imm(wide, highest(to))));
  });
}

std::vector<OpSample> samples() {
  std::vector<OpSample> out;
  for (DType t : {DType::u8, DType::i8, DType::i16}) {
    for (OpSample& s : quantize_samples(DType::f32, t, -100, 100)) {
      s.attrs.set("to", t);
      out.push_back(std::move(s));
    }
  }
  OpSample specials;
  specials.input_types = {Type::tensor({8}, DType::f32), Type::tensor({}, DType::f32)};
  specials.constants[0] = special_values();
  specials.constants[1] = make_scalar(DType::f32, 1);
  specials.attrs = {{"to", DType::u8}};
  out.push_back(std::move(specials));
  return out;
}

}  // namespace

extern const OpRecord quantize_linear_op;
const OpRecord quantize_linear_op = {
    .name = "quantize_linear",
    .min_args = 2,
    .max_args = 3,
    .attrs = attrs(),
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
