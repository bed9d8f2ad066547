#include "symtile/op/quantize/scales.h"

namespace symtile {

namespace {

size_t axis_of(const Attributes& attrs, size_t rank) {
  const int64_t axis = attrs.get_int("axis", 1);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

}  // namespace

std::vector<AttrSpec> quantize_attrs() {
  return {{"axis", AttrSpec::Kind::integer}, {"block_size", AttrSpec::Kind::integer}};
}

void check_scales(DeduceContext& c) {
  const int64_t block = c.attrs().get_int("block_size", 0);
  if (block < 0) c.fail(DiagId::bad_attribute, "block_size must not be negative, but is {}", block);
  for (int i = 1; i < c.num_args(); ++i) {
    if (!c.has(i) || !c.rank_known(i) || !c.rank_known(0)) continue;
    const Dims& dims = c.dims(i);
    const char* what = i == 1 ? "scale" : "zero point";
    if (block == 0 && (dims.empty() || (dims.size() == 1 && dims[0].is_const(1)))) continue;
    c.require_rank(i, block > 0 ? c.rank(0) : 1, block > 0 ? c.rank(0) : 1);
    const auto axis =
        static_cast<size_t>(c.normalize_axis(c.attrs().get_int("axis", 1), c.rank(0)));
    if (block == 0) {
      c.require_equal(dims[0], c.dims(0)[axis], fmt::format("the length of the {}", what));
      continue;
    }
    for (size_t k = 0; k < dims.size(); ++k) {
      const DimExpr& d = c.dims(0)[k];
      const DimExpr expected = k == axis && !d.is_unknown() ? ceildiv(d, block) : d;
      c.require_equal(dims[k], expected, fmt::format("dimension {} of the {}", k, what));
    }
  }
}

int64_t scale_offset(const EvalContext& c, const RefTensor& scale,
                     const std::vector<int64_t>& index) {
  if (scale.size() == 1) return 0;
  const size_t axis = axis_of(c.attrs(), index.size());
  const int64_t block = c.attrs().get_int("block_size", 0);
  if (block == 0) return index[axis];
  std::vector<int64_t> at = index;
  at[axis] /= block;
  return broadcast_offset(scale.dims, at);
}

Expr load_scale(const LowerContext& c, int i, const Index& index, DType dtype) {
  const TensorRef t = c.in(i);
  const int64_t block = c.attrs().get_int("block_size", 0);
  if (block > 0) {
    Index at = index;
    const size_t axis = axis_of(c.attrs(), index.size());
    at[axis] = floordiv(index[axis], Expr(block));
    return cast(dtype, t(at));
  }
  if (t.rank() == 0 || t.dims()[0].is_const(1)) {
    return cast(dtype, c.constant(i) != nullptr ? operand(c, i, index)
                                                : t(Index(t.dims().size(), Expr(0))));
  }
  return cast(dtype, t({index[axis_of(c.attrs(), index.size())]}));
}

bool no_zero_point(const LowerContext& c) {
  if (!c.has(2)) return true;
  const Constant zero = c.constant(2);
  if (zero == nullptr) return false;
  for (int64_t k = 0; k < zero->element_count(); ++k) {
    if (zero->as_int(k) != 0) return false;
  }
  return true;
}

std::vector<OpSample> quantize_samples(DType x, DType zero, double low, double high) {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  std::vector<OpSample> out;
  const auto add = [&](Dims dims, Dims scale, Attributes attrs, DimValues symbols, int64_t count) {
    OpSample s;
    s.input_types = {Type::tensor(std::move(dims), x), Type::tensor(scale, DType::f32),
                     Type::tensor(scale, zero)};
    // Powers of two: no quotient lies next to a tie, so every backend must round alike.
    std::vector<int64_t> extents =
        scale.empty() ? std::vector<int64_t>{} : std::vector<int64_t>{count};
    if (scale.size() > 1) extents = {count / 2, 2};
    auto scales = make_zeros(DType::f32, extents);
    auto zeros = make_zeros(zero, extents);
    for (int64_t k = 0; k < count; ++k) {
      scales->set(k, k % 2 == 0 ? 0.25 : 0.5);
      zeros->set_int(k, zero == DType::i32 ? 0 : k % 7);
    }
    s.constants[1] = std::move(scales);
    s.constants[2] = std::move(zeros);
    s.attrs = std::move(attrs);
    s.symbols = std::move(symbols);
    s.low = low;
    s.high = high;
    out.push_back(std::move(s));
  };
  add({2, 17}, {}, {}, {}, 1);
  add({n, 3, m}, {3}, {{"axis", int64_t{1}}}, {{"n", 2}, {"m", 9}}, 3);
  add({n, 5}, {5}, {{"axis", int64_t{-1}}}, {{"n", 0}}, 5);
  add({4, 7}, {4, 2}, {{"axis", int64_t{1}}, {"block_size", int64_t{4}}}, {}, 8);
  return out;
}

}  // namespace symtile
