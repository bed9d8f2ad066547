// One graph function to one function of the program.
#pragma once

#include <set>

#include "symtile/backend/vm/program_tables.h"

namespace symtile {

class FunctionLowering {
 public:
  FunctionLowering(const Module& module, const GraphFunction& f, ProgramTables& tables);

  format::Function lower();

  // For the entry record, after lower().
  format::EntryValue entry_value(const std::string& name, const Type& type);
  /// Symbols that the parameters bind, in order.
  const std::vector<std::string>& entry_symbols() const { return entry_symbols_; }
  format::OptionalFormulaId arena_bytes() const { return arena_bytes_; }

 private:
  /// One tensor that a binding makes: its type, and the value that names it (if any does).
  struct Member {
    Type type;
    ValueId value;
  };

  // bind_dims.cpp: symbols and checks.
  void bind_params();
  void bind_type(const std::string& what, uint32_t reg, const Type& type, const Location& location);
  bool bound(const DimExpr& e) const;
  std::optional<std::string> only_unbound(const DimExpr& e) const;
  uint32_t slot(const std::string& name);
  void check_entry_dims();
  void check_facts(const Facts& facts);
  void check(format::Relation relation, const DimExpr& a, const DimExpr& b,
             const std::string& message);

  // lower_function.cpp: values and instructions.
  void lower_binding(const Binding& b);
  void lower(const Binding& b, const OpCall& n);
  void lower(const Binding& b, const TileCall& n);
  void lower(const Binding& b, const ExternCall& n);
  void lower(const Binding& b, const GraphCall& n);
  void lower(const Binding& b, const If& n);
  void lower(const Binding& b, const Loop& n);
  void lower(const Binding& b, const MatchCast& n);
  void lower(const Binding& b, const ReadDims& n);
  void lower(const Binding& b, const DimsToTensor& n);
  void lower(const Binding& b, const CheckDims& n);
  void lower(const Binding& b, const ConstantNode& n);
  void lower(const Binding& b, const MakeTuple& n);
  void lower(const Binding& b, const GetItem& n);

  /// A kernel trusts its buffers: what is not proved about their shapes is checked.
  void check_arguments(const TileCall& n, const TileFunction& callee, const Location& location);
  std::vector<Member> members(const Binding& b) const;
  uint32_t place(const Member& m, const Location& location);
  /// Registers for the results of a call; `finish_results` gives them their names, checks their
  /// dimensions when `checked`, and moves them where the plan wants them.
  std::vector<format::Def> fresh_results(const std::vector<Member>& members);
  void finish_results(const Binding& b, const std::vector<Member>& members,
                      const std::vector<format::Def>& results, bool checked);

  format::FormulaId formula(const DimExpr& e, const Location& location);
  std::vector<format::FormulaId> formulas(const Dims& dims, const Location& location);
  format::ShapeId shape(const Type& type, const Location& location);
  uint32_t fresh_register() { return out_.registers++; }
  uint32_t reg(ValueId v) const;
  format::Use use(ValueId v) const { return {reg(v)}; }
  std::vector<format::Use> uses(const std::vector<ValueId>& values) const;
  format::OptionalUse optional_use(ValueId v) const;
  template <typename Op>
  void emit(Op op) {
    out_.code.push_back(std::move(op));
  }

  const Module& module_;
  const GraphFunction& f_;
  const bool is_main_;
  ProgramTables& tables_;
  format::Function out_;
  std::vector<std::vector<uint32_t>> registers_;  ///< of each value; a tuple has several
  std::vector<std::vector<ValueId>> item_of_;     ///< per tuple value: the value of each item
  std::set<std::string> bound_;
  std::vector<std::string> entry_symbols_;
  std::set<std::string> entry_scope_;  ///< the same, to ask
  format::OptionalFormulaId arena_bytes_;
};

}  // namespace symtile
