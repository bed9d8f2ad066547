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

}  // namespace

const Importer* find_importer(std::string_view op_type) {
  const auto it = table().find(op_type);
  return it == table().end() ? nullptr : &it->second;
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
