// Compares an operator call with the operator's schema.
#include <algorithm>

#include "symtile/op/op.h"

namespace symtile {

namespace {

constexpr const char* kKindNames[] = {
    "integer",          "real",          "text",          "dtype",
    "list of integers", "list of reals", "list of texts", "list of dimensions",
    "function"};

const AttrSpec* find_spec(const OpRecord& record, std::string_view name) {
  const auto it = std::find_if(record.attrs.begin(), record.attrs.end(),
                               [&](const AttrSpec& s) { return name == s.name; });
  return it == record.attrs.end() ? nullptr : &*it;
}

void check_attributes(const OpRecord& record, const OpCall& call, const Location& location) {
  for (const auto& [name, value] : call.attrs.map()) {
    const AttrSpec* spec = find_spec(record, name);
    if (spec == nullptr) {
      fail(DiagId::bad_module, location, "operator '{}' has no attribute '{}'", call.op, name);
    }
    if (value.index() != static_cast<size_t>(spec->kind)) {
      fail(DiagId::bad_module, location, "attribute '{}' of operator '{}' must be a {}, not a {}",
           name, call.op, kKindNames[static_cast<size_t>(spec->kind)], kKindNames[value.index()]);
    }
  }
  for (const AttrSpec& spec : record.attrs) {
    if (spec.required && !call.attrs.has(spec.name)) {
      fail(DiagId::bad_module, location, "operator '{}' needs attribute '{}'", call.op, spec.name);
    }
  }
}

}  // namespace

void check_op_call(const OpCall& call, const Location& location) {
  const OpRecord* record = find_op(call.op);
  if (record == nullptr) fail(DiagId::unknown_name, location, "there is no operator '{}'", call.op);
  const auto count = static_cast<int>(call.args.size());
  if (count < record->min_args || (record->max_args >= 0 && count > record->max_args)) {
    const std::string expected = record->max_args < 0 ? fmt::format("at least {}", record->min_args)
                                 : record->min_args == record->max_args
                                     ? fmt::format("{}", record->min_args)
                                     : fmt::format("{} to {}", record->min_args, record->max_args);
    fail(DiagId::bad_module, location, "operator '{}' takes {} arguments, not {}", call.op,
         expected, count);
  }
  for (int i = 0; i < record->min_args; ++i) {
    if (!call.args[static_cast<size_t>(i)].valid()) {
      fail(DiagId::bad_module, location, "argument {} of operator '{}' is required", i, call.op);
    }
  }
  check_attributes(*record, call, location);
}

void check_op_call(const GraphFunction&, const Binding& b) {
  if (const auto* call = std::get_if<OpCall>(&b.node)) check_op_call(*call, b.location);
}

}  // namespace symtile
