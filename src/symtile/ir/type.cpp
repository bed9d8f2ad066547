#include "symtile/ir/type.h"

#include <algorithm>

#include "symtile/base/check.h"

namespace symtile {
namespace {

std::string dims_str(const Dims& dims) {
  std::string out = "(";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dims[i].str();
  return out + ")";
}

std::string_view kind_str(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::tensor:
      return "tensor";
    case Type::Kind::shape:
      return "shape";
    case Type::Kind::scalar:
      return "scalar";
    case Type::Kind::tuple:
      return "tuple";
    case Type::Kind::func:
      return "function";
    case Type::Kind::object:
      return "object";
  }
  SYMTILE_UNREACHABLE();
}

bool same_dim(const DimExpr& a, const DimExpr& b) {
  if (a.is_unknown() || b.is_unknown()) return a.is_unknown() && b.is_unknown();
  return a == b;
}

std::optional<Dims> join_dims(const std::optional<Dims>& a, const std::optional<Dims>& b,
                              const Facts& facts) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Dims out;
  for (size_t i = 0; i < a->size(); ++i) {
    const DimExpr &x = (*a)[i], &y = (*b)[i];
    const bool equal = !x.is_unknown() && !y.is_unknown() && (x == y || facts.proves_equal(x, y));
    out.push_back(equal ? x : DimExpr::unknown());
  }
  return out;
}

/// Rebuilds a type with `f` applied to every dimension.
template <typename F>
Type map_dims(const Type& type, const F& f) {
  Type out = type;
  if (out.dims) {
    for (DimExpr& d : *out.dims) d = f(d);
  }
  for (Type& e : out.elements) e = map_dims(e, f);
  return out;
}

Match worst(Match a, Match b) { return std::max(a, b); }

class Matcher {
 public:
  Matcher(const Facts& facts, const std::set<std::string>& free_symbols, DimSubstitution& bound)
      : facts_(facts), free_symbols_(free_symbols), bound_(bound) {}

  Match match(const Type& parameter, const Type& argument) {
    if (parameter.kind == Type::Kind::object) return Match::exact;
    if (argument.kind == Type::Kind::object) return Match::possible;
    if (parameter.kind != argument.kind) {
      return refuse("expected a {}, got a {}", kind_str(parameter.kind), kind_str(argument.kind));
    }
    switch (parameter.kind) {
      case Type::Kind::tensor:
        if (parameter.dtype != argument.dtype) return refuse_dtype(parameter, argument);
        return match_dims(parameter.dims, argument.dims);
      case Type::Kind::shape:
        return match_dims(parameter.dims, argument.dims);
      case Type::Kind::scalar:
        return parameter.dtype == argument.dtype ? Match::exact : refuse_dtype(parameter, argument);
      case Type::Kind::tuple:
        return match_elements(parameter, argument);
      case Type::Kind::func:
        return match_func(parameter, argument);
      case Type::Kind::object:
        break;
    }
    SYMTILE_UNREACHABLE();
  }

  const std::string& why() const { return why_; }

 private:
  template <typename... Args>
  Match refuse(fmt::format_string<Args...> format, Args&&... args) {
    why_ = fmt::format(format, std::forward<Args>(args)...);
    return Match::impossible;
  }

  Match refuse_dtype(const Type& parameter, const Type& argument) {
    return refuse("expected element type {}, got {}", name_of(parameter.dtype),
                  name_of(argument.dtype));
  }

  Match match_dims(const std::optional<Dims>& parameter, const std::optional<Dims>& argument) {
    if (!parameter) return Match::exact;
    if (!argument) return Match::possible;
    if (parameter->size() != argument->size()) {
      return refuse("expected rank {}, got rank {}", parameter->size(), argument->size());
    }
    Match result = Match::exact;
    for (size_t i = 0; i < parameter->size(); ++i) {
      result = worst(result, match_dim(i, (*parameter)[i], (*argument)[i]));
      if (result == Match::impossible) break;
    }
    return result;
  }

  Match match_dim(size_t index, const DimExpr& parameter, const DimExpr& argument) {
    if (parameter.is_unknown()) return Match::exact;
    // An unknown extent binds nothing: a later sight of the symbol may still know it.
    if (argument.is_unknown()) return Match::possible;
    if (const auto symbol = parameter.as_symbol();
        symbol && free_symbols_.count(*symbol) && !bound_.count(*symbol)) {
      bound_.emplace(*symbol, argument);
      return Match::exact;
    }
    for (const std::string& symbol : parameter.symbols()) {
      if (free_symbols_.count(symbol) && !bound_.count(symbol)) return Match::possible;
    }
    const DimExpr expected = parameter.substitute(bound_);
    if (expected == argument || facts_.proves_equal(expected, argument)) return Match::exact;
    if (!facts_.proves_not_equal(expected, argument)) return Match::possible;
    if (expected == parameter) {
      return refuse("dimension {}: expected {}, got {}", index, expected.str(), argument.str());
    }
    return refuse("dimension {}: expected {} = {}, got {}", index, parameter.str(), expected.str(),
                  argument.str());
  }

  Match match_elements(const Type& parameter, const Type& argument) {
    if (parameter.elements.size() != argument.elements.size()) {
      return refuse("expected {} members, got {}", parameter.elements.size(),
                    argument.elements.size());
    }
    Match result = Match::exact;
    for (size_t i = 0; i < parameter.elements.size(); ++i) {
      const Match m = match(parameter.elements[i], argument.elements[i]);
      if (m == Match::impossible) return refuse("member {}: {}", i, std::string(why_));
      result = worst(result, m);
    }
    return result;
  }

  // Symbols inside function types belong to that function and are never bound here.
  Match match_func(const Type& parameter, const Type& argument) {
    if (parameter.elements.size() != argument.elements.size()) {
      return refuse("expected a function of {} parameters, got {}", parameter.elements.size() - 1,
                    argument.elements.size() - 1);
    }
    if (parameter.pure && !argument.pure) return refuse("expected a pure function");
    return parameter.elements == argument.elements ? Match::exact : Match::possible;
  }

  const Facts& facts_;
  const std::set<std::string>& free_symbols_;
  DimSubstitution& bound_;
  std::string why_;
};

}  // namespace

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  const bool has_dtype = a.kind == Type::Kind::tensor || a.kind == Type::Kind::scalar;
  if (has_dtype && a.dtype != b.dtype) return false;
  if (a.kind == Type::Kind::func && a.pure != b.pure) return false;
  if (a.dims.has_value() != b.dims.has_value()) return false;
  if (a.dims &&
      !std::equal(a.dims->begin(), a.dims->end(), b.dims->begin(), b.dims->end(), same_dim)) {
    return false;
  }
  return a.elements == b.elements;
}

bool Type::fully_known() const {
  switch (kind) {
    case Kind::tensor:
    case Kind::shape:
      return dims && std::none_of(dims->begin(), dims->end(),
                                  [](const DimExpr& d) { return d.is_unknown(); });
    case Kind::tuple:
      return std::all_of(elements.begin(), elements.end(),
                         [](const Type& t) { return t.fully_known(); });
    case Kind::scalar:
      return true;
    case Kind::func:
    case Kind::object:
      return false;
  }
  SYMTILE_UNREACHABLE();
}

std::string Type::str() const {
  const auto join_types = [](auto begin, auto end) {
    std::string out;
    for (auto it = begin; it != end; ++it) out += (it == begin ? "" : ", ") + it->str();
    return out;
  };
  const std::string shape_text = dims ? dims_str(*dims) : "*";
  switch (kind) {
    case Kind::tensor:
      return fmt::format("Tensor[{}, {}]", shape_text, name_of(dtype));
    case Kind::shape:
      return fmt::format("Shape[{}]", shape_text);
    case Kind::scalar:
      return fmt::format("Scalar[{}]", name_of(dtype));
    case Kind::tuple:
      return fmt::format("Tuple[{}]", join_types(elements.begin(), elements.end()));
    case Kind::func:
      SYMTILE_CHECK(!elements.empty(), "a function type without a result");
      return fmt::format("Func[({}) -> {}{}]", join_types(elements.begin(), elements.end() - 1),
                         elements.back().str(), pure ? "" : ", impure");
    case Kind::object:
      return "Object";
  }
  SYMTILE_UNREACHABLE();
}

void Type::collect_symbols(std::set<std::string>& out) const {
  if (dims) {
    for (const DimExpr& d : *dims) d.collect_symbols(out);
  }
  for (const Type& e : elements) e.collect_symbols(out);
}

Type Type::substitute(const DimSubstitution& map) const {
  return map_dims(*this, [&](const DimExpr& d) { return d.substitute(map); });
}

Type Type::erase_outside(const std::set<std::string>& scope) const {
  return map_dims(*this, [&](const DimExpr& d) {
    for (const std::string& symbol : d.symbols()) {
      if (!scope.count(symbol)) return DimExpr::unknown();
    }
    return d;
  });
}

std::optional<Type> join(const Type& a, const Type& b, const Facts& facts) {
  if (a.kind != b.kind) return std::nullopt;
  Type out = a;
  switch (a.kind) {
    case Type::Kind::tensor:
      if (a.dtype != b.dtype) return std::nullopt;
      out.dims = join_dims(a.dims, b.dims, facts);
      return out;
    case Type::Kind::shape:
      out.dims = join_dims(a.dims, b.dims, facts);
      return out;
    case Type::Kind::scalar:
      return a.dtype == b.dtype ? std::optional(out) : std::nullopt;
    case Type::Kind::object:
      return out;
    case Type::Kind::func:
      if (!(a.elements == b.elements)) return std::nullopt;
      out.pure = a.pure && b.pure;
      return out;
    case Type::Kind::tuple:
      if (a.elements.size() != b.elements.size()) return std::nullopt;
      for (size_t i = 0; i < a.elements.size(); ++i) {
        auto member = join(a.elements[i], b.elements[i], facts);
        if (!member) return std::nullopt;
        out.elements[i] = std::move(*member);
      }
      return out;
  }
  SYMTILE_UNREACHABLE();
}

Match match_type(const Type& parameter, const Type& argument, const Facts& facts,
                 const std::set<std::string>& free_symbols, DimSubstitution& bound,
                 std::string* why) {
  Matcher matcher(facts, free_symbols, bound);
  const Match result = matcher.match(parameter, argument);
  if (result == Match::impossible && why) *why = matcher.why();
  return result;
}

}  // namespace symtile
