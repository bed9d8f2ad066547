// The steps of RandomGraph that are layers, or move elements.
#include <algorithm>
#include <cmath>

#include "random_graph.h"

namespace symtile::test {

bool RandomGraph::matmul() {
  const auto x = pick([&](ValueId v) {
    return main().type(v).dtype == DType::f32 && rank(v) >= 2 && last_dim(v).is_const();
  });
  if (!x) return false;
  constexpr int64_t columns[] = {1, 3, 8, 33};
  const int64_t k = *last_dim(*x).as_const(), n = columns[below(4)];
  if (k == 0) return false;
  const bool transposed = chance(40);
  const ValueId w = real_constant(transposed ? std::vector{n, k} : std::vector{k, n},
                                  1 / std::sqrt(static_cast<double>(k)));
  Attributes attrs;
  if (transposed) attrs.set("transpose_b", int64_t{1});
  ValueId y = build_->call("matmul", {*x, w}, attrs);
  if (chance(60)) y = build_->call("add", {y, real_constant({n})});
  if (chance(30)) y = build_->call("mul", {y, real_constant({n})});
  if (chance(50)) y = build_->call(chance(50) ? "relu" : "tanh", {y});
  return keep(y);
}

bool RandomGraph::attention() {
  const auto q = pick([&](ValueId v) {
    return main().type(v).dtype == DType::f32 && (rank(v) == 2 || rank(v) == 3);
  });
  if (!q) return false;
  ValueId scores = build_->call("matmul", {*q, *q}, {{"transpose_b", int64_t{1}}});
  scores = chance(50) ? build_->call("mul", {scores, build_->scalar(DType::f32, 0.25)})
                      : build_->call("div", {scores, build_->scalar(DType::f32, 3)});
  if (chance(50)) {
    const DimExpr length = dims(scores).back();
    const double low = chance(50) ? -3e38 : -2;
    if (chance(50)) {
      ValueId mask = build_->call(
          "full", {}, {{"shape", Dims{length, length}}, {"dtype", DType::f32}, {"value", low}});
      mask = build_->call("trilu", {mask}, {{"k", Dims{DimExpr(1)}}, {"upper", int64_t{1}}});
      scores = build_->call("add", {scores, mask});
    } else {
      const ValueId shown = build_->call("less", {build_->scalar(DType::f32, 0.2), scores});
      scores = build_->call("where", {shown, scores, build_->scalar(DType::f32, low)});
    }
  }
  const ValueId weights = build_->call("softmax", {scores}, {{"axis", int64_t{-1}}});
  return keep(build_->call("matmul", {weights, *q}));
}

bool RandomGraph::siblings() {
  const auto x = pick([&](ValueId v) {
    return main().type(v).dtype == DType::f32 && rank(v) >= 2 && last_dim(v).is_const();
  });
  if (!x) return false;
  const int64_t k = *last_dim(*x).as_const();
  if (k == 0) return false;
  const bool biased = chance(60);
  for (int i = 0; i < 3; ++i) {
    const int64_t n = 4 * (1 + below(3));
    ValueId y =
        build_->call("matmul", {*x, real_constant({k, n}, 1 / std::sqrt(static_cast<double>(k)))});
    if (biased) y = build_->call("add", {y, real_constant({n})});
    if (chance(50)) {
      Dims shape = dims(y);
      shape.back() = n / 4;
      shape.emplace_back(4);
      y = build_->call("reshape", {y}, {{"shape", shape}});
    } else if (chance(50)) {
      y = build_->call("relu", {y});
    }
    keep(y);
  }
  const auto image = pick([&](ValueId v) {
    return main().type(v).dtype == DType::f32 && rank(v) == 4 && dims(v)[1].is_const();
  });
  if (!image) return true;
  const int64_t channels = *dims(*image)[1].as_const();
  if (channels == 0 || channels > 16) return true;
  std::vector<ValueId> parts;
  const bool active = chance(60);
  for (int i = 0; i < 2; ++i) {
    ValueId y = build_->call("conv", {*image, real_constant({1 + below(3), channels, 1, 1})});
    if (active) y = build_->call("relu", {y});
    parts.push_back(y);
  }
  return keep(build_->call("concat", parts, {{"axis", int64_t{1}}}));
}

bool RandomGraph::spelt_out() {
  const auto x = pick_real(1);
  if (!x) return false;
  const auto number = [&](double value) { return build_->scalar(DType::f32, value); };
  const auto op = [&](const char* name, ValueId a, ValueId b) {
    return build_->call(name, {a, b});
  };
  const auto of = [&](const char* name, ValueId a) { return build_->call(name, {a}); };
  switch (below(5)) {
    case 0: {
      const ValueId erf = of("erf", op("div", *x, number(std::sqrt(2.0))));
      return keep(op("mul", op("mul", *x, op("add", erf, number(1))), number(0.5)));
    }
    case 1:
      return keep(op("div", *x, op("add", number(1), of("exp", of("neg", *x)))));
    case 2:
      return keep(op("mul", of("sigmoid", *x), *x));
    case 3: {
      const Attributes last = {{"axes", std::vector<int64_t>{-1}}};
      const ValueId distance = op("sub", *x, build_->call("reduce_mean", {*x}, last));
      const ValueId variance = build_->call("reduce_mean", {op("mul", distance, distance)}, last);
      ValueId y = op("div", distance, of("sqrt", op("add", variance, number(0.1))));
      if (const auto n = last_dim(*x).as_const()) {
        if (chance(70)) y = op("mul", y, real_constant({*n}));
        if (chance(50)) y = op("add", y, real_constant({*n}));
      }
      return keep(y);
    }
    default: {
      const Attributes last = {{"axes", std::vector<int64_t>{-1}}};
      const ValueId mean = build_->call("reduce_mean", {op("mul", *x, *x)}, last);
      const ValueId root = of("sqrt", op("add", mean, number(0.1)));
      return keep(chance(50) ? op("div", *x, root) : op("mul", *x, of("reciprocal", root)));
    }
  }
}

bool RandomGraph::convolution() {
  const auto x = pick([&](ValueId v) {
    return main().type(v).dtype == DType::f32 && rank(v) == 4 && dims(v)[1].is_const();
  });
  if (!x) return false;
  const int64_t in = *dims(*x)[1].as_const();
  if (in == 0 || in > 16) return false;
  const int64_t kernel = chance(50) ? 3 : 1, stride = chance(30) ? 2 : 1;
  const bool depthwise = chance(30), transposed = !depthwise && kernel == 3 && chance(30);
  const int64_t out = depthwise ? in : 1 + below(6);
  Attributes attrs = {{"pads", Dims(4, DimExpr(kernel / 2))},
                      {"strides", std::vector<int64_t>{stride, stride}}};
  if (depthwise) attrs.set("group", in);
  if (transposed) attrs.set("output_padding", std::vector<int64_t>{stride - 1, stride - 1});
  std::vector<int64_t> shape = {out, depthwise ? 1 : in, kernel, kernel};
  if (transposed) std::swap(shape[0], shape[1]);
  const double scale = 1 / std::sqrt(static_cast<double>((depthwise ? 1 : in) * kernel * kernel));
  std::vector<ValueId> args = {*x, real_constant(shape, scale)};
  if (chance(40)) args.push_back(real_constant({out}));
  ValueId y = build_->call(transposed ? "conv_transpose" : "conv", args, attrs);
  if (chance(50)) {
    const ValueId variance = build_->call("abs", {real_constant({out})});
    y = build_->call(
        "batch_norm",
        {y, real_constant({out}), real_constant({out}), real_constant({out}), variance},
        {{"epsilon", 0.1}});
  }
  if (chance(30)) y = build_->call("mul", {real_constant({out, 1, 1}), y});
  if (chance(20)) y = build_->call("sub", {y, real_constant({1, out, 1, 1})});
  if (chance(20)) keep(y);  // the folded value has another reader
  if (chance(50)) y = build_->call(chance(50) ? "relu" : "hard_swish", {y});
  return keep(y);
}

bool RandomGraph::pooling() {
  const auto x =
      pick([&](ValueId v) { return main().type(v).dtype == DType::f32 && rank(v) == 4; });
  if (!x) return false;
  const std::vector<int64_t> kernel = {3, 3}, stride(2, 1 + below(2));
  return keep(
      build_->call(chance(50) ? "max_pool" : "average_pool", {*x},
                   {{"kernel", kernel}, {"strides", stride}, {"pads", Dims(4, DimExpr(1))}}));
}

bool RandomGraph::reduction() {
  static constexpr const char* ops[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_l2"};
  const auto x = pick_real(1);
  if (!x) return false;
  const std::vector<int64_t> axes = {below(rank(*x))};
  ValueId y =
      build_->call(ops[below(4)], {*x}, {{"axes", axes}, {"keepdims", int64_t{chance(60)}}});
  y = build_->call("tanh", {y});
  // Normalisation by hand: the reduction beside what it was made from.
  if (rank(y) == rank(*x) && chance(50)) y = build_->call("sub", {*x, y});
  return keep(y);
}

bool RandomGraph::normalisation() {
  const auto x = pick_real(1);
  if (!x) return false;
  const auto columns = last_dim(*x).as_const();
  if (!columns || chance(40))
    return keep(build_->call("softmax", {*x}, {{"axis", int64_t{below(rank(*x))}}}));
  const std::vector<ValueId> args = {*x, real_constant({*columns}), real_constant({*columns})};
  if (chance(60)) return keep(build_->call("layer_norm", args, {{"epsilon", 0.1}}));
  const std::vector<ValueId> all =
      build_->call_many("layer_norm", args, {{"epsilon", 0.1}, {"stats", int64_t{1}}});
  if (chance(50)) keep(all[1]);
  return keep(all[0]);
}

bool RandomGraph::transposition() {
  const auto x = pick_real(2);
  if (!x) return false;
  std::vector<int64_t> order;
  for (int i = 0; i < rank(*x); ++i) order.push_back(i);
  std::shuffle(order.begin(), order.end(), random_);
  return keep(build_->call("transpose", {*x}, {{"perm", order}}));
}

bool RandomGraph::reshaping() {
  const auto x = pick_real(1);
  if (!x) return false;
  Dims shape = dims(*x);
  const auto at = static_cast<size_t>(below(rank(*x)));
  const auto extent = shape[at].as_const();
  const auto position = shape.begin() + static_cast<std::ptrdiff_t>(at);
  if (extent && *extent % 2 == 0 && *extent > 0 && chance(50)) {
    shape[at] = *extent / 2;
    shape.insert(position + 1, 2);
  } else if (chance(40) || shape.size() < 2) {
    shape.insert(position, 1);
  } else {
    const size_t first = at + 1 < shape.size() ? at : at - 1;
    shape[first] = shape[first] * shape[first + 1];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  }
  if (shape.size() > 5) return false;
  return keep(build_->call("reshape", {*x}, {{"shape", shape}}));
}

bool RandomGraph::concatenation() {
  const auto x = pick_real(1);
  if (!x) return false;
  const Dims& shape = dims(*x);
  const auto y =
      pick([&](ValueId v) { return main().type(v).dtype == DType::f32 && dims(v) == shape; });
  std::vector<ValueId> parts = {*x, y.value_or(*x)};
  if (chance(30)) parts.push_back(*x);
  return keep(build_->call("concat", parts, {{"axis", int64_t{below(rank(*x))}}}));
}

bool RandomGraph::slicing() {
  const auto x = pick_real(1);
  if (!x) return false;
  Dims begin(dims(*x).size(), DimExpr(0)), extent = dims(*x);
  std::vector<int64_t> step(extent.size(), 1);
  const auto at = static_cast<size_t>(below(rank(*x)));
  const DimExpr half = floordiv(extent[at], 2);
  switch (below(3)) {
    case 0:
      begin[at] = extent[at] - 1;
      step[at] = -1;
      break;
    case 1:
      extent[at] = half;
      break;
    default:
      begin[at] = half;
      extent[at] = extent[at] - half;
  }
  return keep(build_->call("slice", {*x}, {{"begin", begin}, {"extent", extent}, {"step", step}}));
}

bool RandomGraph::expansion() {
  const auto x = pick([&](ValueId v) {
    return main().type(v).dtype == DType::f32 &&
           std::any_of(dims(v).begin(), dims(v).end(),
                       [](const DimExpr& d) { return d.is_const(1); });
  });
  if (!x) return false;
  Dims shape = dims(*x);
  for (DimExpr& d : shape) {
    if (d.is_const(1) && chance(60)) d = chance(50) ? DimExpr(3) : DimExpr::symbol("n");
  }
  return keep(build_->call("expand", {*x}, {{"shape", shape}}));
}

bool RandomGraph::padding() {
  const auto x = pick_real(1);
  if (!x) return false;
  Dims pads;
  for (int i = 0; i < 2 * rank(*x); ++i) pads.emplace_back(below(2));
  return keep(build_->call("pad", {*x, build_->scalar(DType::f32, 0.5)}, {{"pads", pads}}));
}

bool RandomGraph::gathering() {
  const auto x = pick_real(1);
  if (!x) return false;
  const auto at = static_cast<size_t>(below(rank(*x)));
  const auto extent = dims(*x)[at].as_const();
  if (!extent || *extent == 0) return false;
  const std::vector<int64_t> index = {below(static_cast<int>(*extent)), -1, 0};
  return keep(build_->call("gather", {*x, build_->constant(make_i64_vector(index))},
                           {{"axis", static_cast<int64_t>(at)}}));
}

bool RandomGraph::choice() {
  const auto x = pick([&](ValueId v) {
    return main().type(v).dtype == DType::f32 && rank(v) >= 1 &&
           last_dim(v).as_const().value_or(0) >= 2;
  });
  return x && keep(build_->call_many("top_k", {*x}, {{"k", Dims{2}}})[0]);
}

bool RandomGraph::formula() {
  const auto x = pick_real(0);
  if (!x) return false;
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  const ValueId number = build_->dims_tensor({n * 3 + floordiv(m, 2)}, DType::i64, true);
  const ValueId real = build_->call("mul", {build_->call("cast", {number}, {{"to", DType::f32}}),
                                            build_->scalar(DType::f32, 0.01)});
  return keep(build_->call("add", {*x, real}));
}

bool RandomGraph::data_dependent() {
  const auto x = pick([&](ValueId v) { return main().type(v).dtype == DType::i32; });
  if (!x || rank(*x) != 2) return false;
  const ValueId where = build_->call("nonzero", {*x});
  const DimExpr count = DimExpr::symbol(build_->fresh_symbol("found"));
  const ValueId known = build_->match_cast(where, Type::tensor({2, count}, DType::i64));
  const ValueId real = build_->call("sin", {build_->call("cast", {known}, {{"to", DType::f32}})});
  keep(real);
  return keep(build_->call("reduce_sum", {real}, {{"axes", std::vector<int64_t>{1}}}));
}

bool RandomGraph::call() {
  const auto x =
      pick([&](ValueId v) { return main().type(v).dtype == DType::f32 && rank(v) == 2; });
  if (!x) return false;
  const Type type = main().type(*x);
  if (chance(50))
    return keep(main().bind(GraphCall{chance(50) ? "twice" : "halved", {*x}, {}}, type));
  const ValueId number = build_->dims_tensor({DimExpr::symbol("n")}, DType::i64, true);
  const ValueId condition = build_->call("greater", {number, build_->scalar(DType::i64, 3)});
  return keep(main().bind(If{condition, "twice", "halved", {*x}, {}}, type));
}

}  // namespace symtile::test
