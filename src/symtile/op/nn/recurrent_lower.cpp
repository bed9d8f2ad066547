// The time loop of the recurrent operators. Sequences of the batch and the directions are
// independent; inside one, the recurrent product runs over rows of `r`, so the innermost loop is
// contiguous in the weights and in the gates and needs no reassociation to be a vector loop.
#include "symtile/op/linalg/contract.h"
#include "symtile/op/nn/recurrent.h"

namespace symtile {

RecurrentLowering::RecurrentLowering(LowerContext& c, int gates, int initial_cell)
    : c_(c),
      spec_(c.attrs()),
      acc_(accumulation_type(c.out_dtype())),
      projected_(c.in(0)),
      r_(c.in(1)),
      gate_count_(gates),
      initial_cell_(initial_cell) {
  directions_ = projected_.dims()[0];
  time_ = projected_.dims()[1];
  batch_ = projected_.dims()[2];
  hidden_ = r_.dims()[1];
  h_extent_ = to_expr(hidden_);
  const DimExpr directions = spec_.direction == "bidirectional" ? 2 : 1;
  h_ = c.buffer("h", acc_, {directions, batch_, hidden_});
  gates_ = c.buffer("gates", acc_, {directions, batch_, hidden_ * gates});
  if (initial_cell >= 0) cell_ = c.buffer("cell", acc_, {directions, batch_, hidden_});
}

Stmt RecurrentLowering::loop(const char* hint, const Expr& extent,
                             const std::function<Stmt(const Expr&)>& body) {
  const std::string name = c_.fresh(hint);
  return for_loop(name, Expr(0), extent, LoopKind::vectorized, body(var(name)));
}

Stmt RecurrentLowering::set(const TensorRef& x, int64_t d, const Expr& b, const Expr& j,
                            const Expr& value) const {
  return store(x.buffer.name, {Expr(d), b, j}, value);
}

Expr RecurrentLowering::get(const TensorRef& x, int64_t d, const Expr& b, const Expr& j) const {
  return x({Expr(d), b, j});
}

Expr RecurrentLowering::gate(int64_t d, const Expr& b, int64_t g, const Expr& j) const {
  return get(gates_, d, b, Expr(g) * h_extent_ + j);
}

/// Four rows of `r` at a time: the sums are loaded and stored once for them.
Stmt RecurrentLowering::accumulate(const TensorRef& into, const TensorRef& state, int64_t d,
                                   const Expr& b, const Expr& begin, const Expr& end,
                                   const Expr& shift) {
  const auto rows = [&](int64_t count, const Expr& from, const Expr& to) {
    const std::string k = c_.fresh("k");
    std::vector<std::string> scalars;
    for (int64_t i = 0; i < count; ++i) scalars.push_back(c_.fresh("s"));
    Stmt row = loop("n", end - begin, [&](const Expr& n) {
      const Expr at = begin + n - shift;
      Expr sum = get(into, d, b, at);
      for (int64_t i = 0; i < count; ++i) {
        sum = sum + var(scalars[static_cast<size_t>(i)], acc_) *
                        as_acc(r_({Expr(d), var(k) + Expr(i), begin + n}));
      }
      return set(into, d, b, at, sum);
    });
    for (int64_t i = count; i-- > 0;) {
      row = make_stmt(LetStmt{scalars[static_cast<size_t>(i)], get(state, d, b, var(k) + Expr(i)),
                              std::move(row)});
    }
    return for_loop(k, from, to, LoopKind::serial, std::move(row), count);
  };
  constexpr int64_t kRows = 4;
  const Expr whole = floordiv(h_extent_, Expr(kRows)) * Expr(kRows);
  return block({rows(kRows, Expr(0), whole), rows(1, whole, h_extent_)});
}

Stmt RecurrentLowering::sequence(int64_t d, const Expr& b) {
  const auto initial = [&](int i, const TensorRef& state) {
    return loop("j", h_extent_, [&](const Expr& j) {
      const bool given = i >= 0 && c_.has(i);
      return set(state, d, b, j, given ? as_acc(c_.in(i)({Expr(d), b, j})) : imm(acc_, 0));
    });
  };
  std::vector<Stmt> all = {initial(3, h_)};
  if (initial_cell_ >= 0) all.push_back(initial(initial_cell_, cell_));

  const DType out = c_.out_dtype();
  const std::string t_name = c_.fresh("t");
  const Expr t = var(t_name), time = to_expr(time_);
  Expr length = time;
  if (c_.has(2)) length = min(max(cast(DType::i64, c_.in(2)({b})), Expr(0)), time);
  const std::string length_name = c_.fresh("length");
  if (c_.has(2)) length = var(length_name);
  const Expr at = spec_.reversed(d) ? length - Expr(1) - t : t;
  const auto emit = [&](const Expr& when, const Expr& j, const Expr& value) {
    return store(c_.result(0).buffer.name, {when, Expr(d), b, j}, cast(out, value));
  };
  std::vector<Stmt> body = {loop("n", Expr(gate_count_) * h_extent_, [&](const Expr& n) {
    return set(gates_, d, b, n, as_acc(projected_({Expr(d), at, b, n})));
  })};
  for (Stmt& s : step(d, b)) body.push_back(std::move(s));
  body.push_back(
      loop("j", h_extent_, [&](const Expr& j) { return emit(at, j, get(h_, d, b, j)); }));
  Stmt one_step = block(std::move(body));
  if (c_.has(2)) {
    const Stmt nothing =
        loop("j", h_extent_, [&](const Expr& j) { return emit(t, j, imm(acc_, 0)); });
    one_step = make_stmt(IfStmt{t < length, std::move(one_step), nothing});
  }
  all.push_back(for_loop(t_name, Expr(0), time, LoopKind::serial, std::move(one_step)));
  all.push_back(loop("j", h_extent_, [&](const Expr& j) {
    Stmt h = store(c_.result(1).buffer.name, {Expr(d), b, j}, cast(out, get(h_, d, b, j)));
    if (initial_cell_ < 0) return h;
    return block({std::move(h), store(c_.result(2).buffer.name, {Expr(d), b, j},
                                      cast(out, get(cell_, d, b, j)))});
  }));
  Stmt whole = block(std::move(all));
  if (!c_.has(2)) return whole;
  const Expr given = min(max(cast(DType::i64, c_.in(2)({b})), Expr(0)), time);
  return make_stmt(LetStmt{length_name, given, std::move(whole)});
}

void RecurrentLowering::run() {
  const std::string worker = c_.fresh("sequence");
  const Expr batch = to_expr(batch_);
  if (spec_.direction != "bidirectional") {
    c_.statement(for_loop(worker, Expr(0), batch, LoopKind::parallel, sequence(0, var(worker))));
    return;
  }
  const std::string second = c_.fresh("b");
  Stmt backward = make_stmt(LetStmt{second, var(worker) - batch, sequence(1, var(second))});
  c_.statement(for_loop(
      worker, Expr(0), batch * Expr(2), LoopKind::parallel,
      make_stmt(IfStmt{var(worker) < batch, sequence(0, var(worker)), std::move(backward)})));
}

}  // namespace symtile
