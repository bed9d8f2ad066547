// The next panel of a packed constant, fetched while a contraction multiplies this one.
//
// Weights come from memory, once for each block of rows. A panel is multiplied for longer than it
// takes to arrive, but the hardware sees it coming only when it is read: so the steps of one panel
// ask for the lines of the next. Hints change no result.
#include <algorithm>

#include "symtile/schedule/cpu/contraction_template.h"

namespace symtile {
namespace {

constexpr int64_t kLineBytes = 64;
/// Into the second level: the first one is full of what is multiplied now.
constexpr int64_t kSecondLevel = 2;

Stmt prefetch(const std::string& buffer, DType dtype, const Expr& at) {
  return make_stmt(IntrinsicStmt{"prefetch", {load(buffer, dtype, {at}), Expr(kSecondLevel)}});
}

}  // namespace

/// The flat index from which a register tile at (i, j) fetches the next panel of a packed constant:
/// of the same block of k, or for the last panel the first one of the next block.
Expr ContractionTemplate::next_panel(int64_t rows, const Expr& i, const Expr& j) const {
  const Expr after = j + Expr(kPanel);
  const Expr here = select(after < var(n_len_), after, floormod(j, Expr(kPanel)));
  const Expr first = col_element(here, 0, 0).as<Load>()->indices[0];
  Expr at = select(after < var(n_len_), first, first + var(k_len_) * Expr(kPanel));
  if (rows < tile_.mr) return at;
  // Whole strips take one line a step, one behind the other: the first strip the first part.
  const Expr part = min(floordiv(i, Expr(rows)), Expr(panel_lines() - 1));
  return at + part * var(k_len_) * Expr(kLineBytes / size_of(acc_type_));
}

int64_t ContractionTemplate::panel_lines() const {
  return std::max<int64_t>(tile_.nr * size_of(acc_type_) / kLineBytes, 1);
}

/// What one step of the reduction fetches of the next panel.
std::vector<Stmt> ContractionTemplate::prefetch_panel(int64_t rows, const Expr& next,
                                                      const Expr& k) const {
  const auto& l = *col_operand_.as<Load>();
  const Expr line(kLineBytes / size_of(l.dtype));
  if (rows == tile_.mr) return {prefetch(l.buffer, l.dtype, next + k * line)};
  std::vector<Stmt> out;
  // Few rows multiply no longer than a panel takes to arrive: one strip asks for all of it.
  for (int64_t i = 0; i < panel_lines(); ++i)
    out.push_back(prefetch(l.buffer, l.dtype, next + k * Expr(kPanel) + Expr(i) * line));
  return out;
}

}  // namespace symtile
