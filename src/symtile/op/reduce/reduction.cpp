#include "symtile/op/reduce/reduction.h"

#include "symtile/ir/scalar_eval.h"

namespace symtile {

namespace {

/// Which axes are reduced, for a known rank; the axes have been checked by deduction.
std::vector<bool> reduced_axes(const Attributes& attrs, int rank) {
  std::vector<bool> out(static_cast<size_t>(rank), !attrs.has("axes"));
  if (!attrs.has("axes")) return out;
  for (int64_t a : attrs.get_ints("axes")) out.at(static_cast<size_t>(a < 0 ? a + rank : a)) = true;
  return out;
}

/// `extent` where the formula `present` is 1, and 1 where it is 0.
DimExpr extent_if(const DimExpr& extent, const DimExpr& present) {
  return 1 + (extent - 1) * present;
}

Type type_of_kept(DeduceContext& c, DType dtype) {
  const Dims& kept = c.attrs().get_dims("kept");
  c.require_rank(0, static_cast<int>(kept.size()), static_cast<int>(kept.size()));
  if (!c.rank_known(0)) return Type::tensor_of_rank(static_cast<int>(kept.size()), dtype);
  Dims dims;
  for (size_t k = 0; k < kept.size(); ++k) dims.push_back(extent_if(c.dims(0)[k], kept[k]));
  return Type::tensor(std::move(dims), dtype);
}

}  // namespace

std::vector<AttrSpec> reduction_attrs() {
  return {{"axes", AttrSpec::Kind::integers},
          {"keepdims", AttrSpec::Kind::integer},
          {"kept", AttrSpec::Kind::dims}};
}

Type reduced_type(DeduceContext& c, DType dtype) {
  if (c.attrs().has("kept")) return type_of_kept(c, dtype);
  const bool keepdims = c.attrs().get_bool("keepdims", true);
  if (!c.rank_known(0)) {
    const bool scalar = !keepdims && !c.attrs().has("axes");
    return scalar ? Type::tensor({}, dtype) : Type::tensor_any_rank(dtype);
  }
  if (c.attrs().has("axes")) c.normalize_axes(c.attrs().get_ints("axes"), c.rank(0));
  const std::vector<bool> reduced = reduced_axes(c.attrs(), c.rank(0));
  Dims dims;
  for (size_t k = 0; k < reduced.size(); ++k) {
    if (!reduced[k]) dims.push_back(c.dims(0)[k]);
    if (reduced[k] && keepdims) dims.emplace_back(1);
  }
  return Type::tensor(std::move(dims), dtype);
}

std::vector<Type> deduce_reduction(DeduceContext& c) {
  c.require_dtype(0, is_number, "a float or integer type");
  return {reduced_type(c, c.dtype(0))};
}

void evaluate_reduction(EvalContext& c, DType dtype, const ReduceGroup& f) {
  const RefTensor& x = c.in(0);
  const bool keepdims = c.attrs().get_bool("keepdims", true);
  std::vector<bool> reduced = reduced_axes(c.attrs(), x.rank());
  if (c.attrs().has("kept")) {
    const std::vector<int64_t> stays = c.dims_attr("kept");
    for (size_t k = 0; k < reduced.size(); ++k) reduced[k] = stays.at(k) == 0;
  }
  std::vector<int64_t> kept, dims;  // with extent 1 on the reduced axes; as the result has them
  for (size_t k = 0; k < x.dims.size(); ++k) {
    kept.push_back(reduced[k] ? 1 : x.dims[k]);
    if (!reduced[k] || keepdims) dims.push_back(kept.back());
  }
  RefTensor& out = c.out(dtype, dims);
  std::vector<std::vector<int64_t>> groups(static_cast<size_t>(out.size()));
  int64_t from = 0;
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    groups[static_cast<size_t>(broadcast_offset(kept, index))].push_back(from++);
  });
  for (size_t at = 0; at < groups.size(); ++at) f(out, static_cast<int64_t>(at), x, groups[at]);
}

void evaluate_real_reduction(EvalContext& c,
                             const std::function<double(const std::vector<double>&)>& f) {
  evaluate_reduction(
      c, c.in(0).dtype,
      [&](RefTensor& out, int64_t at, const RefTensor& x, const std::vector<int64_t>& positions) {
        std::vector<double> values;
        for (int64_t p : positions) values.push_back(x.as_double(p));
        const double value = f(values);
        if (out.is_float_kind()) {
          out.set(at, value);
        } else {
          out.set_int(at, cast_float_to_int(out.dtype, value));
        }
      });
}

ReductionAxes::ReductionAxes(const LowerContext& c)
    : x_(c.in(0)),
      kept_(c.attrs().has("kept") ? c.attrs().get_dims("kept") : Dims{}),
      reduced_(reduced_axes(c.attrs(), x_.rank())),
      keepdims_(c.attrs().get_bool("keepdims", true)) {}

std::vector<Axis> ReductionAxes::loops(LowerContext& c) const {
  std::vector<Axis> out;
  for (size_t k = 0; k < reduced_.size(); ++k) {
    const DimExpr& d = x_.dims()[k];
    if (reduced_[k]) {
      out.push_back(c.axis(fmt::format("r{}", k), kept_.empty() ? d : extent_if(d, 1 - kept_[k])));
    }
  }
  return out;
}

Index ReductionAxes::argument_index(const Index& result, const Index& loops) const {
  Index out;
  if (!kept_.empty()) {
    // Either the result or the loop has extent 1 on an axis, so one of the two is 0.
    for (size_t k = 0; k < kept_.size(); ++k) out.push_back(result[k] + loops[k]);
    return out;
  }
  size_t from_result = 0, from_loops = 0;
  for (bool reduced : reduced_) {
    out.push_back(reduced ? loops.at(from_loops++) : result.at(from_result));
    if (!reduced || keepdims_) ++from_result;
  }
  return out;
}

Expr ReductionAxes::reduce_at(LowerContext& c, ReduceKind kind, const Index& result,
                              const std::function<Expr(Expr)>& body) const {
  return reduce_over(kind, loops(c), [&](const Index& r) {
    const Expr element = widen(x_(argument_index(result, r)));
    return body ? body(element) : element;
  });
}

DimExpr ReductionAxes::count() const {
  DimExpr n = 1;
  for (size_t k = 0; k < reduced_.size(); ++k) {
    const DimExpr& d = x_.dims()[k];
    if (reduced_[k]) n *= kept_.empty() ? d : extent_if(d, 1 - kept_[k]);
  }
  return n;
}

void lower_reduction(LowerContext& c, ReduceKind kind, const std::function<Expr(Expr)>& body,
                     const std::function<Expr(Expr)>& finish) {
  const ReductionAxes axes(c);
  c.compute(0, [&](const Index& i) {
    const Expr value = axes.reduce_at(c, kind, i, body);
    return finish ? finish(value) : value;
  });
}

Expr as_real(Expr e) { return is_float(e.dtype()) ? e : cast(DType::f64, e); }

std::vector<OpSample> reduction_samples(const std::vector<DType>& dtypes, double low, double high) {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  std::vector<OpSample> out;
  const auto add = [&](DType t, Dims dims, Attributes attrs, DimValues symbols) {
    OpSample s;
    s.input_types = {Type::tensor(std::move(dims), t)};
    s.attrs = std::move(attrs);
    s.symbols = std::move(symbols);
    s.low = low;
    s.high = high;
    s.tolerance = sample_tolerance(t);
    out.push_back(std::move(s));
  };
  using Axes = std::vector<int64_t>;
  for (DType t : dtypes) {
    add(t, {3, 4, 5}, {{"axes", Axes{1}}}, {});
    add(t, {n, m, 7}, {{"axes", Axes{0, 2}}, {"keepdims", int64_t{0}}}, {{"n", 3}, {"m", 11}});
    add(t, {n, 2 * m + 1}, {{"axes", Axes{-1}}}, {{"n", 4}, {"m", 40}});
    add(t, {n, 4}, {{"axes", Axes{0}}}, {{"n", 0}});
    add(t, {n, m}, {{"keepdims", int64_t{0}}}, {{"n", 5}, {"m", 3}});
    add(t, {2, n}, {{"axes", Axes{}}}, {{"n", 3}});
    add(t, {n, 5}, {{"kept", Dims{m, 1 - m}}}, {{"n", 3}, {"m", 0}});
  }
  return out;
}

}  // namespace symtile
