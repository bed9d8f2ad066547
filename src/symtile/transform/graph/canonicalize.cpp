// Rewrites that make a graph smaller without changing any bit of its results: operators that do
// nothing, pairs that undo each other, movements of data that are only views. One line a rule.
//
// A rule fires when the pattern before fits and the condition holds. A name of one letter in a
// pattern is any value. The result of a replacement must have the type of what it replaces, so a
// rule never loses what is known about a dimension.
#include <algorithm>
#include <bit>

#include "symtile/op/op.h"
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"

namespace symtile {
namespace {

/// One try of a rule: the calls that the pattern matched, from the outside in, and its values.
struct Attempt {
  GraphFunction& f;
  const std::vector<int>& defs;
  ValueId result;
  std::vector<const OpCall*> calls;
  std::map<char, ValueId> values;
  Attributes attrs;  ///< of the replacement; those of the outermost call to begin with

  const Type& type(char name) const { return f.type(values.at(name)); }
  Constant constant(char name) const { return constant_of(f, defs, values.at(name)); }
};

bool always(Attempt&) { return true; }

/// All of the formulas are the number.
bool all_are(const Facts& facts, const Dims& dims, int64_t value) {
  return std::all_of(dims.begin(), dims.end(),
                     [&](const DimExpr& d) { return facts.proves_equal(d, value); });
}

/// Every element of k is `value`, the sign of a zero included.
bool is_filled_with(const Constant& c, double value) {
  if (!c || c->element_count() == 0 || c->element_count() > 4096) return false;
  for (int64_t i = 0; i < c->element_count(); ++i) {
    const double x = is_float(c->dtype) ? c->as_double(i) : static_cast<double>(c->as_int(i));
    if (std::bit_cast<uint64_t>(x) != std::bit_cast<uint64_t>(value)) return false;
  }
  return true;
}

/// x + -0.0 is x for every x; x + 0.0 is not, for x = -0.0.
bool k_is_neutral_for_add(Attempt& a) {
  return is_filled_with(a.constant('k'), is_float(a.type('k').dtype) ? -0.0 : 0.0);
}
bool k_is_zero(Attempt& a) { return is_filled_with(a.constant('k'), 0.0); }
bool k_is_one(Attempt& a) { return is_filled_with(a.constant('k'), 1.0); }
/// An integer to a real power is computed in f64, which does not hold all of it.
bool k_is_exact_power_one(Attempt& a) {
  return k_is_one(a) && (is_float(a.type('x').dtype) || is_int(a.type('k').dtype));
}
bool k_is_true(Attempt& a) { return is_filled_with(a.constant('k'), 1.0); }
bool k_is_false(Attempt& a) { return is_filled_with(a.constant('k'), 0.0); }

bool is_same_order(Attempt& a) {
  const std::vector<int64_t> perm = a.calls[0]->attrs.get_ints("perm");
  return std::is_sorted(perm.begin(), perm.end());
}

bool compose_orders(Attempt& a) {
  const std::vector<int64_t> outer = a.calls[0]->attrs.get_ints("perm"),
                             inner = a.calls[1]->attrs.get_ints("perm");
  std::vector<int64_t> both;
  for (const int64_t p : outer) both.push_back(inner[static_cast<size_t>(p)]);
  a.attrs = {{"perm", both}};
  return true;
}

/// The axes of other extents than 1 keep their order: nothing moves.
bool moves_only_unit_axes(Attempt& a) {
  const Type& x = a.type('x');
  if (!x.fully_known()) return false;
  int64_t last = -1;
  for (const int64_t p : a.calls[0]->attrs.get_ints("perm")) {
    if ((*x.dims)[static_cast<size_t>(p)].is_const(1)) continue;
    if (p < last) return false;
    last = p;
  }
  const Type& to = a.f.type(a.result);
  if (!to.fully_known()) return false;
  a.attrs = {{"shape", *to.dims}};
  return true;
}

bool takes_everything(Attempt& a) {
  const Attributes& attrs = a.calls[0]->attrs;
  const std::vector<int64_t> step = attrs.get_ints("step");
  return all_are(a.f.facts, attrs.get_dims("begin"), 0) &&
         std::all_of(step.begin(), step.end(), [](int64_t s) { return s == 1; });
}

/// begin and step of a slice of a slice.
bool compose_slices(Attempt& a) {
  const Attributes &outer = a.calls[0]->attrs, &inner = a.calls[1]->attrs;
  const std::vector<int64_t> outer_step = outer.get_ints("step"),
                             inner_step = inner.get_ints("step");
  Dims begin;
  std::vector<int64_t> step;
  for (size_t d = 0; d < outer_step.size(); ++d) {
    begin.push_back(inner.get_dims("begin")[d] +
                    DimExpr(inner_step[d]) * outer.get_dims("begin")[d]);
    int64_t product = 0;
    if (__builtin_mul_overflow(inner_step[d], outer_step[d], &product)) return false;
    step.push_back(product);
  }
  a.attrs.set("begin", begin);
  a.attrs.set("step", step);
  return true;
}

bool pads_nothing(Attempt& a) { return all_are(a.f.facts, a.calls[0]->attrs.get_dims("pads"), 0); }
bool repeats_once(Attempt& a) {
  return all_are(a.f.facts, a.calls[0]->attrs.get_dims("repeats"), 1);
}

bool is_signed(DType t) { return t >= DType::i8 && t <= DType::i64; }

/// Every value of `from` is one of `via`.
bool is_lossless(DType from, DType via) {
  if (from == DType::boolean) return via != DType::boolean;
  if (is_float(from))
    return (via == DType::f64 && from != via) || (via == DType::f32 && size_of(from) == 2);
  if (via == DType::boolean) return false;
  const int64_t bits = 8 * size_of(from);
  if (via == DType::f64) return bits <= 32;
  if (via == DType::f32) return bits <= 16;
  if (is_float(via)) return false;
  if (is_signed(from) == is_signed(via)) return size_of(via) >= size_of(from);
  return is_signed(via) && size_of(via) > size_of(from);
}

bool inner_cast_is_lossless(Attempt& a) {
  const DType from = a.type('x').dtype, via = a.calls[1]->attrs.get_dtype("to"),
              to = a.calls[0]->attrs.get_dtype("to");
  if (!is_lossless(from, via)) return false;
  // Integers wrap on the direct way, but saturate on the way through a float.
  return is_float(from) || !is_float(via) || !is_int(to) || is_lossless(from, to);
}

struct Rule {
  const char* before;
  const char* after;
  bool (*when)(Attempt&);
};

constexpr Rule kRules[] = {
    {"identity(x)", "x", always},
    {"neg(neg(x))", "x", always},
    {"bit_not(bit_not(x))", "x", always},
    {"logical_not(logical_not(x))", "x", always},
    {"abs(abs(x))", "abs(x)", always},
    {"relu(relu(x))", "relu(x)", always},
    {"add(x, k)", "x", k_is_neutral_for_add},
    {"add(k, x)", "x", k_is_neutral_for_add},
    {"sub(x, k)", "x", k_is_zero},
    {"mul(x, k)", "x", k_is_one},
    {"mul(k, x)", "x", k_is_one},
    {"div(x, k)", "x", k_is_one},
    {"pow(x, k)", "x", k_is_exact_power_one},
    {"logical_and(x, k)", "x", k_is_true},
    {"logical_and(k, x)", "x", k_is_true},
    {"logical_or(x, k)", "x", k_is_false},
    {"logical_or(k, x)", "x", k_is_false},
    {"where(k, x, y)", "x", k_is_true},
    {"where(k, x, y)", "y", k_is_false},
    {"where(c, x, x)", "x", always},
    {"cast(x)", "x", always},
    {"cast(cast(x))", "cast(x)", inner_cast_is_lossless},
    {"reshape(x)", "x", always},
    {"reshape(reshape(x))", "reshape(x)", always},
    {"expand(x)", "x", always},
    {"expand(expand(x))", "expand(x)", always},
    {"transpose(x)", "x", is_same_order},
    {"transpose(transpose(x))", "transpose(x)", compose_orders},
    {"transpose(x)", "reshape(x)", moves_only_unit_axes},
    {"slice(x)", "x", takes_everything},
    {"slice(slice(x))", "slice(x)", compose_slices},
    {"concat(x)", "x", always},
    {"tile(x)", "x", repeats_once},
    {"pad(x)", "x", pads_nothing},
    {"pad(x, y)", "x", pads_nothing},
};

/// Matches "op(arg, arg)" at *p with a value and moves p behind it.
bool match(const char*& p, ValueId value, Attempt& a) {
  const char* start = p;
  while (*p == '_' || (*p >= 'a' && *p <= 'z')) ++p;
  const std::string_view name(start, static_cast<size_t>(p - start));
  if (name.size() == 1 && *p != '(') {
    if (!value.valid()) return false;
    return a.values.emplace(name[0], value).first->second == value;
  }
  const int def = value.valid() ? a.defs[static_cast<size_t>(value.index)] : -1;
  const auto* call =
      def >= 0 ? std::get_if<OpCall>(&a.f.bindings[static_cast<size_t>(def)].node) : nullptr;
  if (!call || call->op != name) return false;
  a.calls.push_back(call);
  size_t count = 0;
  do {
    ++p;
    while (*p == ' ') ++p;
    if (count >= call->args.size() || !match(p, call->args[count++], a)) return false;
  } while (*p == ',');
  ++p;
  // Optional arguments that the pattern does not name must be absent.
  return std::all_of(call->args.begin() + static_cast<std::ptrdiff_t>(count), call->args.end(),
                     [](ValueId v) { return !v.valid(); });
}

class Canonicalizer {
 public:
  explicit Canonicalizer(GraphFunction& f) : f_(f), defs_(defining_bindings(f)) {}

  /// Operands are in their final form before the binding that reads them: one round is enough.
  void run() {
    scope_ = f_.entry_symbols();
    for (Binding& b : f_.bindings) {
      for_each_operand(b.node, [&](ValueId& id) { id = current(id); });
      while (simplify(b)) continue;
      for (std::string& s : bound_symbols(b.node, scope_)) scope_.insert(std::move(s));
    }
    for (ValueId& r : f_.results) r = current(r);
    std::erase_if(f_.bindings,
                  [&](const Binding& b) { return replaced_.count(b.result.index) > 0; });
  }

 private:
  ValueId current(ValueId id) const {
    for (auto it = replaced_.find(id.index); it != replaced_.end(); it = replaced_.find(id.index))
      id = it->second;
    return id;
  }

  bool replace(const Binding& b, ValueId by) {
    if (by == b.result || replaced_.count(b.result.index) ||
        !may_stand_for(f_.facts, f_.type(by), f_.type(b.result)))
      return false;
    replaced_[b.result.index] = by;
    return true;
  }

  bool simplify(Binding& b) {
    if (std::holds_alternative<OpCall>(b.node)) {
      return std::any_of(std::begin(kRules), std::end(kRules),
                         [&](const Rule& rule) { return apply(rule, b); });
    }
    if (const auto* get = std::get_if<GetItem>(&b.node)) {
      const int def = defs_[static_cast<size_t>(get->tuple.index)];
      const auto* made =
          def < 0 ? nullptr : std::get_if<MakeTuple>(&f_.bindings[static_cast<size_t>(def)].node);
      return made && replace(b, made->members.at(static_cast<size_t>(get->index)));
    }
    if (const auto* cast = std::get_if<MatchCast>(&b.node))
      return is_certain(*cast) && replace(b, cast->value);
    return false;
  }

  /// Binds nothing, and there is nothing to check.
  bool is_certain(const MatchCast& cast) const {
    std::set<std::string> symbols;
    cast.type.collect_symbols(symbols);
    if (!std::includes(scope_.begin(), scope_.end(), symbols.begin(), symbols.end())) return false;
    DimSubstitution bound;
    return match_type(cast.type, f_.type(cast.value), f_.facts, {}, bound, nullptr) == Match::exact;
  }

  bool apply(const Rule& rule, Binding& b) {
    const auto& root = std::get<OpCall>(b.node);
    Attempt a{f_, defs_, b.result, {}, {}, root.attrs};
    const char* before = rule.before;
    if (!match(before, b.result, a) || !rule.when(a)) return false;
    const std::string_view after(rule.after);
    const size_t open = after.find('(');
    if (open == std::string_view::npos) return replace(b, a.values.at(after[0]));
    OpCall made{
        std::string(after.substr(0, open)), {a.values.at(after[open + 1])}, std::move(a.attrs)};
    b.node = std::move(made);
    return true;
  }

  GraphFunction& f_;
  std::vector<int> defs_;
  std::map<int32_t, ValueId> replaced_;
  std::set<std::string> scope_;
};

}  // namespace

void canonicalize(Module& module, PassContext&) {
  for (const std::string& name : module.graph_names()) Canonicalizer(module.graph(name)).run();
}

}  // namespace symtile
