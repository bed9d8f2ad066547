#include "symtile/format/print_program.h"

#include <fmt/ranges.h>

#include <array>

namespace symtile::format {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Instruction>> kNames = {
    "bind_dims",   "eval_dim", "check_dims", "arena",     "arena_tensor",  "heap_tensor",
    "view_tensor", "constant", "copy",       "release",   "launch_kernel", "call_builtin",
    "call",        "if",       "loop",       "read_dims", "store_dims",    "return"};

class Printer {
 public:
  explicit Printer(const Program& program) : p_(program) {}

  std::string print(const Function& f) {
    function_ = &f;
    std::string out =
        fmt::format("function @{} params={} dims={} registers={} slots=[{}]\n", f.name, f.params,
                    f.dim_params, f.registers, fmt::join(f.slot_names, ", "));
    for (const Instruction& instruction : f.code) {
      out += fmt::format("  {}", name_of(instruction));
      std::visit([&](const auto& op) { out += record(op); }, instruction);
      out += '\n';
    }
    return out;
  }

  std::string text(Use r) const { return fmt::format("%{}", r.value); }
  std::string text(OptionalUse r) const { return r.valid() ? fmt::format("%{}", r.value) : "none"; }
  std::string text(Def r) const { return fmt::format("%{}", r.value); }
  std::string text(Kill r) const { return fmt::format("%{}", r.value); }
  std::string text(SlotDef s) const { return function_->slot_names[s.value]; }
  std::string text(OptionalSlotDef s) const { return s.valid() ? text(SlotDef{s.value}) : "none"; }
  std::string text(FormulaId id) const { return p_.formulas[id.value].text; }
  std::string text(OptionalFormulaId id) const {
    return id.valid() ? text(FormulaId{id.value}) : "?";
  }
  std::string text(ShapeId id) const {
    const TensorShape& shape = p_.shapes[id.value];
    return text(shape.dtype) + text(shape.dims);
  }
  std::string text(ConstantId id) const {
    const ConstantInfo& c = p_.constants[id.value];
    return fmt::format("#{} {}[{}]", id.value, symtile::name_of(c.dtype), fmt::join(c.dims, ", "));
  }
  std::string text(KernelId id) const { return "@" + p_.kernels[id.value].name; }
  std::string text(BuiltinId id) const { return "@" + p_.builtins[id.value]; }
  std::string text(FunctionId id) const { return "@" + p_.functions[id.value].name; }
  std::string text(DType t) const { return std::string(symtile::name_of(t)); }
  std::string text(Relation r) const { return r == Relation::equal ? "==" : "<="; }
  std::string text(const std::string& s) const { return "\"" + s + "\""; }
  std::string text(int64_t v) const { return std::to_string(v); }
  std::string text(double v) const { return fmt::format("{}", v); }
  std::string text(bool v) const { return v ? "true" : "false"; }
  std::string text(const DimRule& d) const {
    if (d.kind == DimRule::Kind::any) return "?";
    return d.kind == DimRule::Kind::bind ? text(d.slot) + " :=" : text(d.formula);
  }
  std::string text(const ScanShape& s) const { return text(s.dtype) + text(s.dims); }
  std::string text(const BuiltinAttribute& a) const { return a.name + "=" + text(a.value); }
  template <typename... T>
  std::string text(const std::variant<T...>& v) const {
    return std::visit([&](const auto& value) { return text(value); }, v);
  }
  template <typename T>
  std::string text(const std::vector<T>& list) const {
    std::string out = "[";
    for (const T& element : list) out += (out.size() > 1 ? ", " : "") + text(element);
    return out + "]";
  }

 private:
  template <typename T>
  std::string record(const T& op) const {
    std::string out;
    T::fields(op, [&](const char* name, const auto& value) {
      out += fmt::format(" {}={}", name, text(value));
    });
    return out;
  }

  const Program& p_;
  const Function* function_ = nullptr;
};

}  // namespace

std::string_view name_of(const Instruction& instruction) { return kNames[instruction.index()]; }

std::string to_text(const Program& program) {
  Printer printer(program);
  std::string out;
  for (const Function& f : program.functions) out += printer.print(f);
  return out;
}

}  // namespace symtile::format
