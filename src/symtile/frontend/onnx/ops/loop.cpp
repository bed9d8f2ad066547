// Loop: the body becomes a function; see Loop in ir/graph.h for the meaning of the node.
#include "symtile/frontend/onnx/control_flow.h"

namespace symtile::onnx_import {

namespace {

/// The condition that the body returns, as a bool tensor of rank 0; true when it can never be false
/// (a constant, or the condition it was given, which is only true inside the body).
bool finish_condition(ImportContext& c, const std::string& body) {
  Module& module = c.build().module();
  GraphFunction& f = module.graph(body);
  OpBuilder build(module, f);
  build.location = c.location();
  ValueId& condition = f.results[0];
  const Type& t = f.type(condition);
  if (t.dtype != DType::boolean) {
    c.fail(DiagId::type_mismatch, "the condition that its body returns must be bool, but is {}",
           t.str());
  }
  const Constant known = build.constant_of(condition);
  bool always =
      condition == f.params[1] || (known && known->element_count() == 1 && known->as_int(0) != 0);
  for (const Binding& b : f.bindings) {
    const auto* call = std::get_if<OpCall>(&b.node);
    if (b.result == condition && call && call->op == "reshape")
      always = always || call->args[0] == f.params[1];
  }
  if (t.rank() != 0) condition = build.call("reshape", {condition}, {{"shape", Dims{}}});
  return always;
}

std::optional<int64_t> known_number(ImportContext& c, int i) {
  const auto value = c.dims_value(i);
  return value && value->size() == 1 ? (*value)[0].as_const() : std::nullopt;
}

}  // namespace

void import_loop(ImportContext& c) {
  const int count = std::max(c.num_inputs() - 2, 0);
  std::vector<ValueId> carried;
  std::vector<Type> types;
  for (int k = 0; k < count; ++k) {
    carried.push_back(c.in(k + 2));
    types.push_back(c.type(k + 2));
  }
  const CarriedBody body = import_carried_body(
      c, "body", {Type::tensor({}, DType::i64), Type::tensor({}, DType::boolean)}, types, {}, 1);
  const bool body_goes_on = finish_condition(c, body.sub.function);
  const size_t scanned = body.sub.result_types.size() - 1 - carried.size();
  if (static_cast<size_t>(c.num_outputs()) > carried.size() + scanned) {
    c.fail(DiagId::bad_model_file, "it has {} outputs, but its body gives only {}", c.num_outputs(),
           carried.size() + scanned);
  }

  Loop loop{.body = body.sub.function};
  const bool starts = !c.has(1) || known_number(c, 1).value_or(0) != 0;
  if (!starts) loop.condition = c.in(1);
  DimExpr iterations = DimExpr::unknown();
  if (c.has(0)) {
    loop.trip_count = c.cast(c.in(0), DType::i64);
    const auto limit = c.dims_value(0);
    if (limit && limit->size() == 1 && starts && body_goes_on)
      iterations = c.facts().simplify(max((*limit)[0], 0));
  }
  loop.carried = std::move(carried);
  loop.captured = body.sub.captured;
  loop.scanned = static_cast<int64_t>(scanned);
  loop.dims = symbols_of(body.sub.dim_params);

  std::vector<Type> results = body.carried_results();
  for (size_t k = 0; k < scanned; ++k) {
    Type t = body.outer_type(body.sub.result_types[1 + loop.carried.size() + k]);
    if (t.has_rank()) t.dims->insert(t.dims->begin(), iterations);
    results.push_back(std::move(t));
  }
  if (results.empty()) return;
  const std::vector<ValueId> out = bind_results(c.build(), std::move(loop), results, "loop");
  for (size_t k = 0; k < out.size(); ++k) c.out(static_cast<int>(k), out[k]);
}

}  // namespace symtile::onnx_import
