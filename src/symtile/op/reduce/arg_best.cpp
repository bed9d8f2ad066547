#include "symtile/op/reduce/arg_best.h"

#include <cmath>

#include "symtile/ir/scalar_eval.h"
#include "symtile/op/reduce/reduction.h"

namespace symtile {

namespace {

/// Whether element `b` replaces the best so far, `a`.
bool better(const RefTensor& x, int64_t a, int64_t b, Best which, bool last) {
  const BinaryOp loses = which == Best::largest ? last ? BinaryOp::le : BinaryOp::lt
                         : last                 ? BinaryOp::ge
                                                : BinaryOp::gt;
  if (!x.is_float_kind()) {
    return eval_compare_int(loses, x.dtype, x.as_int(a), x.as_int(b));
  }
  const double va = x.as_double(a), vb = x.as_double(b);
  if (std::isnan(va)) return last && std::isnan(vb);
  return std::isnan(vb) || eval_compare(loses, va, vb);
}

}  // namespace

std::vector<AttrSpec> arg_best_attrs() {
  return {{"axis", AttrSpec::Kind::integer},
          {"keepdims", AttrSpec::Kind::integer},
          {"select_last_index", AttrSpec::Kind::integer}};
}

std::vector<Type> deduce_arg_best(DeduceContext& c) {
  c.require_dtype(0, is_number, "a float or integer type");
  if (!c.rank_known(0)) return {Type::tensor_any_rank(DType::i64)};
  const int axis = c.normalize_axis(c.attrs().get_int("axis", 0), c.rank(0));
  Dims dims = c.dims(0);
  if (c.attrs().get_bool("keepdims", true)) {
    dims[static_cast<size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  return {Type::tensor(std::move(dims), DType::i64)};
}

void evaluate_arg_best(EvalContext& c, Best which) {
  const RefTensor& x = c.in(0);
  const int64_t given = c.attrs().get_int("axis", 0);
  const auto axis = static_cast<size_t>(given < 0 ? given + x.rank() : given);
  const bool last = c.attrs().get_bool("select_last_index", false);
  std::vector<int64_t> dims = x.dims;
  dims[axis] = 1;
  RefTensor& out = c.out(DType::i64, dims);
  if (x.dims[axis] == 0 && out.size() > 0) {
    fail(DiagId::bad_input, nullptr, "operator '{}': axis {} has no elements", c.call.op, axis);
  }
  const int64_t stride = x.strides()[axis];
  int64_t at = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    int64_t first = 0;
    for (size_t k = 0; k < index.size(); ++k) first += index[k] * x.strides()[k];
    int64_t best = 0;
    for (int64_t k = 1; k < x.dims[axis]; ++k) {
      if (better(x, first + best * stride, first + k * stride, which, last)) best = k;
    }
    out.set_int(at++, best);
  });
  if (!c.attrs().get_bool("keepdims", true))
    out.dims.erase(out.dims.begin() + static_cast<std::ptrdiff_t>(axis));
}

void lower_arg_best(LowerContext& c, Best which) {
  const TensorRef x = c.in(0);
  const int64_t given = c.attrs().get_int("axis", 0);
  const auto axis = static_cast<size_t>(given < 0 ? given + x.rank() : given);
  const bool last = c.attrs().get_bool("select_last_index", false);
  const bool keepdims = c.attrs().get_bool("keepdims", true);
  const ReduceKind kind = which == Best::largest
                              ? last ? ReduceKind::argmax_last : ReduceKind::argmax
                          : last ? ReduceKind::argmin_last
                                 : ReduceKind::argmin;
  c.compute(0, [&](const Index& i) {
    const Axis r = c.axis("r", x.dims()[axis]);
    return reduce_over(kind, r, [&](Expr k) {
      Index at = i;
      if (keepdims) {
        at[axis] = k;
      } else {
        at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), k);
      }
      return widen(x(at));
    });
  });
}

std::vector<OpSample> arg_best_samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  std::vector<OpSample> out;
  for (int64_t last : {0, 1}) {
    for (DType t : {DType::f32, DType::i32, DType::u8}) {
      OpSample s;
      s.input_types = {Type::tensor({n, m, 5}, t)};
      s.symbols = {{"n", 3}, {"m", 17}};
      s.low = 0, s.high = 6;  // ties are likely
      s.attrs = {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}, {"select_last_index", last}};
      out.push_back(s);
      s.attrs = {{"axis", int64_t{-1}}, {"select_last_index", last}};
      s.symbols = {{"n", 0}, {"m", 2}};
      out.push_back(s);
    }
    OpSample specials;
    specials.input_types = {Type::tensor({8}, DType::f32)};
    specials.constants[0] = special_values();
    specials.attrs = {{"select_last_index", last}};
    out.push_back(std::move(specials));
  }
  return out;
}

}  // namespace symtile
