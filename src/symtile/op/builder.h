// Appends operator calls to a graph function: deduces types and inserts the run-time checks.
// Importers and graph rewrites build everything through it.
#pragma once

#include "symtile/op/op.h"

namespace symtile {

class OpBuilder {
 public:
  OpBuilder(Module& module, GraphFunction& function) : module_(module), function_(function) {}

  /// An operator with one result.
  ValueId call(const std::string& op, std::vector<ValueId> args, Attributes attrs = {});
  /// An operator with `count` results (a tuple binding and `count` get bindings).
  std::vector<ValueId> call_many(const std::string& op, std::vector<ValueId> args,
                                 Attributes attrs = {});

  ValueId constant(Constant data);
  ValueId scalar(DType dtype, double value) { return constant(make_scalar(dtype, value)); }
  ValueId dims_tensor(Dims dims, DType dtype = DType::i64, bool scalar = false);
  /// Asserts a more precise type; binds its new symbols.
  ValueId match_cast(ValueId value, Type type);
  /// Reads an integer tensor of `count` elements into fresh symbols with the given name hint. They
  /// are taken to lie in [-kMaxDim, kMaxDim]: as a bound or extent, what is larger means no more.
  Dims read_dims(ValueId value, int count, const std::string& hint);
  /// A symbol not used in the function yet.
  std::string fresh_symbol(const std::string& hint);
  void check(const DimExpr& a, const DimExpr& b, std::string message);

  const Type& type(ValueId v) const { return function_.type(v); }
  /// Contents when `v` is bound to a constant; null otherwise.
  Constant constant_of(ValueId v) const;
  GraphFunction& function() { return function_; }
  Module& module() { return module_; }
  const Facts& facts() const { return function_.facts; }

  Location location;  ///< given to every binding made from now on

 private:
  std::vector<Type> deduce(const OpCall& call);
  ValueId bind(GraphNode node, Type type, const std::string& hint);

  Module& module_;
  GraphFunction& function_;
  std::map<std::string, int> name_uses_;
  std::set<std::string> given_symbols_;
  mutable std::map<int32_t, Constant> constants_;  ///< of the first `scanned_` bindings
  mutable size_t scanned_ = 0;
};

/// Result types of one call (also used by passes to re-deduce).
std::vector<Type> deduce_call(const OpCall& call, const std::vector<Type>& args,
                              const std::vector<Constant>& constants, const Facts& facts,
                              const Location& location, std::vector<DimCheck>* checks = nullptr);

/// Lowers one call to a tile function named `name`; null when the operator has no lowering or a
/// dimension is not a known formula.
std::optional<TileFunction> lower_call(const OpCall& call, const std::vector<Type>& args,
                                       const std::vector<Type>& results,
                                       const std::vector<Constant>& constants, const Facts& facts,
                                       const std::string& name);

}  // namespace symtile
