// max_pool: largest element of each window; padding never wins. With `indices` there is a second
// result: the flat position of the first largest element in the whole input, the spatial part
// row-major, or column-major with storage_order 1.
// Spec: ONNX MaxPool.
#include <cmath>
#include <limits>

#include "symtile/op/nn/pool.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

bool is_ordered(DType t) { return is_float(t) || is_int(t); }

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_ordered, "a number type");
  const Dims dims = *deduce_pool_dims(c);
  std::vector<Type> out = {Type::tensor(dims, c.dtype(0))};
  if (c.attrs().get_bool("indices", false)) out.push_back(Type::tensor(dims, DType::i64));
  return out;
}

/// True when `a` replaces the best element so far.
bool better(const RefTensor& x, int64_t a, int64_t best) {
  if (best < 0) return true;
  if (!x.is_float_kind()) {
    return x.dtype == DType::u64
               ? static_cast<uint64_t>(x.as_int(a)) > static_cast<uint64_t>(x.as_int(best))
               : x.as_int(a) > x.as_int(best);
  }
  const double v = x.as_double(a), w = x.as_double(best);
  return v > w || (std::isnan(v) && !std::isnan(w));
}

void set_lowest(RefTensor& out, int64_t at) {
  if (out.is_float_kind()) {
    out.set(at, -std::numeric_limits<double>::infinity());
  } else if (is_signed_int(out.dtype)) {
    out.set_int(at, -(int64_t{1} << (8 * size_of(out.dtype) - 2)) * 2);
  }
}

void evaluate(EvalContext& c) {
  const ConcreteWindow window = pool_window(c);
  const bool indices = c.attrs().get_bool("indices", false);
  const bool column_major = c.attrs().get_int("storage_order", 0) != 0;
  const std::vector<int64_t> dims = pool_extents(c, window);
  const RefTensor& x = c.in(0);
  c.out(x.dtype, dims);
  if (indices) c.out(DType::i64, dims);
  int64_t image = 1;
  for (int64_t d : window.in) image *= d;
  int64_t at = 0;
  for_each_index(dims, [&](const std::vector<int64_t>& index) {
    int64_t best = -1;
    for_each_pool_tap(c, index, window, [&](int64_t flat, const std::vector<int64_t>&) {
      if (flat >= 0 && better(x, flat, best)) best = flat;
    });
    if (best >= 0) {
      c.outputs[0].copy_element(at, x, best);
    } else {
      set_lowest(c.outputs[0], at);
    }
    if (indices) {
      int64_t position = std::max<int64_t>(best, 0);
      if (column_major && image > 0) {
        // Unflatten row-major, flatten with the first spatial axis fastest.
        int64_t rest = position % image, stride = image, column = 0;
        for (size_t k = window.in.size(); k-- > 0;) {
          stride /= window.in[k];
          column += rest % window.in[k] * stride;
          rest /= window.in[k];
        }
        position = position / image * image + column;
      }
      c.outputs[1].set_int(at, position);
    }
    ++at;
  });
}

Expr lowest(DType t) {
  if (is_float(t)) return imm(t, -std::numeric_limits<double>::infinity());
  const int64_t half = int64_t{1} << (8 * size_of(t) - 2);
  return int_imm(t, is_signed_int(t) ? -half * 2 : 0);
}

/// Flat position of the winner, found as the position of the maximum over all taps in order.
Expr winner(LowerContext& c, const Index& index) {
  const TensorRef x = c.in(0);
  const Window window = pool_window(c.attrs());
  const auto n = static_cast<size_t>(window.spatial());
  // Spatial position of flat tap `t` of the window.
  const auto position = [&](const Expr& t) {
    Index at(n, Expr(0));
    Expr rest = t;
    for (size_t k = n; k-- > 0;) {
      const Expr extent = to_expr(window.kernel[k]);
      const Expr tap = k == 0 ? rest : floormod(rest, extent);
      at[k] = window.position(static_cast<int>(k), index[k + 2], tap);
      rest = floordiv(rest, extent);
    }
    return at;
  };
  const Axis taps = c.axis("tap", product(window.kernel));
  const Expr best = reduce_over(ReduceKind::argmax, taps, [&](const Expr& t) {
    Index at = {index[0], index[1]};
    Expr in_bounds;
    const Index spatial = position(t);
    for (size_t k = 0; k < n; ++k) {
      at.push_back(spatial[k]);
      in_bounds = and_also(
          in_bounds, window.guard(static_cast<int>(k), spatial[k], x.dims()[k + 2], c.facts()));
    }
    return guarded(in_bounds, x(at), lowest(x.dtype()));
  });
  // A tap in the padding wins only against taps that hold the lowest value too, and then it is
  // the very first; the first tap inside is where each of its coordinates first enters.
  Index spatial = position(best);
  for (size_t k = 0; k < n; ++k) {
    if (c.facts().proves_le(window.begin[k], 0)) continue;
    const Expr first = window.start(static_cast<int>(k), index[k + 2]);
    spatial[k] =
        select(spatial[k] < Expr(0), floormod(first, Expr(window.dilations[k])), spatial[k]);
  }
  // The taps of a dilated window may all lie outside: then the position is 0.
  Expr exists;
  for (size_t k = 0; k < n; ++k) {
    if (window.dilations[k] == 1) continue;
    exists = and_also(exists, spatial[k] < to_expr(x.dims()[k + 2]));
  }
  const bool column_major = c.attrs().get_int("storage_order", 0) != 0;
  Expr flat = index[0] * to_expr(x.dims()[1]) + index[1];
  for (size_t k = 0; k < n; ++k) flat = flat * to_expr(x.dims()[k + 2]);
  Expr offset(0);
  for (size_t k = 0; k < n; ++k) {
    const size_t axis = column_major ? n - 1 - k : k;
    offset = offset * to_expr(x.dims()[axis + 2]) + spatial[axis];
  }
  return guarded(exists, flat + offset, Expr(0));
}

void lower(LowerContext& c) {
  const DType t = c.out_dtype();
  c.compute(0, [&](const Index& index) {
    return pool_reduce(c, ReduceKind::max, index, [&](const Index& at, const Expr& ok) {
      return guarded(ok, c.in(0)(at), lowest(t));
    });
  });
  if (c.num_results() > 1) {
    c.compute(1, [&](const Index& index) { return winner(c, index); });
  }
}

std::vector<OpSample> samples() {
  const std::vector<int64_t> two = {2, 2}, three = {3, 3};
  const Dims ones = {1, 1, 1, 1};
  return {
      make_sample({f32_tensor({1, 2, 6, 7})}, {{"kernel", two}, {"strides", two}}),
      make_sample({f32_tensor({sym("b"), 3, sym("h"), sym("w")})},
                  {{"kernel", three}, {"strides", two}, {"pads", ones}, {"ceil_mode", int64_t{1}}},
                  {{"b", 2}, {"h", 8}, {"w", 5}}),
      make_sample({f32_tensor({2, 2, sym("h"), 5})},
                  {{"kernel", three},
                   {"pads", ones},
                   {"indices", int64_t{1}},
                   {"storage_order", int64_t{1}}},
                  {{"h", 4}}),
      make_sample({Type::tensor({1, 1, sym("h"), 6}, DType::u8)},
                  {{"kernel", two}, {"dilations", two}, {"pads", ones}, {"indices", int64_t{1}}},
                  {{"h", 5}}, 0, 255),
      make_sample({Type::tensor({1, 2, 9}, DType::i8)},
                  {{"kernel", std::vector<int64_t>{3}}, {"pads", Dims{1, 1}}}, {}, -100, 100),
  };
}

}  // namespace

extern const OpRecord max_pool_op;
const OpRecord max_pool_op = {
    "max_pool",
    1,
    1,
    pool_attrs({{"indices", AttrSpec::Kind::integer}, {"storage_order", AttrSpec::Kind::integer}}),
    deduce,
    evaluate,
    lower,
    samples};

}  // namespace symtile
