// If: a branch that is known at import is imported in place; otherwise both become functions.
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
  const ImportContext::Subgraph yes = c.import_subgraph("then_branch", {});
  const ImportContext::Subgraph no = c.import_subgraph("else_branch", {});
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
  Module& module = c.build().module();
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
