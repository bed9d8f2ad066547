// Zero points of products of bytes: the sums of the other side's bytes, taken from the packed
// operands, and the epilogue that uses them (contraction_words.h).
#include "symtile/schedule/cpu/contraction_template.h"

namespace symtile {

/// csum[column] += the sum of the column's bytes in this block.
Stmt ContractionTemplate::column_sums(const Expr& k_block) {
  const Buffer acc{names_.fresh("acc"), acc_type_, {DimExpr(tile_.nr)}, Scope::local, {}};
  const std::string j = names_.fresh("j"), k = names_.fresh("kk"), place = names_.fresh("ko"),
                    ones = names_.fresh("ones");
  const auto lanes = [&](const std::function<Stmt(const Expr&)>& body) {
    const std::string x = names_.fresh("x");
    return for_loop(x, 0, Expr(tile_.nr), LoopKind::vectorized, body(var(x)));
  };
  Stmt start = lanes([&](const Expr& x) {
    const Expr before = load(column_sums_, acc_type_, {var(j) + x});
    return store(acc.name, {x}, select(equal(k_block, 0), imm(acc_type_, 0), before));
  });
  Stmt step = lanes([&](const Expr& x) {
    const Expr word = col_element(var(j), window_ ? var(place) : var(k), x);
    return store(
        acc.name, {x},
        load(acc.name, acc_type_, {x}) + word_sum(*words_, word, var(ones, acc_type_), true));
  });
  if (window_) step = let(place, load(offsets_, DType::i64, {var(k)}), std::move(step));
  Stmt finish = lanes([&](const Expr& x) {
    return store(column_sums_, {var(j) + x}, load(acc.name, acc_type_, {x}));
  });
  Stmt sum = for_loop(k, 0, var(k_len_), LoopKind::serial, std::move(step));
  return let(ones, imm(acc_type_, kOnes),
             for_loop(j, 0, var(n_len_), LoopKind::serial,
                      allocate(acc, block({start, sum, finish})), tile_.nr));
}

/// rsum[row] += the sum of the row's bytes in this block.
Stmt ContractionTemplate::row_sums(const Expr& k_block) {
  const std::string m = names_.fresh("m"), k = names_.fresh("kk"), ones = names_.fresh("ones");
  const Expr at = var(i0_) + var(m), before = load(row_sums_, acc_type_, {at});
  Stmt start = store(row_sums_, {at}, select(equal(k_block, 0), imm(acc_type_, 0), before));
  Stmt sum = for_loop(k, 0, var(k_len_), LoopKind::vectorized,
                      store(row_sums_, {at},
                            before + word_sum(*words_, row_element(var(m), Expr(0), var(k)),
                                              var(ones, acc_type_), false)));
  return let(ones, imm(acc_type_, kOnes),
             for_loop(m, 0, var(i_len_), LoopKind::serial, block({start, sum})));
}

Expr ContractionTemplate::without_zero_points(const Expr& tile, const Expr& row_sum,
                                              const Expr& column_sum) const {
  if (!words_) return tile;
  const Expr &row = words_->row_zero, &column = words_->col_zero;
  Expr out = tile;
  if (row.defined()) out = out - row * column_sum;
  if (column.defined()) out = out - column * row_sum;
  if (row.defined() && column.defined()) {
    out = out + row * column * cast(DType::i32, to_expr(f_.facts.simplify(words_->elements)));
  }
  return out;
}

}  // namespace symtile
