// The instruction set of the virtual machine.
//
// Registers hold tensors, slots hold int64 values of symbols. Every register is defined before it
// is used (the validator proves it: code is straight-line). A tensor either owns a share of heap
// memory or borrows (arena, constant, parameter); borrowed results are copied by Return, so that a
// result never shares memory with anything else.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "symtile/base/dtype.h"
#include "symtile/format/formula.h"

namespace symtile::format {

inline constexpr uint32_t kNoIndex = 0xffffffffu;

/// An index into the table that `Tag` names. Only the Optional tags may be absent.
template <typename Tag>
struct Index {
  uint32_t value = kNoIndex;
  bool valid() const { return value != kNoIndex; }
  friend bool operator==(const Index&, const Index&) = default;
};

using FormulaId = Index<struct FormulaTag>;
using OptionalFormulaId = Index<struct OptionalFormulaTag>;
using ShapeId = Index<struct ShapeTag>;
using ConstantId = Index<struct ConstantTag>;
using KernelId = Index<struct KernelTag>;
using BuiltinId = Index<struct BuiltinTag>;
using FunctionId = Index<struct FunctionTag>;
using Use = Index<struct UseTag>;                  ///< register that is read
using OptionalUse = Index<struct OptionalUseTag>;  ///< argument that may be left out
using Def = Index<struct DefTag>;                  ///< register that is written
using Kill = Index<struct KillTag>;                ///< register that is emptied
using SlotDef = Index<struct SlotDefTag>;          ///< slot that is written
using OptionalSlotDef = Index<struct OptionalSlotDefTag>;

/// Element type and dimensions of a tensor about to be made.
struct TensorShape {
  DType dtype = DType::f32;
  std::vector<FormulaId> dims;
  SYMTILE_FORMAT_FIELDS(f("dtype", self.dtype); f("dims", self.dims);)
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

/// What BindDims does with one dimension.
struct DimRule {
  enum class Kind : uint8_t {
    any,
    bind,   ///< slot = the dimension
    check,  ///< the dimension must equal the formula
  };
  Kind kind = Kind::any;
  OptionalSlotDef slot;
  OptionalFormulaId formula;
  SYMTILE_FORMAT_FIELDS(f("kind", self.kind); f("slot", self.slot); f("formula", self.formula);)
  friend bool operator==(const DimRule&, const DimRule&) = default;
};
inline constexpr uint64_t kNumDimRules = 3;

/// Requires an element type, a rank and dimensions, in order; binds slots. `what` opens the error
/// text: "input 'x'".
struct BindDims {
  std::string what;
  Use value;
  DType dtype = DType::f32;
  bool known_rank = true;
  std::vector<DimRule> dims;
  SYMTILE_FORMAT_FIELDS(f("what", self.what); f("value", self.value); f("dtype", self.dtype);
                        f("known_rank", self.known_rank); f("dims", self.dims);)
  friend bool operator==(const BindDims&, const BindDims&) = default;
};

struct EvalDim {
  SlotDef slot;
  FormulaId formula;
  SYMTILE_FORMAT_FIELDS(f("slot", self.slot); f("formula", self.formula);)
  friend bool operator==(const EvalDim&, const EvalDim&) = default;
};

enum class Relation : uint8_t { equal, less_equal };
inline constexpr uint64_t kNumRelations = 2;

/// A bad_input error that quotes `message`, both formulas and their values unless a REL b.
struct CheckDims {
  Relation relation = Relation::equal;
  FormulaId a, b;
  std::string message;
  SYMTILE_FORMAT_FIELDS(f("relation", self.relation); f("a", self.a); f("b", self.b);
                        f("message", self.message);)
  friend bool operator==(const CheckDims&, const CheckDims&) = default;
};

/// Gives the frame its arena. At most one a function, before any ArenaTensor.
struct Arena {
  FormulaId bytes;
  SYMTILE_FORMAT_FIELDS(f("bytes", self.bytes);)
  friend bool operator==(const Arena&, const Arena&) = default;
};

struct ArenaTensor {
  Def result;
  ShapeId shape;
  FormulaId offset;
  SYMTILE_FORMAT_FIELDS(f("result", self.result); f("shape", self.shape); f("offset", self.offset);)
  friend bool operator==(const ArenaTensor&, const ArenaTensor&) = default;
};

/// `output` >= 0: this memory becomes that output of the entry function, so memory that the caller
/// supplied for it is used directly.
struct HeapTensor {
  Def result;
  ShapeId shape;
  int64_t output = -1;
  SYMTILE_FORMAT_FIELDS(f("result", self.result); f("shape", self.shape); f("output", self.output);)
  friend bool operator==(const HeapTensor&, const HeapTensor&) = default;
};

/// The bytes of `source` under another shape, which may not need more of them.
struct ViewTensor {
  Def result;
  Use source;
  ShapeId shape;
  SYMTILE_FORMAT_FIELDS(f("result", self.result); f("source", self.source); f("shape", self.shape);)
  friend bool operator==(const ViewTensor&, const ViewTensor&) = default;
};

struct ConstantTensor {
  Def result;
  ConstantId constant;
  SYMTILE_FORMAT_FIELDS(f("result", self.result); f("constant", self.constant);)
  friend bool operator==(const ConstantTensor&, const ConstantTensor&) = default;
};

/// Copies all bytes; both tensors have the same number of them.
struct Copy {
  Use target;
  Use source;
  SYMTILE_FORMAT_FIELDS(f("target", self.target); f("source", self.source);)
  friend bool operator==(const Copy&, const Copy&) = default;
};

/// Drops the register's share of heap memory.
struct Release {
  Kill value;
  SYMTILE_FORMAT_FIELDS(f("value", self.value);)
  friend bool operator==(const Release&, const Release&) = default;
};

struct LaunchKernel {
  KernelId kernel;
  std::vector<Use> buffers;  ///< inputs then outputs
  std::vector<FormulaId> symbols;
  SYMTILE_FORMAT_FIELDS(f("kernel", self.kernel); f("buffers", self.buffers);
                        f("symbols", self.symbols);)
  friend bool operator==(const LaunchKernel&, const LaunchKernel&) = default;
};

/// Dimension attributes are evaluated at run time and reach the builtin as integers.
using AttributeValue =
    std::variant<int64_t, double, std::string, DType, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, std::vector<FormulaId>>;

struct BuiltinAttribute {
  std::string name;
  AttributeValue value;
  SYMTILE_FORMAT_FIELDS(f("name", self.name); f("value", self.value);)
  friend bool operator==(const BuiltinAttribute&, const BuiltinAttribute&) = default;
};

/// A library function of the runtime. It allocates its results; `dtypes` are their element types.
struct CallBuiltin {
  BuiltinId builtin;
  std::vector<OptionalUse> args;
  std::vector<BuiltinAttribute> attributes;
  std::vector<Def> results;
  std::vector<DType> dtypes;
  std::string location;  ///< opens error texts: "node 'nms_1'"; may be empty
  SYMTILE_FORMAT_FIELDS(f("builtin", self.builtin); f("args", self.args);
                        f("attributes", self.attributes); f("results", self.results);
                        f("dtypes", self.dtypes); f("location", self.location);)
  friend bool operator==(const CallBuiltin&, const CallBuiltin&) = default;
};

struct CallFunction {
  FunctionId function;
  std::vector<Use> args;
  std::vector<FormulaId> dims;
  std::vector<Def> results;
  SYMTILE_FORMAT_FIELDS(f("function", self.function); f("args", self.args); f("dims", self.dims);
                        f("results", self.results);)
  friend bool operator==(const CallFunction&, const CallFunction&) = default;
};

/// Calls one of two functions with the same arguments.
struct Branch {
  Use condition;  ///< bool, one element
  FunctionId then_function, else_function;
  std::vector<Use> args;
  std::vector<FormulaId> dims;
  std::vector<Def> results;
  SYMTILE_FORMAT_FIELDS(f("condition", self.condition); f("then", self.then_function);
                        f("else", self.else_function); f("args", self.args); f("dims", self.dims);
                        f("results", self.results);)
  friend bool operator==(const Branch&, const Branch&) = default;
};

/// What is known about one slice of a scanned output; needed when the loop runs zero times.
/// Unknown dimensions are absent (and then 0).
struct ScanShape {
  DType dtype = DType::f32;
  std::vector<OptionalFormulaId> dims;
  SYMTILE_FORMAT_FIELDS(f("dtype", self.dtype); f("dims", self.dims);)
  friend bool operator==(const ScanShape&, const ScanShape&) = default;
};

/// body(iteration i64[], condition bool[], carried..., captured...) ->
/// (condition bool[], carried..., scanned...); results: carried..., stacked scans...
struct Loop {
  FunctionId body;
  OptionalUse trip_count;  ///< i64, one element; absent: unbounded
  OptionalUse condition;   ///< bool, one element; absent: true
  std::vector<Use> carried;
  std::vector<Use> captured;
  std::vector<FormulaId> dims;
  std::vector<ScanShape> scans;
  std::vector<Def> results;
  SYMTILE_FORMAT_FIELDS(f("body", self.body); f("trip_count", self.trip_count);
                        f("condition", self.condition); f("carried", self.carried);
                        f("captured", self.captured); f("dims", self.dims); f("scans", self.scans);
                        f("results", self.results);)
  friend bool operator==(const Loop&, const Loop&) = default;
};

/// Reads the elements of an integer tensor into slots; their number must agree.
struct ReadDims {
  std::string what;
  Use value;
  std::vector<SlotDef> slots;
  SYMTILE_FORMAT_FIELDS(f("what", self.what); f("value", self.value); f("slots", self.slots);)
  friend bool operator==(const ReadDims&, const ReadDims&) = default;
};

/// Writes formulas as the elements of `target`, wrapping or rounding to its element type.
struct StoreDims {
  Use target;
  std::vector<FormulaId> values;
  SYMTILE_FORMAT_FIELDS(f("target", self.target); f("values", self.values);)
  friend bool operator==(const StoreDims&, const StoreDims&) = default;
};

struct Return {
  std::vector<Use> values;
  SYMTILE_FORMAT_FIELDS(f("values", self.values);)
  friend bool operator==(const Return&, const Return&) = default;
};

/// The order is part of the format.
using Instruction =
    std::variant<BindDims, EvalDim, CheckDims, Arena, ArenaTensor, HeapTensor, ViewTensor,
                 ConstantTensor, Copy, Release, LaunchKernel, CallBuiltin, CallFunction, Branch,
                 Loop, ReadDims, StoreDims, Return>;

}  // namespace symtile::format
