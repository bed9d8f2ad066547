#include "families.h"

#include <algorithm>

namespace symtile::test {

Sketch::Sketch(unsigned seed, int symbolic) : random_(seed), symbolic_(symbolic) {
  GraphFunction f;
  f.name = std::string(Module::kMain);
  module_.add(std::move(f));
  build_.emplace(module_, main());
}

DimExpr Sketch::extent(std::vector<int64_t> values) {
  if (!chance(symbolic_))
    return values[static_cast<size_t>(below(static_cast<int>(values.size())))];
  const std::string name = "n" + std::to_string(symbols_.size());
  symbols_[name] = std::move(values);
  return DimExpr::symbol(name);
}

ValueId Sketch::parameter(Dims dims, DType dtype) {
  return main().add_param("x" + std::to_string(parameters_++),
                          Type::tensor(std::move(dims), dtype));
}

std::vector<DimValues> Sketch::values(int count) {
  std::vector<DimValues> out;
  for (int i = 0; i < count; ++i) {
    DimValues v;
    for (const auto& [name, list] : symbols_)
      v[name] = list[static_cast<size_t>(below(static_cast<int>(list.size())))];
    if (std::find(out.begin(), out.end(), v) == out.end()) out.push_back(std::move(v));
  }
  return out;
}

ValueId Sketch::weight(Dims dims, DType dtype) {
  std::vector<int64_t> extents;
  for (const DimExpr& d : dims) extents.push_back(*d.as_const());
  const auto data = make_zeros(dtype, extents);
  const bool is_signed = is_signed_int(dtype);
  for (int64_t i = 0; i < data->element_count(); ++i) {
    const int byte = chance(20) ? one_of({0, 1, 127, 128, 254, 255}) : below(256);
    if (is_float(dtype)) {
      data->set(i, (byte - 128) / 64.0);
    } else {
      data->set_int(i, is_signed ? byte - 128 : byte);
    }
  }
  return build_->constant(data);
}

ValueId Sketch::before(ValueId v) {
  if (!is_float(dtype(v)) || chance(50)) return v;
  switch (below(4)) {
    case 0:
      return call("relu", {v});
    case 1:
      return call("mul", {v, scalar(dtype(v), 0.5)});
    case 2:
      return call("neg", {v});
    default: {
      std::vector<int64_t> order;
      for (size_t i = 0; i < dims(v).size(); ++i) order.push_back(static_cast<int64_t>(i));
      // Written transposed, read straight: a permutation and its inverse around a parameter.
      std::reverse(order.begin(), order.end());
      return call("transpose", {call("transpose", {v}, {{"perm", order}})}, {{"perm", order}});
    }
  }
}

ValueId Sketch::behind(ValueId v) {
  const DType t = dtype(v);
  if (chance(40) && !dims(v).empty()) v = call("add", {v, parameter({dims(v).back()}, t)});
  if (is_float(t) && chance(40)) {
    if (chance(40)) result(v);  // read by others too: a second result of the kernel
    v = call(one_of({"relu", "tanh", "sigmoid", "abs"}), {v});
  }
  if (chance(25)) v = call("add", {v, parameter(dims(v), t)});
  if (chance(15) && dims(v).size() >= 2) {
    std::vector<int64_t> order;
    for (size_t i = 0; i < dims(v).size(); ++i) order.push_back(static_cast<int64_t>(i));
    std::swap(order.front(), order.back());
    v = call("transpose", {v}, {{"perm", order}});
  }
  return v;
}

namespace {

ValueId product(Sketch& s, DType t, const DimExpr& m, const DimExpr& n, const DimExpr& k) {
  Dims a_batch, b_batch;
  for (int i = s.below(3); i > 0; --i) {
    const DimExpr b = s.extent({1, 2, 3});
    const int broadcast = s.below(4);
    a_batch.push_back(broadcast == 0 ? DimExpr(1) : b);
    b_batch.push_back(broadcast == 1 ? DimExpr(1) : b);
  }
  if (s.chance(30)) b_batch.clear();
  const bool transpose_a = s.chance(25), transpose_b = s.chance(40);
  const auto matrix = [](Dims batch, const DimExpr& r, const DimExpr& c, bool transposed) {
    batch.push_back(transposed ? c : r);
    batch.push_back(transposed ? r : c);
    return batch;
  };
  const ValueId a = s.before(s.parameter(matrix(a_batch, m, k, transpose_a), t));
  const ValueId b = s.before(s.parameter(matrix(b_batch, k, n, transpose_b), t));
  return s.call("matmul", {a, b},
                {{"transpose_a", int64_t{transpose_a}}, {"transpose_b", int64_t{transpose_b}}});
}

ValueId product(Sketch& s, const DimExpr& m, const DimExpr& n, const DimExpr& k) {
  return product(s, s.chance(10) ? DType::i32 : s.real(), m, n, k);
}

/// 16-bit factors, 32-bit sums.
void matmul_half(Sketch& s) {
  const DType t = s.chance(50) ? DType::f16 : DType::bf16;
  const DimExpr m = s.extent(), n = s.extent(), k = s.extent();
  s.result(s.behind(product(s, t, m, n, k)));
}

void matmul(Sketch& s) {
  const DimExpr m = s.extent(), n = s.extent(), k = s.extent();
  s.result(s.behind(product(s, m, n, k)));
}

void matvec(Sketch& s) {
  const DimExpr few = s.extent({1, 1, 2, 3}), n = s.extent(), k = s.extent({1, 5, 16, 67, 130});
  s.result(s.behind(s.chance(50) ? product(s, few, n, k) : product(s, n, few, k)));
}

/// Long sums with few results: parallel-k.
void long_sum(Sketch& s) {
  const DimExpr m = s.extent({1, 2, 3, 5}), n = s.extent({1, 2, 4, 7}),
                k = s.extent({0, 1, 255, 512, 513, 700});
  s.result(s.behind(product(s, m, n, k)));
}

Dims random_dims(Sketch& s, int least, int most) {
  Dims out;
  for (int i = least + s.below(most - least + 1); i > 0; --i)
    out.push_back(i == 1 ? s.extent({0, 1, 3, 8, 17, 40, 67}) : s.extent({1, 2, 3, 5}));
  return out;
}

void reduction(Sketch& s) {
  const DType t = s.chance(20) ? DType::i32 : s.real();
  const ValueId x = s.before(s.parameter(random_dims(s, 1, 3), t));
  const int rank = static_cast<int>(s.dims(x).size());
  if (s.chance(25)) {
    s.result(s.call(s.chance(50) ? "argmax" : "argmin", {x},
                    {{"axis", int64_t{s.below(rank)}},
                     {"keepdims", int64_t{s.below(2)}},
                     {"select_last_index", int64_t{s.below(2)}}}));
    return;
  }
  Ints axes;
  for (int d = 0; d < rank; ++d) {
    if (s.chance(55)) axes.push_back(d);
  }
  if (axes.empty()) axes.push_back(rank - 1);
  const char* op =
      is_float(t)
          ? s.one_of({"reduce_sum", "reduce_max", "reduce_mean", "reduce_l2", "reduce_log_sum_exp"})
          : s.one_of({"reduce_sum", "reduce_max", "reduce_min"});
  s.result(s.behind(s.call(op, {x}, {{"axes", axes}, {"keepdims", int64_t{s.below(2)}}})));
}

/// Long reductions over leading axes: neighbouring results are neighbours in memory.
void columns(Sketch& s) {
  const DType t = s.chance(20) ? DType::i32 : s.real();
  Dims dims = {s.extent({64, 65, 100, 131}), s.extent({1, 3, 4, 9, 17})};
  if (s.chance(40)) dims.insert(dims.begin(), s.extent({1, 2, 3}));
  const int64_t axis = static_cast<int64_t>(dims.size()) - 2;
  const ValueId x = s.before(s.parameter(dims, t));
  s.result(s.behind(s.call(s.one_of({"reduce_sum", "reduce_max", "reduce_min"}), {x},
                           {{"axes", Ints{axis}}, {"keepdims", int64_t{s.below(2)}}})));
}

void softmax(Sketch& s) {
  ValueId x = s.before(s.parameter(random_dims(s, 1, 4), s.real()));
  const int64_t rank = static_cast<int64_t>(s.dims(x).size());
  const int64_t axis = s.chance(70) ? rank - 1 : s.below(static_cast<int>(rank));
  if (s.chance(30)) x = s.call("add", {x, s.parameter(s.dims(x), s.dtype(x))});
  s.result(s.behind(s.call(s.chance(75) ? "softmax" : "log_softmax", {x}, {{"axis", axis}})));
}

void normalisation(Sketch& s) {
  const DType t = s.one_of({DType::f32, DType::f32, DType::f16});
  const int kind = s.below(4);
  if (kind < 2) {
    const ValueId x = s.before(s.parameter(random_dims(s, 2, 3), t));
    const Dims last = {s.dims(x).back()};
    std::vector<ValueId> args = {x, s.parameter(last, t)};
    if (kind == 0 && s.chance(70)) args.push_back(s.parameter(last, t));
    s.result(s.behind(s.call(kind == 0 ? "layer_norm" : "rms_norm", args,
                             {{"axis", int64_t{-1}}, {"epsilon", 0.1}})));
    return;
  }
  const int64_t groups = s.one_of<int64_t>({1, 2, 3}),
                channels = groups * s.one_of<int64_t>({1, 2});
  const ValueId x = s.before(
      s.parameter({s.extent({1, 2, 3}), channels, s.extent({1, 3, 7}), s.extent({1, 5})}, t));
  const ValueId scale = s.parameter({channels}, t), bias = s.parameter({channels}, t);
  Attributes attrs = {{"epsilon", 0.1}};
  if (kind == 2) attrs.set("num_groups", groups);
  s.result(s.behind(s.call(kind == 2 ? "group_norm" : "instance_norm", {x, scale, bias}, attrs)));
}

void injective(Sketch& s) {
  const DType t = s.one_of({DType::f32, DType::f16, DType::i64, DType::u8, DType::i8});
  ValueId x = s.parameter(random_dims(s, 1, 4), t);
  for (int steps = 1 + s.below(4); steps > 0; --steps) {
    const Dims dims = s.dims(x);
    const int rank = static_cast<int>(dims.size());
    switch (s.below(6)) {
      case 0: {
        Ints order;
        for (int i = 0; i < rank; ++i) order.push_back((i + 1) % rank);
        x = s.call("transpose", {x}, {{"perm", order}});
        break;
      }
      case 1: {
        Dims pads;
        for (int i = 0; i < 2 * rank; ++i) pads.emplace_back(s.below(3));
        x = s.call("pad", {x, s.scalar(t, 1)}, {{"pads", pads}});
        break;
      }
      case 2: {
        Dims begin(dims.size(), DimExpr(0)), extent = dims;
        const auto at = static_cast<size_t>(s.below(rank));
        begin[at] = floordiv(dims[at], 2);
        extent[at] = dims[at] - begin[at];
        x = s.call("slice", {x},
                   {{"begin", begin}, {"extent", extent}, {"step", Ints(dims.size(), 1)}});
        break;
      }
      case 3:
        x = s.call("concat", {x, s.parameter(dims, t)}, {{"axis", int64_t{s.below(rank)}}});
        break;
      case 4:
        x = s.call("add", {x, s.parameter({dims.back()}, t)});
        break;
      default:
        x = s.call("mul", {x, x});
    }
  }
  s.result(x);
}

/// Kernels of statements: running sums and scattered writes.
void statements(Sketch& s) {
  const Dims dims = {s.extent({1, 2, 5}), s.extent({1, 3, 9}), s.extent({1, 4})};
  const ValueId x = s.before(s.parameter(dims, s.one_of({DType::f32, DType::i64, DType::f16})));
  if (s.chance(50)) {
    s.result(s.call("cumsum", {x},
                    {{"axis", int64_t{s.below(3)}},
                     {"exclusive", int64_t{s.below(2)}},
                     {"reverse", int64_t{s.below(2)}}}));
    return;
  }
  const std::string how = s.one_of({"none", "add", "max"});
  const Dims few = {s.extent({0, 1, 4}), dims[1], dims[2]};
  const Dims index = {few[0], 1};
  // Only the first and the last row are written, so that any extent will do.
  s.result(s.call("scatter_nd", {x, s.parameter(index, DType::i64), s.parameter(few, s.dtype(x))},
                  {{"reduction", how}}));
}

void int8(Sketch& s) {
  const DType a = s.chance(70) ? DType::u8 : DType::i8, b = s.chance(70) ? DType::i8 : DType::u8;
  const DimExpr m = s.extent(), n = s.extent(), k = s.extent();
  std::vector<ValueId> args = {s.parameter({m, k}, a), s.parameter({k, n}, b)};
  ValueId y;
  if (s.chance(70)) {
    if (s.chance(60)) args.push_back(s.parameter({}, a));
    if (args.size() == 3 && s.chance(60)) args.push_back(s.parameter({n}, b));
    y = s.call("matmul_integer", args);
  } else {
    y = s.call("conv_integer",
               {s.parameter({1, 3, s.extent({5, 8}), 7}, a), s.parameter({4, 3, 3, 2}, b)});
  }
  if (s.chance(60)) {
    // Back to real numbers, as quantised models do.
    y = s.call("cast", {y}, {{"to", DType::f32}});
    y = s.call("mul", {y, s.parameter({s.dims(y).back()}, DType::f32)});
    y = s.behind(y);
  }
  s.result(y);
}

/// The operator itself: causal, masks, grouped queries, queries and keys of different lengths.
void attention_operator(Sketch& s) {
  const DType t = s.one_of({DType::f32, DType::f32, DType::f16, DType::f64});
  const int64_t groups = s.one_of<int64_t>({1, 2}), heads = groups * s.one_of<int64_t>({1, 1, 3});
  const DimExpr b = s.extent({1, 2}), q = s.extent({0, 1, 2, 5, 9, 17}),
                k = s.extent({0, 1, 3, 8, 17, 33});
  const int64_t d = s.one_of<int64_t>({1, 4, 7, 16});
  const ValueId query = s.before(s.parameter({b, q, heads, d}, t)),
                key = s.parameter({b, k, groups, d}, t),
                value = s.before(s.parameter({b, k, groups, s.one_of<int64_t>({d, 5})}, t));
  std::vector<ValueId> args = {query, key, value};
  Attributes attrs = {{"scale", 0.25}};
  if (s.chance(40)) {
    attrs.set("causal", int64_t{1});
    if (s.chance(50)) attrs.set("offset", Dims{k - q});
  }
  if (s.chance(40)) {
    const Dims mask = {s.chance(50) ? DimExpr(1) : b, s.chance(50) ? DimExpr(1) : DimExpr(heads), q,
                       k};
    args.push_back(s.parameter(mask, s.chance(50) ? DType::boolean : t));
  }
  s.result(s.behind(s.call("attention", args, attrs)));
}

void attention(Sketch& s) {
  if (s.chance(60)) return attention_operator(s);
  const DType t = s.one_of({DType::f32, DType::f32, DType::f16});
  const DimExpr b = s.extent({1, 2}), h = s.extent({1, 3}), q = s.extent({1, 2, 5, 9}),
                k = s.extent({1, 3, 8, 17});
  const int64_t d = s.one_of<int64_t>({1, 4, 7, 8});
  const ValueId query = s.parameter({b, h, q, d}, t), key = s.parameter({b, h, k, d}, t),
                value = s.parameter({b, h, k, s.one_of<int64_t>({d, 5})}, t);
  ValueId scores = s.call("matmul", {query, key}, {{"transpose_b", int64_t{1}}});
  scores = s.call("mul", {scores, s.scalar(t, 0.25)});
  if (s.chance(40)) scores = s.call("add", {scores, s.parameter({q, k}, t)});
  s.result(s.call("matmul", {s.call("softmax", {scores}, {{"axis", int64_t{-1}}}), value}));
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> out = {
        {"attention", attention, "attention"},
        {"columns", columns, "columns"},
        {"injective", injective},
        {"int8", int8},
        {"int8_weights", int8_weights},
        {"long_sum", long_sum},
        {"matmul", matmul, "contraction"},
        {"matmul_half", matmul_half, "matrix contraction", true},
        {"matvec", matvec},
        {"normalisation", normalisation, "rows"},
        {"reduction", reduction},
        {"softmax", softmax, "rows"},
        {"statements", statements},
    };
    for (const auto& more : {window_families(), data_families()})
      out.insert(out.end(), more.begin(), more.end());
    return out;
  }();
  return all;
}

}  // namespace symtile::test
