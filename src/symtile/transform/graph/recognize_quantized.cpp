// Makes integer products of products of dequantised operands (QDQ models): the sum is taken of
// 8-bit numbers in 32-bit ones, exactly, and scaled once. What quantises the result again is an
// epilogue of that kernel like any other operator. One line a rule; see transform/rewrite.h.
#include "symtile/transform/rewrite.h"

namespace symtile {
namespace {

bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

/// The call that dequantises `letter`.
const OpCall* dequantized(const Attempt& a, char letter) {
  for (const ValueId v : a.inner) {
    const OpCall* call = a.call(v);
    if (call->op == "dequantize_linear" && call->args[0] == a.values.at(letter)) return call;
  }
  return nullptr;
}

bool is_scalar(const Type& t) {
  return t.has_rank() && (t.rank() == 0 || (t.rank() == 1 && (*t.dims)[0].is_const(1)));
}

/// One scale for all of x; for w one as well, or one a position of `axis`.
bool scales_fit(Attempt& a, int axis) {
  const OpCall *x = dequantized(a, 'x'), *w = dequantized(a, 'w');
  if (!x || !w || x == w || !is_byte(a.type('x').dtype) || !is_byte(a.type('w').dtype))
    return false;
  if (!is_scalar(a.type('s')) || !a.type('w').has_rank()) return false;
  if (x->attrs.get_int("block_size", 0) != 0 || w->attrs.get_int("block_size", 0) != 0)
    return false;
  const int rank = a.type('w').rank();
  const int64_t of_w = w->attrs.get_int("axis", 1);
  return is_scalar(a.type('t')) || (a.type('t').has_rank() && a.type('t').rank() == 1 &&
                                    (of_w < 0 ? of_w + rank : of_w) == axis);
}

/// p: the product of the scales, in the shape of a channel list for `trailing` axes behind it.
bool bind_scale(Attempt& a, int trailing) {
  const auto shaped = [&](ValueId v) {
    const Type& t = a.f.type(v);
    if (!t.has_rank() || t.rank() == 0 || trailing == 0) return v;
    Dims dims = *t.dims;
    dims.resize(dims.size() + static_cast<size_t>(trailing), DimExpr(1));
    return a.make("reshape", {v}, {{"shape", dims}});
  };
  const ValueId product = a.make("mul", {a.values['s'], a.values['t']});
  if (!product.valid()) return false;
  a.values['p'] = shaped(product);
  if (a.values.count('b')) a.values['b'] = shaped(a.values['b']);
  a.attrs["cast"] = {{"to", a.type().dtype}};
  return a.values['p'].valid();
}

bool is_integer_product(Attempt& a) {
  const Attributes& attrs = a.call(a.result)->attrs;
  if (attrs.get_bool("transpose_a", false) || attrs.get_bool("transpose_b", false)) return false;
  const Type& w = a.type('w');
  return w.has_rank() && w.rank() >= 2 && scales_fit(a, w.rank() - 1) && bind_scale(a, 0);
}

bool is_integer_convolution(Attempt& a) {
  const Type& w = a.type('w');
  if (!w.has_rank() || w.rank() < 3 || !scales_fit(a, 0)) return false;
  a.attrs["conv_integer"] = a.call(a.result)->attrs;
  return bind_scale(a, w.rank() - 2);
}

constexpr PatternName kNames[] = {
    {"data", "dequantize_linear(x, s, z)"},
    {"data", "dequantize_linear(x, s)"},
    {"weight", "dequantize_linear(w, t, u)"},
    {"weight", "dequantize_linear(w, t)"},
};

constexpr RewriteRule kRules[] = {
    {"matmul($data, $weight)", "mul(cast(matmul_integer(x, w, z, u)), p)", is_integer_product},
    {"conv($data, $weight, b)", "add(mul(cast(conv_integer(x, w, z, u)), p), b)",
     is_integer_convolution},
    {"conv($data, $weight)", "mul(cast(conv_integer(x, w, z, u)), p)", is_integer_convolution},
};

}  // namespace

void recognize_quantized(Module& module, PassContext& context) {
  rewrite_graphs(module, context, kRules, kNames);
}

}  // namespace symtile
