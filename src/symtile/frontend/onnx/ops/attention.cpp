// Attention and RotaryEmbedding of operator sets 23 and later.
//
// Attention becomes one `attention` operator. What it has no word for is written with others: a
// window and a count of valid keys become a mask; a soft cap, the scores as an output, or a softmax
// in double precision spell the whole computation out.
#include <cmath>
#include <limits>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {
namespace {

const std::vector<int64_t> kSwap = {0, 2, 1, 3};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

class AttentionImport {
 public:
  explicit AttentionImport(ImportContext& c)
      : c_(c),
        causal_(c.attr_int("is_causal", 0) != 0),
        left_(c.attr_int("left_window_size", -1)),
        right_(c.attr_int("right_window_size", -1)),
        softcap_(c.attr_float("softcap", 0)),
        mode_(c.attr_int("qk_matmul_output_mode", 0)),
        precision_(c.attr_dtype("softmax_precision", c.dtype(0))) {
    if (left_ < -1 || right_ < -1)
      c.fail(DiagId::bad_attribute, "a window reaches {} to the left and {} to the right", left_,
             right_);
    if (mode_ < 0 || mode_ > 3)
      c.fail(DiagId::bad_attribute, "the attribute 'qk_matmul_output_mode' is {}, not 0 to 3",
             mode_);
    if (c.has(4) != c.has(5))
      c.fail(DiagId::bad_model_file, "'past_key' and 'past_value' go together");
    if (c.has(6) && c.has(4))
      c.fail(DiagId::bad_model_file, "'nonpad_kv_seqlen' excludes a cache in 'past_key'");
  }

  void run() {
    const bool flat = c_.rank(0) == 3;
    q_ = heads_last(c_, 0, "q_num_heads");
    k_ = with_past(c_, heads_last(c_, 1, "kv_num_heads"), 4, 1);
    v_ = with_past(c_, heads_last(c_, 2, "kv_num_heads"), 5, 2);
    const auto size = dims_of(q_).back().as_const();
    if (!c_.has_attr("scale") && (!size || *size == 0))
      c_.fail(DiagId::unsupported, "the size of a head is not known: give the attribute 'scale'");
    scale_ = c_.attr_float("scale", size ? 1 / std::sqrt(static_cast<double>(*size)) : 1);
    const bool spelled =
        softcap_ > 0 || c_.wants(3) || (precision_ == DType::f64 && c_.dtype(0) != DType::f64);
    const ValueId y = spelled ? spelled_out() : one_operator();
    const Dims d = dims_of(y);
    c_.out(0, flat ? c_.reshape(y, {d[0], d[1], d[2] * d[3]}) : c_.transpose(y, kSwap));
  }

 private:
  Dims dims_of(ValueId v) { return *c_.build().type(v).dims; }
  DimExpr queries() { return dims_of(q_)[1]; }
  DimExpr keys() { return dims_of(k_)[1]; }

  ValueId one_operator() {
    Attributes attrs = {{"scale", scale_}, {"zero_without_keys", int64_t{1}}};
    const bool same_for_all = !c_.has(6);
    if (causal_ && same_for_all) {
      attrs.set("causal", int64_t{1});
      if (c_.has(4)) attrs.set("offset", Dims{c_.dims(4)[2]});
    }
    std::vector<ValueId> args = {q_, k_, v_};
    const ValueId visible = allowed(causal_ && !same_for_all);
    const ValueId mask = given_mask();
    if (mask.valid() && visible.valid()) {
      args.push_back(c_.build().type(mask).dtype == DType::boolean
                         ? c_.call("logical_and", {mask, visible})
                         : c_.call("where", {visible, mask, c_.scalar_like(mask, -kInfinity)}));
    } else if (mask.valid() || visible.valid()) {
      args.push_back(mask.valid() ? mask : visible);
    }
    return c_.call("attention", std::move(args), std::move(attrs));
  }

  /// As the function body of the specification says it.
  ValueId spelled_out() {
    const Dims q = dims_of(q_), k = dims_of(k_), v = dims_of(v_);
    const DimExpr shared = c_.facts().simplify(floordiv(q[2], k[2]));
    const ValueId split = c_.reshape(q_, {q[0], q[1], k[2], shared, q[3]});
    const auto einsum = [&](const char* equation, ValueId a, ValueId b) {
      return c_.call("einsum", {a, b}, {{"equation", std::string(equation)}});
    };
    ValueId scores = c_.reshape(einsum("bsgrd,btgd->bgrst", split, k_), {q[0], q[2], q[1], k[1]});
    scores = c_.call("mul", {scores, c_.scalar_like(scores, scale_)});
    const auto show = [&](int64_t mode) {
      if (mode_ == mode && c_.wants(3)) c_.out(3, scores);
    };
    show(0);
    if (softcap_ > 0) {
      const ValueId cap = c_.scalar_like(scores, softcap_);
      scores = c_.call("mul", {c_.call("tanh", {c_.call("div", {scores, cap})}), cap});
    }
    show(1);
    const ValueId hidden = c_.scalar_like(scores, -kInfinity);
    for (const ValueId mask : {given_mask(), allowed(causal_)}) {
      if (!mask.valid()) continue;
      scores = c_.build().type(mask).dtype == DType::boolean
                   ? c_.call("where", {mask, scores, hidden})
                   : c_.call("add", {scores, mask});
    }
    show(2);
    const DType type = c_.dtype(0);
    scores = c_.cast(scores, precision_ == DType::f64 ? DType::f64 : type);
    const ValueId largest = c_.call("reduce_max", {scores},
                                    {{"axes", std::vector<int64_t>{3}}, {"keepdims", int64_t{1}}});
    const ValueId no_key = c_.call("equal", {largest, c_.scalar_like(largest, -kInfinity)});
    const ValueId shares = c_.call("softmax", {scores}, {{"axis", int64_t{3}}});
    scores = c_.call("where", {no_key, c_.scalar_like(shares, 0), shares});
    scores = c_.cast(scores, type);
    show(3);
    const ValueId grouped = c_.reshape(scores, {q[0], k[2], shared, q[1], k[1]});
    return c_.reshape(einsum("bgrst,btge->bsgre", grouped, v_), {q[0], q[1], q[2], v[3]});
  }

  /// The mask of the node; a shorter one hides the keys behind its end.
  ValueId given_mask() {
    if (!c_.has(3)) return {};
    const bool chooses = c_.dtype(3) == DType::boolean;
    ValueId mask = chooses ? c_.in(3) : c_.cast(c_.in(3), c_.dtype(0));
    const Dims d = dims_of(mask);
    if (d.empty() || d.back().is_const(1) || c_.facts().proves_equal(d.back(), keys())) return mask;
    const DimExpr more = c_.facts().simplify(keys() - d.back());
    Dims pads(2 * d.size(), 0);
    pads.back() = max(more, 0);
    return c_.call("pad", {mask, c_.scalar_like(mask, chooses ? 0 : -kInfinity)},
                   {{"mode", std::string("constant")}, {"pads", pads}});
  }

  /// Which keys the window, the count of valid keys and (with `causal`) the causal frontier leave
  /// to a query, [s, t] or [b, 1, s, t]; nothing when they leave all.
  ValueId allowed(bool causal) {
    ValueId all;
    const auto require = [&](const char* compare, ValueId a, ValueId b) {
      const ValueId holds = c_.call(compare, {a, b});
      all = all.valid() ? c_.call("logical_and", {all, holds}) : holds;
    };
    if (!causal && left_ < 0 && right_ < 0 && !c_.has(6)) return all;
    const auto number = [&](DimExpr d) {
      return c_.build().dims_tensor({std::move(d)}, DType::i64, true);
    };
    const auto positions = [&](DimExpr count) {
      return c_.call("range", {number(0), number(1)}, {{"length", Dims{std::move(count)}}});
    };
    const ValueId key = positions(keys());
    ValueId valid, offset = number(0);
    if (c_.has(6)) {
      valid = c_.reshape(c_.cast(c_.in(6), DType::i64), {c_.dims(6).at(0), 1, 1, 1});
      offset = c_.call("sub", {valid, number(queries())});
    } else if (c_.has(4)) {
      offset = number(c_.dims(4)[2]);
    }
    const ValueId query =
        c_.call("add", {c_.reshape(positions(queries()), {queries(), 1}), offset});
    if (causal) require("less_equal", key, query);
    if (left_ >= 0) require("greater_equal", key, c_.call("sub", {query, number(left_)}));
    if (right_ >= 0) require("less_equal", key, c_.call("add", {query, number(right_)}));
    if (valid.valid()) require("less", key, valid);
    return all;
  }

  ImportContext& c_;
  bool causal_;
  int64_t left_, right_;
  double softcap_;
  int64_t mode_;
  DType precision_;
  double scale_ = 1;
  ValueId q_, k_, v_;
};

}  // namespace

void import_attention(ImportContext& c) { AttentionImport(c).run(); }

/// The caches hold one half: both halves turn by the same angles. Elements behind the first
/// `rotary_embedding_dim` of a head stay as they are.
void import_rotary_embedding(ImportContext& c) {
  const int64_t part = c.attr_int("rotary_embedding_dim", 0);
  const bool interleaved = c.attr_int("interleaved", 0) != 0, flat = c.rank(0) == 3;
  const ValueId x = heads_last(c, 0, "num_heads");  // [b, s, h, d]
  const Dims all = *c.build().type(x).dims;
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
  const auto elements = [&](const DimExpr& begin, const DimExpr& end) {
    return c.call("slice", {x},
                  {{"begin", Dims{0, 0, 0, begin}},
                   {"extent", Dims{all[0], all[1], all[2], end - begin}},
                   {"step", std::vector<int64_t>{1, 1, 1, 1}}});
  };
  Attributes attrs;
  if (interleaved) attrs.set("interleaved", int64_t{1});
  const bool partial = part != 0 && !all[3].is_const(part);
  ValueId y = c.call("rotary_embedding", {partial ? elements(0, part) : x, angles(1), angles(2)},
                     std::move(attrs));
  if (partial) y = c.call("concat", {y, elements(part, all[3])}, {{"axis", int64_t{3}}});
  const Dims d = *c.build().type(y).dims;
  c.out(0, flat ? c.reshape(y, {d[0], d[1], d[2] * d[3]}) : c.transpose(y, kSwap));
}

}  // namespace symtile::onnx_import
