// Sliding windows: convolutions of every kind, and pooling.
#include "families.h"

namespace symtile::test {
namespace {

/// What is special about a family of convolutions; 0: anything.
struct ConvKind {
  int spatial = 0;
  bool depthwise = false, grouped = false, pointwise = false, dilated = false;
};

ValueId behind_window(Sketch& s, ValueId y) {
  if (s.chance(40)) {
    if (s.chance(40)) s.result(y);  // read by others too
    y = s.call("relu", {y});
  }
  if (s.chance(25)) y = s.call("add", {y, s.parameter(s.dims(y), s.dtype(y))});
  return y;
}

void any_conv(Sketch& s, const ConvKind& kind) {
  const int spatial = kind.spatial ? kind.spatial : s.one_of({1, 2, 2, 2, 2, 2, 3});
  const int64_t group =
      kind.grouped ? s.one_of<int64_t>({2, 3}) : s.one_of<int64_t>({1, 1, 1, 2, 3});
  const bool depthwise = kind.depthwise || (!kind.grouped && !kind.pointwise && s.chance(20));
  const int64_t per_group = depthwise ? 1 : s.one_of<int64_t>({1, 2, 3}),
                in = (depthwise ? 3 : group) * per_group,
                out = depthwise ? in * s.one_of<int64_t>({1, 2})
                                : group * s.one_of<int64_t>({1, 2, 5});
  const DType t = s.one_of({DType::f32, DType::f32, DType::f32, DType::f16, DType::bf16});
  Dims x = {s.extent({0, 1, 2}), in}, w = {out, per_group};
  Ints strides, dilations;
  Dims pads(static_cast<size_t>(2 * spatial), DimExpr(0));
  for (int d = 0; d < spatial; ++d) {
    const int64_t kernel = kind.pointwise ? 1
                           : kind.dilated ? s.one_of<int64_t>({2, 3})
                                          : s.one_of<int64_t>({1, 2, 3}),
                  dilation =
                      kind.dilated ? s.one_of<int64_t>({2, 2, 3}) : s.one_of<int64_t>({1, 1, 2});
    x.push_back(spatial == 3 ? s.extent({5, 6}) : s.extent({5, 6, 9, 11}));
    if (dilation == 3) x.back() = x.back() + 2;
    w.emplace_back(kernel);
    strides.push_back(s.one_of<int64_t>({1, 1, 2}));
    dilations.push_back(dilation);
    pads[static_cast<size_t>(d)] = s.below(2);
    pads[static_cast<size_t>(spatial + d)] = s.below(2);
  }
  Attributes attrs = {{"group", depthwise ? in : group},
                      {"strides", strides},
                      {"dilations", dilations},
                      {"pads", pads}};
  std::vector<ValueId> args = {s.before(s.parameter(x, t)), s.parameter(w, t)};
  if (s.chance(40)) args.push_back(s.parameter({out}, t));
  s.result(behind_window(s, s.call("conv", args, attrs)));
}

void conv(Sketch& s) { any_conv(s, {}); }
void conv_pointwise(Sketch& s) { any_conv(s, {.pointwise = true}); }
void conv_grouped(Sketch& s) { any_conv(s, {.grouped = true}); }
void conv_depthwise(Sketch& s) { any_conv(s, {.depthwise = true}); }
void conv_dilated(Sketch& s) { any_conv(s, {.dilated = true}); }
void conv_line(Sketch& s) { any_conv(s, {.spatial = 1}); }
void conv_volume(Sketch& s) { any_conv(s, {.spatial = 3}); }

void conv_transpose(Sketch& s) {
  const int spatial = s.one_of({1, 2, 2, 3});
  const int64_t group = s.one_of<int64_t>({1, 1, 2}), in = group * s.one_of<int64_t>({1, 2, 3}),
                out = s.one_of<int64_t>({1, 2, 5});
  const DType t = s.one_of({DType::f32, DType::f32, DType::f16});
  Dims x = {s.extent({0, 1, 2}), in}, w = {in, out};
  Ints strides, dilations, more;
  Dims pads(static_cast<size_t>(2 * spatial), DimExpr(0));
  for (int d = 0; d < spatial; ++d) {
    x.push_back(spatial == 3 ? s.extent({2, 3}) : s.extent({3, 4, 6}));
    w.emplace_back(s.one_of<int64_t>({2, 3}));
    strides.push_back(s.one_of<int64_t>({1, 2}));
    dilations.push_back(s.one_of<int64_t>({1, 1, 2}));
    more.push_back(strides.back() == 2 ? s.below(2) : 0);
    pads[static_cast<size_t>(d)] = s.below(2);
    pads[static_cast<size_t>(spatial + d)] = s.below(2);
  }
  std::vector<ValueId> args = {s.before(s.parameter(x, t)), s.parameter(w, t)};
  if (s.chance(30)) args.push_back(s.parameter({out * group}, t));
  s.result(behind_window(s, s.call("conv_transpose", args,
                                   {{"group", group},
                                    {"strides", strides},
                                    {"dilations", dilations},
                                    {"output_padding", more},
                                    {"pads", pads}})));
}

void pooling(Sketch& s) {
  const int spatial = s.one_of({1, 1, 2, 2, 2, 2, 2, 3});
  const bool is_max = s.chance(50);
  const DType t = s.one_of({DType::f32, DType::f32, DType::f16, is_max ? DType::u8 : DType::f64});
  Dims x = {s.extent({0, 1, 2}), s.extent({1, 3})};
  Ints kernel, strides, dilations;
  Dims pads(static_cast<size_t>(2 * spatial), DimExpr(0));
  for (int d = 0; d < spatial; ++d) {
    x.push_back(spatial == 3 ? s.extent({5, 6}) : s.extent({5, 6, 9}));
    kernel.push_back(s.one_of<int64_t>({1, 2, 3}));
    strides.push_back(1 + s.below(3));
    dilations.push_back(s.one_of<int64_t>({1, 1, 2}));
    // Not more than a window has elements, or some would see padding only.
    pads[static_cast<size_t>(d)] = s.below(static_cast<int>(kernel.back() > 1 ? 2 : 1));
    pads[static_cast<size_t>(spatial + d)] = s.below(static_cast<int>(kernel.back() > 1 ? 2 : 1));
  }
  Attributes attrs = {
      {"kernel", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
  if (s.chance(30)) attrs.set("ceil_mode", int64_t{1});
  if (!is_max && s.chance(50)) attrs.set("count_include_pad", int64_t{1});
  const ValueId v = s.before(s.parameter(x, t));
  s.result(s.behind(s.call(is_max ? "max_pool" : "average_pool", {v}, attrs)));
}

}  // namespace

std::vector<Family> window_families() {
  return {
      {"conv", conv},
      {"conv_depthwise", conv_depthwise},
      {"conv_dilated", conv_dilated},
      {"conv_grouped", conv_grouped},
      {"conv_line", conv_line},
      {"conv_pointwise", conv_pointwise},
      {"conv_transpose", conv_transpose},
      {"conv_volume", conv_volume},
      {"pooling", pooling},
  };
}

}  // namespace symtile::test
