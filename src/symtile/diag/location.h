// Where a piece of IR came from: file, foreign node and operator (or line of a text module).
//
// Passes carry locations along; a fused binding keeps the location of its anchor.
#pragma once

#include <memory>
#include <string>

namespace symtile {

struct LocationInfo {
  std::string file;  ///< model file or text module
  std::string node;  ///< name of the foreign node; may be empty
  std::string op;    ///< foreign operator, e.g. "Conv"
  int line = 0;      ///< line in a text module; 0 when not from text
};

/// Cheap to copy; null means unknown.
using Location = std::shared_ptr<const LocationInfo>;

inline Location make_location(std::string file, std::string node, std::string op, int line = 0) {
  return std::make_shared<const LocationInfo>(
      LocationInfo{std::move(file), std::move(node), std::move(op), line});
}

/// "node 'conv1' (Conv) in model.onnx", "line 12 of x.sym", or "" when unknown.
std::string describe(const Location& location);

}  // namespace symtile
