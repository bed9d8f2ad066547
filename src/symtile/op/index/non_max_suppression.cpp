// non_max_suppression(boxes, scores, max_output?, iou_threshold?, score_threshold?;
// center_point_box): greedy selection, for every batch entry and class, of the best boxes that do
// not overlap a better one; rows (batch, class, box) of an i64 matrix (ONNX NonMaxSuppression).
#include <algorithm>

#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

bool is_f32(DType t) { return t == DType::f32; }

std::vector<Type> deduce(DeduceContext& c) {
  for (int i = 0; i < 2; ++i) {
    c.require_dtype(i, is_f32, "f32");
    c.require_rank(i, 3, 3);
  }
  if (c.rank_known(0)) c.require_equal(c.dims(0)[2], 4, "the last dimension of the boxes");
  if (c.rank_known(0) && c.rank_known(1)) {
    c.require_equal(c.dims(0)[0], c.dims(1)[0], "the batch dimension of the scores");
    c.require_equal(c.dims(0)[1], c.dims(1)[2], "the box dimension of the scores");
  }
  for (int i = 2; i < c.num_args(); ++i) {
    if (!c.has(i)) continue;
    c.require_dtype(i, i == 2 ? is_index_dtype : is_f32, i == 2 ? "an integer type" : "f32");
    if (c.rank_known(i))
      c.require_equal(product(c.dims(i)), 1, fmt::format("the element count of operand {}", i));
  }
  return {Type::tensor({DimExpr::unknown(), 3}, DType::i64)};
}

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box box_at(const RefTensor& boxes, int64_t at, bool center) {
  const double a = boxes.as_double(at), b = boxes.as_double(at + 1);
  const double p = boxes.as_double(at + 2), q = boxes.as_double(at + 3);
  if (center) return {b - q / 2, a - p / 2, b + q / 2, a + p / 2};
  return {std::min(a, p), std::min(b, q), std::max(a, p), std::max(b, q)};
}

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double both = height * width;
  const double either = a.area() + b.area() - both;
  return either > 0 ? both / either : 0;
}

void evaluate(EvalContext& c) {
  const RefTensor &boxes = c.in(0), &scores = c.in(1);
  const bool center = c.attrs().get_bool("center_point_box", false);
  const int64_t limit = c.has(2) ? c.in(2).as_int(0) : 0;
  const double iou = c.has(3) ? c.in(3).as_double(0) : 0;
  const int64_t batches = scores.dims[0], classes = scores.dims[1], count = scores.dims[2];
  std::vector<int64_t> rows;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t k = 0; k < classes; ++k) {
      const auto score = [&](int64_t i) { return scores.as_double((b * classes + k) * count + i); };
      std::vector<int64_t> order;
      for (int64_t i = 0; i < count; ++i) {
        if (!c.has(4) || score(i) > c.in(4).as_double(0)) order.push_back(i);
      }
      // NaN is no score and comes last.
      std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
        return score(x) > score(y) || (score(x) == score(x) && score(y) != score(y));
      });
      std::vector<Box> kept;
      for (int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= limit) break;
        const Box box = box_at(boxes, (b * count + i) * 4, center);
        const bool drop = std::any_of(kept.begin(), kept.end(),
                                      [&](const Box& other) { return overlap(box, other) > iou; });
        if (drop) continue;
        kept.push_back(box);
        rows.insert(rows.end(), {b, k, i});
      }
    }
  }
  RefTensor& y = c.out(DType::i64, {static_cast<int64_t>(rows.size() / 3), 3});
  for (size_t i = 0; i < rows.size(); ++i) y.set_int(static_cast<int64_t>(i), rows[i]);
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n");
  const auto f = [](Dims dims) { return Type::tensor(std::move(dims), DType::f32); };
  const Type limit = Type::tensor({1}, DType::i64), real = f({1});
  const Constant three = make_scalar(DType::i64, 3), half = make_scalar(DType::f32, 0.5);
  return {
      {.input_types = {f({1, 6, 4}), f({1, 1, 6}), Type::tensor({}, DType::i64), f({})},
       .attrs = {},
       .constants = {{2, three}, {3, half}}},
      {.input_types = {f({2, n, 4}), f({2, 3, n}), limit},
       .attrs = {{"center_point_box", int64_t{1}}},
       .low = 0.1,
       .high = 3,
       .symbols = {{"n", 12}}},
      {.input_types = {f({1, n, 4}), f({1, 1, n}), limit, real, real},
       .attrs = {},
       .symbols = {{"n", 0}}},
  };
}

}  // namespace

extern const OpRecord non_max_suppression_op;
const OpRecord non_max_suppression_op = {
    .name = "non_max_suppression",
    .min_args = 2,
    .max_args = 5,
    .attrs = {{"center_point_box", AttrSpec::Kind::integer}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = nullptr,
    .samples = samples,
};

}  // namespace symtile
