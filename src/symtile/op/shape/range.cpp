// range(start, delta; length): start + i * delta for 0 <= i < length (ONNX Range; the importer
// computes the length from the limit).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_same_dtype(0, 1);
  for (int i = 0; i < 2; ++i) {
    if (c.rank_known(i)) {
      c.require_equal(product(c.dims(i)), 1,
                      i == 0 ? "the element count of start" : "the element count of delta");
    }
  }
  const Dims& length = c.attrs().get_dims("length");
  if (length.size() != 1) c.fail(DiagId::bad_attribute, "length must be one formula");
  return {Type::tensor(length, c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& start = c.in(0);
  const RefTensor& delta = c.in(1);
  RefTensor& y = c.out(start.dtype, c.dims_attr("length"));
  for (int64_t i = 0; i < y.size(); ++i) {
    if (y.is_float_kind()) {
      y.set(i, start.f[0] + static_cast<double>(i) * delta.f[0]);
    } else {
      const auto offset = static_cast<uint64_t>(i) * static_cast<uint64_t>(delta.i[0]);
      y.set_int(i, static_cast<int64_t>(static_cast<uint64_t>(start.i[0]) + offset));
    }
  }
}

void lower(LowerContext& c) {
  const DType dtype = c.out_dtype();
  // 16-bit floats count in f32; everything else in its own type.
  const DType wide = is_float(dtype) && size_of(dtype) == 2 ? DType::f32 : dtype;
  const auto scalar = [&](int i) {
    const TensorRef x = c.in(i);
    const Constant known = c.constant(i);
    if (known && is_int(dtype)) return int_imm(dtype, known->as_int(0));
    if (known) return imm(wide, known->as_double(0));
    return cast(wide, x(Index(static_cast<size_t>(x.rank()), Expr(0))));
  };
  const Expr start = scalar(0), delta = scalar(1);
  c.compute(0, [&](const Index& out) { return cast(dtype, start + cast(wide, out[0]) * delta); });
}

std::vector<OpSample> samples() {
  const auto scalar = [](DType t) { return Type::tensor({}, t); };
  const DType f = DType::f32, i = DType::i64;
  return {
      {{scalar(f), scalar(f)}, {{"length", Dims{10}}}},
      {.input_types = {scalar(i), scalar(i)},
       .attrs = {{"length", Dims{7}}},
       .constants = {{0, make_scalar(i, 10)}, {1, make_scalar(i, -2)}}},
      {{scalar(DType::i16), scalar(DType::i16)}, {{"length", Dims{0}}}},
  };
}

}  // namespace

extern const OpRecord range_op;
const OpRecord range_op = {
    .name = "range",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"length", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
