// Resize (opset 10 to 19) and Upsample (7 to 9). Result extents are formulas: floor(dim * scale)
// for constant scales, the given sizes otherwise; scales known only at run time are read.
#include "symtile/op/nn/resize.h"

#include <algorithm>
#include <numeric>

#include "symtile/frontend/onnx/import_context.h"

namespace symtile::onnx_import {
namespace {

class ResizeImport {
 public:
  explicit ResizeImport(ImportContext& c) : c_(c), x_(c.dims(0)) {
    attrs_.set("mode", mode(c.attr_text("mode", "nearest")));
  }

  /// Before opset 11: positions are x / scale; nearest takes the floor, or the ceiling when
  /// shrinking.
  void legacy(int scales_input) {
    attrs_.set("coordinate_mode", std::string("asymmetric"));
    attrs_.set("nearest_mode", std::string("simple"));
    if (scales_input < 0) {
      constant_scales(c_.attr_floats("scales", {}));
    } else {
      scales(scales_input);
    }
    finish();
  }

  void modern() {
    attrs_.set("coordinate_mode", c_.attr_text("coordinate_transformation_mode", "half_pixel"));
    attrs_.set("nearest_mode", c_.attr_text("nearest_mode", "round_prefer_floor"));
    attrs_.set("cubic_coeff_a", c_.attr_float("cubic_coeff_a", -0.75));
    attrs_.set("extrapolation_value", c_.attr_float("extrapolation_value", 0));
    for (const char* flag : {"exclude_outside", "antialias"}) {
      if (c_.attr_int(flag, 0) != 0) attrs_.set(flag, int64_t{1});
    }
    axes_.resize(x_.size());
    std::iota(axes_.begin(), axes_.end(), 0);
    if (c_.has_attr("axes")) {
      axes_.clear();
      for (const int64_t a : c_.attr_ints("axes", {})) {
        axes_.push_back(c_.normalize_axis(a, static_cast<int>(x_.size())));
      }
    }
    if (c_.attr_text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") {
      region();
    }
    const bool has_scales = given(2), has_sizes = given(3);
    if (has_scales == has_sizes) {
      c_.fail(DiagId::bad_attribute, "exactly one of scales and sizes must be given");
    }
    if (has_scales) {
      scales(2);
    } else {
      sizes(3);
    }
    finish();
  }

 private:
  static std::string mode(const std::string& name) {
    return name == "bilinear" || name == "trilinear" ? "linear" : name;
  }

  /// True unless input i is absent or an empty tensor (which stood for absent in opset 11).
  bool given(int i) {
    if (!c_.has(i)) return false;
    const Type& type = c_.type(i);
    return !(type.has_rank() && type.rank() == 1 && (*type.dims)[0].is_const(0));
  }

  void scales(int input) {
    if (const Constant data = c_.constant(input)) {
      std::vector<double> values;
      for (int64_t i = 0; i < data->element_count(); ++i) values.push_back(data->as_double(i));
      constant_scales(values);
      return;
    }
    if (axes_.size() != x_.size() && !axes_.empty()) {
      c_.fail(DiagId::unsupported, "run-time scales of only some axes");
    }
    // floor(dim * scale), computed and read at run time.
    const ValueId scale = c_.in(input);
    const ValueId dims = c_.cast(c_.build().dims_tensor(x_), DType::f32);
    const ValueId extents = c_.cast(c_.call("floor", {c_.call("mul", {dims, scale})}), DType::i64);
    sizes_ = c_.build().read_dims(extents, static_cast<int>(x_.size()), "resized");
    scales_tensor_ = scale;
  }

  void constant_scales(const std::vector<double>& given) {
    if (axes_.empty()) {
      axes_.resize(x_.size());
      std::iota(axes_.begin(), axes_.end(), 0);
    }
    if (given.size() != axes_.size()) {
      c_.fail(DiagId::bad_attribute, "{} scales for {} axes", given.size(), axes_.size());
    }
    sizes_ = x_;
    std::vector<double> all(x_.size(), 1.0);
    for (size_t k = 0; k < axes_.size(); ++k) {
      const auto axis = static_cast<size_t>(axes_[k]);
      all[axis] = given[k];
      sizes_[axis] = scaled_extent(x_[axis], given[k]);
    }
    attrs_.set("scales", all);
  }

  void sizes(int input) {
    const Dims given = c_.require_dims(input);
    if (given.size() != axes_.size()) {
      c_.fail(DiagId::bad_attribute, "{} sizes for {} axes", given.size(), axes_.size());
    }
    const std::string policy = c_.attr_text("keep_aspect_ratio_policy", "stretch");
    sizes_ = x_;
    if (policy == "stretch") {
      for (size_t k = 0; k < axes_.size(); ++k) sizes_[static_cast<size_t>(axes_[k])] = given[k];
      return;
    }
    const bool larger = policy == "not_smaller";
    if (!larger && policy != "not_larger") {
      c_.fail(DiagId::bad_attribute, "keep_aspect_ratio_policy '{}' is not known", policy);
    }
    // One scale for all axes: the smallest (or largest) size / dim. Rounding keeps order, so the
    // extent is the smallest (or largest) of floor(dim * size_j / dim_j + 1/2).
    for (const int axis : axes_) {
      const DimExpr& dim = x_[static_cast<size_t>(axis)];
      DimExpr extent;
      for (size_t j = 0; j < axes_.size(); ++j) {
        const DimExpr& from = x_[static_cast<size_t>(axes_[j])];
        const DimExpr rounded = floordiv(2 * given[j] * dim + from, 2 * from);
        extent = j == 0 ? rounded : larger ? max(extent, rounded) : min(extent, rounded);
      }
      sizes_[static_cast<size_t>(axis)] = extent;
    }
    common_scale(given, larger);
  }

  /// Positions under keep_aspect_ratio_policy follow the common scale, not the rounded extents.
  void common_scale(const Dims& given, bool larger) {
    std::vector<double> all(x_.size(), 1.0);
    double scale = 0;
    for (size_t k = 0; k < axes_.size(); ++k) {
      const auto dim = x_[static_cast<size_t>(axes_[k])].as_const();
      const auto size = given[k].as_const();
      if (!dim || !size || *dim == 0) {
        runtime_scale(given, larger);
        return;
      }
      const double s = static_cast<double>(*size) / static_cast<double>(*dim);
      scale = k == 0 ? s : larger ? std::max(scale, s) : std::min(scale, s);
    }
    for (const int axis : axes_) all[static_cast<size_t>(axis)] = scale;
    attrs_.set("scales", all);
  }

  void runtime_scale(const Dims& given, bool larger) {
    Dims from;
    for (const int axis : axes_) from.push_back(x_[static_cast<size_t>(axis)]);
    OpBuilder& b = c_.build();
    const ValueId ratios = c_.call("div", {c_.cast(b.dims_tensor(given), DType::f32),
                                           c_.cast(b.dims_tensor(from), DType::f32)});
    const ValueId scale = c_.call(larger ? "reduce_max" : "reduce_min", {ratios},
                                  {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{1}}});
    const ValueId one = b.constant(make_constant_vector(1));
    std::vector<ValueId> parts(x_.size(), one);
    for (const int axis : axes_) parts[static_cast<size_t>(axis)] = scale;
    scales_tensor_ = c_.call("concat", parts, {{"axis", int64_t{0}}});
  }

  static Constant make_constant_vector(double value) {
    const auto data = make_zeros(DType::f32, {1});
    data->set(0, value);
    return data;
  }

  /// The region of interest of tf_crop_and_resize, over all axes: begins, then ends.
  void region() {
    if (!given(1)) c_.fail(DiagId::bad_attribute, "tf_crop_and_resize needs input roi");
    if (axes_.size() == x_.size() && std::is_sorted(axes_.begin(), axes_.end())) {
      roi_ = c_.cast(c_.in(1), DType::f32);
      return;
    }
    const Constant data = c_.constant(1);
    if (!data) c_.fail(DiagId::unsupported, "a run-time roi of only some axes");
    const auto n = static_cast<int64_t>(axes_.size()), rank = static_cast<int64_t>(x_.size());
    if (data->element_count() != 2 * n) {
      c_.fail(DiagId::bad_attribute, "roi has {} elements, must have {}", data->element_count(),
              2 * n);
    }
    const auto full = make_zeros(DType::f32, {2 * rank});
    for (int64_t k = 0; k < rank; ++k) full->set(rank + k, 1);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t axis = axes_[static_cast<size_t>(k)];
      full->set(axis, data->as_double(k));
      full->set(rank + axis, data->as_double(n + k));
    }
    roi_ = c_.build().constant(full);
  }

  void finish() {
    attrs_.set("sizes", sizes_);
    std::vector<ValueId> args = {c_.in(0)};
    if (roi_.valid() || scales_tensor_.valid()) args.push_back(roi_);
    if (scales_tensor_.valid()) args.push_back(scales_tensor_);
    c_.out(0, c_.call("resize", args, attrs_));
  }

  ImportContext& c_;
  const Dims x_;
  Attributes attrs_;
  std::vector<int> axes_;  ///< the axes that scales, sizes and roi speak of
  Dims sizes_;
  ValueId roi_, scales_tensor_;
};

}  // namespace

void import_resize(ImportContext& c) {
  ResizeImport resize(c);
  if (c.opset() < 11) {
    resize.legacy(1);
  } else {
    resize.modern();
  }
}

void import_upsample(ImportContext& c) { ResizeImport(c).legacy(c.opset() < 9 ? -1 : 1); }

}  // namespace symtile::onnx_import
