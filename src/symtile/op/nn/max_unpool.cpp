// max_unpool(x, indices): zeros of extents `output_shape` with every x element at its flat index,
// which counts in a tensor of extents `shape` (what the pooling's attributes say), anchored at the
// origin. Of equal indices the last one wins.
// Spec: ONNX MaxUnpool.
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(1, [](DType t) { return t == DType::i64; }, "i64");
  const Dims& shape = c.attrs().get_dims("shape");
  const Dims& out = c.attrs().get_dims("output_shape");
  const int rank = static_cast<int>(out.size());
  if (shape.size() != out.size()) {
    c.fail(DiagId::bad_attribute, "shape has {} entries, output_shape {}", shape.size(),
           out.size());
  }
  c.require_rank(0, rank, rank);
  c.require_rank(1, rank, rank);
  if (c.rank_known(0) && c.rank_known(1)) {
    for (size_t k = 0; k < out.size(); ++k) {
      c.require_equal(c.dims(0)[k], c.dims(1)[k], fmt::format("dimension {} of the indices", k));
    }
  }
  return {Type::tensor(out, c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor &x = c.in(0), &indices = c.in(1);
  const std::vector<int64_t> shape = c.dims_attr("shape"), dims = c.dims_attr("output_shape");
  RefTensor& out = c.out(x.dtype, dims);
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t rest = indices.as_int(i);
    std::vector<int64_t> at(dims.size());
    bool inside = rest >= 0;
    for (size_t k = dims.size(); k-- > 0 && inside;) {
      inside = shape[k] > 0;
      if (!inside) break;
      at[k] = rest % shape[k];
      rest /= shape[k];
      inside = at[k] < dims[k];
    }
    if (!inside || rest != 0) {
      fail(DiagId::bad_input, {}, "operator 'max_unpool': index {} lies outside the result",
           indices.as_int(i));
    }
    out.copy_element(broadcast_offset(dims, at), x, i);
  }
}

/// Loops over all of `dims`; the outermost is `kind`.
Stmt nest(LowerContext& c, const Dims& dims, LoopKind kind,
          const std::function<Stmt(const Index&)>& body) {
  std::vector<std::string> names;
  Index index;
  for (size_t k = 0; k < dims.size(); ++k) {
    names.push_back(c.fresh("i"));
    index.push_back(var(names.back()));
  }
  Stmt s = body(index);
  for (size_t k = dims.size(); k-- > 0;) {
    s = for_loop(names[k], Expr(0), to_expr(dims[k]), k == 0 ? kind : LoopKind::serial,
                 std::move(s));
  }
  return s;
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0), indices = c.in(1), out = c.result();
  const Dims& shape = c.attrs().get_dims("shape");
  c.statement(nest(c, out.dims(), LoopKind::parallel, [&](const Index& index) {
    return store(out.buffer.name, index, imm(out.dtype(), 0));
  }));
  // Equal indices may meet from anywhere, so the elements are placed one after the other.
  c.statement(nest(c, x.dims(), LoopKind::serial, [&](const Index& index) {
    const std::string flat = c.fresh("at");
    Expr rest = var(flat);
    Expr inside = rest >= Expr(0);
    Index at(shape.size(), Expr(0));
    for (size_t k = shape.size(); k-- > 0;) {
      at[k] = floormod(rest, to_expr(shape[k]));
      rest = floordiv(rest, to_expr(shape[k]));
      if (!c.facts().proves_le(shape[k], out.dims()[k])) {
        inside = inside && at[k] < to_expr(out.dims()[k]);
      }
    }
    inside = inside && equal(rest, Expr(0)) && to_expr(product(shape)) > Expr(0);
    Stmt put = store(out.buffer.name, at, x(index));
    return make_stmt(
        LetStmt{flat, indices(index), make_stmt(IfStmt{inside, std::move(put), nullptr})});
  }));
}

std::vector<OpSample> samples() {
  const auto picks = make_zeros(DType::i64, {1, 1, 2, 2});
  for (const auto& [at, value] : {std::pair{0, 5}, {1, 7}, {2, 13}, {3, 15}}) picks->set(at, value);
  const Type indices = Type::tensor({1, 1, 2, 2}, DType::i64);
  OpSample fixed = make_sample({f32_tensor({1, 1, 2, 2}), indices},
                               {{"shape", Dims{1, 1, 4, 4}}, {"output_shape", Dims{1, 1, 5, 5}}});
  fixed.constants[1] = picks;
  const DimExpr h = sym("h");
  OpSample symbolic = make_sample(
      {f32_tensor({1, 1, h, 2}), Type::tensor({1, 1, h, 2}, DType::i64)},
      {{"shape", Dims{1, 1, 2 * h, 4}}, {"output_shape", Dims{1, 1, 2 * h, 4}}}, {{"h", 2}});
  symbolic.constants[1] = picks;
  return {fixed, symbolic};
}

}  // namespace

extern const OpRecord max_unpool_op;
const OpRecord max_unpool_op = {
    .name = "max_unpool",
    .min_args = 2,
    .max_args = 2,
    .attrs = {{"shape", AttrSpec::Kind::dims, true}, {"output_shape", AttrSpec::Kind::dims, true}},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
