// Recognises operators that models spell out in simpler ones: activations and normalisations. The
// results differ by rounding only. One line a rule; see transform/rewrite.h.
#include <algorithm>
#include <cmath>

#include "symtile/transform/rewrite.h"

namespace symtile {
namespace {

bool with_tanh(Attempt& a) {
  a.attrs["gelu"] = {{"approximate", std::string("tanh")}};
  return true;
}

bool with_alpha(Attempt& a) {
  const auto alpha = a.number('k');
  if (!alpha) return false;
  a.attrs["swish"] = {{"alpha", *alpha}};
  return true;
}

/// The operator's own 1/6 and 1/2.
bool is_sixth_and_half(Attempt& a) {
  const Attributes& attrs = a.matched("hard_sigmoid").attrs;
  return std::abs(attrs.get_float("alpha", 0.2) - 1.0 / 6) < 1e-5 &&
         std::abs(attrs.get_float("beta", 0.5) - 0.5) < 1e-5;
}

/// All means are over the last axis, which stays as one of extent 1, and `e` is a number.
bool over_last_axis(Attempt& a, const char* op) {
  const auto epsilon = a.number('e');
  if (!epsilon || !is_float(a.type('x').dtype)) return false;
  for (const ValueId v : a.inner) {
    const OpCall& call = *a.call(v);
    if (call.op != "reduce_mean") continue;
    if (call.attrs.has("kept") || !call.attrs.get_bool("keepdims", true) || !is_last_axis(a, call))
      return false;
  }
  const Type& x = a.type('x');
  if (!x.has_rank() || x.dims->empty()) return false;
  const auto width = x.dims->back().as_const();
  if (!width) return false;
  auto ones = make_zeros(x.dtype, {*width});
  for (int64_t i = 0; i < *width; ++i) ones->set(i, 1);
  a.values['o'] = a.make_constant(ones);
  a.attrs[op] = {{"axis", int64_t{-1}}, {"epsilon", *epsilon}};
  return true;
}
bool as_layer_norm(Attempt& a) { return over_last_axis(a, "layer_norm"); }
bool as_rms_norm(Attempt& a) { return over_last_axis(a, "rms_norm"); }

/// `g` (and `b`) stretch to x, and x not to them; the other attributes stay.
bool scale_fits(Attempt& a) {
  const char* op = a.has_matched("layer_norm") ? "layer_norm" : "rms_norm";
  a.attrs[op] = a.matched(op).attrs;
  const Type& x = a.type('x');
  if (a.attrs[op].has("stats") || !x.has_rank()) return false;
  for (const char letter : {'g', 'b'}) {
    if (!a.values.count(letter)) continue;
    const Type& t = a.type(letter);
    if (!t.has_rank() || t.rank() > x.rank() || t.dtype != x.dtype) return false;
  }
  return true;
}

/// The halves of the last axis, the second one in front.
bool turns_halves(Attempt& a) {
  const Type& x = a.type('x');
  if (!x.has_rank() || !is_last_axis(a, a.matched("concat"))) return false;
  const auto width = x.dims->back().as_const();
  if (!width || *width % 2 != 0) return false;
  const auto takes = [&](ValueId v, int64_t from) {
    const OpCall& slice = *a.call(v);
    const Dims &begin = slice.attrs.get_dims("begin"), &extent = slice.attrs.get_dims("extent");
    const std::vector<int64_t> step = slice.attrs.get_ints("step");
    for (size_t k = 0; k + 1 < begin.size(); ++k) {
      if (!begin[k].is_const(0) || !a.facts().proves_equal(extent[k], (*x.dims)[k])) return false;
    }
    return begin.back().is_const(from) && extent.back().is_const(*width / 2) &&
           std::all_of(step.begin(), step.end(), [](int64_t s) { return s == 1; });
  };
  const OpCall& halves = a.matched("concat");
  return takes(a.call(halves.args[0])->args[0], *width / 2) && takes(halves.args[1], 0);
}

constexpr PatternName kNames[] = {
    {"exp_of_minus", "exp(neg(x))"},
    {"rooted", "div(x, 1.41421356)"},
    {"rooted", "mul(x, 0.70710678)"},
    {"normal", "add(erf($rooted), 1)"},
    {"cube", "pow(x, 3)"},
    {"cube", "mul(mul(x, x), x)"},
    {"cubic", "mul(add(x, mul($cube, 0.044715)), 0.79788456)"},
    {"cubic", "mul(mul(x, add(mul(mul(x, x), 0.044715), 1)), 0.79788456)"},
    {"cubic", "mul(mul(x, 0.79788456), add(mul(mul(x, x), 0.044715), 1))"},
    {"normal_tanh", "add(tanh($cubic), 1)"},
    {"six", "clip(add(x, 3), 0, 6)"},
    {"six", "min(max(add(x, 3), 0), 6)"},
    {"centered", "sub(x, reduce_mean(x))"},
    {"squares", "pow($centered, 2)"},
    {"squares", "mul($centered, $centered)"},
    {"deviation", "sqrt(add(reduce_mean($squares), e))"},
    {"square", "pow(x, 2)"},
    {"square", "mul(x, x)"},
    {"root", "sqrt(add(reduce_mean($square), e))"},
};

constexpr RewriteRule kRules[] = {
    {"mul(mul(x, 0.5), $normal)", "gelu(x)", always},
    {"mul(mul(x, $normal), 0.5)", "gelu(x)", always},
    {"mul(x, mul($normal, 0.5))", "gelu(x)", always},
    {"mul(mul(x, 0.5), $normal_tanh)", "gelu(x)", with_tanh},
    {"mul(mul(x, $normal_tanh), 0.5)", "gelu(x)", with_tanh},
    {"mul(x, mul($normal_tanh, 0.5))", "gelu(x)", with_tanh},
    {"div(1, add($exp_of_minus, 1))", "sigmoid(x)", always},
    {"reciprocal(add($exp_of_minus, 1))", "sigmoid(x)", always},
    {"div(x, add($exp_of_minus, 1))", "swish(x)", always},
    {"mul(x, sigmoid(x))", "swish(x)", always},
    {"mul(x, sigmoid(mul(x, k)))", "swish(x)", with_alpha},
    {"mul(x, tanh(softplus(x)))", "mish(x)", always},
    {"mul(x, hard_sigmoid(x))", "hard_swish(x)", is_sixth_and_half},
    {"div(mul(x, $six), 6)", "hard_swish(x)", always},
    {"mul(x, div($six, 6))", "hard_swish(x)", always},
    {"mul(mul(x, $six), 0.16666667)", "hard_swish(x)", always},
    {"mul(x, mul($six, 0.16666667))", "hard_swish(x)", always},
    {"add(mul(x, c), mul(concat(neg(slice(x)), slice(x)), s))", "rotary_embedding(x, c, s)",
     turns_halves},
    {"div($centered, $deviation)", "layer_norm(x, o)", as_layer_norm},
    {"mul($centered, reciprocal($deviation))", "layer_norm(x, o)", as_layer_norm},
    {"mul($centered, div(1, $deviation))", "layer_norm(x, o)", as_layer_norm},
    {"mul(layer_norm(x, 1), g)", "layer_norm(x, g)", scale_fits},
    {"add(layer_norm(x, g), b)", "layer_norm(x, g, b)", scale_fits},
    {"div(x, $root)", "rms_norm(x, o)", as_rms_norm},
    {"mul(x, reciprocal($root))", "rms_norm(x, o)", as_rms_norm},
    {"mul(x, div(1, $root))", "rms_norm(x, o)", as_rms_norm},
    {"mul(rms_norm(x, 1), g)", "rms_norm(x, g)", scale_fits},
};

}  // namespace

void recognize_operators(Module& module, PassContext& context) {
  rewrite_graphs(module, context, kRules, kNames);
}

}  // namespace symtile
