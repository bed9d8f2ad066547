// frame: overlapping pieces of a signal. x (batch, time, ...) becomes (batch, frames, length, ...)
// with result[b, f, i] = x[b, f * step + i]; length and step are formulas.
// Spec: the framing of ONNX STFT.
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

DimExpr frames(const DimExpr& time, const DimExpr& length, const DimExpr& step) {
  return floordiv(time - length, step) + 1;
}

std::vector<Type> deduce(DeduceContext& c) {
  const Dims &length = c.attrs().get_dims("length"), &step = c.attrs().get_dims("step");
  if (length.size() != 1 || step.size() != 1) {
    c.fail(DiagId::bad_attribute, "length and step must be one formula each");
  }
  if (step[0].as_const().value_or(1) < 1) {
    c.fail(DiagId::bad_attribute, "step is {}, must be at least 1", step[0].str());
  }
  c.require_rank(0, 2, 1 << 20);
  if (!c.rank_known(0)) return {Type::tensor_any_rank(c.dtype(0))};
  Dims dims = c.dims(0);
  const DimExpr missing = length[0] - dims[1];
  if (!missing.is_unknown() && !c.facts().proves_le(missing, 0)) {
    if (c.facts().proves_lt(0, missing)) {
      c.fail(DiagId::shape_mismatch, "a signal of {} is shorter than a frame of {}", dims[1].str(),
             length[0].str());
    }
    c.checks.push_back({max(missing, 0), 0,
                        fmt::format("operator '{}': the signal is shorter than a frame", c.op())});
  }
  dims[1] = frames(dims[1], length[0], step[0]);
  dims.insert(dims.begin() + 2, length[0]);
  return {Type::tensor(std::move(dims), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const int64_t length = c.dims_attr("length")[0], step = c.dims_attr("step")[0];
  if (step < 1 || length < 0 || length > x.dims[1]) {
    fail(DiagId::bad_input, {}, "operator 'frame': a signal of {} has no frame of {} by step {}",
         x.dims[1], length, step);
  }
  std::vector<int64_t> dims = x.dims;
  dims[1] = (x.dims[1] - length) / step + 1;
  dims.insert(dims.begin() + 2, length);
  RefTensor& out = c.out(x.dtype, dims);
  int64_t to = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    std::vector<int64_t> at = index;
    at[1] = index[1] * step + index[2];
    at.erase(at.begin() + 2);
    out.copy_element(to++, x, broadcast_offset(x.dims, at));
  });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  const Expr step = to_expr(c.attrs().get_dims("step")[0]);
  c.compute(0, [&](const Index& index) {
    Index at = index;
    at[1] = index[1] * step + index[2];
    at.erase(at.begin() + 2);
    return x(at);
  });
}

std::vector<OpSample> samples() {
  return {
      make_sample({f32_tensor({2, 10, 1})}, {{"length", Dims{4}}, {"step", Dims{3}}}),
      make_sample({f32_tensor({1, sym("t")})}, {{"length", Dims{sym("n")}}, {"step", Dims{2}}},
                  {{"t", 9}, {"n", 4}}),
  };
}

}  // namespace

extern const OpRecord frame_op;
const OpRecord frame_op = {
    .name = "frame",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"length", AttrSpec::Kind::dims, true}, {"step", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
