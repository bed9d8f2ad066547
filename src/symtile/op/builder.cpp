#include "symtile/op/builder.h"

namespace symtile {

namespace {

/// Formulas as the facts have them, so that dimensions known to be equal are the same formula.
void simplify_dims(Type& type, const Facts& facts) {
  if (type.dims) {
    for (DimExpr& d : *type.dims) {
      if (!d.is_unknown() && !d.is_const()) d = facts.simplify(d);
    }
  }
  for (Type& e : type.elements) simplify_dims(e, facts);
}

/// Symbols that the types or nodes of the function mention, so that a fresh one differs from all.
void collect_all_symbols(const GraphFunction& f, std::set<std::string>& out) {
  out.insert(f.dim_params.begin(), f.dim_params.end());
  for (const Value& v : f.values) v.type.collect_symbols(out);
  for (const auto& entry : f.facts.ranges()) out.insert(entry.first);
  for (const Binding& b : f.bindings) {
    if (const auto* read = std::get_if<ReadDims>(&b.node)) {
      out.insert(read->symbols.begin(), read->symbols.end());
    }
    for_each_dim(b.node, [&](const DimExpr& d) { d.collect_symbols(out); });
  }
}

}  // namespace

std::vector<Type> deduce_call(const OpCall& call, const std::vector<Type>& args,
                              const std::vector<Constant>& constants, const Facts& facts,
                              const Location& location, std::vector<DimCheck>* checks) {
  check_op_call(call, location);
  SYMTILE_CHECK(args.size() == call.args.size());
  std::vector<Constant> padded = constants;
  padded.resize(args.size());
  DeduceContext c(call, args, std::move(padded), facts, location);
  for (int i = 0; i < c.num_args(); ++i) {
    if (c.has(i) && !c.arg(i).is_tensor()) {
      c.fail(DiagId::type_mismatch, "operand {} must be a tensor, but is {}", i, c.arg(i).str());
    }
  }
  std::vector<Type> results = find_op(call.op)->deduce(c);
  if (checks != nullptr) *checks = std::move(c.checks);
  return results;
}

std::vector<Type> OpBuilder::deduce(const OpCall& call) {
  std::vector<Type> args;
  std::vector<Constant> constants;
  for (ValueId a : call.args) {
    args.push_back(a.valid() ? type(a) : Type::object());
    constants.push_back(a.valid() ? constant_of(a) : nullptr);
  }
  std::vector<DimCheck> checks;
  std::vector<Type> results = deduce_call(call, args, constants, facts(), location, &checks);
  for (const DimCheck& c : checks) check(c.a, c.b, c.message);
  for (Type& t : results) simplify_dims(t, facts());
  return results;
}

ValueId OpBuilder::bind(GraphNode node, Type type, const std::string& hint) {
  int& uses = name_uses_[hint];
  std::string name = uses == 0 ? hint : fmt::format("{}_{}", hint, uses);
  ++uses;
  return function_.bind(std::move(node), std::move(type), location, std::move(name));
}

ValueId OpBuilder::call(const std::string& op, std::vector<ValueId> args, Attributes attrs) {
  OpCall node{op, std::move(args), std::move(attrs)};
  std::vector<Type> types = deduce(node);
  SYMTILE_CHECK(types.size() == 1, "operator '{}' has {} results here", op, types.size());
  return bind(std::move(node), std::move(types[0]), op);
}

std::vector<ValueId> OpBuilder::call_many(const std::string& op, std::vector<ValueId> args,
                                          Attributes attrs) {
  OpCall node{op, std::move(args), std::move(attrs)};
  std::vector<Type> types = deduce(node);
  if (types.size() == 1) return {bind(std::move(node), std::move(types[0]), op)};
  const ValueId tuple = bind(std::move(node), Type::tuple(types), op);
  std::vector<ValueId> out;
  for (size_t k = 0; k < types.size(); ++k) {
    out.push_back(bind(GetItem{tuple, static_cast<int64_t>(k)}, std::move(types[k]), op));
  }
  return out;
}

ValueId OpBuilder::constant(Constant data) {
  Dims dims;
  for (int64_t d : data->dims) dims.emplace_back(d);
  const Type t = Type::tensor(std::move(dims), data->dtype);
  return bind(ConstantNode{std::move(data)}, t, "const");
}

ValueId OpBuilder::dims_tensor(Dims dims, DType dtype, bool scalar) {
  SYMTILE_CHECK(!scalar || dims.size() == 1);
  for (const DimExpr& d : dims) SYMTILE_CHECK(!d.is_unknown(), "a tensor of unknown dimensions");
  const Type t =
      scalar ? Type::tensor({}, dtype) : Type::tensor({static_cast<int64_t>(dims.size())}, dtype);
  return bind(DimsToTensor{std::move(dims), dtype, scalar}, t, "dims");
}

ValueId OpBuilder::match_cast(ValueId value, Type type) {
  Type result = type;
  return bind(MatchCast{value, std::move(type)}, std::move(result), "cast_to_shape");
}

Dims OpBuilder::read_dims(ValueId value, int count, const std::string& hint) {
  ReadDims node{value, {}};
  Dims out;
  for (int i = 0; i < count; ++i) {
    std::string s = fresh_symbol(hint);
    // The elements of a run-time tensor may be negative, unlike dimensions.
    function_.facts.bound(s, -kMaxDim, kMaxDim);
    out.push_back(DimExpr::symbol(s));
    node.symbols.push_back(std::move(s));
  }
  Type t = type(value);
  bind(std::move(node), std::move(t), "read");
  return out;
}

std::string OpBuilder::fresh_symbol(const std::string& hint) {
  std::set<std::string> taken;
  collect_all_symbols(function_, taken);
  taken.insert(given_symbols_.begin(), given_symbols_.end());
  const std::string base = sanitize_symbol(hint.empty() ? "s" : hint);
  std::string name = base;
  for (int i = 1; taken.count(name); ++i) name = fmt::format("{}_{}", base, i);
  given_symbols_.insert(name);
  return name;
}

void OpBuilder::check(const DimExpr& a, const DimExpr& b, std::string message) {
  if (a.is_unknown() || b.is_unknown() || facts().proves_equal(a, b)) return;
  if (facts().proves_not_equal(a, b)) {
    fail(DiagId::shape_mismatch, location, "{}: {} can never equal {}", message, a.str(), b.str());
  }
  bind(CheckDims{a, b, std::move(message)}, Type::object(), "check");
  function_.facts.assume_equal(a, b);
}

Constant OpBuilder::constant_of(ValueId v) const {
  // Bindings are only appended while a builder is in use; a shorter list means a new body.
  if (function_.bindings.size() < scanned_) {
    scanned_ = 0;
    constants_.clear();
  }
  for (; scanned_ < function_.bindings.size(); ++scanned_) {
    const Binding& b = function_.bindings[scanned_];
    if (const auto* node = std::get_if<ConstantNode>(&b.node)) {
      constants_[b.result.index] = node->data;
    }
  }
  const auto it = constants_.find(v.index);
  return it == constants_.end() ? nullptr : it->second;
}

}  // namespace symtile
