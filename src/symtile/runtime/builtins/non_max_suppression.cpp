// non_max_suppression: greedy selection, for every batch entry and class, of the best boxes that do
// not overlap a better one by more than a threshold.
#include <algorithm>

#include "symtile/runtime/builtins/element.h"

namespace symtile {

namespace {

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

Box box_at(const float* p, bool center) {
  if (center) return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

float overlap(const Box& a, const Box& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const float both = height * width;
  const float either = a.area() + b.area() - both;
  return either > 0 ? both / either : 0;
}

/// The single element of an optional argument.
const BuiltinTensor* optional_scalar(const BuiltinContext& c, int i) {
  const BuiltinTensor* x = c.input(i);
  if (x != nullptr && x->size() != 1)
    c.fail("argument " + std::to_string(i) + " must have one element");
  return x;
}

int64_t int_element(const BuiltinTensor& x) {
  int64_t value = 0;
  with_element_type(x.dtype, [&](auto element) {
    value = static_cast<int64_t>(order_key(*x.as<decltype(element)>()));
  });
  return value;
}

void require(const BuiltinContext& c, bool condition, const char* what) {
  if (!condition) c.fail(what);
}

}  // namespace

void non_max_suppression_builtin(BuiltinContext& c) {
  const BuiltinTensor &boxes = required_input(c, 0), &scores = required_input(c, 1);
  require(c, boxes.dtype == DType::f32 && scores.dtype == DType::f32,
          "boxes and scores must be f32");
  require(c, boxes.rank() == 3 && scores.rank() == 3, "boxes and scores must have rank 3");
  const int64_t batches = scores.dims[0], classes = scores.dims[1], count = scores.dims[2];
  require(c, boxes.dims[0] == batches && boxes.dims[1] == count && boxes.dims[2] == 4,
          "boxes must be [batch, boxes, 4] and scores [batch, classes, boxes]");
  const bool center = c.attr_int("center_point_box", 0) != 0;
  const BuiltinTensor* limit_input = optional_scalar(c, 2);
  const BuiltinTensor* iou_input = optional_scalar(c, 3);
  const BuiltinTensor* score_input = optional_scalar(c, 4);
  require(c,
          (iou_input == nullptr || iou_input->dtype == DType::f32) &&
              (score_input == nullptr || score_input->dtype == DType::f32),
          "the thresholds must be f32");
  // Without a limit nothing is selected.
  const int64_t limit = limit_input != nullptr ? int_element(*limit_input) : 0;
  const float iou = iou_input != nullptr ? *iou_input->as<float>() : 0;

  std::vector<int64_t> rows;
  std::vector<std::pair<float, int64_t>> order;
  std::vector<Box> kept;
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t k = 0; k < classes; ++k) {
      const float* score = scores.as<float>() + (b * classes + k) * count;
      order.clear();
      kept.clear();
      for (int64_t i = 0; i < count; ++i) {
        if (score_input == nullptr || score[i] > *score_input->as<float>())
          order.emplace_back(score[i], i);
      }
      // Best first; equal scores by position; NaN, which is no score, last.
      std::sort(order.begin(), order.end(), [](const auto& x, const auto& y) {
        const bool nan_x = x.first != x.first, nan_y = y.first != y.first;
        if (nan_x || nan_y) return nan_x == nan_y ? x.second < y.second : nan_y;
        return x.first != y.first ? x.first > y.first : x.second < y.second;
      });
      for (const auto& entry : order) {
        if (static_cast<int64_t>(kept.size()) >= limit) break;
        const Box box = box_at(boxes.as<float>() + (b * count + entry.second) * 4, center);
        if (std::any_of(kept.begin(), kept.end(),
                        [&](const Box& other) { return overlap(box, other) > iou; })) {
          continue;
        }
        kept.push_back(box);
        rows.insert(rows.end(), {b, k, entry.second});
      }
    }
  }
  auto* out = c.output_as<int64_t>(0, DType::i64, {static_cast<int64_t>(rows.size() / 3), 3});
  std::copy(rows.begin(), rows.end(), out);
}

}  // namespace symtile
