// Lowers operator calls: to a tile function in compute form (op/), or, for operators whose record
// has no lowering (or dimensions that it cannot know), to the library call of the same name. Views
// stay operator calls: they move no data. A call that cannot be lowered yet (a dimension is not a
// known formula) is a diagnostic. Equal tile functions are shared, so a network of repeated layers
// has few distinct kernels.
#include <unordered_map>

#include "symtile/library/library.h"
#include "symtile/op/builder.h"
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"

namespace symtile {
namespace {

class Legalizer {
 public:
  explicit Legalizer(Module& module) : module_(module) {}

  void run(GraphFunction& f) {
    const std::vector<int> defs = defining_bindings(f);
    for (Binding& b : f.bindings) {
      const auto* call = std::get_if<OpCall>(&b.node);
      if (!call) continue;
      const OpRecord* op = find_op(call->op);
      SYMTILE_CHECK(op != nullptr, "unknown operator '{}'", call->op);
      if (op->is_view) continue;
      std::optional<GraphNode> node = op->lower ? lower(f, defs, b, *call) : library(f, b, *call);
      if (node) b.node = std::move(*node);
    }
  }

 private:
  static std::vector<Type> result_types(const Type& type) {
    return type.is_tuple() ? type.elements : std::vector<Type>{type};
  }

  std::optional<GraphNode> lower(const GraphFunction& f, const std::vector<int>& defs,
                                 const Binding& b, const OpCall& call) {
    std::vector<Type> args;
    std::vector<Constant> constants;
    TileCall tile;
    for (const ValueId a : call.args) {
      args.push_back(a.valid() ? f.type(a) : Type::object());
      constants.push_back(constant_of(f, defs, a));
      if (a.valid()) tile.args.push_back(a);
    }
    auto function =
        lower_call(call, args, result_types(f.type(b.result)), constants, f.facts, call.op);
    if (!function && find_library_call(call.op)) return library(f, b, call);
    if (!function) {
      fail(DiagId::unsupported, b.location,
           "operator '{}' cannot be compiled: the result type {} has a dimension that is not a "
           "known "
           "formula; give the input dimensions names or values",
           call.op, f.type(b.result).str());
    }
    for (const std::string& s : function->symbols) tile.dims.push_back(DimExpr::symbol(s));
    tile.callee = share(std::move(*function));
    return tile;
  }

  std::optional<GraphNode> library(const GraphFunction& f, const Binding& b, const OpCall& call) {
    if (!find_library_call(call.op)) {
      fail(DiagId::unsupported, b.location,
           "operator '{}' has neither a lowering nor a library call", call.op);
    }
    (void)f;
    if (!module_.has(call.op)) module_.add(ExternFunction{call.op});
    return ExternCall{call.op, call.args, call.attrs};
  }

  /// The name of an equal function already in the module, or of this one after adding it.
  std::string share(TileFunction function) {
    const size_t hash = structural_hash(function);
    auto [begin, end] = known_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      function.name = it->second;
      if (structurally_equal(module_.tile(it->second), function)) return it->second;
    }
    function.name = module_.fresh_name(function.name);
    known_.emplace(hash, function.name);
    module_.add(function);
    return function.name;
  }

  Module& module_;
  std::unordered_multimap<size_t, std::string> known_;
};

}  // namespace

void legalize(Module& module, PassContext&) {
  Legalizer legalizer(module);
  for (const std::string& name : module.graph_names()) {
    // `share` adds functions, which may move the graph function: work on a copy.
    GraphFunction f = module.graph(name);
    legalizer.run(f);
    module.graph(name) = std::move(f);
  }
}

}  // namespace symtile
