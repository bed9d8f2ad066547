// A module: an ordered map from name to function of three kinds, which may call each other.
// Any mix of kinds is a valid program at any time; that is what makes partial lowering possible.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "symtile/ir/tile.h"

namespace symtile {

/// A library function: how it is called and what it returns is the record of that name in
/// library/calls.def; the module only declares that it is used.
struct ExternFunction {
  std::string name;
};

using Function = std::variant<GraphFunction, TileFunction, ExternFunction>;
const std::string& name_of(const Function& f);

class Module {
 public:
  /// Adds or replaces; order of first insertion is kept.
  Function& add(Function f);
  void remove(std::string_view name);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const Function* find(std::string_view name) const;
  Function* find(std::string_view name);
  /// Lookups that CHECK the function exists and has the kind.
  GraphFunction& graph(std::string_view name);
  const GraphFunction& graph(std::string_view name) const;
  TileFunction& tile(std::string_view name);
  const TileFunction& tile(std::string_view name) const;
  const TileFunction* find_tile(std::string_view name) const;
  const GraphFunction* find_graph(std::string_view name) const;
  /// `base`, or base_1, base_2, ... whichever is free.
  std::string fresh_name(std::string_view base) const;

  std::vector<Function>& functions() { return functions_; }
  const std::vector<Function>& functions() const { return functions_; }
  std::vector<std::string> graph_names() const;
  std::vector<std::string> tile_names() const;

  /// The entry function of a whole program.
  static constexpr std::string_view kMain = "main";

 private:
  std::vector<Function> functions_;
};

/// Structural equality up to nothing: names, order, types, constants all count; locations do not.
bool structurally_equal(const Module& a, const Module& b);
bool structurally_equal(const GraphFunction& a, const GraphFunction& b);
bool structurally_equal(const TileFunction& a, const TileFunction& b);
/// Ignore the function's own name, to find kernels that are the same; buffer names count.
bool same_kernel(const TileFunction& a, const TileFunction& b);
size_t structural_hash(const TileFunction& f);

struct PrintOptions {
  bool constants = true;   ///< print constant contents; otherwise only dtype and shape
  bool locations = false;  ///< append `loc(...)` to bindings
};
std::string print(const Module& m, const PrintOptions& options = {});
std::string print(const GraphFunction& f, const PrintOptions& options = {});
std::string print(const TileFunction& f);
std::string print(const Stmt& s, int indent = 0);

/// Parses the text form (docs/ir.md has the grammar); throws bad_text with file and line.
Module parse_module(std::string_view text, const std::string& file = "<text>");

/// Throws bad_module with the function, binding and rule that is violated. `check_ops` is
/// supplied by op/ (schema of operator calls); may be empty.
using OpChecker = std::function<void(const GraphFunction&, const Binding&)>;
void verify(const Module& m, const OpChecker& check_ops = {});

}  // namespace symtile
