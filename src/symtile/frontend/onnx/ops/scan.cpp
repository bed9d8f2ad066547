// Scan: a Loop over the scanned axis. A function around the body picks the slices of the scanned
// inputs by the iteration number and passes them on. Operator set 8 has a batch axis in front of
// everything: a second Loop over the batch, whose body is the Scan of one element.
#include "symtile/frontend/onnx/control_flow.h"

namespace symtile::onnx_import {

namespace {

struct ScanPlan {
  CarriedBody body;
  std::vector<int> axes;       ///< scanned axis of each scanned input
  std::vector<bool> reversed;  ///< direction of each scanned input
  DimExpr length;
};

/// A function for a Loop body: iteration, condition, then the given values as parameters.
struct LoopFunction {
  GraphFunction function;
  std::vector<ValueId> params;  ///< behind iteration and condition
  ValueId iteration() const { return function.params[0]; }
};

LoopFunction loop_function(OpBuilder& outer, const std::string& name, const std::vector<Type>& own,
                           const std::vector<ValueId>& captured, const CarriedBody& body,
                           const DimExpr& length) {
  LoopFunction out;
  GraphFunction& f = out.function;
  f.name = outer.module().fresh_name(name);
  f.add_param("iteration", Type::tensor({}, DType::i64));
  f.add_param("condition", Type::tensor({}, DType::boolean));
  std::set<std::string> symbols(body.sub.dim_params.begin(), body.sub.dim_params.end());
  length.collect_symbols(symbols);
  for (const Type& t : own) {
    out.params.push_back(f.add_param("carried", t));
    t.collect_symbols(symbols);
  }
  for (const ValueId v : captured) {
    out.params.push_back(f.add_param(outer.function().value(v).name, outer.type(v)));
    outer.type(v).collect_symbols(symbols);
  }
  for (const std::string& s : body.varying) symbols.erase(s);
  f.dim_params.assign(symbols.begin(), symbols.end());
  f.facts = restrict_facts(outer.facts(), symbols);
  return out;
}

/// Final states, then the scanned outputs stacked on axis 0.
std::vector<ValueId> emit_scan(OpBuilder& build, const ScanPlan& plan,
                               const std::vector<ValueId>& states,
                               const std::vector<ValueId>& sequences,
                               const std::vector<ValueId>& captured) {
  const CarriedBody& body = plan.body;
  std::vector<ValueId> outside = sequences;
  outside.insert(outside.end(), captured.begin(), captured.end());
  LoopFunction step = loop_function(build, "scan_step", body.carried, outside, body, plan.length);
  Module& module = build.module();
  OpBuilder inner(module, step.function);
  inner.location = build.location;

  std::vector<ValueId> args(step.params.begin(),
                            step.params.begin() + static_cast<std::ptrdiff_t>(states.size()));
  for (size_t k = 0; k < sequences.size(); ++k) {
    ValueId at = step.iteration();
    if (plan.reversed[k])
      at = inner.call("sub", {inner.dims_tensor({plan.length - 1}, DType::i64, true), at});
    args.push_back(inner.call("gather", {step.params[states.size() + k], at},
                              {{"axis", int64_t{plan.axes[k]}}}));
  }
  args.insert(args.end(),
              step.params.begin() + static_cast<std::ptrdiff_t>(states.size() + sequences.size()),
              step.params.end());
  std::set<std::string> visible(body.sub.dim_params.begin(), body.sub.dim_params.end());
  visible.insert(body.varying.begin(), body.varying.end());
  std::vector<Type> types;
  for (const Type& t : body.sub.result_types) types.push_back(t.erase_outside(visible));
  step.function.results = {step.function.params[1]};
  for (const ValueId v :
       bind_results(inner, GraphCall{body.sub.function, args, symbols_of(body.sub.dim_params)},
                    types, "step")) {
    step.function.results.push_back(v);
  }

  Loop loop{.body = step.function.name};
  loop.trip_count = build.dims_tensor({plan.length}, DType::i64, true);
  loop.carried = states;
  loop.captured = outside;
  loop.scanned = static_cast<int64_t>(types.size() - states.size());
  loop.dims = symbols_of(step.function.dim_params);
  std::vector<Type> results = body.carried_results();
  for (size_t k = states.size(); k < types.size(); ++k) {
    Type t = body.outer_type(body.sub.result_types[k]);
    if (t.has_rank()) t.dims->insert(t.dims->begin(), plan.length);
    results.push_back(std::move(t));
  }
  module.add(std::move(step.function));
  return bind_results(build, std::move(loop), results, "scan");
}

/// Elements of an input's axis as a formula; unknown dimensions are bound first.
ValueId with_formulas(ImportContext& c, ValueId v) {
  Type t = c.build().type(v);
  bool any = false;
  for (DimExpr& d : *t.dims) {
    if (!d.is_unknown()) continue;
    d = DimExpr::symbol(c.build().fresh_symbol("scan"));
    any = true;
  }
  return any ? c.build().match_cast(v, std::move(t)) : v;
}

Type without_axis(Type t, int axis) {
  t.dims->erase(t.dims->begin() + axis);
  return t;
}

/// Axis lists and direction lists have one entry a scanned value, or are absent.
std::vector<int64_t> per_value(ImportContext& c, const char* attr, size_t count) {
  std::vector<int64_t> list = c.attr_ints(attr, std::vector<int64_t>(count, 0));
  if (list.size() != count) {
    c.fail(DiagId::bad_attribute, "'{}' has {} entries, but there are {} scanned values", attr,
           list.size(), count);
  }
  return list;
}

/// A stacked output in the order and on the axis that the attributes ask for.
ValueId place_output(ImportContext& c, ValueId v, bool reversed, int64_t axis_attr) {
  const Type t = c.build().type(v);
  if (!t.has_rank()) {
    if (reversed || axis_attr != 0)
      c.fail(DiagId::unsupported, "the rank of a scanned output is not known before run time");
    return v;
  }
  const int rank = t.rank();
  if (reversed) {
    Dims begin(static_cast<size_t>(rank), 0);
    std::vector<int64_t> step(static_cast<size_t>(rank), 1);
    begin[0] = (*t.dims)[0] - 1;
    step[0] = -1;
    v = c.call("slice", {v}, {{"begin", begin}, {"extent", *t.dims}, {"step", step}});
  }
  const int axis = c.normalize_axis(axis_attr, rank);
  std::vector<int64_t> perm;
  for (int d = 1; d < rank; ++d) perm.push_back(d);
  perm.insert(perm.begin() + axis, 0);
  return c.transpose(v, std::move(perm));
}

void scan_batched(ImportContext& c, const std::vector<int64_t>& directions, size_t num_states,
                  std::vector<ValueId> inputs) {
  for (ValueId& v : inputs) v = with_formulas(c, v);
  OpBuilder& build = c.build();
  const DimExpr batch = (*build.type(inputs.at(0)).dims).at(0);
  std::vector<Type> states, slices, elements;
  ScanPlan plan;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Type t = build.type(inputs[k]);
    build.check((*t.dims)[0], batch, "the batch size of all inputs of the Scan");
    elements.push_back(without_axis(t, 0));
    if (k < num_states) {
      states.push_back(elements.back());
      continue;
    }
    const DimExpr length = (*t.dims)[1];
    if (k == num_states) plan.length = length;
    build.check(length, plan.length, "the length of all scanned inputs of the Scan");
    plan.axes.push_back(0);
    plan.reversed.push_back(directions[k - num_states] != 0);
    slices.push_back(without_axis(elements.back(), 0));
  }
  plan.body = import_carried_body(c, "body", {}, states, slices, 0);
  std::vector<ValueId> outside = inputs;
  outside.insert(outside.end(), plan.body.sub.captured.begin(), plan.body.sub.captured.end());
  LoopFunction one = loop_function(build, "scan_batch", {}, outside, plan.body, plan.length);
  OpBuilder inner(build.module(), one.function);
  inner.location = build.location;
  std::vector<ValueId> own_states, own_sequences;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ValueId v =
        inner.call("gather", {one.params[k], one.iteration()}, {{"axis", int64_t{0}}});
    (k < num_states ? own_states : own_sequences).push_back(v);
  }
  const std::vector<ValueId> own_captured(
      one.params.begin() + static_cast<std::ptrdiff_t>(inputs.size()), one.params.end());
  one.function.results = {one.function.params[1]};
  Loop loop{.body = one.function.name};
  std::vector<Type> results;
  for (const ValueId v : emit_scan(inner, plan, own_states, own_sequences, own_captured)) {
    one.function.results.push_back(v);
    Type t = one.function.type(v).erase_outside(
        {one.function.dim_params.begin(), one.function.dim_params.end()});
    if (t.has_rank()) t.dims->insert(t.dims->begin(), batch);
    results.push_back(std::move(t));
  }
  loop.trip_count = build.dims_tensor({batch}, DType::i64, true);
  loop.captured = outside;
  loop.scanned = static_cast<int64_t>(results.size());
  loop.dims = symbols_of(one.function.dim_params);
  build.module().add(std::move(one.function));
  const std::vector<ValueId> out = bind_results(build, std::move(loop), results, "scan");
  for (size_t k = 0; k < out.size(); ++k) c.out(static_cast<int>(k), out[k]);
}

}  // namespace

void import_scan(ImportContext& c) {
  const bool batched = c.opset() < 9;
  const int first = batched ? 1 : 0;
  const int64_t scanned = c.attr_int("num_scan_inputs", 0);
  const int64_t num_states = c.num_inputs() - first - scanned;
  if (scanned < 1 || num_states < 0) {
    c.fail(DiagId::bad_attribute, "num_scan_inputs is {}, but there are {} inputs", scanned,
           c.num_inputs());
  }
  if (batched && c.has(0)) c.fail(DiagId::unsupported, "sequence lengths are not supported");
  std::vector<ValueId> inputs;
  for (int i = first; i < c.num_inputs(); ++i) {
    if (c.rank(i) < (batched ? (i - first < num_states ? 1 : 2) : 0)) {
      c.fail(DiagId::type_mismatch, "its input {} has rank {}, which has no batch or sequence axis",
             i, c.rank(i));
    }
    inputs.push_back(c.in(i));
  }
  const auto states = static_cast<size_t>(num_states), sequences = static_cast<size_t>(scanned);
  const std::vector<int64_t> directions =
      per_value(c, batched ? "directions" : "scan_input_directions", sequences);
  if (batched) {
    scan_batched(c, directions, states, std::move(inputs));
    return;
  }

  ScanPlan plan;
  std::vector<Type> state_types, slices;
  for (size_t k = 0; k < states; ++k) state_types.push_back(c.build().type(inputs[k]));
  const std::vector<int64_t> axes = per_value(c, "scan_input_axes", sequences);
  for (size_t k = 0; k < sequences; ++k) {
    ValueId& v = inputs[states + k];
    v = with_formulas(c, v);
    const Type t = c.build().type(v);
    const int axis = c.normalize_axis(axes[k], t.rank());
    const DimExpr length = (*t.dims)[static_cast<size_t>(axis)];
    if (k == 0) plan.length = length;
    c.build().check(length, plan.length, "the length of all scanned inputs of the Scan");
    plan.axes.push_back(axis);
    plan.reversed.push_back(directions[k] != 0);
    slices.push_back(without_axis(t, axis));
  }
  plan.body = import_carried_body(c, "body", {}, state_types, slices, 0);
  const std::vector<ValueId> own_states(inputs.begin(), inputs.begin() + num_states);
  const std::vector<ValueId> own_sequences(inputs.begin() + num_states, inputs.end());
  const std::vector<ValueId> out =
      emit_scan(c.build(), plan, own_states, own_sequences, plan.body.sub.captured);
  const size_t outputs = out.size() - states;
  const std::vector<int64_t> out_axes = per_value(c, "scan_output_axes", outputs);
  const std::vector<int64_t> out_directions = per_value(c, "scan_output_directions", outputs);
  for (size_t k = 0; k < out.size(); ++k) {
    c.out(static_cast<int>(k), k < states ? out[k]
                                          : place_output(c, out[k], out_directions[k - states] != 0,
                                                         out_axes[k - states]));
  }
}

}  // namespace symtile::onnx_import
