#include "symtile/frontend/onnx/dispatch.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "symtile/frontend/onnx/onnx.h"

namespace symtile::onnx_import {

#define ONNX_OP(type, function) void function(ImportContext&);
#define ONNX_DIRECT(type, core_op)
#include "symtile/frontend/onnx/ops.def"
#undef ONNX_OP
#undef ONNX_DIRECT

namespace {

constexpr auto kCoreOperators =
    std::to_array<std::string_view>({"Constant", "Identity", "Shape", "Size"});

const std::unordered_map<std::string_view, Importer>& table() {
  static const std::unordered_map<std::string_view, Importer> importers = {
#define ONNX_OP(type, function) {#type, Importer{&function, nullptr}},
#define ONNX_DIRECT(type, core_op) {#type, Importer{nullptr, #core_op}},
#include "symtile/frontend/onnx/ops.def"
#undef ONNX_OP
#undef ONNX_DIRECT
  };
  return importers;
}

/// The names of an operator's attributes, with ", " between them.
const std::unordered_map<std::string_view, std::string_view>& attribute_table() {
  static const std::unordered_map<std::string_view, std::string_view> names = {
#define ONNX_ATTRIBUTES(type, ...) {#type, #__VA_ARGS__},
#include "symtile/frontend/onnx/attributes.def"
#undef ONNX_ATTRIBUTES
  };
  return names;
}

}  // namespace

const Importer* find_importer(std::string_view op_type) {
  const auto it = table().find(op_type);
  return it == table().end() ? nullptr : &it->second;
}

bool knows_attribute(std::string_view op_type, std::string_view attribute) {
  const auto it = attribute_table().find(op_type);
  if (it == attribute_table().end()) return false;
  for (std::string_view rest = it->second; !rest.empty();) {
    const size_t end = rest.find(", ");
    if (rest.substr(0, end) == attribute) return true;
    rest = end == std::string_view::npos ? "" : rest.substr(end + 2);
  }
  return false;
}

bool is_core_operator(std::string_view op_type) {
  return std::find(kCoreOperators.begin(), kCoreOperators.end(), op_type) != kCoreOperators.end();
}

}  // namespace symtile::onnx_import

namespace symtile {

std::vector<std::string> supported_onnx_ops() {
  std::vector<std::string> out(onnx_import::kCoreOperators.begin(),
                               onnx_import::kCoreOperators.end());
  for (const auto& entry : onnx_import::table()) out.emplace_back(entry.first);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace symtile
