// Operators that pick, place, order or resample elements, running sums, and recurrent steps.
#include "families.h"

namespace symtile::test {
namespace {

DType any_type(Sketch& s) {
  return s.one_of({DType::f32, DType::f32, DType::f16, DType::bf16, DType::i64, DType::u8});
}
DType index_type(Sketch& s) { return s.chance(70) ? DType::i64 : DType::i32; }

/// Some dims; the last one is often longer than a tile.
Dims few_dims(Sketch& s, int least, int most) {
  Dims out;
  for (int i = least + s.below(most - least + 1); i > 0; --i)
    out.push_back(i == 1 ? s.extent({1, 3, 8, 17, 31}) : s.extent({1, 2, 3, 5}));
  return out;
}

/// Indices are any numbers: negative ones count from the end, others are clamped.
void gather(Sketch& s) {
  const DType t = any_type(s);
  Dims dims = few_dims(s, 1, 3);
  const int rank = static_cast<int>(dims.size());
  const auto axis = static_cast<size_t>(s.below(rank));
  if (s.chance(15)) dims[axis] = s.extent({0, 1, 7});
  const ValueId x = s.before(s.parameter(dims, t));
  switch (s.below(3)) {
    case 0: {
      Dims picked;
      for (int i = s.below(3); i > 0; --i) picked.push_back(s.extent({0, 1, 2, 5, 11}));
      const ValueId at = s.parameter(picked, index_type(s));
      return s.result(s.behind(s.call("gather", {x, at}, {{"axis", static_cast<int64_t>(axis)}})));
    }
    case 1: {
      Dims picked = dims;
      picked[axis] = s.extent({0, 1, 4, 9});
      const ValueId at = s.parameter(picked, index_type(s));
      return s.result(
          s.behind(s.call("gather_elements", {x, at}, {{"axis", static_cast<int64_t>(axis)}})));
    }
    default: {
      const int batch = s.below(rank);
      Dims picked(dims.begin(), dims.begin() + batch);
      picked.push_back(s.extent({0, 1, 3, 6}));
      picked.emplace_back(1 + s.below(rank - batch));
      const ValueId at = s.parameter(picked, index_type(s));
      return s.result(
          s.behind(s.call("gather_nd", {x, at}, {{"batch_dims", static_cast<int64_t>(batch)}})));
    }
  }
}

void scatter(Sketch& s) {
  const DType t = s.one_of({DType::f32, DType::f32, DType::f16, DType::i64, DType::i32});
  const Dims dims = few_dims(s, 1, 3);
  const int rank = static_cast<int>(dims.size());
  const std::string how = s.one_of({"none", "add", "mul", "min", "max"});
  const ValueId x = s.before(s.parameter(dims, t));
  if (s.chance(50)) {
    const auto axis = static_cast<size_t>(s.below(rank));
    Dims placed = dims;
    placed[axis] = s.extent({0, 1, 3, 6});
    return s.result(s.behind(s.call("scatter_elements",
                                    {x, s.parameter(placed, index_type(s)), s.parameter(placed, t)},
                                    {{"axis", static_cast<int64_t>(axis)}, {"reduction", how}})));
  }
  const int depth = 1 + s.below(rank);
  const DimExpr rows = s.extent({0, 1, 3, 6});
  Dims updates = {rows};
  updates.insert(updates.end(), dims.begin() + depth, dims.end());
  s.result(s.behind(s.call("scatter_nd",
                           {x, s.parameter({rows, depth}, index_type(s)), s.parameter(updates, t)},
                           {{"reduction", how}})));
}

void cumulative(Sketch& s) {
  const DType t =
      s.one_of({DType::f32, DType::f32, DType::f16, DType::f64, DType::i64, DType::i32});
  Dims dims = few_dims(s, 1, 3);
  const auto axis = static_cast<size_t>(s.below(static_cast<int>(dims.size())));
  dims[axis] = s.extent({0, 1, 2, 7, 31, 64, 67, 150});
  const ValueId x = s.before(s.parameter(dims, t));
  s.result(s.behind(s.call(s.chance(60) ? "cumsum" : "cumprod", {x},
                           {{"axis", static_cast<int64_t>(axis)},
                            {"exclusive", int64_t{s.below(2)}},
                            {"reverse", int64_t{s.below(2)}}})));
}

void sort(Sketch& s) {
  Dims dims = few_dims(s, 1, 3);
  const auto axis = static_cast<size_t>(s.below(static_cast<int>(dims.size())));
  dims[axis] = s.extent({0, 1, 2, 3, 8, 17, 33, 64, 70});
  const DimExpr k = s.chance(40) ? dims[axis] : min(DimExpr(s.below(9)), dims[axis]);
  const ValueId x = s.before(s.parameter(dims, any_type(s)));
  const std::vector<ValueId> both = s.call_many(
      "top_k", {x},
      {{"k", Dims{k}}, {"axis", static_cast<int64_t>(axis)}, {"largest", int64_t{s.below(2)}}});
  s.result(s.behind(both[0]));
  s.result(both[1]);
}

void resize(Sketch& s) {
  const int spatial = s.one_of({1, 2, 2, 3});
  Dims x = {s.extent({1, 2}), s.extent({1, 3})}, sizes = x;
  for (int d = 0; d < spatial; ++d) {
    x.push_back(s.extent({1, 2, 5, 7}));
    sizes.push_back(s.chance(30) ? x.back() * s.one_of<int64_t>({2, 3}) : s.extent({0, 1, 3, 8}));
  }
  const std::string mode = s.one_of({"nearest", "nearest", "linear", "linear", "cubic"});
  const std::string where = s.one_of(
      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"});
  Attributes attrs = {{"sizes", sizes}, {"mode", mode}, {"coordinate_mode", where}};
  if (mode == "nearest") {
    const std::string rounding =
        s.one_of({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
    attrs.set("nearest_mode", rounding);
  } else if (s.chance(20)) {
    attrs.set("antialias", int64_t{1});
  }
  // Interpolated integers are cut off, so that a rounding error may be a whole number.
  const DType t =
      s.one_of({DType::f32, DType::f32, DType::f16, mode == "nearest" ? DType::u8 : DType::f64});
  s.result(s.behind(s.call("resize", {s.before(s.parameter(x, t))}, attrs)));
}

/// One or a few steps of an LSTM or a GRU, both directions, sequences of different lengths.
void recurrent(Sketch& s) {
  const bool lstm = s.chance(50), both = s.chance(30), lengths = s.chance(30);
  const int64_t directions = both ? 2 : 1, hidden = s.one_of<int64_t>({1, 2, 3, 5, 8}),
                gates = lstm ? 4 : 3;
  const DType t = s.one_of({DType::f32, DType::f32, DType::f16});
  const DimExpr time = s.extent({0, 1, 1, 2, 4}), batch = s.extent({0, 1, 2, 3});
  const ValueId absent;
  std::vector<ValueId> args = {s.before(s.parameter({directions, time, batch, gates * hidden}, t)),
                               s.parameter({directions, hidden, gates * hidden}, t)};
  args.push_back(lengths ? s.parameter({batch}, DType::i32) : absent);
  args.push_back(s.chance(60) ? s.parameter({directions, batch, hidden}, t) : absent);
  std::vector<std::string> names;
  for (int64_t d = 0; d < directions; ++d) {
    names.insert(names.end(), {"sigmoid", "tanh"});
    if (lstm) names.emplace_back("tanh");
  }
  const std::string direction = both ? "bidirectional" : s.one_of({"forward", "reverse"});
  Attributes attrs = {{"direction", direction},
                      {"activations", names},
                      {"alpha", std::vector<double>(names.size(), 1)},
                      {"beta", std::vector<double>(names.size(), 1)}};
  if (s.chance(20)) attrs.set("clip", 1.5);
  if (lstm) {
    args.push_back(s.chance(50) ? s.parameter({directions, batch, hidden}, t) : absent);
    if (s.chance(30)) args.push_back(s.parameter({directions, 3 * hidden}, t));
    attrs.set("input_forget", int64_t{s.chance(20)});
  } else {
    const bool linear = s.chance(50);
    attrs.set("linear_before_reset", int64_t{linear});
    if (linear) args.push_back(s.parameter({directions, hidden}, t));
  }
  const std::vector<ValueId> out = s.call_many(lstm ? "lstm" : "gru", args, attrs);
  s.result(s.behind(out[0]));
  s.result(out[1]);
  if (lstm) s.result(out[2]);
}

}  // namespace

std::vector<Family> data_families() {
  return {
      {"cumulative", cumulative}, {"gather", gather},   {"recurrent", recurrent},
      {"resize", resize},         {"scatter", scatter}, {"sort", sort, "sort"},
  };
}

}  // namespace symtile::test
