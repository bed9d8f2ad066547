// The program that the virtual machine runs: plain data, both sides of the compiler/runtime wall.
//
// A function is straight-line code over tensor registers and int64 slots; control flow calls other
// functions. Operands are typed indices, so that the reader, the writer, the validator and the
// printer derive from the field lists alone. instructions.h has the instruction set.
#pragma once

#include <optional>
#include <utility>

#include "symtile/format/instructions.h"

namespace symtile::format {

/// Bumped whenever the meaning or layout of anything here changes.
inline constexpr uint32_t kFormatVersion = 2;
inline constexpr size_t kMaxRank = 16;

/// A constant tensor. Its bytes are in the constants section, 64-byte aligned, little-endian.
struct ConstantInfo {
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  uint64_t offset = 0;  ///< from the start of the constants section
  uint64_t bytes = 0;
  SYMTILE_FORMAT_FIELDS(f("dtype", self.dtype); f("dims", self.dims); f("offset", self.offset);
                        f("bytes", self.bytes);)
  friend bool operator==(const ConstantInfo&, const ConstantInfo&) = default;
};

/// A tile function that the program launches; code sections say how.
struct KernelInfo {
  std::string name;
  uint32_t buffers = 0;  ///< inputs then outputs
  uint32_t symbols = 0;
  SYMTILE_FORMAT_FIELDS(f("name", self.name); f("buffers", self.buffers);
                        f("symbols", self.symbols);)
  friend bool operator==(const KernelInfo&, const KernelInfo&) = default;
};

struct Function {
  std::string name;
  uint32_t params = 0;      ///< in registers 0 .. params-1
  uint32_t dim_params = 0;  ///< in slots 0 .. dim_params-1
  uint32_t results = 0;
  uint32_t registers = 0;
  std::vector<std::string> slot_names;  ///< one a slot, for error texts
  std::vector<Instruction> code;        ///< ends with the only Return
  SYMTILE_FORMAT_FIELDS(f("name", self.name); f("params", self.params);
                        f("dim_params", self.dim_params); f("results", self.results);
                        f("registers", self.registers); f("slot_names", self.slot_names);
                        f("code", self.code);)
  friend bool operator==(const Function&, const Function&) = default;
};

/// A dimension of an input or output; an unknown one has the text "?" and no formula.
struct EntryDim {
  std::string text;
  OptionalFormulaId formula;  ///< over the slots of the entry function
  SYMTILE_FORMAT_FIELDS(f("text", self.text); f("formula", self.formula);)
  friend bool operator==(const EntryDim&, const EntryDim&) = default;
};

struct EntryValue {
  std::string name;
  DType dtype = DType::f32;
  bool known_rank = true;
  std::vector<EntryDim> dims;
  SYMTILE_FORMAT_FIELDS(f("name", self.name); f("dtype", self.dtype);
                        f("known_rank", self.known_rank); f("dims", self.dims);)
  friend bool operator==(const EntryValue&, const EntryValue&) = default;
};

struct Program {
  std::vector<Formula> formulas;
  std::vector<TensorShape> shapes;
  std::vector<ConstantInfo> constants;
  std::vector<KernelInfo> kernels;
  std::vector<std::string> builtins;  ///< names, found by the runtime when it loads the program
  std::vector<Function> functions;
  FunctionId entry;
  std::vector<EntryValue> inputs;
  std::vector<EntryValue> outputs;
  std::vector<std::string> facts;    ///< "1 <= n <= 4096", for people; checked by the entry code
  std::vector<std::string> symbols;  ///< slots of the entry that its inputs bind, by name
  OptionalFormulaId arena_bytes;     ///< of the entry function; none: no arena
  SYMTILE_FORMAT_FIELDS(f("formulas", self.formulas); f("shapes", self.shapes);
                        f("constants", self.constants); f("kernels", self.kernels);
                        f("builtins", self.builtins); f("functions", self.functions);
                        f("entry", self.entry); f("inputs", self.inputs);
                        f("outputs", self.outputs); f("facts", self.facts);
                        f("symbols", self.symbols); f("arena_bytes", self.arena_bytes);)
  friend bool operator==(const Program&, const Program&) = default;
};

/// How one kernel of the program is run by the code of one section. The formulas are over the
/// kernel's symbols.
struct KernelEntry {
  std::string symbol;       ///< exported name in the shared object
  Formula parallel_extent;  ///< iterations that may be spread over threads
  Formula scratch_bytes;    ///< per thread
  Formula work;             ///< estimated scalar operations of a whole launch; 0: unknown
  SYMTILE_FORMAT_FIELDS(f("symbol", self.symbol); f("parallel_extent", self.parallel_extent);
                        f("scratch_bytes", self.scratch_bytes); f("work", self.work);)
  friend bool operator==(const KernelEntry&, const KernelEntry&) = default;
};

/// Everything about the code of one target except the code.
struct CodeInfo {
  std::string level;                 ///< "x86-64-v3", "armv8", ...
  std::vector<KernelEntry> kernels;  ///< in the order of Program::kernels
  SYMTILE_FORMAT_FIELDS(f("level", self.level); f("kernels", self.kernels);)
  friend bool operator==(const CodeInfo&, const CodeInfo&) = default;
};

/// Free-form facts about the artifact, in order: "producer", "memory", "kernels", ...
struct Manifest {
  std::vector<std::pair<std::string, std::string>> entries;
  SYMTILE_FORMAT_FIELDS(f("entries", self.entries);)
  friend bool operator==(const Manifest&, const Manifest&) = default;

  void set(std::string key, std::string value);
  /// Empty when absent.
  std::string get(std::string_view key) const;
};

}  // namespace symtile::format
