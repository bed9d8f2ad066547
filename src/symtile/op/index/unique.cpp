// unique(x; axis, sorted): the distinct elements, or the distinct slices along an axis; with the
// first position of each, the position in the result of every element, and how often each occurs
// (ONNX Unique). The number of distinct ones depends on the data.
#include <algorithm>

#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const DimExpr unknown = DimExpr::unknown();
  const Type positions = Type::tensor({unknown}, DType::i64);
  if (!c.attrs().has("axis")) {
    const DimExpr all = c.rank_known(0) ? product(c.dims(0)) : unknown;
    return {Type::tensor({unknown}, c.dtype(0)), positions, Type::tensor({all}, DType::i64),
            positions};
  }
  if (!c.rank_known(0)) return {c.arg(0), positions, positions, positions};
  const auto axis = static_cast<size_t>(c.normalize_axis(c.attrs().get_int("axis"), c.rank(0)));
  Dims dims = c.dims(0);
  dims[axis] = unknown;
  return {Type::tensor(std::move(dims), c.dtype(0)), positions,
          Type::tensor({c.dims(0)[axis]}, DType::i64), positions};
}

/// Order of slices a and b of x, element by element; NaN sorts last and equals NaN.
struct Slices {
  const RefTensor& x;
  int64_t outer, count, inner;

  int64_t at(int64_t slice, int64_t k) const {
    return (k / inner * count + slice) * inner + k % inner;
  }
  /// Negative, zero or positive.
  int compare(int64_t a, int64_t b) const {
    for (int64_t k = 0; k < outer * inner; ++k) {
      if (x.is_float_kind()) {
        const double va = x.as_double(at(a, k)), vb = x.as_double(at(b, k));
        const bool nan_a = va != va, nan_b = vb != vb;
        if (nan_a && nan_b) continue;
        if (nan_a != nan_b) return nan_a ? 1 : -1;
        if (va != vb) return va < vb ? -1 : 1;
      } else {
        const int64_t va = x.as_int(at(a, k)), vb = x.as_int(at(b, k));
        if (va == vb) continue;
        const bool less =
            x.dtype == DType::u64 ? static_cast<uint64_t>(va) < static_cast<uint64_t>(vb) : va < vb;
        return less ? -1 : 1;
      }
    }
    return 0;
  }
};

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const bool flat = !c.attrs().has("axis");
  Slices s{x, 1, x.size(), 1};
  size_t axis = 0;
  if (!flat) {
    axis = axis_attr(c.attrs(), x.rank());
    s.count = x.dims[axis];
    for (size_t d = 0; d < axis; ++d) s.outer *= x.dims[d];
    for (size_t d = axis + 1; d < x.dims.size(); ++d) s.inner *= x.dims[d];
  }
  // Groups in order of first occurrence.
  std::vector<int64_t> first, counts, inverse;
  for (int64_t i = 0; i < s.count; ++i) {
    size_t g = 0;
    while (g < first.size() && s.compare(first[g], i) != 0) ++g;
    if (g == first.size()) {
      first.push_back(i);
      counts.push_back(0);
    }
    ++counts[g];
    inverse.push_back(static_cast<int64_t>(g));
  }
  std::vector<size_t> order(first.size());
  for (size_t g = 0; g < order.size(); ++g) order[g] = g;
  if (c.attrs().get_bool("sorted", true)) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return s.compare(first[a], first[b]) < 0; });
  }
  std::vector<int64_t> rank_of(order.size());
  for (size_t r = 0; r < order.size(); ++r) rank_of[order[r]] = static_cast<int64_t>(r);

  const auto groups = static_cast<int64_t>(order.size());
  std::vector<int64_t> dims = {groups};
  if (!flat) {
    dims = x.dims;
    dims[axis] = groups;
  }
  RefTensor values(x.dtype, dims), indices(DType::i64, {groups}), totals(DType::i64, {groups});
  RefTensor inverses(DType::i64, {s.count});
  for (int64_t r = 0; r < groups; ++r) {
    const size_t g = order[static_cast<size_t>(r)];
    indices.set_int(r, first[g]);
    totals.set_int(r, counts[g]);
    const Slices out{values, s.outer, groups, s.inner};
    for (int64_t k = 0; k < s.outer * s.inner; ++k) {
      values.copy_element(out.at(r, k), x, s.at(first[g], k));
    }
  }
  for (int64_t i = 0; i < s.count; ++i) {
    inverses.set_int(i, rank_of[static_cast<size_t>(inverse[static_cast<size_t>(i)])]);
  }
  c.outputs = {std::move(values), std::move(indices), std::move(inverses), std::move(totals)};
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n");
  return {
      {{Type::tensor({3, 4}, DType::i64)}, {}},
      {.input_types = {Type::tensor({n}, DType::i32)},
       .attrs = {{"sorted", int64_t{0}}},
       .symbols = {{"n", 9}}},
      {.input_types = {Type::tensor({n, 2}, DType::i64)},
       .attrs = {{"axis", int64_t{0}}},
       .low = 0,
       .high = 1,
       .symbols = {{"n", 6}}},
      {{Type::tensor({0}, DType::f32)}, {}},
  };
}

}  // namespace

extern const OpRecord unique_op;
const OpRecord unique_op = {
    .name = "unique",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"axis", AttrSpec::Kind::integer}, {"sorted", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = nullptr,
    .samples = samples,
};

}  // namespace symtile
