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

  /// Deep operands come first wherever the order is free, so the stack stays shallow even for the
  /// nested maxima of large memory formulas.
  void expr(const DimExpr& e) {
    std::vector<std::pair<size_t, const DimTerm*>> terms;
    for (const DimTerm& t : e.terms()) terms.emplace_back(depth(t), &t);
    std::stable_sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
      // Of two equally deep ones the positive, so that "n - 1" does not become "-1 + n".
      return a.first != b.first ? a.first > b.first
                                : a.second->coefficient > 0 && b.second->coefficient < 0;
    });
    for (size_t i = 0; i < terms.size(); ++i) {
      const DimTerm& t = *terms[i].second;
      // The negation of the smallest int64 does not exist; such a term is added as it is.
      const bool subtract = i > 0 && t.coefficient < 0 && t.coefficient != INT64_MIN;
      term(t, subtract ? -t.coefficient : t.coefficient);
      if (i > 0) push(subtract ? FormulaCode::sub : FormulaCode::add);
    }
    if (terms.empty()) push(FormulaCode::constant, 0);
  }

 private:
  void push(FormulaCode code, int64_t operand = 0) { out_.steps.push_back({code, operand}); }

  // How many values the operands of a node need on the stack when the deepest comes first.
  static size_t depth_in_order(std::vector<size_t> operands, bool may_reorder) {
    if (may_reorder) std::sort(operands.rbegin(), operands.rend());
    size_t out = 1;
    for (size_t i = 0; i < operands.size(); ++i) out = std::max(out, operands[i] + (i > 0));
    return out;
  }
  static size_t depth(const DimExpr& e) {
    std::vector<size_t> terms;
    for (const DimTerm& t : e.terms()) terms.push_back(depth(t));
    return depth_in_order(std::move(terms), true);
  }
  static size_t depth(const DimTerm& t) {
    std::vector<size_t> factors = {1};  // the coefficient
    for (const auto& [factor, power] : t.factors) {
      factors.push_back(depth(factor));
      if (power > 1) factors.push_back(factors.back());
    }
    return depth_in_order(std::move(factors), true);
  }
  static size_t depth(const DimAtom& a) {
    if (a.kind == DimAtom::Kind::symbol) return 1;
    return depth_in_order({depth(a.args.at(0)), depth(a.args.at(1))}, commutes(a));
  }
  static bool commutes(const DimAtom& a) {
    return a.kind == DimAtom::Kind::min || a.kind == DimAtom::Kind::max;
  }

  void term(const DimTerm& t, int64_t coefficient) {
    auto factors = t.factors;
    std::stable_sort(factors.begin(), factors.end(),
                     [](const auto& a, const auto& b) { return depth(a.first) > depth(b.first); });
    bool first = true;
    for (const auto& [factor, power] : factors) {
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
    const bool swap = commutes(a) && depth(a.args.at(1)) > depth(a.args.at(0));
    expr(a.args.at(swap ? 1 : 0));
    expr(a.args.at(swap ? 0 : 1));
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
