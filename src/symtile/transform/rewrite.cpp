#include "symtile/transform/rewrite.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "symtile/op/builder.h"

namespace symtile {
namespace {

constexpr double kTolerance = 1e-4;
/// Larger constants are taken for weights.
constexpr int64_t kMaxFilled = 1 << 16;

struct Pattern {
  enum class Kind : uint8_t { letter, number, name, op };
  Kind kind = Kind::letter;
  std::string text;  ///< letter, name, operator
  double number = 0;
  std::vector<Pattern> args;
};

Pattern parse(const char*& p) {
  const auto blanks = [&] {
    while (*p == ' ') ++p;
  };
  blanks();
  Pattern out;
  if (*p == '-' || (*p >= '0' && *p <= '9')) {
    char* end = nullptr;
    out.kind = Pattern::Kind::number;
    out.number = std::strtod(p, &end);
    p = end;
    blanks();
    return out;
  }
  const bool is_name = *p == '$';
  if (is_name) ++p;
  while (*p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9')) out.text += *p++;
  SYMTILE_CHECK(!out.text.empty(), "a pattern ends in '{}'", p);
  out.kind = is_name ? Pattern::Kind::name : Pattern::Kind::letter;
  if (*p == '(') {
    out.kind = Pattern::Kind::op;
    do {
      ++p;
      out.args.push_back(parse(p));
    } while (*p == ',');
    SYMTILE_CHECK(*p == ')', "a pattern has no ')' before '{}'", p);
    ++p;
  }
  SYMTILE_CHECK(out.kind != Pattern::Kind::letter || out.text.size() == 1, "'{}' is no letter",
                out.text);
  blanks();
  return out;
}

bool is_commutative(std::string_view op) {
  return op == "add" || op == "mul" || op == "max" || op == "min" || op == "logical_and" ||
         op == "logical_or";
}

std::optional<double> filled_with(const Constant& c) {
  if (!c || c->element_count() == 0 || c->element_count() > kMaxFilled) return std::nullopt;
  const auto at = [&](int64_t i) {
    return is_float(c->dtype) ? c->as_double(i) : static_cast<double>(c->as_int(i));
  };
  const double first = at(0);
  for (int64_t i = 1; i < c->element_count(); ++i) {
    if (at(i) != first) return std::nullopt;
  }
  return first;
}

struct ParsedRule {
  const RewriteRule* rule;
  Pattern before, after;
};

class Rewriter {
 public:
  Rewriter(GraphFunction& f, PassContext& context, std::span<const RewriteRule> rules,
           std::span<const PatternName> names)
      : f_(f), context_(context) {
    for (const RewriteRule& r : rules) {
      const char *before = r.before, *after = r.after;
      rules_.push_back({&r, parse(before), parse(after)});
    }
    for (const PatternName& n : names) {
      const char* p = n.pattern;
      names_[n.name].push_back(parse(p));
    }
  }

  void run() {
    look();
    for (size_t i = 0; i < f_.bindings.size(); ++i) {
      // A rule may fit what another one made; no rule fits its own result for ever.
      for (int tries = 0; tries < 16 && rewrite(i); ++tries) continue;
    }
  }

 private:
  void look() {
    uses_ = count_uses(f_);
    defs_ = defining_bindings(f_);
  }

  using Next = std::function<bool()>;

  bool match(const Pattern& p, ValueId v, Attempt& a, const Next& next) {
    if (!v.valid()) return false;
    switch (p.kind) {
      case Pattern::Kind::letter: {
        const auto [it, fresh] = a.values.emplace(p.text[0], v);
        if (it->second != v) return false;
        if (next()) return true;
        if (fresh) a.values.erase(p.text[0]);
        return false;
      }
      case Pattern::Kind::number: {
        const auto number = filled_with(constant_of(f_, defs_, v));
        return number && std::abs(*number - p.number) <= kTolerance * std::abs(p.number) && next();
      }
      case Pattern::Kind::name: {
        const std::vector<Pattern>& all = names_.at(p.text);
        return std::any_of(all.begin(), all.end(),
                           [&](const Pattern& q) { return match(q, v, a, next); });
      }
      case Pattern::Kind::op:
        break;
    }
    const OpCall* call = a.call(v);
    if (!call || call->op != p.text || call->args.size() < p.args.size()) return false;
    // Optional arguments that the pattern does not name must be absent.
    for (size_t i = p.args.size(); i < call->args.size(); ++i) {
      if (call->args[i].valid()) return false;
    }
    a.inner.push_back(v);
    const std::vector<ValueId> args = call->args;
    if (match_args(p, args, 0, a, next)) return true;
    if (is_commutative(p.text) && args.size() == 2 && match_args(p, {args[1], args[0]}, 0, a, next))
      return true;
    a.inner.pop_back();
    return false;
  }

  bool match_args(const Pattern& p, const std::vector<ValueId>& args, size_t i, Attempt& a,
                  const Next& next) {
    if (i == p.args.size()) return next();
    return match(p.args[i], args[i], a, [&] { return match_args(p, args, i + 1, a, next); });
  }

  /// Everything inside is used by what the pattern names only.
  bool is_private(const Attempt& a) const {
    const std::set<ValueId> calls(a.inner.begin(), a.inner.end());
    std::map<ValueId, int> named;
    for (const ValueId v : calls) {
      for (const ValueId arg : a.call(v)->args) ++named[arg];
    }
    return std::all_of(calls.begin(), calls.end(), [&](ValueId v) {
      return v == a.result || uses_[static_cast<size_t>(v.index)] == named[v];
    });
  }

  bool rewrite(size_t& i) {
    if (!std::holds_alternative<OpCall>(f_.bindings[i].node)) return false;
    return std::any_of(rules_.begin(), rules_.end(),
                       [&](const ParsedRule& r) { return apply(r, i); });
  }

  bool apply(const ParsedRule& r, size_t& i) {
    if (std::get<OpCall>(f_.bindings[i].node).op != r.before.text) return false;
    const ValueId root = f_.bindings[i].result;
    const size_t values = f_.values.size();
    Attempt a(f_, defs_, root);
    GraphNode node;
    const bool done = match(r.before, root, a, [&] {
      if (!is_private(a)) return false;
      const auto known = a.values;
      if (r.rule->when(a) && build(r.after, a, node)) return true;
      // Another way to match may still do.
      a.values = known;
      a.attrs.clear();
      a.before.clear();
      f_.values.resize(values);
      return false;
    });
    if (!done) return false;
    context_.note("rewrite: %{}: {} -> {}", f_.value(root).name, r.rule->before, r.rule->after);
    replace(i, a, std::move(node));
    return true;
  }

  /// The root of the replacement as a node of the same type as what it replaces.
  bool build(const Pattern& after, Attempt& a, GraphNode& node) {
    SYMTILE_CHECK(after.kind == Pattern::Kind::op, "a replacement is '{}' alone", after.text);
    const ValueId made = emit(after, a);
    if (!made.valid() || !may_stand_for(f_.facts, f_.type(made), f_.type(a.result))) return false;
    node = std::move(a.before.back().node);
    a.before.pop_back();
    f_.values.pop_back();
    return true;
  }

  ValueId emit(const Pattern& p, Attempt& a) {
    if (p.kind == Pattern::Kind::letter) return a.values.at(p.text[0]);
    SYMTILE_CHECK(p.kind == Pattern::Kind::op, "a replacement names '{}'", p.text);
    std::vector<ValueId> args;
    for (const Pattern& q : p.args) {
      // A letter that has no value is an absent optional argument.
      const bool absent = q.kind == Pattern::Kind::letter && !a.values.count(q.text[0]);
      args.push_back(absent ? ValueId{} : emit(q, a));
      if (!absent && !args.back().valid()) return {};
    }
    while (!args.empty() && !args.back().valid()) args.pop_back();
    return a.make(p.text, std::move(args), a.attrs[p.text]);
  }

  void replace(size_t& i, Attempt& a, GraphNode node) {
    std::vector<Binding> out;
    out.reserve(f_.bindings.size() + a.before.size());
    for (size_t k = 0; k < f_.bindings.size(); ++k) {
      if (k == i) {
        for (Binding& b : a.before) {
          b.location = f_.bindings[i].location;
          out.push_back(std::move(b));
        }
      }
      out.push_back(std::move(f_.bindings[k]));
    }
    i += a.before.size();
    out[i].node = std::move(node);
    f_.bindings = std::move(out);
    // What only the replaced operator used is gone, so that it counts as nobody's user.
    for (size_t k = 1; k < a.inner.size(); ++k) {
      look();
      const int def = defs_[static_cast<size_t>(a.inner[k].index)];
      if (def < 0 || uses_[static_cast<size_t>(a.inner[k].index)] > 0) continue;
      f_.bindings.erase(f_.bindings.begin() + def);
      if (static_cast<size_t>(def) < i) --i;
    }
    look();
  }

  GraphFunction& f_;
  PassContext& context_;
  std::vector<ParsedRule> rules_;
  std::map<std::string, std::vector<Pattern>> names_;
  std::vector<int> uses_, defs_;
};

}  // namespace

std::optional<double> Attempt::number(ValueId v) const { return filled_with(constant(v)); }

const OpCall* Attempt::call(ValueId v) const {
  if (!v.valid() || static_cast<size_t>(v.index) >= defs_.size()) return nullptr;
  const int def = defs_[static_cast<size_t>(v.index)];
  return def < 0 ? nullptr : std::get_if<OpCall>(&f.bindings[static_cast<size_t>(def)].node);
}

const OpCall& Attempt::matched(std::string_view op) const {
  for (const ValueId v : inner) {
    if (const OpCall* c = call(v); c->op == op) return *c;
  }
  SYMTILE_UNREACHABLE("no operator of that name is in the pattern");
}

bool Attempt::has_matched(std::string_view op) const {
  return std::any_of(inner.begin(), inner.end(), [&](ValueId v) { return call(v)->op == op; });
}

ValueId Attempt::make(const std::string& op, std::vector<ValueId> args, Attributes attributes) {
  OpCall node{op, std::move(args), std::move(attributes)};
  std::vector<Type> types;
  std::vector<Constant> constants;
  for (const ValueId v : node.args) {
    types.push_back(v.valid() ? f.type(v) : Type::object());
    constants.push_back(v.valid() && static_cast<size_t>(v.index) < defs_.size()
                            ? constant_of(f, defs_, v)
                            : nullptr);
  }
  std::vector<DimCheck> checks;
  std::vector<Type> results;
  try {
    results = deduce_call(node, types, constants, f.facts, {}, &checks);
  } catch (const UserError&) {
    return {};
  }
  if (!checks.empty() || results.size() != 1) return {};
  const ValueId id = f.add_value(f.value(result).name + "_" + op, results[0]);
  before.push_back({id, std::move(node), {}});
  return id;
}

ValueId Attempt::make_constant(Constant data) {
  const Type type = Type::tensor(Dims(data->dims.begin(), data->dims.end()), data->dtype);
  const ValueId id = f.add_value(f.value(result).name + "_constant", type);
  before.push_back({id, ConstantNode{std::move(data)}, {}});
  return id;
}

bool is_last_axis(const Attempt& a, const OpCall& call) {
  const Type& x = a.f.type(call.args[0]);
  if (!x.has_rank()) return false;
  int64_t axis = 0;
  if (call.attrs.has("axes")) {
    const std::vector<int64_t> axes = call.attrs.get_ints("axes");
    if (axes.size() != 1) return false;
    axis = axes[0];
  } else if (find_op(call.op)->attrs[0].name == std::string_view("axes")) {
    axis = x.rank() == 1 ? 0 : x.rank();  // all of them
  } else {
    axis = call.attrs.get_int("axis", -1);
  }
  return (axis < 0 ? axis + x.rank() : axis) == x.rank() - 1;
}

void rewrite_graphs(Module& module, PassContext& context, std::span<const RewriteRule> rules,
                    std::span<const PatternName> names) {
  for (const std::string& name : module.graph_names())
    Rewriter(module.graph(name), context, rules, names).run();
}

}  // namespace symtile
