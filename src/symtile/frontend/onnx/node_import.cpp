#include "symtile/frontend/onnx/node_import.h"

#include <algorithm>

#include "symtile/frontend/onnx/dispatch.h"
#include "symtile/frontend/onnx/load_model.h"

namespace symtile::onnx_import {
namespace {

std::string node_label(const pb::NodeProto& n, const FunctionFrame& frame) {
  const std::string& name = !n.name().empty() || n.output().empty() ? n.name() : n.output(0);
  return frame.prefix + printable(name);
}

}  // namespace

NodeContext::NodeContext(GraphImporter& importer, Scope& scope, const pb::NodeProto& node,
                         Location location)
    : importer_(importer),
      scope_(scope),
      node_(node),
      location_(location ? std::move(location)
                         : make_location(importer.file(), node_label(node, scope.frame),
                                         printable(node.op_type()))),
      opset_(static_cast<int>(importer.opset(node, scope.frame))),
      first_value_(scope.state.function.values.size()),
      inputs_(static_cast<size_t>(node.input_size())),
      outputs_(static_cast<size_t>(node.output_size())) {}

// ---- inputs

Entry& NodeContext::entry(int i) {
  if (!has(i)) fail(DiagId::bad_model_file, "it has no input {}, which is required", i);
  EntryPtr& e = inputs_[static_cast<size_t>(i)];
  if (!e) e = scope_.find(node_.input(i));
  SYMTILE_CHECK(e, "input '{}' of {} is not defined", node_.input(i), op_type());
  return *e;
}

ValueId NodeContext::in(int i) { return scope_.state.materialise(entry(i)); }

Constant NodeContext::constant(int i) {
  if (!has(i)) return nullptr;
  Entry& e = entry(i);
  if (!e.searched && e.value.valid()) {
    e.searched = true;
    e.constant = scope_.state.fold(e.value);
    if (e.constant && !e.known) e.known = known_from_constant(*e.constant);
  }
  return e.constant;
}

const KnownTensor* NodeContext::known(int i) {
  if (!has(i)) return nullptr;
  Entry& e = entry(i);
  // Only small tensors can become known, so only those are worth folding here.
  if (!e.known && !e.searched && small_element_count(e.type)) constant(i);
  return e.known ? &*e.known : nullptr;
}

std::optional<Dims> NodeContext::dims_value(int i) {
  const KnownTensor* k = known(i);
  return k && k->rank() <= 1 ? k->formulas() : std::nullopt;
}

Dims NodeContext::require_dims(int i) {
  if (!has(i)) fail(DiagId::bad_model_file, "it has no input {}, which is required", i);
  if (auto formulas = dims_value(i)) return *formulas;
  Entry& e = entry(i);
  if (is_float(e.type.dtype)) {
    fail(DiagId::type_mismatch, "input {} ('{}') must hold integers, but is {}", i,
         printable(node_.input(i)), e.type.str());
  }
  std::optional<int64_t> count;
  if (e.type.has_rank() && e.type.rank() == 0) count = 1;
  if (e.type.has_rank() && e.type.rank() == 1) count = (*e.type.dims)[0].as_const();
  if (!count) {
    fail(DiagId::unsupported,
         "input {} ('{}') gives dimensions, but how many is not known before run time (it is {})",
         i, printable(node_.input(i)), e.type.str());
  }
  if (*count > static_cast<int64_t>(kMaxKnownElements)) {
    fail(DiagId::too_large, "input {} ('{}') gives {} dimensions; at most {} are supported", i,
         printable(node_.input(i)), *count, kMaxKnownElements);
  }
  const Dims symbols = build().read_dims(in(i), static_cast<int>(*count), node_.input(i));
  KnownTensor now{e.type.dtype, {}, {}};
  if (e.type.rank() == 1) now.dims.push_back(*count);
  for (size_t k = 0; k < symbols.size(); ++k) {
    const bool before = e.known && e.known->elements[k].is_known();
    now.elements.push_back(before ? e.known->elements[k] : KnownElement{symbols[k]});
  }
  e.known = std::move(now);
  e.searched = true;
  return *e.known->formulas();
}

// ---- outputs

void NodeContext::set_output(int k, EntryPtr entry) {
  SYMTILE_CHECK(k >= 0, "output {} of {}", k, op_type());
  if (k < num_outputs()) outputs_[static_cast<size_t>(k)] = std::move(entry);
}

void NodeContext::out(int k, ValueId value) {
  auto e = std::make_shared<Entry>();
  e->value = value;
  e->type = build().type(value);
  set_output(k, std::move(e));
}

void NodeContext::out_dims(int k, Dims dims, bool scalar, DType dtype) {
  KnownTensor known{dtype, {}, {}};
  if (!scalar) known.dims.push_back(static_cast<int64_t>(dims.size()));
  for (DimExpr& d : dims) known.elements.push_back({std::move(d)});
  set_output(k, entry_of(std::move(known)));
}

// ---- subgraphs

ImportContext::Subgraph NodeContext::import_subgraph(const char* attr,
                                                     const std::vector<Type>& input_types) {
  const std::string& name =
      !node_.name().empty() || node_.output().empty() ? node_.name() : node_.output(0);
  return importer_.subgraph(scope_, graph_attribute(attr), input_types,
                            fmt::format("{}.{}", name, attr), location_);
}

void NodeContext::inline_subgraph(const char* attr) {
  const std::vector<EntryPtr> results = importer_.inlined(scope_, graph_attribute(attr), location_);
  build().location = location_;
  if (static_cast<int>(results.size()) < num_outputs()) {
    fail(DiagId::bad_model_file, "its {} has {} outputs, but the node has {}", attr, results.size(),
         num_outputs());
  }
  for (int k = 0; k < num_outputs(); ++k) set_output(k, results[static_cast<size_t>(k)]);
}

// ---- import

void NodeContext::import(const pb::FunctionProto* function) {
  build().location = location_;
  if (function) {
    const std::vector<EntryPtr> results = importer_.call(scope_, node_, *function, location_);
    build().location = location_;
    for (int k = 0; k < num_outputs() && k < static_cast<int>(results.size()); ++k) {
      set_output(k, results[static_cast<size_t>(k)]);
    }
  } else if (!import_core_operator()) {
    run_importer();
  }
  for (int k = 0; k < num_outputs(); ++k) {
    if (!wants(k)) continue;
    const EntryPtr& e = outputs_[static_cast<size_t>(k)];
    if (!e)
      fail(DiagId::unsupported, "its output {} ('{}') is not supported", k,
           printable(node_.output(k)));
    const std::string& name = node_.output(k);
    if (!e->value.valid() && e->name.empty()) e->name = name;
    if (e->value.valid() && static_cast<size_t>(e->value.index) >= first_value_) {
      scope_.state.rename(e->value, name);
    }
    scope_.names[name] = e;
  }
}

void NodeContext::run_importer() {
  KnownOutputs known = evaluate_shape_rule(*this);
  bool complete = !known.empty() && known.size() == outputs_.size();
  for (const KnownTensor& t : known) complete = complete && t.complete();
  if (complete) {
    for (size_t k = 0; k < known.size(); ++k) outputs_[k] = entry_of(std::move(known[k]));
    return;
  }
  const Importer* importer = find_importer(op_type());
  SYMTILE_CHECK(importer, "no importer for {}", op_type());
  if (importer->function) {
    importer->function(*this);
  } else {
    std::vector<ValueId> args;
    for (int i = 0; i < num_inputs(); ++i) args.push_back(in_or_none(i));
    while (!args.empty() && !args.back().valid()) args.pop_back();
    const int needed = find_op(importer->core_op)->min_args;
    if (static_cast<int>(args.size()) < needed) {
      fail(DiagId::bad_model_file, "it has {} inputs, but needs {}", args.size(), needed);
    }
    // Before operator set 7, `axis` says which axis of the first operand the second begins at.
    if (args.size() == 2 && has_attr("axis")) {
      Dims dims = this->dims(1);
      const int behind = rank(0) - normalize_axis(attr_int("axis", 0), rank(0)) - rank(1);
      if (behind < 0) fail(DiagId::bad_attribute, "its second input does not fit behind its axis");
      dims.resize(dims.size() + static_cast<size_t>(behind), 1);
      args[1] = reshape(args[1], std::move(dims));
    }
    out(0, build().call(importer->core_op, std::move(args)));
  }
  for (size_t k = 0; k < known.size() && k < outputs_.size(); ++k) {
    EntryPtr& e = outputs_[k];
    if (e && !e->known && e->type.has_rank() && e->type == known[k].type())
      e->known = std::move(known[k]);
  }
}

bool NodeContext::import_core_operator() {
  if (op_type() == "Constant") {
    import_constant();
  } else if (op_type() == "Identity") {
    if (!has(0)) fail(DiagId::bad_model_file, "it has no input");
    (void)entry(0);
    set_output(0, inputs_[0]);
  } else if (op_type() == "Shape" || op_type() == "Size") {
    import_shape();
  } else {
    return false;
  }
  return true;
}

void NodeContext::import_constant() {
  const auto reals = [&](const std::vector<double>& values, bool scalar) {
    auto data =
        make_zeros(DType::f32, scalar ? std::vector<int64_t>{}
                                      : std::vector<int64_t>{static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i) data->set(static_cast<int64_t>(i), values[i]);
    return data;
  };
  Constant data;
  if (has_attr("value")) {
    data = attr_tensor("value");
  } else if (has_attr("value_int")) {
    auto scalar = make_zeros(DType::i64, {});
    scalar->set_int(0, attr_int("value_int", 0));
    data = scalar;
  } else if (has_attr("value_ints")) {
    data = make_i64_vector(attr_ints("value_ints", {}));
  } else if (has_attr("value_float")) {
    data = reals({attr_float("value_float", 0)}, true);
  } else if (has_attr("value_floats")) {
    data = reals(attr_floats("value_floats", {}), false);
  } else {
    for (const char* name : {"value_string", "value_strings", "sparse_value"}) {
      if (has_attr(name))
        fail(DiagId::unsupported, "constants of kind '{}' are not supported", name);
    }
    fail(DiagId::bad_attribute, "it has no value");
  }
  set_output(0, entry_of(std::move(data)));
}

void NodeContext::import_shape() {
  if (!has(0)) fail(DiagId::bad_model_file, "it has no input");
  const int n = rank(0);
  Entry& e = entry(0);
  Dims all = *e.type.dims;
  if (std::any_of(all.begin(), all.end(), [](const DimExpr& d) { return d.is_unknown(); })) {
    // A dimension that only run time knows gets a symbol, from here on for every use of the value.
    for (size_t k = 0; k < all.size(); ++k) {
      if (!all[k].is_unknown()) continue;
      all[k] = DimExpr::symbol(build().fresh_symbol(fmt::format("{}_d{}", node_.input(0), k)));
    }
    e.value = build().match_cast(in(0), Type::tensor(all, e.type.dtype));
    e.type = build().type(e.value);
  }
  if (op_type() == "Size") return out_dims(0, {product(all)}, true, DType::i64);
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n); };
  const int64_t start = clamp(attr_int("start", 0)), end = clamp(attr_int("end", n));
  Dims part;
  for (int64_t k = start; k < end; ++k) part.push_back(all[static_cast<size_t>(k)]);
  out_dims(0, std::move(part), false, DType::i64);
}

}  // namespace symtile::onnx_import
