// Graph rewrites as tables: one line a rule, "before" becomes "after" when the condition holds.
//
//   {"mul(x, sigmoid(x))", "swish(x)", always}
//
// In a pattern a letter is any value (the same letter, the same value), a number is a constant that
// has this value everywhere (to 1e-4 of it), `$name` stands for any of the patterns defined under
// that name, and the operands of commutative operators match in either order. What the pattern
// names between its root and its letters must be used by nothing else, so that nothing is computed
// twice. The operators of the replacement take their attributes from the condition; its type must
// be that of what it replaces.
#pragma once

#include <functional>
#include <map>
#include <span>

#include "symtile/op/op.h"
#include "symtile/pass/pass.h"
#include "symtile/transform/graph_utils.h"

namespace symtile {

/// One way in which a pattern matches.
class Attempt {
 public:
  Attempt(GraphFunction& function, const std::vector<int>& defs, ValueId root)
      : f(function), result(root), defs_(defs) {}

  GraphFunction& f;
  ValueId result;
  std::map<char, ValueId> values;           ///< by letter; conditions may add some
  std::vector<ValueId> inner;               ///< results of the operators matched, the root first
  std::map<std::string, Attributes> attrs;  ///< of the replacement, by operator
  std::vector<Binding> before;              ///< bindings made for the replacement

  const Facts& facts() const { return f.facts; }
  const Type& type(char letter) const { return f.type(values.at(letter)); }
  const Type& type() const { return f.type(result); }
  Constant constant(ValueId v) const { return constant_of(f, defs_, v); }
  Constant constant(char letter) const { return constant(values.at(letter)); }
  /// The number that a constant has everywhere.
  std::optional<double> number(ValueId v) const;
  std::optional<double> number(char letter) const { return number(values.at(letter)); }
  /// The call that defines a value; null when it is something else.
  const OpCall* call(ValueId v) const;
  /// The first operator of that name in the match.
  const OpCall& matched(std::string_view op) const;
  bool has_matched(std::string_view op) const;

  /// Adds a binding in front of the replacement; an invalid id when its type needs a run-time
  /// check.
  ValueId make(const std::string& op, std::vector<ValueId> args, Attributes attributes = {});
  ValueId make_constant(Constant data);

 private:
  const std::vector<int>& defs_;
};

struct RewriteRule {
  const char* before;
  const char* after;
  bool (*when)(Attempt&);
};
struct PatternName {
  const char* name;
  const char* pattern;
};

inline bool always(Attempt&) { return true; }
/// The axis (or the one axis of a list) of the call's first argument is the last one.
bool is_last_axis(const Attempt& a, const OpCall& call);

/// Applies the rules to all graph functions, at each binding as long as one fits (but not without
/// end); the notes say what became of what.
void rewrite_graphs(Module& module, PassContext& context, std::span<const RewriteRule> rules,
                    std::span<const PatternName> names = {});

}  // namespace symtile
