#include <algorithm>

#include "symtile/backend/vm/lower_program.h"
#include "symtile/base/check.h"

namespace symtile {
namespace {

using format::Formula;
using format::FormulaCode;

class FormulaWriter {
 public:
  FormulaWriter(const std::vector<std::string>& symbols, Formula& out)
      : symbols_(symbols), out_(out) {}

  void expr(const DimExpr& e) {
    bool first = true;
    // Positive terms first, so that "n - 1" subtracts instead of adding to "-1 * 1".
    for (const bool positive : {true, false}) {
      for (const DimTerm& t : e.terms()) {
        if ((t.coefficient > 0) != positive) continue;
        // The negation of the smallest int64 does not exist; such a term is added as it is.
        const bool subtract = !first && !positive && t.coefficient != INT64_MIN;
        term(t, subtract ? -t.coefficient : t.coefficient);
        if (!first) push(subtract ? FormulaCode::sub : FormulaCode::add);
        first = false;
      }
    }
    if (first) push(FormulaCode::constant, 0);
  }

 private:
  void push(FormulaCode code, int64_t operand = 0) { out_.steps.push_back({code, operand}); }

  void term(const DimTerm& t, int64_t coefficient) {
    bool first = true;
    for (const auto& [factor, power] : t.factors) {
      for (int i = 0; i < power; ++i) {
        atom(factor);
        if (!first) push(FormulaCode::mul);
        first = false;
      }
    }
    if (coefficient == 1 && !first) return;
    push(FormulaCode::constant, coefficient);
    if (!first) push(FormulaCode::mul);
  }

  void atom(const DimAtom& a) {
    if (a.kind == DimAtom::Kind::symbol) {
      const auto it = std::find(symbols_.begin(), symbols_.end(), a.name);
      SYMTILE_CHECK(it != symbols_.end(), "symbol '{}' of '{}' is not in scope", a.name, out_.text);
      push(FormulaCode::slot, it - symbols_.begin());
      return;
    }
    expr(a.args.at(0));
    expr(a.args.at(1));
    switch (a.kind) {
      case DimAtom::Kind::floordiv:
        return push(FormulaCode::floordiv);
      case DimAtom::Kind::floormod:
        return push(FormulaCode::floormod);
      case DimAtom::Kind::min:
        return push(FormulaCode::min);
      case DimAtom::Kind::max:
        return push(FormulaCode::max);
      case DimAtom::Kind::symbol:
        break;
    }
  }

  const std::vector<std::string>& symbols_;
  Formula& out_;
};

}  // namespace

Formula lower_formula(const DimExpr& expr, const std::vector<std::string>& symbols) {
  SYMTILE_CHECK(!expr.is_unknown(), "an unknown dimension has no formula");
  Formula out;
  out.text = expr.str();
  FormulaWriter(symbols, out).expr(expr);
  format::check_formula(out);
  return out;
}

}  // namespace symtile
