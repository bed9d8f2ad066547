// RandomNormal, RandomUniform, their *Like forms, and Bernoulli. The numbers of a node are the same
// at every run: `seed`, or where it is not given the node's place in the graph, says which.
#include <bit>

#include "symtile/frontend/onnx/ops/formulas.h"

namespace symtile::onnx_import {
namespace {

int64_t seed_of(ImportContext& c) {
  if (c.has_attr("seed"))
    return static_cast<int64_t>(std::bit_cast<uint64_t>(c.attr_float("seed", 0)));
  return static_cast<int64_t>(c.build().function().bindings.size());
}

Dims shape_of_input(ImportContext& c) { return *c.build().type(with_known_dims(c, c.in(0))).dims; }

ValueId uniform(ImportContext& c, DType dtype, Dims shape, double low, double high) {
  return c.call("random_uniform", {},
                {{"dtype", dtype},
                 {"shape", std::move(shape)},
                 {"seed", seed_of(c)},
                 {"low", low},
                 {"high", high}});
}

Dims shape_attribute(ImportContext& c) {
  Dims out;
  for (const int64_t d : c.attr_ints("shape", {})) {
    if (d < 0) c.fail(DiagId::bad_attribute, "a dimension of the shape is {}", d);
    out.emplace_back(d);
  }
  return out;
}

}  // namespace

void import_random(ImportContext& c) {
  const bool like = c.op_type().ends_with("Like");
  DType dtype = c.attr_dtype("dtype", like ? c.dtype(0) : DType::f32);
  Dims shape = like ? shape_of_input(c) : shape_attribute(c);
  if (c.op_type().starts_with("RandomUniform")) {
    c.out(0, uniform(c, dtype, std::move(shape), c.attr_float("low", 0), c.attr_float("high", 1)));
    return;
  }
  c.out(0, c.call("random_normal", {},
                  {{"dtype", dtype},
                   {"shape", std::move(shape)},
                   {"seed", seed_of(c)},
                   {"mean", c.attr_float("mean", 0)},
                   {"scale", c.attr_float("scale", 1)}}));
}

/// 1 with the probability that the input says.
void import_bernoulli(ImportContext& c) {
  const ValueId chance = c.cast(c.in(0), DType::f32);
  const ValueId drawn = uniform(c, DType::f32, shape_of_input(c), 0, 1);
  c.out(0, c.cast(c.call("less", {drawn, chance}), c.attr_dtype("dtype", c.dtype(0))));
}

}  // namespace symtile::onnx_import
