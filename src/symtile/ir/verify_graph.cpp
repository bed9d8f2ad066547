// Rules of graph functions: single assignment, symbols in scope, calls that fit their callees.
#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/diag/diagnostic.h"
#include "symtile/ir/text_format.h"
#include "symtile/ir/verify.h"

namespace symtile {
namespace {

/// One value stands for itself, several are a tuple.
Type result_type(std::vector<Type> types) {
  return types.size() == 1 ? std::move(types.front()) : Type::tuple(std::move(types));
}

class GraphVerifier {
 public:
  GraphVerifier(const Module& m, const GraphFunction& f, const OpChecker& check_ops)
      : m_(m), f_(f), check_ops_(check_ops), facts_(f.facts) {}

  void verify() {
    check_head();
    for (const Binding& b : f_.bindings) {
      binding_ = &b;
      check_binding(b);
    }
    binding_ = nullptr;
    for (ValueId id : f_.results) use(id, "a result");
    if (!f_.result_names.empty() && f_.result_names.size() != f_.results.size()) {
      wrong("{} result names for {} results", f_.result_names.size(), f_.results.size());
    }
  }

 private:
  template <typename... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
    std::string where = function_name(f_.name);
    if (binding_) where += ", " + label(binding_->result);
    fail(DiagId::bad_module, binding_ ? binding_->location : Location{}, "{}: {}", where,
         fmt::format(format, std::forward<Args>(args)...));
  }

  bool in_table(ValueId id) const {
    return id.valid() && static_cast<size_t>(id.index) < f_.values.size();
  }

  std::string label(ValueId id) const {
    return in_table(id) ? value_name(f_.value(id).name) : fmt::format("value {}", id.index);
  }

  void check_head() {
    for (const std::string& s : f_.dim_params) {
      if (!is_identifier(s)) wrong("symbol '{}' is no identifier", s);
      if (std::count(f_.dim_params.begin(), f_.dim_params.end(), s) > 1) {
        wrong("symbol '{}' is declared twice", s);
      }
    }
    scope_ = f_.entry_symbols();
    for (ValueId id : f_.params) {
      define(id);
      check_type(f_.type(id), fmt::format("parameter {}", label(id)));
    }
    if (f_.arena_bytes) check_dim(*f_.arena_bytes, "the arena");
  }

  void define(ValueId id) {
    if (!in_table(id)) wrong("value {} does not exist", id.index);
    if (!defined_.insert(id).second) wrong("{} is defined twice", label(id));
    const std::string& name = f_.value(id).name;
    if (name.empty()) wrong("value {} has no name", id.index);
    if (!names_.insert(name).second) wrong("two values are named {}", value_name(name));
  }

  const Type& use(ValueId id, std::string_view what) const {
    if (!id.valid()) wrong("{} is absent", what);
    if (!in_table(id)) wrong("{} is value {}, which does not exist", what, id.index);
    if (!defined_.count(id)) wrong("{} is {}, which is not defined before", what, label(id));
    return f_.type(id);
  }

  /// `name` becomes a symbol in scope.
  void bind_symbol(const std::string& name) {
    if (!is_identifier(name)) wrong("symbol '{}' is no identifier", name);
    scope_.insert(name);
  }

  void check_dim(const DimExpr& d, std::string_view what) const {
    if (d.is_unknown()) wrong("{} is unknown", what);
    for (const std::string& s : d.symbols()) {
      if (!scope_.count(s)) wrong("{}: symbol '{}' of '{}' is not in scope", what, s, d.str());
    }
  }

  void check_type(const Type& type, std::string_view what) const {
    if (type.kind == Type::Kind::func) return;  // its symbols are its own
    if (type.dims) {
      for (const DimExpr& d : *type.dims) {
        if (d.is_unknown()) continue;
        check_dim(d, what);
        if (const auto c = d.as_const(); c && *c < 0 && type.kind == Type::Kind::tensor) {
          wrong("{} has extent {}", what, *c);
        }
      }
    }
    for (const Type& e : type.elements) check_type(e, what);
  }

  void check_dims(const Dims& dims, size_t expected, const std::string& callee) const {
    if (dims.size() != expected) {
      wrong("{} takes {} symbols, {} values are given", function_name(callee), expected,
            dims.size());
    }
    for (const DimExpr& d : dims) check_dim(d, "the value of a symbol");
  }

  void check_binding(const Binding& b) {
    std::visit([&](const auto& n) { check_node(n, b); }, b.node);
    define(b.result);
    check_type(f_.type(b.result), "the result type");
    check_placement(f_.value(b.result).placement);
    if (check_ops_) check_ops_(f_, b);
  }

  void check_placement(const Placement& p) const {
    if (p.kind == Placement::Kind::arena) check_dim(p.offset, "the arena offset");
    if (p.kind == Placement::Kind::alias) use(p.of, "the aliased value");
  }

  /// The type a binding has must be possible for the type its right-hand side gives.
  void check_result(const Binding& b, const Type& actual) const {
    DimSubstitution bound;
    std::string why;
    if (match_type(f_.type(b.result), actual, facts_, {}, bound, &why) == Match::impossible) {
      wrong("the result is annotated {} but is {}: {}", f_.type(b.result).str(), actual.str(), why);
    }
  }

  void check_argument(const Type& parameter, const Type& argument,
                      const std::set<std::string>& free, DimSubstitution& bound,
                      std::string_view what) const {
    std::string why;
    if (match_type(parameter, argument, facts_, free, bound, &why) == Match::impossible) {
      wrong("{}: {}", what, why);
    }
  }

  void check_condition(ValueId id, DType dtype, std::string_view what) const {
    const Type& type = use(id, what);
    DimSubstitution bound;
    const bool tensor = type.is_tensor() && type.dtype == dtype;
    if (!tensor) wrong("{} is {}, not a tensor of {}", what, type.str(), name_of(dtype));
    for (const DimExpr& d : type.dims.value_or(Dims{})) {
      if (!d.is_unknown() && facts_.proves_not_equal(d, 1)) {
        wrong("{} is {}, not one element", what, type.str());
      }
    }
  }

  // Calls.

  /// The types of the results of `callee` for these arguments; members that depend on symbols
  /// nothing binds have unknown extents.
  std::vector<Type> check_call(const std::string& name, const std::vector<Type>& args,
                               const Dims& dims) const {
    const Function* found = m_.find(name);
    if (!found) wrong("function {} does not exist", function_name(name));
    const auto* callee = std::get_if<GraphFunction>(found);
    if (!callee) wrong("{} is no graph function", function_name(name));
    if (args.size() != callee->params.size()) {
      wrong("{} takes {} arguments, {} are given", function_name(name), callee->params.size(),
            args.size());
    }
    check_dims(dims, callee->dim_params.size(), name);
    DimSubstitution bound;
    for (size_t i = 0; i < dims.size(); ++i) bound.emplace(callee->dim_params[i], dims[i]);
    const std::set<std::string> free = callee->entry_symbols();
    for (size_t i = 0; i < args.size(); ++i) {
      check_argument(callee->type(callee->params[i]), args[i], free, bound,
                     fmt::format("argument {} of {}", i, function_name(name)));
    }
    std::set<std::string> known;
    for (const auto& [symbol, value] : bound) known.insert(symbol);
    std::vector<Type> results;
    for (ValueId id : callee->results) {
      if (!id.valid() || static_cast<size_t>(id.index) >= callee->values.size()) {
        wrong("{} returns a value that does not exist", function_name(name));
      }
      results.push_back(callee->type(id).erase_outside(known).substitute(bound));
    }
    return results;
  }

  std::vector<Type> types_of(const std::vector<ValueId>& ids) const {
    std::vector<Type> out;
    for (size_t i = 0; i < ids.size(); ++i)
      out.push_back(use(ids[i], fmt::format("argument {}", i)));
    return out;
  }

  void use_optional(const std::vector<ValueId>& ids) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i].valid()) use(ids[i], fmt::format("argument {}", i));
    }
  }

  void check_attributes(const Attributes& attrs) const {
    for (const auto& [name, value] : attrs.map()) {
      if (const auto* dims = std::get_if<Dims>(&value)) {
        for (const DimExpr& d : *dims) {
          if (!d.is_unknown()) check_dim(d, fmt::format("attribute '{}'", name));
        }
      }
      if (const auto* ref = std::get_if<FunctionRef>(&value); ref && !m_.has(ref->name)) {
        wrong("attribute '{}': function {} does not exist", name, function_name(ref->name));
      }
    }
  }

  // Nodes.

  void check_node(const OpCall& n, const Binding&) const {
    if (n.op.empty()) wrong("an operator has no name");
    use_optional(n.args);
    check_attributes(n.attrs);
  }

  void check_node(const TileCall& n, const Binding& b) const {
    const Function* found = m_.find(n.callee);
    if (!found) wrong("function {} does not exist", function_name(n.callee));
    const auto* callee = std::get_if<TileFunction>(found);
    if (!callee) wrong("{} is no tile function", function_name(n.callee));
    if (n.args.size() != callee->inputs.size()) {
      wrong("{} takes {} arguments, {} are given", function_name(n.callee), callee->inputs.size(),
            n.args.size());
    }
    check_dims(n.dims, callee->symbols.size(), n.callee);
    DimSubstitution symbols;
    for (size_t i = 0; i < n.dims.size(); ++i) symbols.emplace(callee->symbols[i], n.dims[i]);
    const auto type_of = [&](const Buffer& buffer) {
      return Type::tensor(buffer.dims, buffer.dtype).substitute(symbols);
    };
    const std::vector<Type> args = types_of(n.args);
    for (size_t i = 0; i < args.size(); ++i) {
      DimSubstitution none;
      check_argument(type_of(callee->inputs[i]), args[i], {}, none,
                     fmt::format("argument {} of {}", i, function_name(n.callee)));
    }
    std::vector<Type> results;
    for (const Buffer& buffer : callee->outputs) results.push_back(type_of(buffer));
    check_result(b, result_type(std::move(results)));
  }

  void check_node(const ExternCall& n, const Binding&) const {
    const Function* found = m_.find(n.callee);
    if (!found || !std::holds_alternative<ExternFunction>(*found)) {
      wrong("library function {} is not declared", function_name(n.callee));
    }
    use_optional(n.args);
    check_attributes(n.attrs);
  }

  void check_node(const GraphCall& n, const Binding& b) const {
    check_result(b, result_type(check_call(n.callee, types_of(n.args), n.dims)));
  }

  void check_node(const If& n, const Binding& b) const {
    check_condition(n.condition, DType::boolean, "the condition");
    const std::vector<Type> args = types_of(n.args);
    const auto on_true = check_call(n.then_fn, args, n.dims);
    const auto on_false = check_call(n.else_fn, args, n.dims);
    if (on_true.size() != on_false.size()) {
      wrong("{} returns {} results, {} returns {}", function_name(n.then_fn), on_true.size(),
            function_name(n.else_fn), on_false.size());
    }
    check_result(b, result_type(on_true));
    check_result(b, result_type(on_false));
  }

  void check_node(const Loop& n, const Binding& b) const {
    if (n.trip_count.valid()) check_condition(n.trip_count, DType::i64, "the trip count");
    if (n.condition.valid()) check_condition(n.condition, DType::boolean, "the condition");
    std::vector<Type> args = {Type::tensor({}, DType::i64), Type::tensor({}, DType::boolean)};
    for (const auto* list : {&n.carried, &n.captured}) {
      for (Type& t : types_of(*list)) args.push_back(std::move(t));
    }
    const std::vector<Type> results = check_call(n.body, args, n.dims);
    if (n.scanned < 0) wrong("{} scanned outputs", n.scanned);
    if (results.size() != 1 + n.carried.size() + static_cast<size_t>(n.scanned)) {
      wrong("{} returns {} results; a condition, {} carried and {} scanned values are expected",
            function_name(n.body), results.size(), n.carried.size(), n.scanned);
    }
    if (!results[0].is_tensor() || results[0].dtype != DType::boolean) {
      wrong("the first result of {} is {}, not a bool tensor", function_name(n.body),
            results[0].str());
    }
    const Type& type = f_.type(b.result);
    const size_t count = results.size() - 1;
    if (count != 1 && (!type.is_tuple() || type.elements.size() != count)) {
      wrong("the result is annotated {}, not a tuple of {}", type.str(), count);
    }
  }

  void check_node(const MatchCast& n, const Binding& b) {
    const Type& value = use(n.value, "the value");
    std::set<std::string> mentioned, free;
    n.type.collect_symbols(mentioned);
    std::set_difference(mentioned.begin(), mentioned.end(), scope_.begin(), scope_.end(),
                        std::inserter(free, free.end()));
    DimSubstitution bound;
    check_argument(n.type, value, free, bound, "the value cannot have the asserted type");
    bind_bare_symbols(n.type, free);
    check_type(n.type, "the asserted type");
    if (!(n.type == f_.type(b.result))) {
      wrong("the result is annotated {} but asserted to be {}", f_.type(b.result).str(),
            n.type.str());
    }
  }

  void bind_bare_symbols(const Type& type, const std::set<std::string>& free) {
    for (const DimExpr& d : type.dims.value_or(Dims{})) {
      if (d.is_unknown()) continue;
      if (const auto s = d.as_symbol(); s && free.count(*s)) bind_symbol(*s);
    }
    for (const Type& e : type.elements) bind_bare_symbols(e, free);
  }

  void check_node(const ReadDims& n, const Binding& b) {
    const Type value = use(n.value, "the value");
    if (!value.is_tensor() || !is_int(value.dtype) || value.rank() > 1) {
      wrong("dimensions are read from {}, not from an integer tensor of rank 0 or 1", value.str());
    }
    const auto count = static_cast<int64_t>(n.symbols.size());
    const DimExpr length = value.rank() == 1 ? value.dims->front() : DimExpr(1);
    if (value.has_rank() && !length.is_unknown() && facts_.proves_not_equal(length, count)) {
      wrong("{} symbols are read from {}", count, value.str());
    }
    for (const std::string& s : n.symbols) {
      if (scope_.count(s)) wrong("symbol '{}' is bound again", s);
      bind_symbol(s);
    }
    check_result(b, value);
  }

  void check_node(const DimsToTensor& n, const Binding& b) const {
    for (const DimExpr& d : n.dims) check_dim(d, "an element");
    if (n.dtype == DType::boolean) wrong("dimensions are no bools");
    if (n.scalar != 0 && n.scalar != 1) wrong("'scalar' is {}", n.scalar);
    if (n.scalar && n.dims.size() != 1) wrong("a scalar of {} formulas", n.dims.size());
    Dims shape;
    if (!n.scalar) shape.emplace_back(static_cast<int64_t>(n.dims.size()));
    check_result(b, Type::tensor(std::move(shape), n.dtype));
  }

  void check_node(const CheckDims& n, const Binding&) {
    check_dim(n.a, "a side of the check");
    check_dim(n.b, "a side of the check");
    if (facts_.proves_not_equal(n.a, n.b)) {
      wrong("{} == {} can never hold: {}", n.a.str(), n.b.str(), n.message);
    }
    facts_.assume_equal(n.a, n.b);
  }

  void check_node(const ConstantNode& n, const Binding& b) const {
    if (!n.data) wrong("the constant has no data");
    int64_t bytes = size_of(n.data->dtype);
    Dims dims;
    for (int64_t d : n.data->dims) {
      if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes)) wrong("the constant has extent {}", d);
      dims.emplace_back(d);
    }
    if (static_cast<uint64_t>(bytes) != n.data->bytes.size()) {
      wrong("the constant has {} bytes, its shape needs {}", n.data->bytes.size(), bytes);
    }
    check_result(b, Type::tensor(std::move(dims), n.data->dtype));
  }

  void check_node(const MakeTuple& n, const Binding& b) const {
    check_result(b, Type::tuple(types_of(n.members)));
  }

  void check_node(const GetItem& n, const Binding& b) const {
    const Type& tuple = use(n.tuple, "the tuple");
    if (!tuple.is_tuple()) wrong("{} is {}, not a tuple", label(n.tuple), tuple.str());
    const auto count = static_cast<int64_t>(tuple.elements.size());
    if (n.index < 0 || n.index >= count) {
      wrong("member {} of {}, which has {}", n.index, label(n.tuple), count);
    }
    check_result(b, tuple.elements[static_cast<size_t>(n.index)]);
  }

  const Module& m_;
  const GraphFunction& f_;
  const OpChecker& check_ops_;
  Facts facts_;  ///< of the function and of the checks passed so far
  std::set<std::string> scope_;
  std::set<ValueId> defined_;
  std::set<std::string> names_;
  const Binding* binding_ = nullptr;
};

}  // namespace

void verify_graph(const Module& m, const GraphFunction& f, const OpChecker& check_ops) {
  GraphVerifier(m, f, check_ops).verify();
}

void verify(const Module& m, const OpChecker& check_ops) {
  std::set<std::string> names;
  for (const Function& f : m.functions()) {
    if (name_of(f).empty()) fail(DiagId::bad_module, {}, "a function has no name");
    if (!names.insert(name_of(f)).second) {
      fail(DiagId::bad_module, {}, "two functions are named {}", function_name(name_of(f)));
    }
  }
  for (const Function& f : m.functions()) {
    if (const auto* g = std::get_if<GraphFunction>(&f)) verify_graph(m, *g, check_ops);
    if (const auto* t = std::get_if<TileFunction>(&f)) verify_tile(*t);
  }
}

}  // namespace symtile
