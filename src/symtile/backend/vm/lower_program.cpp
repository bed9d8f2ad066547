#include "symtile/backend/vm/lower_program.h"

#include <map>

#include "symtile/backend/vm/allocate_registers.h"
#include "symtile/backend/vm/lower_function.h"
#include "symtile/diag/diagnostic.h"
#include "symtile/format/validate.h"

namespace symtile {
namespace {

class ProgramLowering {
 public:
  explicit ProgramLowering(const Module& module) : module_(module) {}

  LoweredProgram lower() {
    lower(std::string(Module::kMain));
    return std::move(tables_.lowered);
  }

 private:
  enum class State : uint8_t { absent, active, done };

  /// Callees first; functions cannot be recursive.
  void lower(const std::string& name) {
    State& state = states_[name];
    if (state == State::done) return;
    const GraphFunction* f = module_.find_graph(name);
    if (!f) fail(DiagId::bad_module, {}, "there is no graph function '{}'", name);
    if (state == State::active) fail(DiagId::bad_module, {}, "function '{}' is recursive", name);
    state = State::active;
    for (const Binding& b : f->bindings) {
      for_each_callee(b.node, [&](const std::string& callee) {
        if (module_.find_graph(callee)) lower(callee);
      });
    }
    states_[name] = State::done;

    FunctionLowering lowering(module_, *f, tables_);
    format::Function lowered = lowering.lower();
    const bool is_main = name == Module::kMain;
    if (is_main) {
      describe_entry(*f, lowering);
      mark_outputs(lowered);
    }
    allocate_registers(lowered);
    tables_.add_function(std::move(lowered));
    if (is_main) tables_.lowered.program.entry = tables_.function(name);
  }

  void describe_entry(const GraphFunction& f, FunctionLowering& lowering) {
    format::Program& p = tables_.lowered.program;
    for (ValueId id : f.params) {
      p.inputs.push_back(lowering.entry_value(f.value(id).name, f.type(id)));
    }
    for (size_t i = 0; i < f.results.size(); ++i) {
      const ValueId id = f.results[i];
      if (!f.type(id).is_tensor()) {
        fail(DiagId::bad_module, {}, "output '{}' is {}, not a tensor", f.value(id).name,
             f.type(id).str());
      }
      const bool named = i < f.result_names.size() && !f.result_names[i].empty();
      p.outputs.push_back(
          lowering.entry_value(named ? f.result_names[i] : f.value(id).name, f.type(id)));
    }
    p.facts = f.facts.str();
    p.symbols = lowering.entry_symbols();
    p.arena_bytes = lowering.arena_bytes();
  }

  const Module& module_;
  ProgramTables tables_;
  std::map<std::string, State> states_;
};

}  // namespace

LoweredProgram lower_to_program(const Module& module) { return ProgramLowering(module).lower(); }

format::Manifest make_manifest(const LoweredProgram& lowered, const std::string& producer) {
  const format::Program& p = lowered.program;
  uint64_t constant_bytes = 0;
  for (const format::ConstantInfo& c : p.constants) constant_bytes += c.bytes;
  format::Manifest out;
  out.set("producer", producer);
  out.set("functions", std::to_string(p.functions.size()));
  out.set("kernels", std::to_string(p.kernels.size()));
  out.set("library calls", std::to_string(p.builtins.size()));
  out.set("constants", std::to_string(p.constants.size()));
  out.set("constant bytes", std::to_string(constant_bytes));
  out.set("memory", p.arena_bytes.valid() ? p.formulas[p.arena_bytes.value].text : "0");
  return out;
}

}  // namespace symtile
