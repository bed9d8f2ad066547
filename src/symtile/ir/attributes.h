// Compile-time attributes of an operator call: a sorted map from name to a typed value.
//
// Dimension formulas are attributes of kind `dims`, so shapes, slice bounds and the like are
// symbolic without being tensors. `text` is a string, `dtype` an element type, `function` a
// reference to another function of the module.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "symtile/ir/type.h"

namespace symtile {

struct FunctionRef {
  std::string name;
  friend bool operator==(const FunctionRef&, const FunctionRef&) = default;
};

/// bool is stored as int64 0/1. std::string is text; Dims are formulas.
using Attribute = std::variant<int64_t, double, std::string, DType, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>, Dims, FunctionRef>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> init) : map_(init) {}

  bool has(std::string_view name) const { return map_.find(name) != map_.end(); }
  void set(std::string name, Attribute value) { map_[std::move(name)] = std::move(value); }
  void erase(std::string_view name);

  /// Typed reads; a missing attribute or one of another kind is a CHECK (the verifier has
  /// compared every call with its operator's schema before). The forms with a default
  /// return it when the attribute is absent.
  int64_t get_int(std::string_view name) const;
  int64_t get_int(std::string_view name, int64_t fallback) const;
  bool get_bool(std::string_view name, bool fallback) const { return get_int(name, fallback) != 0; }
  double get_float(std::string_view name) const;
  double get_float(std::string_view name, double fallback) const;
  std::string get_text(std::string_view name, std::string_view fallback = {}) const;
  DType get_dtype(std::string_view name) const;
  /// Integer lists.
  std::vector<int64_t> get_ints(std::string_view name) const;
  std::vector<int64_t> get_ints(std::string_view name, std::vector<int64_t> fallback) const;
  std::vector<double> get_floats(std::string_view name) const;
  const Dims& get_dims(std::string_view name) const;

  const std::map<std::string, Attribute, std::less<>>& map() const { return map_; }
  std::map<std::string, Attribute, std::less<>>& map() { return map_; }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::map<std::string, Attribute, std::less<>> map_;
};

}  // namespace symtile
