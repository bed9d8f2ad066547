// Recognises softmax(Q K^T * scale + mask) V and makes it one operator, whose kernel never stores
// the scores. One line a rule; see transform/rewrite.h. Heads come to stand behind positions: the
// transpositions that say so cancel with those that models have there (canonicalize).
#include <algorithm>
#include <cmath>
#include <limits>

#include "symtile/transform/rewrite.h"

namespace symtile {
namespace {

/// Products of the numbers that scale the scores; `s` stands on the scores, `a` and `b` on the
/// operands.
std::optional<double> scale_of(Attempt& a) {
  double scale = 1;
  for (const char letter : {'s', 'a', 'b'}) {
    if (!a.values.count(letter)) continue;
    const auto number = a.number(letter);
    if (!number) return std::nullopt;
    scale *= *number;
  }
  if (a.values.count('r')) {
    const auto number = a.number('r');
    if (!number || *number == 0) return std::nullopt;
    scale /= *number;
  }
  return scale;
}

/// Copies of heads made for queries that share a key: `reshape(expand(reshape(x)))`, where x is [b,
/// g, ..].
ValueId shared_heads(const Attempt& a, ValueId v) {
  const OpCall* flat = a.call(v);
  if (!flat || flat->op != "reshape") return v;
  const OpCall* copies = a.call(flat->args[0]);
  if (!copies || copies->op != "expand") return v;
  const OpCall* split = a.call(copies->args[0]);
  if (!split || split->op != "reshape") return v;
  const Type &x = a.f.type(split->args[0]), &one = a.f.type(copies->args[0]),
             &many = a.f.type(flat->args[0]), &out = a.f.type(v);
  if (!x.fully_known() || !one.fully_known() || !many.fully_known() || !out.fully_known()) return v;
  if (x.rank() != 4 || one.rank() != 5 || many.rank() != 5 || out.rank() != 4) return v;
  const Dims &d = *x.dims, &m = *many.dims;
  const bool fits = equal_dims(a.facts(), *one.dims, {d[0], d[1], 1, d[2], d[3]}) &&
                    equal_dims(a.facts(), m, {d[0], d[1], m[2], d[2], d[3]}) &&
                    equal_dims(a.facts(), *out.dims, {d[0], d[1] * m[2], d[2], d[3]});
  return fits ? split->args[0] : v;
}

/// x [b, h, s, d] as [b, s, h, d]; of rank 3, [b, s, d] as [b, s, 1, d]. `swapped`: the last two
/// axes are.
ValueId heads_last(Attempt& a, ValueId x, bool swapped) {
  const OpCall* turned = swapped ? a.call(x) : nullptr;
  if (turned && turned->op == "transpose" &&
      turned->attrs.get_ints("perm") == std::vector<int64_t>{0, 1, 3, 2}) {
    x = turned->args[0];
    swapped = false;
  }
  if (a.f.type(x).rank() == 4) {
    if (!swapped) x = shared_heads(a, x);
    return a.make(
        "transpose", {x},
        {{"perm", swapped ? std::vector<int64_t>{0, 3, 1, 2} : std::vector<int64_t>{0, 2, 1, 3}}});
  }
  if (swapped) {
    x = a.make("transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    if (!x.valid()) return x;
  }
  const Dims& d = *a.f.type(x).dims;
  return a.make("reshape", {x}, {{"shape", Dims{d[0], d[1], 1, d[2]}}});
}

/// A lower triangle of ones (above: zeros), of the last two axes of a constant.
bool is_triangle(const Constant& c, double below, double above_least, double above_most) {
  if (!c || c->dims.size() < 2 || c->element_count() == 0) return false;
  const int64_t width = c->dims.back(), height = c->dims[c->dims.size() - 2];
  for (int64_t i = 0; i < c->element_count(); ++i) {
    const int64_t row = i / width % height, column = i % width;
    const double v = is_float(c->dtype) ? c->as_double(i) : static_cast<double>(c->as_int(i));
    const bool is_below = column <= row;
    if (is_below ? v != below : !(v >= above_least && v <= above_most)) return false;
  }
  return true;
}

constexpr double kLowest = std::numeric_limits<double>::lowest();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Scores this low have no weight beside any other.
constexpr double kHidden = -1e4;

/// The number that a constant, or what spreads one over a shape, has everywhere.
std::optional<double> number_everywhere(Attempt& a, ValueId v) {
  const OpCall* call = a.call(v);
  if (call && call->op == "full") return call->attrs.get_float("value", 0);
  if (call && (call->op == "expand" || call->op == "reshape"))
    return number_everywhere(a, call->args[0]);
  return a.number(v);
}

/// The mask shows key j to query i exactly when j <= i. Then minus infinity is as good as any low
/// number, because every query sees a key.
bool is_causal(Attempt& a, ValueId mask) {
  const OpCall* call = a.call(mask);
  if (call && call->op == "trilu") {
    // Kept on and above the first diagonal, of a tensor of one low number.
    const bool above = call->attrs.get_bool("upper", true) && call->attrs.has("k") &&
                       call->attrs.get_dims("k")[0].is_const(1);
    const auto low = above ? number_everywhere(a, call->args[0]) : std::nullopt;
    return low && *low <= kHidden;
  }
  // The first rows and columns of a triangle are one.
  ValueId whole = mask;
  if (call && call->op == "slice") {
    const Dims& begin = call->attrs.get_dims("begin");
    const std::vector<int64_t> step = call->attrs.get_ints("step");
    if (std::any_of(step.begin(), step.end(), [](int64_t s) { return s != 1; })) return false;
    if (std::any_of(begin.begin(), begin.end(), [](const DimExpr& d) { return !d.is_const(0); }))
      return false;
    whole = call->args[0];
  }
  const Constant c = a.constant(whole);
  if (!c) return false;
  return c->dtype == DType::boolean ? is_triangle(c, 1, 0, 0)
                                    : is_float(c->dtype) && is_triangle(c, 0, kLowest, kHidden);
}

bool is_attention(Attempt& a) {
  const ValueId softmax = *std::find_if(a.inner.begin(), a.inner.end(),
                                        [&](ValueId v) { return a.call(v)->op == "softmax"; });
  if (!is_last_axis(a, *a.call(softmax))) return false;
  bool swaps_key = true;
  for (const ValueId v : a.inner) {
    const OpCall* call = a.call(v);
    if (call->op != "matmul") continue;
    if (call->attrs.get_bool("transpose_a", false)) return false;
    const bool transposed = call->attrs.get_bool("transpose_b", false);
    if (v == a.result && transposed) return false;
    if (v != a.result) swaps_key = !transposed;
  }
  const Type &q = a.type('q'), &k = a.type('k'), &v = a.type('v'), &s = a.f.type(softmax);
  if (!is_float(q.dtype) || !q.fully_known() || !k.fully_known() || !v.fully_known() ||
      !s.fully_known())
    return false;
  const int rank = q.rank();
  if ((rank != 3 && rank != 4) || k.rank() != rank || v.rank() != rank || s.rank() != rank)
    return false;
  const auto scale = scale_of(a);
  if (!scale) return false;
  Attributes attrs{{"scale", *scale}};
  if (a.has_matched("isnan")) attrs.set("safe", int64_t{1});
  if (a.values.count('n')) a.values['m'] = a.make("logical_not", {a.values['n']});
  const ValueId mask = a.values.count('m') ? a.values.at('m') : ValueId{};
  if (mask.valid()) {
    const Type& m = a.f.type(mask);
    if (!m.fully_known() || m.rank() > rank) return false;
    const bool square = a.facts().proves_equal(s.dims->end()[-1], s.dims->end()[-2]);
    double fill = -kInfinity;
    if (a.values.count('f')) {
      const auto number = a.number('f');
      if (!number) return false;
      fill = *number;
    }
    if (square && m.rank() >= 2 && fill <= kHidden && is_causal(a, mask)) {
      attrs.set("causal", int64_t{1});
      a.values.erase('m');
    } else {
      if (fill != -kInfinity) attrs.set("fill", fill);
      // Of rank 3 the first axis is the batch, not the heads.
      if (rank == 3 && m.rank() == 3) {
        const Dims& d = *m.dims;
        a.values['m'] = a.make("reshape", {mask}, {{"shape", Dims{d[0], 1, d[1], d[2]}}});
      }
    }
  }
  for (const auto& [letter, swapped] :
       {std::pair('q', false), std::pair('k', swaps_key), std::pair('v', false)}) {
    a.values[letter] = heads_last(a, a.values.at(letter), swapped);
    if (!a.values[letter].valid()) return false;
  }
  a.attrs["attention"] = std::move(attrs);
  if (rank == 4) {
    a.attrs["transpose"] = {{"perm", std::vector<int64_t>{0, 2, 1, 3}}};
  } else {
    a.attrs["reshape"] = {{"shape", *a.type().dims}};
  }
  return true;
}
bool of_rank_four(Attempt& a) {
  return a.type().has_rank() && a.type().rank() == 4 && is_attention(a);
}
bool of_rank_three(Attempt& a) {
  return a.type().has_rank() && a.type().rank() == 3 && is_attention(a);
}

constexpr PatternName kNames[] = {
    {"dot", "matmul(mul(q, a), mul(k, b))"},
    {"dot", "matmul(mul(q, a), k)"},
    {"dot", "matmul(q, mul(k, b))"},
    {"dot", "matmul(div(q, r), k)"},
    {"dot", "matmul(q, k)"},
    {"scaled", "mul($dot, s)"},
    {"scaled", "div($dot, r)"},
    {"scaled", "$dot"},
    {"scores", "add($scaled, m)"},
    {"scores", "where(m, $scaled, f)"},
    {"scores", "where(n, f, $scaled)"},
    {"scores", "$scaled"},
    {"weights", "softmax($scores)"},
    {"weights", "where(isnan(softmax($scores)), 0, softmax($scores))"},
};

constexpr RewriteRule kRules[] = {
    {"matmul($weights, v)", "transpose(attention(q, k, v, m))", of_rank_four},
    {"matmul($weights, v)", "reshape(attention(q, k, v, m))", of_rank_three},
};

}  // namespace

void recognize_attention(Module& module, PassContext& context) {
  rewrite_graphs(module, context, kRules, kNames);
}

}  // namespace symtile
