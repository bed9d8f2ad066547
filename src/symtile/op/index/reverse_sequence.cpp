// reverse_sequence(x, lengths; batch_axis, time_axis): for every batch entry b, the first
// lengths[b] elements along the time axis in reverse order, the rest in place (ONNX
// ReverseSequence).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(1, is_index_dtype, "an integer type");
  c.require_rank(1, 1, 1);
  if (!c.rank_known(0)) return {c.arg(0)};
  const int batch = c.normalize_axis(c.attrs().get_int("batch_axis", 1), c.rank(0));
  const int time = c.normalize_axis(c.attrs().get_int("time_axis", 0), c.rank(0));
  if (batch == time) c.fail(DiagId::bad_attribute, "batch_axis and time_axis are both {}", batch);
  if (c.rank_known(1)) {
    c.require_equal(c.dims(0)[static_cast<size_t>(batch)], c.dims(1)[0],
                    "the element count of the lengths");
  }
  return {c.arg(0)};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const size_t batch = axis_attr(c.attrs(), x.rank(), "batch_axis", 1);
  const size_t time = axis_attr(c.attrs(), x.rank(), "time_axis", 0);
  RefTensor& y = c.out(x.dtype, x.dims);
  const std::vector<int64_t> strides = x.strides();
  int64_t to = 0;
  for_each_index(x.dims, [&](std::vector<int64_t> index) {
    const int64_t length = c.in(1).as_int(index[batch]);
    if (length < 0 || length > x.dims[time]) {
      fail(DiagId::bad_input, {}, "operator 'reverse_sequence': length {} of a sequence of {}",
           length, x.dims[time]);
    }
    if (index[time] < length) index[time] = length - 1 - index[time];
    y.copy_element(to++, x, flat_offset(index, strides));
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0), lengths = c.in(1);
  const size_t batch = axis_attr(c.attrs(), x.rank(), "batch_axis", 1);
  const size_t time = axis_attr(c.attrs(), x.rank(), "time_axis", 0);
  c.compute(0, [&](const Index& out) {
    const Expr length = min(cast(DType::i64, lengths({out[batch]})), to_expr(x.dims()[time]));
    Index in = out;
    in[time] = select(out[time] < length, length - Expr(1) - out[time], out[time]);
    return x(std::move(in));
  });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), t = DimExpr::symbol("t");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  const auto i = [](Dims dims) { return Type::tensor(std::move(dims), DType::i64); };
  return {
      {{f({4, 3}), i({3})}, {}, 0, 4},
      {.input_types = {f({n, t, 2}), i({n})},
       .attrs = {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}},
       .low = 0,
       .high = 5,
       .symbols = {{"n", 3}, {"t", 5}}},
  };
}

}  // namespace

extern const OpRecord reverse_sequence_op;
const OpRecord reverse_sequence_op = {
    .name = "reverse_sequence",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"batch_axis", AttrSpec::Kind::integer}, {"time_axis", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
