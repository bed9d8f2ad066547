// Facts as people write them: "n=1..4096", "1 <= n <= 4096", "n % 8 == 0", "b*s <= t".
#include <string_view>

#include "symtile/shape/checked.h"
#include "symtile/shape/facts.h"

namespace symtile {
namespace {

enum class Comparison { equal, less, less_equal, greater, greater_equal };

[[noreturn]] void not_understood(const std::string& text, const std::string& why) {
  fail(DiagId::bad_shape_fact, {},
       "'{}': {}; facts look like 'n=1..4096', 'n=64', '1 <= n <= 4096', 'n % 8 == 0' or 'a <= b'",
       text, why);
}

struct Chain {
  std::vector<std::string> sides;
  std::vector<Comparison> relations;
};

Chain split(const std::string& text) {
  Chain out;
  out.sides.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool equals_follows = i + 1 < text.size() && text[i + 1] == '=';
    if (c == '!') not_understood(text, "'!=' is not a fact symtile can use");
    if (c != '<' && c != '>' && c != '=') {
      out.sides.back() += c;
      continue;
    }
    if (c == '<')
      out.relations.push_back(equals_follows ? Comparison::less_equal : Comparison::less);
    if (c == '>') {
      out.relations.push_back(equals_follows ? Comparison::greater_equal : Comparison::greater);
    }
    if (c == '=') out.relations.push_back(Comparison::equal);
    if (equals_follows) ++i;
    out.sides.emplace_back();
  }
  return out;
}

DimExpr parse_side(const std::string& whole, const std::string& side) {
  try {
    const DimExpr e = parse_dim_expr(side);
    if (e.is_unknown()) not_understood(whole, "nothing is known about '?'");
    return e;
  } catch (const DiagnosticError& error) {
    if (error.id() != DiagId::bad_text) throw;
    not_understood(whole, "a side is not a dimension formula");
  }
}

std::optional<int64_t> parse_end(const std::string& whole, const std::string& text) {
  if (text.find_first_not_of(" \t") == std::string::npos) return std::nullopt;
  const auto value = parse_side(whole, text).as_const();
  if (!value) not_understood(whole, "the ends of a range are numbers");
  return value;
}

// symbol <= value and the like: a stated range, which may also admit negative values.
void bound_symbol(Facts& facts, const std::string& symbol, Comparison relation, int64_t value) {
  switch (relation) {
    case Comparison::equal:
      return facts.bound(symbol, value, value);
    case Comparison::less:
      return facts.bound(symbol, std::nullopt, checked_add(value, -1));
    case Comparison::less_equal:
      return facts.bound(symbol, std::nullopt, value);
    case Comparison::greater:
      return facts.bound(symbol, checked_add(value, 1), std::nullopt);
    case Comparison::greater_equal:
      return facts.bound(symbol, value, std::nullopt);
  }
}

Comparison mirrored(Comparison r) {
  switch (r) {
    case Comparison::less:
      return Comparison::greater;
    case Comparison::less_equal:
      return Comparison::greater_equal;
    case Comparison::greater:
      return Comparison::less;
    case Comparison::greater_equal:
      return Comparison::less_equal;
    case Comparison::equal:
      break;
  }
  return r;
}

void assume(Facts& facts, const DimExpr& a, Comparison relation, const DimExpr& b) {
  if (const auto s = a.as_symbol(); s && b.is_const()) {
    return bound_symbol(facts, *s, relation, *b.as_const());
  }
  if (const auto s = b.as_symbol(); s && a.is_const()) {
    return bound_symbol(facts, *s, mirrored(relation), *a.as_const());
  }
  switch (relation) {
    case Comparison::equal:
      return facts.assume_equal(a, b);
    case Comparison::less:
      return facts.assume_le(a + 1, b);
    case Comparison::less_equal:
      return facts.assume_le(a, b);
    case Comparison::greater:
      return facts.assume_le(b + 1, a);
    case Comparison::greater_equal:
      return facts.assume_le(b, a);
  }
}

}  // namespace

void Facts::assume_text(const std::string& text) {
  Chain chain = split(text);
  if (chain.relations.empty() || chain.relations.size() > 2) {
    not_understood(text, "expected one or two of <= < >= > == =");
  }
  if (const size_t dots = chain.sides.back().find("..");
      dots != std::string::npos && chain.relations == std::vector{Comparison::equal}) {
    const auto symbol = parse_side(text, chain.sides[0]).as_symbol();
    if (!symbol) not_understood(text, "a range is given to one dimension by name");
    const auto low = parse_end(text, chain.sides[1].substr(0, dots));
    const auto high = parse_end(text, chain.sides[1].substr(dots + 2));
    if (!low && !high) not_understood(text, "the range has no end");
    return bound(*symbol, low, high);
  }
  std::vector<DimExpr> sides;
  for (const std::string& side : chain.sides) sides.push_back(parse_side(text, side));
  // All of a chain or nothing.
  Facts next = *this;
  for (size_t i = 0; i < chain.relations.size(); ++i) {
    assume(next, sides[i], chain.relations[i], sides[i + 1]);
  }
  *this = next;
}

}  // namespace symtile
