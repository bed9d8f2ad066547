// Named diagnostics: what a user did wrong, where, and what to do about it.
//
// Every diagnostic has a line in diagnostics.def; `fail` renders it as
//   error[name]: node 'conv1' (Conv) in model.onnx: <message>
// and throws DiagnosticError (a UserError). Messages are lower case, name the operator,
// tensor, dimension formula and values, and say what would be right.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "symtile/base/check.h"
#include "symtile/diag/location.h"

namespace symtile {

enum class DiagId {
#define DIAGNOSTIC(id, summary) id,
#include "symtile/diag/diagnostics.def"
#undef DIAGNOSTIC
};

std::string_view name_of(DiagId id);
std::string_view summary_of(DiagId id);
const std::vector<DiagId>& all_diagnostics();

class DiagnosticError : public UserError {
 public:
  DiagnosticError(DiagId id, Location location, const std::string& message);
  DiagId id() const { return id_; }
  const Location& location() const { return location_; }

 private:
  DiagId id_;
  Location location_;
};

template <typename... Args>
[[noreturn]] void fail(DiagId id, const Location& location, fmt::format_string<Args...> format,
                       Args&&... args) {
  throw DiagnosticError(id, location, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace symtile
