#include "symtile/format/validate.h"

#include <algorithm>

#include "symtile/base/check.h"
#include "symtile/format/print_program.h"

namespace symtile::format {
namespace {

/// Deeper nesting of calls could exhaust the native stack.
constexpr int kMaxCallDepth = 256;

template <typename... Args>
void require(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) throw UserError(fmt::format(format, std::forward<Args>(args)...));
}

/// Tables that every function shares, with what was learnt about them.
struct Tables {
  const Program& program;
  std::vector<uint32_t> formula_slots;  ///< slots each formula needs
  std::vector<uint32_t> shape_slots;
  std::vector<int> call_depth;  ///< of the functions checked so far
};

class FunctionChecker {
 public:
  FunctionChecker(const Tables& tables, uint32_t index)
      : tables_(tables),
        program_(tables.program),
        function_(program_.functions[index]),
        index_(index),
        is_entry_(index == program_.entry.value),
        defined_(function_.registers, false),
        writable_(function_.registers, true) {}

  int check() {
    require(function_.params <= function_.registers, "has more parameters than registers");
    require(function_.dim_params <= function_.slot_names.size(),
            "has more dimension parameters than slots");
    std::fill_n(defined_.begin(), function_.params, true);
    std::fill_n(writable_.begin(), function_.params, false);
    require(!function_.code.empty() && std::holds_alternative<Return>(function_.code.back()),
            "does not end with return");
    for (size_t i = 0; i < function_.code.size(); ++i) {
      const Instruction& instruction = function_.code[i];
      try {
        require(i + 1 == function_.code.size() || !std::holds_alternative<Return>(instruction),
                "returns early");
        check_instruction(instruction);
      } catch (const UserError& e) {
        throw UserError(fmt::format("instruction {} ({}): {}", i, name_of(instruction), e.what()));
      }
    }
    return depth_;
  }

 private:
  void check_instruction(const Instruction& instruction) {
    uses_.clear();
    defs_.clear();
    std::visit(
        [&](const auto& op) {
          field(op);
          rule(op);
        },
        instruction);
    for (uint32_t use : uses_) require(defined_[use], "register {} is empty", use);
    std::sort(defs_.begin(), defs_.end());
    for (size_t i = 0; i < defs_.size(); ++i) {
      require(i == 0 || defs_[i] != defs_[i - 1], "register {} is defined twice", defs_[i]);
      require(std::find(uses_.begin(), uses_.end(), defs_[i]) == uses_.end(),
              "register {} is both read and written", defs_[i]);
      defined_[defs_[i]] = true;
      writable_[defs_[i]] = is_writable(instruction);
    }
    if (const auto* release = std::get_if<Release>(&instruction)) {
      defined_[release->value.value] = false;
    }
  }

  /// Whether what the instruction defines is memory of the session: constants and parameters are
  /// read-only, and so are views of them.
  bool is_writable(const Instruction& instruction) const {
    if (const auto* view = std::get_if<ViewTensor>(&instruction)) {
      return writable_[view->source.value];
    }
    return !std::holds_alternative<ConstantTensor>(instruction);
  }

  // ---- indices, by type ------------------------------------------------------------------

  static void in_range(uint32_t value, size_t limit, const char* what) {
    require(value < limit, "{} {} is out of range", what, value);
  }
  void field(Use r) {
    in_range(r.value, function_.registers, "register");
    uses_.push_back(r.value);
  }
  void field(OptionalUse r) {
    if (r.valid()) field(Use{r.value});
  }
  void field(Kill r) { field(Use{r.value}); }
  void field(Def r) {
    in_range(r.value, function_.registers, "register");
    defs_.push_back(r.value);
  }
  void field(SlotDef s) { in_range(s.value, function_.slot_names.size(), "slot"); }
  void field(OptionalSlotDef s) {
    if (s.valid()) field(SlotDef{s.value});
  }
  void field(FormulaId id) {
    in_range(id.value, program_.formulas.size(), "formula");
    require(tables_.formula_slots[id.value] <= function_.slot_names.size(),
            "formula '{}' reads a slot that the function lacks", program_.formulas[id.value].text);
  }
  void field(OptionalFormulaId id) {
    if (id.valid()) field(FormulaId{id.value});
  }
  void field(ShapeId id) {
    in_range(id.value, program_.shapes.size(), "shape");
    require(tables_.shape_slots[id.value] <= function_.slot_names.size(),
            "shape {} reads a slot that the function lacks", id.value);
  }
  void field(ConstantId id) { in_range(id.value, program_.constants.size(), "constant"); }
  void field(KernelId id) { in_range(id.value, program_.kernels.size(), "kernel"); }
  void field(BuiltinId id) { in_range(id.value, program_.builtins.size(), "builtin"); }
  void field(FunctionId id) {
    in_range(id.value, index_, "function (callees come first)");
    depth_ = std::max(depth_, 1 + tables_.call_depth[id.value]);
    require(depth_ <= kMaxCallDepth, "calls are nested too deeply");
  }
  template <typename T>
  void field(const std::vector<T>& list) {
    for (const T& element : list) field(element);
  }
  template <typename... T>
  void field(const std::variant<T...>& value) {
    std::visit([&](const auto& v) { field(v); }, value);
  }
  template <typename T>
  void field(const T& value) {
    if constexpr (requires { T::fields(value, [](const char*, const auto&) {}); }) {
      T::fields(value, [&](const char*, const auto& member) { field(member); });
    }
  }

  // ---- rules of single instructions ------------------------------------------------------

  template <typename T>
  void rule(const T&) {}
  void rule(const BindDims& op) {
    require(op.dims.size() <= kMaxRank, "the rank {} is above {}", op.dims.size(), kMaxRank);
    for (const DimRule& d : op.dims) {
      require(d.kind != DimRule::Kind::bind || d.slot.valid(), "a bound dimension has no slot");
      require(d.kind != DimRule::Kind::check || d.formula.valid(),
              "a checked dimension has no formula");
    }
  }
  void rule(const Arena&) {
    require(!has_arena_, "a second arena");
    has_arena_ = true;
  }
  void rule(const ArenaTensor&) { require(has_arena_, "the function has no arena yet"); }
  void rule(const HeapTensor& op) {
    const auto outputs = is_entry_ ? static_cast<int64_t>(program_.outputs.size()) : 0;
    require(op.output >= -1 && op.output < outputs, "output {} does not exist", op.output);
  }
  void written(Use r) const { require(writable_[r.value], "register {} is read-only", r.value); }
  void rule(const Copy& op) { written(op.target); }
  void rule(const StoreDims& op) { written(op.target); }
  void rule(const LaunchKernel& op) {
    const KernelInfo& kernel = program_.kernels[op.kernel.value];
    require(op.buffers.size() == kernel.buffers, "kernel '{}' takes {} buffers, not {}",
            kernel.name, kernel.buffers, op.buffers.size());
    require(op.symbols.size() == kernel.symbols, "kernel '{}' takes {} symbols, not {}",
            kernel.name, kernel.symbols, op.symbols.size());
  }
  void rule(const CallBuiltin& op) {
    require(op.dtypes.size() == op.results.size(), "has {} results but {} element types",
            op.results.size(), op.dtypes.size());
  }
  void call(FunctionId id, size_t args, size_t dims, size_t results) const {
    const Function& callee = program_.functions[id.value];
    require(args == callee.params, "function '{}' takes {} arguments, not {}", callee.name,
            callee.params, args);
    require(dims == callee.dim_params, "function '{}' takes {} dimensions, not {}", callee.name,
            callee.dim_params, dims);
    require(results == callee.results, "function '{}' has {} results, not {}", callee.name,
            callee.results, results);
  }
  void rule(const CallFunction& op) {
    call(op.function, op.args.size(), op.dims.size(), op.results.size());
  }
  void rule(const Branch& op) {
    call(op.then_function, op.args.size(), op.dims.size(), op.results.size());
    call(op.else_function, op.args.size(), op.dims.size(), op.results.size());
  }
  void rule(const Loop& op) {
    call(op.body, 2 + op.carried.size() + op.captured.size(), op.dims.size(),
         1 + op.carried.size() + op.scans.size());
    require(op.results.size() == op.carried.size() + op.scans.size(), "has {} results, not {}",
            op.results.size(), op.carried.size() + op.scans.size());
    for (const ScanShape& scan : op.scans) {
      require(scan.dims.size() < kMaxRank, "a scanned output has too many dimensions");
    }
  }
  void rule(const Return& op) {
    require(op.values.size() == function_.results, "returns {} values, not {}", op.values.size(),
            function_.results);
  }

  const Tables& tables_;
  const Program& program_;
  const Function& function_;
  const uint32_t index_;
  const bool is_entry_;
  std::vector<bool> defined_;
  std::vector<bool> writable_;
  std::vector<uint32_t> uses_, defs_;
  bool has_arena_ = false;
  int depth_ = 0;
};

void check_constants(const Program& program, uint64_t constant_bytes) {
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const ConstantInfo& c = program.constants[i];
    require(c.dims.size() <= kMaxRank, "constant {} has too many dimensions", i);
    require(
        c.offset % 64 == 0 && c.offset <= constant_bytes && c.bytes <= constant_bytes - c.offset,
        "constant {} lies outside the constants section", i);
    require(c.bytes == static_cast<uint64_t>(byte_size(c.dtype, c.dims)),
            "constant {} has {} bytes, which does not agree with its shape", i, c.bytes);
  }
}

void check_entry(const Tables& tables) {
  const Program& p = tables.program;
  require(p.entry.value < p.functions.size(), "there is no entry function");
  const Function& entry = p.functions[p.entry.value];
  require(entry.dim_params == 0, "the entry function takes dimensions");
  require(entry.params == p.inputs.size(), "the entry takes {} inputs, not {}", entry.params,
          p.inputs.size());
  require(entry.results == p.outputs.size(), "the entry has {} outputs, not {}", entry.results,
          p.outputs.size());
  const auto formula = [&](OptionalFormulaId id) {
    if (!id.valid()) return;
    require(id.value < p.formulas.size(), "formula {} is out of range", id.value);
    require(tables.formula_slots[id.value] <= entry.slot_names.size(),
            "formula '{}' reads a slot that the entry lacks", p.formulas[id.value].text);
  };
  for (const auto* values : {&p.inputs, &p.outputs}) {
    for (const EntryValue& value : *values) {
      require(value.dims.size() <= kMaxRank, "'{}' has too many dimensions", value.name);
      for (const EntryDim& dim : value.dims) formula(dim.formula);
    }
  }
  formula(p.arena_bytes);
}

}  // namespace

int64_t byte_size(DType dtype, std::span<const int64_t> dims) {
  int64_t bytes = size_of(dtype);
  bool empty = false;
  bool overflow = false;
  for (int64_t d : dims) {
    require(d >= 0, "error[bad_input]: a dimension is {}, which is negative", d);
    if (d == 0) empty = true;
    if (d != 0 && __builtin_mul_overflow(bytes, d, &bytes)) overflow = true;
  }
  require(empty || !overflow, "error[too_large]: a tensor of shape ({}) does not fit in memory",
          fmt::join(dims, ", "));
  return empty ? 0 : bytes;
}

void validate(const Program& program, uint64_t constant_bytes) {
  Tables tables{program, {}, {}, {}};
  for (const Formula& f : program.formulas) tables.formula_slots.push_back(check_formula(f));
  for (const TensorShape& shape : program.shapes) {
    require(shape.dims.size() <= kMaxRank, "a shape has too many dimensions");
    uint32_t slots = 0;
    for (FormulaId id : shape.dims) {
      require(id.value < program.formulas.size(), "formula {} is out of range", id.value);
      slots = std::max(slots, tables.formula_slots[id.value]);
    }
    tables.shape_slots.push_back(slots);
  }
  check_constants(program, constant_bytes);
  for (uint32_t i = 0; i < program.functions.size(); ++i) {
    try {
      tables.call_depth.push_back(FunctionChecker(tables, i).check());
    } catch (const UserError& e) {
      throw UserError(fmt::format("function '{}': {}", program.functions[i].name, e.what()));
    }
  }
  check_entry(tables);
}

void validate(const CodeInfo& code, const Program& program) {
  require(code.kernels.size() == program.kernels.size(), "code '{}' has {} kernels, not {}",
          code.level, code.kernels.size(), program.kernels.size());
  for (size_t i = 0; i < code.kernels.size(); ++i) {
    const KernelEntry& kernel = code.kernels[i];
    for (const Formula* f : {&kernel.parallel_extent, &kernel.scratch_bytes, &kernel.work}) {
      require(check_formula(*f) <= program.kernels[i].symbols,
              "kernel '{}' has the formula '{}', which reads a symbol it lacks", kernel.symbol,
              f->text);
    }
  }
}

void validate(const DeviceInfo& device, const Program& program) {
  require(device.kernels.size() == program.kernels.size(), "code for '{}' has {} kernels, not {}",
          device.device, device.kernels.size(), program.kernels.size());
  for (size_t i = 0; i < device.kernels.size(); ++i) {
    const KernelInfo& info = program.kernels[i];
    const auto check = [&](const Formula& f) {
      require(check_formula(f) <= info.symbols,
              "kernel '{}' has the formula '{}', which reads a symbol it lacks", info.name, f.text);
    };
    check(device.kernels[i].workspace_bytes);
    for (const DeviceLaunch& launch : device.kernels[i].launches) {
      check(launch.blocks);
      require(launch.threads >= 1 && launch.threads <= kMaxBlockThreads,
              "kernel '{}' has groups of {} work-items", info.name, launch.threads);
    }
  }
}

}  // namespace symtile::format
