// det: determinant of the last two axes, by elimination with row pivots. An empty matrix has 1.
// Spec: ONNX Det, numpy.linalg.det.
#include <cmath>

#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/sample.h"

namespace symtile {
namespace {

std::vector<Type> deduce(DeduceContext& c) {
  c.require_dtype(0, is_float, "a float type");
  c.require_rank(0, 2, 1 << 20);
  if (!c.rank_known(0)) return {Type::tensor_any_rank(c.dtype(0))};
  const Dims& x = c.dims(0);
  c.require_equal(x[x.size() - 2], x.back(), "rows and columns of the matrix");
  return {Type::tensor(batch_dims(x), c.dtype(0))};
}

void evaluate(EvalContext& c) {
  const RefTensor& x = c.in(0);
  const int64_t n = x.dims.back();
  RefTensor& out = c.out(x.dtype, std::vector<int64_t>(x.dims.begin(), x.dims.end() - 2));
  for (int64_t b = 0; b < out.size(); ++b) {
    std::vector<double> a;
    for (int64_t k = 0; k < n * n; ++k) a.push_back(x.as_double(b * n * n + k));
    const auto at = [&](int64_t i, int64_t j) -> double& {
      return a[static_cast<size_t>(i * n + j)];
    };
    double det = 1;
    for (int64_t k = 0; k < n; ++k) {
      int64_t pivot = k;
      for (int64_t i = k + 1; i < n; ++i) {
        if (std::abs(at(i, k)) > std::abs(at(pivot, k))) pivot = i;
      }
      if (pivot != k) {
        det = -det;
        for (int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(pivot, j));
      }
      det *= at(k, k);
      if (at(k, k) == 0) break;
      for (int64_t i = k + 1; i < n; ++i) {
        const double factor = at(i, k) / at(k, k);
        for (int64_t j = k; j < n; ++j) at(i, j) -= factor * at(k, j);
      }
    }
    out.set(b, det);
  }
}

void lower(LowerContext& c) {
  const TensorRef x = c.in(0), out = c.result();
  const DType t = accumulation_type(c.out_dtype());
  const Expr n = to_expr(x.dims().back());
  const size_t batch = out.dims().size();
  const TensorRef a = c.buffer("a", t, x.dims());
  // A state of each matrix: the determinant so far and the row of the pivot.
  Dims one = out.dims();
  one.push_back(1);
  const TensorRef det = c.buffer("det", t, one), pivot = c.buffer("pivot", DType::i64, one);
  const auto variable = [&](const char* hint) { return var(c.fresh(hint)); };
  const auto loop = [](const Expr& v, const Expr& begin, const Expr& end, LoopKind kind,
                       Stmt body) {
    return for_loop(v.as<VarRef>()->name, begin, end, kind, std::move(body));
  };
  const auto serial = [&](const Expr& v, const Expr& begin, const Expr& end, Stmt body) {
    return loop(v, begin, end, LoopKind::serial, std::move(body));
  };
  Index where;
  for (size_t k = 0; k < batch; ++k) where.push_back(variable("b"));
  const auto element = [&](const Expr& i, const Expr& j) {
    Index at = where;
    at.insert(at.end(), {i, j});
    return at;
  };
  Index state = where;
  state.push_back(Expr(0));
  const auto let = [&](const char* hint, const Expr& value, const std::function<Stmt(Expr)>& body) {
    const std::string name = c.fresh(hint);
    return make_stmt(LetStmt{name, value, body(var(name, value.dtype()))});
  };
  const auto magnitude = [](const Expr& e) { return unary(UnaryOp::abs, e); };

  const Expr i = variable("i"), j = variable("j"), k = variable("k"), r = variable("r");
  Stmt copy =
      serial(i, Expr(0), n,
             serial(j, Expr(0), n, store(a.buffer.name, element(i, j), cast(t, x(element(i, j))))));
  Stmt search =
      serial(r, k + Expr(1), n,
             make_stmt(IfStmt{magnitude(a(element(r, k))) > magnitude(a(element(pivot(state), k))),
                              store(pivot.buffer.name, state, r), nullptr}));
  const Expr s = variable("s");
  Stmt swap = let("p", pivot(state), [&](const Expr& p) {
    Stmt rows = serial(s, Expr(0), n, let("held", a(element(k, s)), [&](const Expr& held) {
                         return block({store(a.buffer.name, element(k, s), a(element(p, s))),
                                       store(a.buffer.name, element(p, s), held)});
                       }));
    return make_stmt(IfStmt{not_equal(p, k),
                            block({store(det.buffer.name, state, -det(state)), std::move(rows)}),
                            nullptr});
  });
  const Expr u = variable("u"), v = variable("v");
  Stmt eliminate = let("diagonal", a(element(k, k)), [&](const Expr& diagonal) {
    Stmt rows =
        serial(u, k + Expr(1), n, let("factor", a(element(u, k)) / diagonal, [&](const Expr& f) {
                 return serial(
                     v, k, n,
                     store(a.buffer.name, element(u, v), a(element(u, v)) - f * a(element(k, v))));
               }));
    return block({store(det.buffer.name, state, det(state) * diagonal),
                  make_stmt(IfStmt{not_equal(diagonal, imm(t, 0)), std::move(rows), nullptr})});
  });
  Stmt step = block({store(pivot.buffer.name, state, k), std::move(search), std::move(swap),
                     std::move(eliminate)});
  Stmt body = block({std::move(copy), store(det.buffer.name, state, imm(t, 1)),
                     serial(k, Expr(0), n, std::move(step)),
                     store(out.buffer.name, where, cast(out.dtype(), det(state)))});
  for (size_t b = batch; b-- > 0;) {
    body = loop(where[b], Expr(0), to_expr(out.dims()[b]),
                b == 0 ? LoopKind::parallel : LoopKind::serial, std::move(body));
  }
  c.statement(std::move(body));
}

std::vector<OpSample> samples() {
  const auto singular = make_zeros(DType::f32, {2, 2});
  singular->set(1, 3);
  OpSample zero = make_sample({f32_tensor({2, 2})});
  zero.constants[0] = singular;
  return {
      make_sample({f32_tensor({4, 4})}),
      make_sample({f32_tensor({sym("b"), 2, sym("n"), sym("n")})}, {}, {{"b", 3}, {"n", 3}}),
      make_sample({f32_tensor({2, 0, 0})}),
      zero,
  };
}

}  // namespace

extern const OpRecord det_op;
const OpRecord det_op = {
    .name = "det",
    .min_args = 1,
    .max_args = 1,
    .attrs = {},
    .deduce = deduce,
    .evaluate = evaluate,
    .lower = lower,
    .samples = samples,
};

}  // namespace symtile
