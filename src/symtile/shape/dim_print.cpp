// Text of dimension expressions; parse_dim_expr reads it back to the same expression.
#include <cstdint>

#include "symtile/shape/dim_node.h"

namespace symtile {
namespace {

bool is_division(const DimAtom& atom) {
  return atom.kind == DimAtom::Kind::floordiv || atom.kind == DimAtom::Kind::floormod;
}

// An operand of // or %: in parentheses unless it is one name, number or call.
std::string operand(const DimExpr& e) {
  const DimAtom* atom = as_atom(e);
  const auto value = e.as_const();
  const bool simple = (atom != nullptr && !is_division(*atom)) || (value && *value >= 0);
  return simple ? e.str() : "(" + e.str() + ")";
}

std::string text_of(const DimAtom& atom) {
  switch (atom.kind) {
    case DimAtom::Kind::symbol:
      return atom.name;
    case DimAtom::Kind::floordiv:
      return operand(atom.args[0]) + " // " + operand(atom.args[1]);
    case DimAtom::Kind::floormod:
      return operand(atom.args[0]) + " % " + operand(atom.args[1]);
    case DimAtom::Kind::min:
      return "min(" + atom.args[0].str() + ", " + atom.args[1].str() + ")";
    case DimAtom::Kind::max:
      return "max(" + atom.args[0].str() + ", " + atom.args[1].str() + ")";
  }
  SYMTILE_UNREACHABLE("kind of an atom");
}

// The term without its sign.
std::string magnitude(const DimTerm& t, bool parenthesise) {
  const uint64_t k = t.coefficient < 0 ? uint64_t{0} - static_cast<uint64_t>(t.coefficient)
                                       : static_cast<uint64_t>(t.coefficient);
  if (t.factors.empty()) return std::to_string(k);
  std::string out = k == 1 ? "" : std::to_string(k);
  const bool alone = k == 1 && t.factors.size() == 1 && t.factors[0].second == 1;
  for (const auto& [atom, power] : t.factors) {
    std::string text = text_of(atom);
    // A division binds like a product, to the left: alone it needs no parentheses.
    if (is_division(atom) && (!alone || parenthesise)) text = "(" + text + ")";
    for (int i = 0; i < power; ++i) {
      if (!out.empty()) out += "*";
      out += text;
    }
  }
  return out;
}

}  // namespace

std::string DimExpr::str() const {
  if (is_unknown()) return "?";
  if (terms().empty()) return "0";
  // "4096 - n" reads better than "-n + 4096": start with the first positive term.
  size_t first = 0;
  while (first + 1 < terms().size() && terms()[first].coefficient < 0) ++first;
  if (terms()[first].coefficient < 0) first = 0;
  const bool negative = terms()[first].coefficient < 0;
  std::string out = negative ? "-" : "";
  out += magnitude(terms()[first], negative);
  for (size_t i = 0; i < terms().size(); ++i) {
    if (i == first) continue;
    out += terms()[i].coefficient < 0 ? " - " : " + ";
    out += magnitude(terms()[i], false);
  }
  return out;
}

std::string sanitize_symbol(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool tail = (c >= '0' && c <= '9') || c == '.';
    if (out.empty() && tail) out += '_';  // names do not start with a digit or a dot
    out += letter || tail ? c : '_';
  }
  return out.empty() ? "_" : out;
}

}  // namespace symtile
