#include "symtile/backend/vm/lower_function.h"

#include "symtile/diag/diagnostic.h"

namespace symtile {
namespace {

std::string what_text(const Location& location, std::string_view kind, const std::string& name) {
  const std::string where = describe(location);
  return fmt::format("{}{}{} '{}'", where, where.empty() ? "" : ": ", kind, name);
}

}  // namespace

FunctionLowering::FunctionLowering(const Module& module, const GraphFunction& f,
                                   ProgramTables& tables)
    : module_(module),
      f_(f),
      is_main_(f.name == Module::kMain),
      tables_(tables),
      registers_(f.values.size()),
      item_of_(f.values.size()) {
  out_.name = f.name;
  out_.params = static_cast<uint32_t>(f.params.size());
  out_.dim_params = static_cast<uint32_t>(f.dim_params.size());
  for (const Binding& b : f.bindings) {
    if (f.type(b.result).is_tuple()) {
      item_of_[static_cast<size_t>(b.result.index)].resize(f.type(b.result).elements.size());
    }
    if (const auto* item = std::get_if<GetItem>(&b.node)) {
      ValueId& slot =
          item_of_[static_cast<size_t>(item->tuple.index)].at(static_cast<size_t>(item->index));
      if (!slot.valid()) slot = b.result;
    }
  }
}

format::Function FunctionLowering::lower() {
  for (ValueId p : f_.params) registers_[static_cast<size_t>(p.index)] = {fresh_register()};
  bind_params();
  check_entry_dims();
  if (f_.arena_bytes && !f_.arena_bytes->is_const(0)) {
    const format::FormulaId bytes = formula(*f_.arena_bytes, {});
    emit(format::Arena{bytes});
    arena_bytes_ = {bytes.value};
  }
  for (const Binding& b : f_.bindings) lower_binding(b);
  format::Return results;
  for (ValueId v : f_.results) {
    for (uint32_t r : registers_[static_cast<size_t>(v.index)]) results.values.push_back({r});
  }
  out_.results = static_cast<uint32_t>(results.values.size());
  emit(std::move(results));
  return out_;  // a copy: describing the entry still needs the slot names
}

format::EntryValue FunctionLowering::entry_value(const std::string& name, const Type& type) {
  format::EntryValue out{name, type.dtype, type.has_rank(), {}};
  if (!type.has_rank()) return out;
  for (const DimExpr& d : *type.dims) {
    format::EntryDim dim{d.str(), {}};
    if (!d.is_unknown() && bound(d)) {
      dim.formula = {tables_.formula(lower_formula(d, out_.slot_names)).value};
    }
    out.dims.push_back(std::move(dim));
  }
  return out;
}

// ---- values ------------------------------------------------------------------------------

uint32_t FunctionLowering::reg(ValueId v) const {
  SYMTILE_CHECK(v.valid(), "an argument is absent");
  const auto& registers = registers_[static_cast<size_t>(v.index)];
  SYMTILE_CHECK(registers.size() == 1, "value '{}' of '{}' is not one tensor", f_.value(v).name,
                f_.name);
  return registers.front();
}

std::vector<format::Use> FunctionLowering::uses(const std::vector<ValueId>& values) const {
  std::vector<format::Use> out;
  for (ValueId v : values) out.push_back(use(v));
  return out;
}

format::OptionalUse FunctionLowering::optional_use(ValueId v) const {
  return v.valid() ? format::OptionalUse{reg(v)} : format::OptionalUse{};
}

format::FormulaId FunctionLowering::formula(const DimExpr& e, const Location& location) {
  if (e.is_unknown() || !bound(e)) {
    fail(DiagId::bad_module, location, "function '{}' needs the value of '{}', which is not known",
         f_.name, e.str());
  }
  return tables_.formula(lower_formula(e, out_.slot_names));
}

std::vector<format::FormulaId> FunctionLowering::formulas(const Dims& dims,
                                                          const Location& location) {
  std::vector<format::FormulaId> out;
  for (const DimExpr& d : dims) out.push_back(formula(d, location));
  return out;
}

format::ShapeId FunctionLowering::shape(const Type& type, const Location& location) {
  if (!type.is_tensor() || !type.has_rank()) {
    fail(DiagId::bad_module, location, "function '{}' makes a {}, whose shape is not known",
         f_.name, type.str());
  }
  return tables_.shape({type.dtype, formulas(*type.dims, location)});
}

std::vector<FunctionLowering::Member> FunctionLowering::members(const Binding& b) const {
  const Type& type = f_.type(b.result);
  if (!type.is_tuple()) return {{type, b.result}};
  std::vector<Member> out;
  const auto& items = item_of_[static_cast<size_t>(b.result.index)];
  for (size_t i = 0; i < type.elements.size(); ++i) out.push_back({type.elements[i], items[i]});
  return out;
}

uint32_t FunctionLowering::place(const Member& m, const Location& location) {
  const Placement placement = m.value.valid() ? f_.value(m.value).placement : Placement{};
  const Type& type = m.value.valid() ? f_.type(m.value) : m.type;
  const format::ShapeId s = shape(type, location);
  const format::Def result{fresh_register()};
  switch (placement.kind) {
    case Placement::Kind::arena:
      emit(format::ArenaTensor{result, s, formula(placement.offset, location)});
      break;
    case Placement::Kind::alias:
      emit(format::ViewTensor{result, use(placement.of), s});
      break;
    case Placement::Kind::heap:
    case Placement::Kind::none:
      emit(format::HeapTensor{result, s, -1});
      break;
    case Placement::Kind::constant:
    case Placement::Kind::parameter:
      fail(DiagId::bad_module, location,
           "value '{}' of '{}' is computed, but placed in read-only memory", f_.value(m.value).name,
           f_.name);
  }
  return result.value;
}

std::vector<format::Def> FunctionLowering::fresh_results(const std::vector<Member>& members) {
  std::vector<format::Def> out;
  for (size_t i = 0; i < members.size(); ++i) out.push_back({fresh_register()});
  return out;
}

void FunctionLowering::finish_results(const Binding& b, const std::vector<Member>& members,
                                      const std::vector<format::Def>& results, bool checked) {
  auto& registers = registers_[static_cast<size_t>(b.result.index)];
  for (size_t i = 0; i < members.size(); ++i) {
    const Member& m = members[i];
    uint32_t r = results[i].value;
    if (checked)
      bind_type(what_text(b.location, "result", f_.value(b.result).name), r, m.type, b.location);
    const auto kind = m.value.valid() ? f_.value(m.value).placement.kind : Placement::Kind::none;
    if (kind == Placement::Kind::arena || kind == Placement::Kind::alias) {
      const uint32_t placed = place(m, b.location);
      emit(format::Copy{{placed}, {r}});
      r = placed;
    }
    registers.push_back(r);
  }
}

// ---- bindings ----------------------------------------------------------------------------

void FunctionLowering::lower_binding(const Binding& b) {
  std::visit([&](const auto& node) { lower(b, node); }, b.node);
}

void FunctionLowering::lower(const Binding& b, const OpCall& n) {
  const Value& value = f_.value(b.result);
  const bool single = !n.args.empty() && n.args[0].valid() && value.type.is_tensor();
  if (!single || value.placement.kind == Placement::Kind::none) {
    fail(DiagId::bad_module, b.location, "operator '{}' was neither lowered nor planned as a view",
         n.op);
  }
  uint32_t result;
  if (value.placement.kind == Placement::Kind::arena ||
      value.placement.kind == Placement::Kind::heap) {
    result = place({value.type, b.result}, b.location);
    emit(format::Copy{{result}, use(n.args[0])});
  } else {
    result = fresh_register();
    emit(format::ViewTensor{{result}, use(n.args[0]), shape(value.type, b.location)});
  }
  registers_[static_cast<size_t>(b.result.index)] = {result};
}

void FunctionLowering::lower(const Binding& b, const TileCall& n) {
  const TileFunction& callee = module_.tile(n.callee);
  const std::vector<Member> outputs = members(b);
  SYMTILE_CHECK(n.args.size() == callee.inputs.size() && outputs.size() == callee.outputs.size() &&
                    n.dims.size() == callee.symbols.size(),
                "a call of @{} in @{} does not agree with it", n.callee, f_.name);
  check_arguments(n, callee, b.location);
  format::LaunchKernel launch{tables_.kernel(callee), uses(n.args), formulas(n.dims, b.location)};
  auto& registers = registers_[static_cast<size_t>(b.result.index)];
  for (const Member& m : outputs) {
    registers.push_back(place(m, b.location));
    launch.buffers.push_back({registers.back()});
  }
  emit(std::move(launch));
}

void FunctionLowering::check_arguments(const TileCall& n, const TileFunction& callee,
                                       const Location& location) {
  DimSubstitution symbols;
  for (size_t i = 0; i < n.dims.size(); ++i) symbols.emplace(callee.symbols[i], n.dims[i]);
  for (size_t i = 0; i < n.args.size(); ++i) {
    const Buffer& buffer = callee.inputs[i];
    const Type expected = Type::tensor(buffer.dims, buffer.dtype).substitute(symbols);
    const Type& actual = f_.type(n.args[i]);
    bool proved = actual.dtype == expected.dtype && actual.rank() == expected.rank();
    for (size_t d = 0; proved && d < expected.dims->size(); ++d) {
      const DimExpr& dim = (*actual.dims)[d];
      proved = !dim.is_unknown() && f_.facts.proves_equal(dim, (*expected.dims)[d]);
    }
    if (proved) continue;
    bind_type(what_text(location, "argument", f_.value(n.args[i]).name), reg(n.args[i]), expected,
              location);
  }
}

void FunctionLowering::lower(const Binding& b, const ExternCall& n) {
  const std::vector<Member> outputs = members(b);
  format::CallBuiltin call;
  call.builtin = tables_.builtin(n.callee);
  for (ValueId v : n.args) call.args.push_back(optional_use(v));
  for (const auto& [name, value] : n.attrs.map()) {
    format::AttributeValue lowered;
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, Dims>) {
            lowered = formulas(v, b.location);
          } else if constexpr (std::is_same_v<T, FunctionRef>) {
            fail(DiagId::bad_module, b.location, "library call '{}' cannot take function '{}'",
                 n.callee, v.name);
          } else {
            lowered = v;
          }
        },
        value);
    call.attributes.push_back({name, std::move(lowered)});
  }
  call.results = fresh_results(outputs);
  for (const Member& m : outputs) call.dtypes.push_back(m.type.dtype);
  call.location = describe(b.location);
  const std::vector<format::Def> results = call.results;
  emit(std::move(call));
  finish_results(b, outputs, results, true);
}

void FunctionLowering::lower(const Binding& b, const GraphCall& n) {
  const std::vector<Member> outputs = members(b);
  const std::vector<format::Def> results = fresh_results(outputs);
  emit(format::CallFunction{tables_.function(n.callee), uses(n.args), formulas(n.dims, b.location),
                            results});
  finish_results(b, outputs, results, true);
}

void FunctionLowering::lower(const Binding& b, const If& n) {
  const std::vector<Member> outputs = members(b);
  const std::vector<format::Def> results = fresh_results(outputs);
  emit(format::Branch{use(n.condition), tables_.function(n.then_fn), tables_.function(n.else_fn),
                      uses(n.args), formulas(n.dims, b.location), results});
  finish_results(b, outputs, results, true);
}

void FunctionLowering::lower(const Binding& b, const Loop& n) {
  const std::vector<Member> outputs = members(b);
  const std::vector<format::Def> results = fresh_results(outputs);
  format::Loop loop{tables_.function(n.body),
                    optional_use(n.trip_count),
                    optional_use(n.condition),
                    uses(n.carried),
                    uses(n.captured),
                    formulas(n.dims, b.location),
                    {},
                    results};
  for (size_t i = n.carried.size(); i < outputs.size(); ++i) {
    const Type& type = outputs[i].type;
    format::ScanShape scan{type.dtype, {}};
    for (size_t axis = 1; type.dims && axis < type.dims->size(); ++axis) {
      const DimExpr& d = (*type.dims)[axis];
      scan.dims.push_back(d.is_unknown() || !bound(d)
                              ? format::OptionalFormulaId{}
                              : format::OptionalFormulaId{formula(d, b.location).value});
    }
    loop.scans.push_back(std::move(scan));
  }
  emit(std::move(loop));
  finish_results(b, outputs, results, true);
}

void FunctionLowering::lower(const Binding& b, const MatchCast& n) {
  const uint32_t r = reg(n.value);
  bind_type(what_text(b.location, "value", f_.value(n.value).name), r, n.type, b.location);
  registers_[static_cast<size_t>(b.result.index)] = {r};
}

void FunctionLowering::lower(const Binding& b, const ReadDims& n) {
  const uint32_t r = reg(n.value);
  format::ReadDims read{what_text(b.location, "value", f_.value(n.value).name), {r}, {}};
  for (const std::string& symbol : n.symbols) {
    read.slots.push_back({slot(symbol)});
    bound_.insert(symbol);
  }
  emit(std::move(read));
  registers_[static_cast<size_t>(b.result.index)] = {r};
}

void FunctionLowering::lower(const Binding& b, const DimsToTensor& n) {
  const uint32_t r = place({f_.type(b.result), b.result}, b.location);
  emit(format::StoreDims{{r}, formulas(n.dims, b.location)});
  registers_[static_cast<size_t>(b.result.index)] = {r};
}

void FunctionLowering::lower(const Binding& b, const CheckDims& n) {
  const auto at_entry = [&](const DimExpr& e) {
    for (const std::string& s : e.symbols()) {
      if (!entry_scope_.count(s)) return false;
    }
    return true;
  };
  if (at_entry(n.a) && at_entry(n.b)) return;  // done by check_entry_dims
  const std::string where = describe(b.location);
  emit(format::CheckDims{format::Relation::equal, formula(n.a, b.location),
                         formula(n.b, b.location),
                         where.empty() ? n.message : fmt::format("{}: {}", where, n.message)});
}

void FunctionLowering::lower(const Binding& b, const ConstantNode& n) {
  const uint32_t r = fresh_register();
  emit(format::ConstantTensor{{r}, tables_.constant(n.data)});
  registers_[static_cast<size_t>(b.result.index)] = {r};
}

void FunctionLowering::lower(const Binding& b, const MakeTuple& n) {
  for (ValueId v : n.members) registers_[static_cast<size_t>(b.result.index)].push_back(reg(v));
}

void FunctionLowering::lower(const Binding& b, const GetItem& n) {
  registers_[static_cast<size_t>(b.result.index)] = {
      registers_[static_cast<size_t>(n.tuple.index)].at(static_cast<size_t>(n.index))};
}

}  // namespace symtile
