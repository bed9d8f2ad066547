// GridSample, AffineGrid, RoiAlign, MaxUnpool, Det.
#include "symtile/frontend/onnx/ops/window_attributes.h"

namespace symtile::onnx_import {

void import_grid_sample(ImportContext& c) {
  // Opset 16 says bilinear and bicubic, 20 linear and cubic.
  std::string mode = c.attr_text("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  c.out(0, c.call("grid_sample", {c.in(0), c.in(1)},
                  {{"mode", mode},
                   {"padding_mode", c.attr_text("padding_mode", "zeros")},
                   {"align_corners", c.attr_int("align_corners", 0)}}));
}

void import_affine_grid(ImportContext& c) {
  const Dims size = c.require_dims(1);
  const size_t n = size.size() - 2;
  if (size.size() != 4 && size.size() != 5) {
    c.fail(DiagId::bad_attribute, "size has {} elements, must have 4 or 5", size.size());
  }
  const bool align = c.attr_int("align_corners", 0) != 0;
  const DType dtype = c.dtype(0);
  const auto axes = static_cast<int64_t>(n);
  OpBuilder& b = c.build();
  // Column i of theta times the coordinate of the axis it belongs to, plus the last column.
  const auto column = [&](int64_t i) {
    const ValueId part = c.call("slice", {c.in(0)},
                                {{"begin", Dims{0, 0, i}},
                                 {"extent", Dims{size[0], axes, 1}},
                                 {"step", std::vector<int64_t>{1, 1, 1}}});
    Dims dims(n + 2, DimExpr(1));
    dims[0] = size[0];
    dims.back() = axes;
    return c.reshape(part, dims);
  };
  ValueId grid = column(axes);
  for (size_t k = 0; k < n; ++k) {
    const DimExpr& extent = size[k + 2];
    const ValueId index = c.cast(c.call("range", {b.scalar(DType::i64, 0), b.scalar(DType::i64, 1)},
                                        {{"length", Dims{extent}}}),
                                 dtype);
    // Ends at the outermost pixel centres, or half a pixel beyond them.
    const DimExpr steps = align ? max(extent - 1, 1) : extent;
    const ValueId divisor = c.cast(b.dims_tensor({steps}, DType::i64, true), dtype);
    const ValueId twice = c.call("mul", {index, b.scalar(dtype, 2)});
    const ValueId shifted = align ? twice : c.call("add", {twice, b.scalar(dtype, 1)});
    const ValueId at = c.call("sub", {c.call("div", {shifted, divisor}), b.scalar(dtype, 1)});
    Dims dims(n + 2, DimExpr(1));
    dims[k + 1] = extent;
    const ValueId term =
        c.call("mul", {column(axes - 1 - static_cast<int64_t>(k)), c.reshape(at, dims)});
    grid = c.call("add", {grid, term});
  }
  Dims full = {size[0]};
  full.insert(full.end(), size.begin() + 2, size.end());
  full.push_back(axes);
  c.out(0, c.call("expand", {grid}, {{"shape", full}}));
}

void import_roi_align(ImportContext& c) {
  const std::string fallback = c.opset() < 16 ? "output_half_pixel" : "half_pixel";
  const std::string mode = c.attr_text("coordinate_transformation_mode", fallback);
  if (mode != "half_pixel" && mode != "output_half_pixel") {
    c.fail(DiagId::bad_attribute, "coordinate_transformation_mode '{}' is not known", mode);
  }
  c.out(0, c.call("roi_align", {c.in(0), c.in(1), c.in(2)},
                  {{"output_height", c.attr_int("output_height", 1)},
                   {"output_width", c.attr_int("output_width", 1)},
                   {"sampling_ratio", c.attr_int("sampling_ratio", 0)},
                   {"spatial_scale", c.attr_float("spatial_scale", 1)},
                   {"half_pixel", int64_t{mode == "half_pixel"}},
                   {"mode", c.attr_text("mode", "avg")}}));
}

void import_max_unpool(ImportContext& c) {
  const std::vector<int64_t> kernel = required_kernel(c);
  const size_t n = kernel.size();
  const Dims x = c.dims(0);
  const std::vector<int64_t> strides = c.attr_ints("strides", std::vector<int64_t>(n, 1));
  const std::vector<int64_t> pads = c.attr_ints("pads", std::vector<int64_t>(2 * n, 0));
  if (x.size() != n + 2 || strides.size() != n || pads.size() != 2 * n) {
    c.fail(DiagId::bad_attribute, "kernel_shape, strides or pads do not fit an input of rank {}",
           x.size());
  }
  Dims shape = {x[0], x[1]};
  for (size_t k = 0; k < n; ++k) {
    shape.push_back((x[k + 2] - 1) * strides[k] + kernel[k] - pads[k] - pads[n + k]);
  }
  Dims out = c.has(2) ? c.require_dims(2) : shape;
  c.out(0, c.call("max_unpool", {c.in(0), c.in(1)}, {{"shape", shape}, {"output_shape", out}}));
}

void import_det(ImportContext& c) { c.out(0, c.call("det", {c.in(0)})); }

}  // namespace symtile::onnx_import
