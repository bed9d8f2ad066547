// Attention and RotaryEmbedding of operator set 23.
#include <cmath>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {
namespace {

const std::vector<int64_t> kSwap = {0, 2, 1, 3};

/// Input i with the axes batch, position, head, element: [b, h, s, d], or [b, s, h * d] cut into
/// heads.
ValueId heads_last(ImportContext& c, int i, const char* heads) {
  if (c.rank(i) == 4) return c.transpose(c.in(i), kSwap);
  if (c.rank(i) != 3)
    c.fail(DiagId::type_mismatch, "input {} must have rank 3 or 4, not {}", i, c.rank(i));
  const int64_t count = c.attr_int(heads, 0);
  if (count <= 0) c.fail(DiagId::bad_attribute, "inputs of rank 3 need the attribute '{}'", heads);
  const Dims& d = c.dims(i);
  return c.reshape(c.in(i), {d[0], d[1], count, floordiv(d[2], count)});
}

/// Behind the cached positions [b, h, p, d], which go to output k with the new ones.
ValueId with_past(ImportContext& c, ValueId x, int past, int k) {
  if (!c.has(past) && !c.wants(k)) return x;
  ValueId all = c.transpose(x, kSwap);
  if (c.has(past)) all = c.call("concat", {c.in(past), all}, {{"axis", int64_t{2}}});
  if (c.wants(k)) c.out(k, all);
  return c.transpose(all, kSwap);
}

}  // namespace

void import_attention(ImportContext& c) {
  if (c.attr_float("softcap", 0) != 0)
    c.fail(DiagId::unsupported, "attribute 'softcap' is not supported");
  if (c.wants(3)) c.fail(DiagId::unsupported, "output 'qk_matmul_output' is not supported");
  if (c.has(6)) c.fail(DiagId::unsupported, "input 'nonpad_kv_seqlen' is not supported");
  const bool flat = c.rank(0) == 3;
  const ValueId q = heads_last(c, 0, "q_num_heads");
  const ValueId k = with_past(c, heads_last(c, 1, "kv_num_heads"), 4, 1);
  const ValueId v = with_past(c, heads_last(c, 2, "kv_num_heads"), 5, 2);
  const auto size = c.build().type(q).dims->back().as_const();
  if (!c.has_attr("scale") && (!size || *size == 0))
    c.fail(DiagId::unsupported, "the size of a head is not known: give the attribute 'scale'");
  Attributes attrs = {
      {"scale", c.attr_float("scale", size ? 1 / std::sqrt(static_cast<double>(*size)) : 1)}};
  if (c.attr_int("is_causal", 0) != 0) {
    attrs.set("causal", int64_t{1});
    if (c.has(4)) attrs.set("offset", Dims{c.dims(4)[2]});
  }
  std::vector<ValueId> args = {q, k, v};
  if (c.has(3))
    args.push_back(c.dtype(3) == DType::boolean ? c.in(3) : c.cast(c.in(3), c.dtype(0)));
  const ValueId y = c.call("attention", std::move(args), std::move(attrs));
  const Dims d = *c.build().type(y).dims;
  c.out(0, flat ? c.reshape(y, {d[0], d[1], d[2] * d[3]}) : c.transpose(y, kSwap));
}

/// The caches hold one half: both halves turn by the same angles.
void import_rotary_embedding(ImportContext& c) {
  if (c.attr_int("rotary_embedding_dim", 0) != 0)
    c.fail(DiagId::unsupported, "attribute 'rotary_embedding_dim' is not supported");
  const bool interleaved = c.attr_int("interleaved", 0) != 0, flat = c.rank(0) == 3;
  const ValueId x = heads_last(c, 0, "num_heads");  // [b, s, h, d]
  const auto angles = [&](int i) {
    ValueId t = c.in(i);
    if (c.has(3)) t = c.call("gather", {t, c.in(3)}, {{"axis", int64_t{0}}});
    const Dims half = *c.build().type(t).dims;  // [b, s, d / 2]
    if (half.size() != 3)
      c.fail(DiagId::type_mismatch, "the angles of a position must have rank 3, not {}",
             half.size());
    if (!interleaved) {
      t = c.call("concat", {t, t}, {{"axis", int64_t{2}}});
    } else {
      t = c.call("expand", {c.reshape(t, {half[0], half[1], half[2], 1})},
                 {{"shape", Dims{half[0], half[1], half[2], 2}}});
    }
    return c.reshape(t, {half[0], half[1], 1, half[2] * 2});
  };
  Attributes attrs;
  if (interleaved) attrs.set("interleaved", int64_t{1});
  const ValueId y = c.call("rotary_embedding", {x, angles(1), angles(2)}, std::move(attrs));
  const Dims d = *c.build().type(y).dims;
  c.out(0, flat ? c.reshape(y, {d[0], d[1], d[2] * d[3]}) : c.transpose(y, kSwap));
}

}  // namespace symtile::onnx_import
