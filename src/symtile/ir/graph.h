// Graph functions: what is computed. A body is one list of bindings in A-normal form; every
// binding is pure except calls of impure functions. Control flow calls other graph functions.
//
// Semantics. Bindings are evaluated in order; values are immutable tensors. Symbols named by the
// parameter types are bound at entry, left to right: a bare symbol at first sight, anything else
// is checked (`bad_input`). `match_cast` and `read_dims` bind further symbols, which are in scope
// for the bindings after them. A dimension is >= 0; zero extents are legal everywhere.
// Integer element arithmetic wraps; float arithmetic follows IEEE 754 without reassociation,
// except in reductions, whose order is unspecified. Dimension arithmetic never wraps.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "symtile/diag/location.h"
#include "symtile/ir/attributes.h"
#include "symtile/ir/constant.h"
#include "symtile/ir/type.h"

namespace symtile {

/// Index into GraphFunction::values.
struct ValueId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  friend auto operator<=>(const ValueId&, const ValueId&) = default;
};

// Each node lists its fields once; walking, rewriting, equality, hashing, printing and parsing
// derive from the list. `f(name, field)` is called for every field in text order.
#define SYMTILE_FIELDS(...)               \
  template <typename Self, typename F>    \
  static void fields(Self& self, F&& f) { \
    __VA_ARGS__                           \
  }

/// A high-level operator of op/ops.def. Optional absent arguments are invalid ValueIds.
/// An operator with several results has a tuple-typed result.
struct OpCall {
  std::string op;
  std::vector<ValueId> args;
  Attributes attrs;
  SYMTILE_FIELDS(f("op", self.op); f("args", self.args); f("attrs", self.attrs);)
  friend bool operator==(const OpCall&, const OpCall&) = default;
};

/// A tile function. The callee writes its outputs; the binding's type says what they are.
/// `dims` are the values of the callee's symbols, in order.
struct TileCall {
  std::string callee;
  std::vector<ValueId> args;
  Dims dims;
  SYMTILE_FIELDS(f("callee", self.callee); f("args", self.args); f("dims", self.dims);)
  friend bool operator==(const TileCall&, const TileCall&) = default;
};

/// A library function of library/calls.def.
struct ExternCall {
  std::string callee;
  std::vector<ValueId> args;
  Attributes attrs;
  SYMTILE_FIELDS(f("callee", self.callee); f("args", self.args); f("attrs", self.attrs);)
  friend bool operator==(const ExternCall&, const ExternCall&) = default;
};

/// Another graph function. `dims` are the values of its `dim_params`.
struct GraphCall {
  std::string callee;
  std::vector<ValueId> args;
  Dims dims;
  SYMTILE_FIELDS(f("callee", self.callee); f("args", self.args); f("dims", self.dims);)
  friend bool operator==(const GraphCall&, const GraphCall&) = default;
};

/// Calls `then_fn` or `else_fn` with the same arguments. `condition` is a bool tensor of one
/// element.
struct If {
  ValueId condition;
  std::string then_fn, else_fn;
  std::vector<ValueId> args;
  Dims dims;  ///< the values of both functions' dim_params
  SYMTILE_FIELDS(f("condition", self.condition); f("then", self.then_fn); f("else", self.else_fn);
                 f("args", self.args); f("dims", self.dims);)
  friend bool operator==(const If&, const If&) = default;
};

/// ONNX Loop. body(iteration i64[], condition bool[], carried..., captured...) ->
/// (condition bool[], carried..., scanned...). Results: the carried values after the last
/// iteration, then each scanned value stacked on a new axis 0. An invalid `trip_count` means
/// unbounded, an invalid `condition` means true. With zero iterations a scanned result has
/// extent 0 on axis 0.
struct Loop {
  std::string body;
  ValueId trip_count;  ///< i64 tensor of one element
  ValueId condition;   ///< bool tensor of one element
  std::vector<ValueId> carried;
  std::vector<ValueId> captured;
  int64_t scanned = 0;  ///< number of scanned outputs
  Dims dims;            ///< the values of the body's dim_params
  SYMTILE_FIELDS(f("body", self.body); f("trip_count", self.trip_count);
                 f("condition", self.condition); f("carried", self.carried);
                 f("captured", self.captured); f("scanned", self.scanned); f("dims", self.dims);)
  friend bool operator==(const Loop&, const Loop&) = default;
};

/// Asserts that `value` has type `type`; binds the symbols of `type` not yet in scope.
struct MatchCast {
  ValueId value;
  Type type;
  SYMTILE_FIELDS(f("value", self.value); f("type", self.type);)
  friend bool operator==(const MatchCast&, const MatchCast&) = default;
};

/// Reads the elements of an integer tensor (rank 0 or 1) and binds each to a new symbol.
/// A negative element is allowed (slice bounds, reshape -1). The result is the same tensor.
struct ReadDims {
  ValueId value;
  std::vector<std::string> symbols;
  SYMTILE_FIELDS(f("value", self.value); f("symbols", self.symbols);)
  friend bool operator==(const ReadDims&, const ReadDims&) = default;
};

/// A tensor whose elements are formulas; rank 1, or rank 0 when `scalar` (then one formula).
struct DimsToTensor {
  Dims dims;
  DType dtype = DType::i64;
  int64_t scalar = 0;
  SYMTILE_FIELDS(f("dims", self.dims); f("dtype", self.dtype); f("scalar", self.scalar);)
  friend bool operator==(const DimsToTensor&, const DimsToTensor&) = default;
};

/// Requires a == b at run time (a `bad_input` error that quotes `message`, both formulas and their
/// values); afterwards a == b is a fact of the function. The result is an object nobody uses.
/// A check over entry symbols only is done at entry, before any kernel runs.
struct CheckDims {
  DimExpr a, b;
  std::string message;
  SYMTILE_FIELDS(f("a", self.a); f("b", self.b); f("message", self.message);)
  friend bool operator==(const CheckDims&, const CheckDims&) = default;
};

struct ConstantNode {
  Constant data;
  SYMTILE_FIELDS(f("data", self.data);)
  friend bool operator==(const ConstantNode& a, const ConstantNode& b) {
    return a.data == b.data || (a.data && b.data && *a.data == *b.data);
  }
};

struct MakeTuple {
  std::vector<ValueId> members;
  SYMTILE_FIELDS(f("members", self.members);)
  friend bool operator==(const MakeTuple&, const MakeTuple&) = default;
};

struct GetItem {
  ValueId tuple;
  int64_t index = 0;
  SYMTILE_FIELDS(f("tuple", self.tuple); f("index", self.index);)
  friend bool operator==(const GetItem&, const GetItem&) = default;
};

using GraphNode = std::variant<OpCall, TileCall, ExternCall, GraphCall, If, Loop, MatchCast,
                               ReadDims, DimsToTensor, CheckDims, ConstantNode, MakeTuple, GetItem>;

/// Where the memory of a value comes from; set by plan_memory, printed after the type.
struct Placement {
  enum class Kind : uint8_t {
    none,   ///< not planned yet
    arena,  ///< at byte `offset` of the function's arena
    alias,  ///< shares the bytes of `of` (reshape, in-place)
    heap,   ///< allocated by the runtime: function results, data-dependent sizes
    constant,
    parameter,
  };
  Kind kind = Kind::none;
  DimExpr offset;  ///< arena
  ValueId of;      ///< alias
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Value {
  std::string name;  ///< printed as %name; unique in the function
  Type type;
  Placement placement;
  friend bool operator==(const Value&, const Value&) = default;
};

struct Binding {
  ValueId result;
  GraphNode node;
  Location location;
};

struct GraphFunction {
  std::string name;
  std::vector<std::string> dim_params;  ///< symbols passed explicitly by the caller
  std::vector<ValueId> params;
  std::vector<Binding> bindings;
  std::vector<ValueId> results;
  std::vector<std::string> result_names;  ///< foreign output names; entry function only
  std::vector<Value> values;
  Facts facts;
  std::optional<DimExpr> arena_bytes;  ///< set by plan_memory

  const Value& value(ValueId id) const { return values.at(static_cast<size_t>(id.index)); }
  Value& value(ValueId id) { return values.at(static_cast<size_t>(id.index)); }
  const Type& type(ValueId id) const { return value(id).type; }

  /// Adds a value; an empty or taken name is replaced by a fresh one.
  ValueId add_value(std::string name, Type type);
  ValueId add_param(std::string name, Type type);
  /// Appends `node` and returns its result.
  ValueId bind(GraphNode node, Type type, Location location = {}, std::string name = {});

  /// The symbols in scope at entry: dim_params and the bare symbols of parameter types.
  std::set<std::string> entry_symbols() const;
};

/// Calls f(ValueId&) for every operand of `node`, invalid (absent) ones included.
template <typename Node, typename F>
void for_each_operand(Node& node, F&& f);

}  // namespace symtile

#include "symtile/ir/graph_walk.h"
