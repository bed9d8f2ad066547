// softmax(scale * Q K^T + mask) V for every head: q [b, s, h, d], k [b, t, g, d], v [b, t, g, e]
// give [b, s, h, e]. Query head n reads key head n // (h / g), so h is a multiple of g. Heads stand
// behind positions, as projections produce them: nothing has to be transposed around it.
//
// `mask` broadcasts to [b, h, s, t]: a float is added to the scores; where a bool is false the
// score is `fill` (minus infinity unless given). `causal`: query i sees keys j <= i + `offset`
// only; the others do not take part, whatever they hold. A row without any key is 0; one whose
// scores are all minus infinity is NaN, as softmax says; with `zero_without_keys` it is 0, and with
// `safe`, a row whose exponentials have no sum (also for a NaN among the scores) is 0, whatever V
// holds.
#include <cmath>
#include <limits>

#include "symtile/op/elementwise.h"
#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Type> deduce(DeduceContext& c) {
  for (int i = 0; i < 3; ++i) {
    c.require_dtype(i, is_float_dtype, "a float type");
    c.require_same_dtype(0, i);
    c.require_rank(i, 4, 4);
    if (!c.rank_known(i)) return {Type::tensor_any_rank(c.dtype(0))};
  }
  const Dims &q = c.dims(0), &k = c.dims(1), &v = c.dims(2);
  c.require_equal(q[0], k[0], "the batch of query and key");
  c.require_equal(k[0], v[0], "the batch of key and value");
  c.require_equal(q[3], k[3], "the size of a head of query and key");
  c.require_equal(k[1], v[1], "the number of keys and values");
  c.require_equal(k[2], v[2], "the heads of key and value");
  if (!q[2].is_unknown() && !k[2].is_unknown() && !c.facts().proves_equal(q[2], k[2]))
    c.require_equal(floormod(q[2], k[2]), 0,
                    "what is left when the query heads are shared by the key heads");
  if (c.has(3) && c.rank_known(3)) {
    c.require_rank(3, 0, 4);
    if (c.dtype(3) != DType::boolean) c.require_same_dtype(0, 3);
    const Dims scores{q[0], q[2], q[1], k[1]};
    const Dims wide = broadcast_dims(c, c.dims(3), scores);
    for (size_t i = 0; i < wide.size(); ++i)
      c.require_equal(wide[i], scores[i], fmt::format("dimension {} of the mask", i));
  }
  return {Type::tensor({q[0], q[1], q[2], v[3]}, c.dtype(0))};
}

int64_t causal_offset(const EvalContext& c) {
  return c.attrs().has("offset") ? c.dims_attr("offset").at(0) : 0;
}

void evaluate(EvalContext& c) {
  const RefTensor &q = c.in(0), &k = c.in(1), &v = c.in(2);
  const int64_t keys = k.dims[1], size = q.dims[3], width = v.dims[3];
  const int64_t shared = k.dims[2] == 0 ? 1 : q.dims[2] / k.dims[2];
  const double scale = c.attrs().get_float("scale"), fill = c.attrs().get_float("fill", -kInfinity);
  const bool causal = c.attrs().get_bool("causal", false);
  const bool safe = c.attrs().get_bool("safe", false);
  const bool zero_without_keys = c.attrs().get_bool("zero_without_keys", false);
  const int64_t offset = causal ? causal_offset(c) : 0;
  RefTensor& out = c.out(q.dtype, {q.dims[0], q.dims[1], q.dims[2], width});
  const auto at = [](const RefTensor& x, int64_t b, int64_t i, int64_t h) {
    return ((b * x.dims[1] + i) * x.dims[2] + h) * x.dims[3];
  };
  for_each_index({q.dims[0], q.dims[1], q.dims[2]}, [&](const std::vector<int64_t>& index) {
    const int64_t b = index[0], i = index[1], h = index[2];
    const int64_t visible = causal ? std::min(keys, std::max<int64_t>(i + offset + 1, 0)) : keys;
    std::vector<double> scores;
    double largest = -kInfinity, sum = 0;
    for (int64_t j = 0; j < visible; ++j) {
      double score = 0;
      for (int64_t d = 0; d < size; ++d)
        score += q.as_double(at(q, b, i, h) + d) * k.as_double(at(k, b, j, h / shared) + d);
      score *= scale;
      if (c.has(3)) {
        const RefTensor& mask = c.in(3);
        const int64_t m = broadcast_offset(mask.dims, {b, h, i, j});
        if (mask.is_float_kind())
          score += mask.as_double(m);
        else if (mask.as_int(m) == 0)
          score = fill;
      }
      scores.push_back(score);
      largest = score > largest || std::isnan(score) ? score : largest;
    }
    for (double& p : scores) sum += p = std::exp(p - largest);
    for (int64_t e = 0; e < width; ++e) {
      double value = visible == 0 && keys > 0 ? std::nan("") : 0;
      if ((safe && (visible == 0 || std::isnan(sum))) ||
          (zero_without_keys && largest == -kInfinity)) {
        out.set(at(out, b, i, h) + e, 0);
        continue;
      }
      for (int64_t j = 0; j < visible; ++j) {
        value += scores[static_cast<size_t>(j)] / sum * v.as_double(at(v, b, j, h / shared) + e);
      }
      out.set(at(out, b, i, h) + e, value);
    }
  });
}

/// Four stages, which transform/tile/attention.h recognises: scores, their largest, the sum of the
/// exponentials, and the weighted sum.
void lower(LowerContext& c) {
  const TensorRef q = c.in(0), k = c.in(1), v = c.in(2);
  const DType dtype = compute_dtype(c.out_dtype());
  const DimExpr batch = q.dims()[0], rows = q.dims()[1], heads = q.dims()[2], keys = k.dims()[1];
  const DimExpr groups = k.dims()[2];
  const auto key_head = [&](const Expr& h) {
    if (c.facts().proves_equal(heads, groups)) return h;
    if (groups.is_const(1)) return Expr(0);
    return floordiv(h, to_expr(floordiv(heads, groups)));
  };
  const bool causal = c.attrs().get_bool("causal", false);
  const Expr offset =
      c.attrs().has("offset") ? to_expr(c.attrs().get_dims("offset").at(0)) : Expr(0);
  const auto visible = [&](const Expr& i, const Expr& j) { return j <= i + offset; };
  const TensorRef scores =
      c.temporary("scores", dtype, {batch, rows, heads, keys}, [&](const Index& x) {
        const Axis d = c.axis("d", q.dims()[3]);
        Expr score = reduce_over(ReduceKind::sum, d, [&](const Expr& at) {
          return widen(q({x[0], x[1], x[2], at})) * widen(k({x[0], x[3], key_head(x[2]), at}));
        });
        score = score * imm(dtype, c.attrs().get_float("scale"));
        if (c.has(3)) {
          const Expr mask =
              c.load_broadcast(c.in(3), {x[0], x[2], x[1], x[3]}, {batch, heads, rows, keys});
          score = c.in(3).dtype() == DType::boolean
                      ? select(mask, score, imm(dtype, c.attrs().get_float("fill", -kInfinity)))
                      : score + widen(mask);
        }
        return causal ? select(visible(x[1], x[3]), score, imm(dtype, -kInfinity)) : score;
      });
  const auto over_keys = [&](ReduceKind kind, const std::function<Expr(Expr)>& body) {
    return reduce_over(kind, c.axis("j", keys), body);
  };
  const TensorRef largest =
      c.temporary("largest", dtype, {batch, rows, heads}, [&](const Index& x) {
        return over_keys(ReduceKind::max,
                         [&](const Expr& j) { return scores({x[0], x[1], x[2], j}); });
      });
  const auto weight = [&](const Index& x, const Expr& j) {
    return unary(UnaryOp::exp, scores({x[0], x[1], x[2], j}) - largest({x[0], x[1], x[2]}));
  };
  const TensorRef total = c.temporary("total", dtype, {batch, rows, heads}, [&](const Index& x) {
    return over_keys(ReduceKind::sum, [&](const Expr& j) { return weight(x, j); });
  });
  c.compute(0, [&](const Index& x) {
    const Expr sum = over_keys(ReduceKind::sum, [&](const Expr& j) {
      const Expr value = widen(v({x[0], j, key_head(x[2]), x[3]}));
      return weight(x, j) / total({x[0], x[1], x[2]}) *
             (causal ? select(visible(x[1], j), value, imm(dtype, 0)) : value);
    });
    const Index row = {x[0], x[1], x[2]};
    if (c.attrs().get_bool("safe", false))
      return select(unary(UnaryOp::isnan, total(row)), imm(dtype, 0), sum);
    if (c.attrs().get_bool("zero_without_keys", false))
      return select(equal(largest(row), imm(dtype, -kInfinity)), imm(dtype, 0), sum);
    return sum;
  });
}

std::vector<OpSample> samples() {
  const DimExpr b = sym("b"), s = sym("s"), t = sym("t"), h = sym("h");
  const auto of = [](Dims dims, DType dtype) { return Type::tensor(std::move(dims), dtype); };
  const auto f32 = [](Dims dims) { return f32_tensor(std::move(dims)); };
  const Attributes scaled{{"scale", 0.25}};
  Attributes causal = scaled, shifted = scaled, filled = scaled, safe = scaled, zero = scaled,
             late = scaled;
  causal.set("causal", int64_t{1});
  shifted.set("causal", int64_t{1});
  shifted.set("offset", Dims{t - s});
  filled.set("fill", -10000.0);
  safe.set("safe", int64_t{1});
  zero.set("zero_without_keys", int64_t{1});
  late.set("zero_without_keys", int64_t{1});
  late.set("causal", int64_t{1});
  late.set("offset", Dims{-2});
  std::vector<OpSample> out = {
      make_sample({f32({2, 5, 3, 8}), f32({2, 7, 3, 8}), f32({2, 7, 3, 4})}, scaled),
      make_sample({f32({b, s, 2, 16}), f32({b, t, 2, 16}), f32({b, t, 2, 16}), f32({b, 1, 1, t})},
                  scaled, {{"b", 2}, {"s", 9}, {"t", 21}}),
      make_sample(
          {f32({b, s, 2, 5}), f32({b, t, 2, 5}), f32({b, t, 2, 7}), of({s, t}, DType::boolean)},
          scaled, {{"b", 1}, {"s", 13}, {"t", 40}}),
      make_sample({f32({b, s, 4, 8}), f32({b, s, 2, 8}), f32({b, s, 2, 8})}, causal,
                  {{"b", 2}, {"s", 37}}),
      make_sample({f32({1, s, 3, 8}), f32({1, t, 1, 8}), f32({1, t, 1, 33})}, shifted,
                  {{"s", 3}, {"t", 150}}),
      make_sample({f32({b, s, h, 8}), f32({b, s, h, 8}), f32({b, s, h, 8}),
                   of({b, h, s, s}, DType::boolean)},
                  filled, {{"b", 1}, {"h", 3}, {"s", 6}}),
      make_sample({f32({b, s, 2, 8}), f32({b, t, 2, 8}), f32({b, t, 2, 8}),
                   of({b, 1, s, t}, DType::boolean)},
                  safe, {{"b", 3}, {"s", 5}, {"t", 2}}),
      make_sample({f32({b, s, 2, 8}), f32({b, t, 2, 8}), f32({b, t, 2, 8}),
                   of({b, 1, s, t}, DType::boolean)},
                  zero, {{"b", 3}, {"s", 5}, {"t", 2}}),
      make_sample({f32({1, s, 2, 8}), f32({1, s, 2, 8}), f32({1, s, 2, 8})}, late, {{"s", 7}}),
      make_sample({of({1, s, 2, 8}, DType::f16), of({1, t, 2, 8}, DType::f16),
                   of({1, t, 2, 8}, DType::f16)},
                  scaled, {{"s", 4}, {"t", 11}}),
  };
  for (OpSample& sample : out)
    sample.tolerance = 10 * sample_tolerance(sample.input_types[0].dtype);
  return out;
}

}  // namespace

extern const OpRecord attention_op;
const OpRecord attention_op = {
    .name = "attention",
    .min_args = 3,
    .max_args = 4,
    .attrs = {{"scale", AttrSpec::Kind::real, true},
              {"causal", AttrSpec::Kind::integer},
              {"offset", AttrSpec::Kind::dims},
              {"safe", AttrSpec::Kind::integer},
              {"zero_without_keys", AttrSpec::Kind::integer},
              {"fill", AttrSpec::Kind::real}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
