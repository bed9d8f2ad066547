// expand(x; shape): x repeated along its axes of extent 1 to the given shape (numpy.broadcast_to).
#include "symtile/op/index/indexing.h"

namespace symtile {

namespace {

std::vector<Type> deduce(DeduceContext& c) {
  const Dims& shape = c.attrs().get_dims("shape");
  if (c.rank_known(0)) {
    const Dims& dims = c.dims(0);
    if (dims.size() > shape.size()) {
      c.fail(DiagId::shape_mismatch, "a tensor of rank {} does not expand to a shape of rank {}",
             dims.size(), shape.size());
    }
    for (size_t d = 0; d < dims.size(); ++d) {
      const DimExpr& from = dims[d];
      const DimExpr& to = shape[shape.size() - dims.size() + d];
      const Facts& facts = c.facts();
      if (from.is_unknown() || facts.proves_equal(from, 1) || facts.proves_equal(from, to))
        continue;
      const std::string message =
          fmt::format("dimension {} of extent {} does not expand to {}", d, from.str(), to.str());
      if (facts.proves_not_equal(from, 1) && facts.proves_not_equal(from, to)) {
        c.fail(DiagId::shape_mismatch, "{}", message);
      }
      c.checks.push_back({(from - 1) * (from - to), 0, "operator 'expand': " + message});
    }
  }
  return {Type::tensor(shape, c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  RefTensor& y = c.out(x.dtype, c.dims_attr("shape"));
  int64_t to = 0;
  for_each_index(
      y.dims, [&](const auto& index) { y.copy_element(to++, x, broadcast_offset(x.dims, index)); });
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0);
  c.compute(0, [&](const Index& out) { return c.load_broadcast(x, out, c.out_dims()); });
}

std::vector<OpSample> samples() {
  const DimExpr n = DimExpr::symbol("n"), m = DimExpr::symbol("m");
  return {
      {{Type::tensor({3, 1}, DType::f32)}, {{"shape", Dims{2, 3, 5}}}},
      {.input_types = {Type::tensor({n, 1, 4}, DType::f32)},
       .attrs = {{"shape", Dims{n, 3, 4}}},
       .symbols = {{"n", 7}}},
      {.input_types = {Type::tensor({n, m}, DType::i64)},
       .attrs = {{"shape", Dims{n, 6}}},
       .symbols = {{"n", 3}, {"m", 1}}},
      {{Type::tensor({}, DType::boolean)}, {{"shape", Dims{0, 4}}}, 0, 1},
  };
}

}  // namespace

extern const OpRecord expand_op;
const OpRecord expand_op = {
    .name = "expand",
    .min_args = 1,
    .max_args = 1,
    .attrs = {{"shape", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
