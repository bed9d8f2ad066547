// If: a branch that is known at import is imported in place; otherwise both become functions.
//
// Exporters write an If where the original program had a fixed path: "squeeze when the dimension is
// 1". Branches whose results differ in rank, or of which one contradicts the shapes it gets, cannot
// both be meant. One of them is imported in place, and the condition is checked at run time.
#include <algorithm>

#include "symtile/frontend/onnx/control_flow.h"

namespace symtile::onnx_import {

namespace {

/// Gives a branch function the parameters of both branches, in the common order.
void unify_parameters(GraphFunction& f, const std::vector<ValueId>& captured,
                      const std::vector<ValueId>& all, const GraphFunction& outer) {
  std::vector<ValueId> params;
  for (const ValueId v : all) {
    const auto it = std::find(captured.begin(), captured.end(), v);
    params.push_back(it != captured.end() ? f.params[static_cast<size_t>(it - captured.begin())]
                                          : f.add_value(outer.value(v).name, outer.type(v)));
  }
  f.params = std::move(params);
}

std::vector<Type> join_results(ImportContext& c, const ImportContext::Subgraph& a,
                               const ImportContext::Subgraph& b) {
  if (a.result_types.size() != b.result_types.size()) {
    c.fail(DiagId::bad_model_file, "its branches have {} and {} outputs", a.result_types.size(),
           b.result_types.size());
  }
  std::vector<Type> out;
  for (size_t k = 0; k < a.result_types.size(); ++k) {
    const Type x = a.result_types[k].erase_outside({a.dim_params.begin(), a.dim_params.end()});
    const Type y = b.result_types[k].erase_outside({b.dim_params.begin(), b.dim_params.end()});
    const auto joined = join(x, y, c.facts());
    if (!joined) {
      c.fail(DiagId::type_mismatch, "output {} is {} in one branch and {} in the other", k, x.str(),
             y.str());
    }
    out.push_back(*joined);
  }
  return out;
}

bool same_ranks(const ImportContext::Subgraph& a, const ImportContext::Subgraph& b) {
  for (size_t k = 0; k < std::min(a.result_types.size(), b.result_types.size()); ++k) {
    if (a.result_types[k].rank() != b.result_types[k].rank()) return false;
  }
  return true;
}

const Binding* binding_of(const GraphFunction& f, ValueId v) {
  const auto it = std::find_if(f.bindings.rbegin(), f.bindings.rend(),
                               [&](const Binding& b) { return b.result == v; });
  return it == f.bindings.rend() ? nullptr : &*it;
}

/// The only element of a tensor that the graph builds from a formula or a constant.
std::optional<DimExpr> formula_of(const GraphFunction& f, ValueId v) {
  const Binding* b = binding_of(f, v);
  if (!b) return std::nullopt;
  if (const auto* d = std::get_if<DimsToTensor>(&b->node); d && d->dims.size() == 1)
    return d->dims[0];
  if (const auto* c = std::get_if<ConstantNode>(&b->node);
      c && c->data->element_count() == 1 && !is_float(c->data->dtype)) {
    return DimExpr(c->data->as_int(0));
  }
  return std::nullopt;
}

/// Requires the condition at run time: as an equation of formulas where it is one, which then holds
/// for all that follows, otherwise by reading the tensor.
void require_condition(ImportContext& c, ValueId condition, bool value) {
  const std::string message =
      fmt::format("the condition of the If '{}' is {}; the model only works on this side of it",
                  c.node_name(), value);
  OpBuilder& build = c.build();
  const Binding* b = binding_of(build.function(), condition);
  const auto* call = b ? std::get_if<OpCall>(&b->node) : nullptr;
  if (call && call->op == "equal") {
    const auto x = formula_of(build.function(), call->args[0]),
               y = formula_of(build.function(), call->args[1]);
    if (x && y) {
      if (value) return build.check(*x, *y, message);
      return build.check(min(max(*x - *y, *y - *x), 1), 1, message);
    }
  }
  const Dims read = build.read_dims(c.cast(condition, DType::i64), 1, "condition");
  build.check(read[0], value ? 1 : 0, message);
}

/// A branch as a function; nothing, and the error, when it contradicts itself.
std::optional<ImportContext::Subgraph> try_branch(ImportContext& c, const char* attr,
                                                  std::exception_ptr& error) {
  try {
    return c.import_subgraph(attr, {});
  } catch (const DiagnosticError& e) {
    if (!is_contradiction(e)) throw;
    error = std::current_exception();
    return std::nullopt;
  }
}

}  // namespace

void import_if(ImportContext& c) {
  if (const auto condition = c.dims_value(0); condition && condition->size() == 1) {
    if (const auto value = (*condition)[0].as_const()) {
      c.inline_subgraph(*value != 0 ? "then_branch" : "else_branch");
      return;
    }
  }
  const ValueId condition = c.in(0);
  if (c.dtype(0) != DType::boolean) {
    c.fail(DiagId::type_mismatch, "its condition must be bool, but is {}", c.type(0).str());
  }
  Module& module = c.build().module();
  const std::set<std::string> functions = function_names(module);
  std::exception_ptr yes_error, no_error;
  const auto first = try_branch(c, "then_branch", yes_error),
             second = try_branch(c, "else_branch", no_error);
  c.build().location = c.location();
  if (!first && !second) std::rethrow_exception(yes_error);
  if (!first || !second || !same_ranks(*first, *second)) {
    remove_new_functions(module, functions);
    const bool value = first && second ? c.choose_branch() : first.has_value();
    require_condition(c, condition, value);
    c.inline_subgraph(value ? "then_branch" : "else_branch");
    return;
  }
  const ImportContext::Subgraph &yes = *first, &no = *second;
  const std::vector<Type> types = join_results(c, yes, no);
  if (static_cast<int>(types.size()) < c.num_outputs()) {
    c.fail(DiagId::bad_model_file, "its branches have {} outputs, but the node has {}",
           types.size(), c.num_outputs());
  }
  if (types.empty()) return;

  std::vector<ValueId> args = yes.captured;
  for (const ValueId v : no.captured) {
    if (std::find(args.begin(), args.end(), v) == args.end()) args.push_back(v);
  }
  std::set<std::string> symbols(yes.dim_params.begin(), yes.dim_params.end());
  symbols.insert(no.dim_params.begin(), no.dim_params.end());
  const std::vector<std::string> dim_params(symbols.begin(), symbols.end());
  for (const auto* branch : {&yes, &no}) {
    GraphFunction& f = module.graph(branch->function);
    unify_parameters(f, branch->captured, args, c.build().function());
    f.dim_params = dim_params;
  }
  const std::vector<ValueId> results = bind_results(
      c.build(), If{condition, yes.function, no.function, args, symbols_of(dim_params)}, types,
      "if");
  for (size_t k = 0; k < results.size(); ++k) c.out(static_cast<int>(k), results[k]);
}

}  // namespace symtile::onnx_import
