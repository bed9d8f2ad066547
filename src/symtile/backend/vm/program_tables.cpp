#include "symtile/backend/vm/program_tables.h"

#include "symtile/base/check.h"

namespace symtile {
namespace {

/// The index of `key`; `add` makes the entry when it is new.
template <typename Map, typename Key, typename Add>
uint32_t intern(Map& map, Key key, size_t next, Add&& add) {
  const auto [it, fresh] = map.emplace(std::move(key), static_cast<uint32_t>(next));
  if (fresh) add();
  return it->second;
}

}  // namespace

format::FormulaId ProgramTables::formula(format::Formula formula) {
  std::vector<int64_t> key;
  for (const format::FormulaStep& step : formula.steps) {
    key.push_back(static_cast<int64_t>(step.code));
    key.push_back(step.operand);
  }
  auto& table = program().formulas;
  const std::string text = formula.text;
  return {intern(formulas_, std::pair(text, std::move(key)), table.size(),
                 [&] { table.push_back(std::move(formula)); })};
}

format::ShapeId ProgramTables::shape(format::TensorShape shape) {
  std::vector<uint32_t> key = {static_cast<uint32_t>(shape.dtype)};
  for (format::FormulaId id : shape.dims) key.push_back(id.value);
  auto& table = program().shapes;
  return {
      intern(shapes_, std::move(key), table.size(), [&] { table.push_back(std::move(shape)); })};
}

format::ConstantId ProgramTables::constant(const Constant& data) {
  const size_t hash = data->hash();
  const auto [begin, end] = constants_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Constant& other = lowered.constants[it->second];
    if (other == data || *other == *data) return {it->second};
  }
  const auto index = static_cast<uint32_t>(lowered.constants.size());
  constants_.emplace(hash, index);
  lowered.constants.push_back(data);
  program().constants.push_back({data->dtype, data->dims, 0, data->bytes.size()});
  return {index};
}

format::KernelId ProgramTables::kernel(const TileFunction& f) {
  auto& table = program().kernels;
  return {intern(kernels_, f.name, table.size(), [&] {
    table.push_back({f.name, static_cast<uint32_t>(f.inputs.size() + f.outputs.size()),
                     static_cast<uint32_t>(f.symbols.size())});
    lowered.kernels.push_back(f.name);
  })};
}

format::BuiltinId ProgramTables::builtin(const std::string& name) {
  auto& table = program().builtins;
  return {intern(builtins_, name, table.size(), [&] { table.push_back(name); })};
}

void ProgramTables::add_function(format::Function f) {
  functions_[f.name] = static_cast<uint32_t>(program().functions.size());
  program().functions.push_back(std::move(f));
}

format::FunctionId ProgramTables::function(const std::string& name) const {
  const auto it = functions_.find(name);
  SYMTILE_CHECK(it != functions_.end(), "function '{}' is not lowered yet", name);
  return {it->second};
}

}  // namespace symtile
