// The three failure kinds of symtile, and CHECK.
//
// UserError        the model, input or command is at fault   (exit code 1)
// EnvironmentError a file, device or memory is not available (exit code 3)
// InternalError    a bug of ours; thrown by SYMTILE_CHECK    (exit code 4)
// They are exceptions inside the library and are translated at two places only:
// the C API and the command-line tools. All checks stay on in release builds.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace symtile {

class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition,
                                      const std::string& message) {
  throw InternalError(fmt::format("internal error: {}:{}: check '{}' failed{}{}", file, line,
                                  condition, message.empty() ? "" : ": ", message));
}

}  // namespace symtile

/// SYMTILE_CHECK(condition) or SYMTILE_CHECK(condition, "format {}", value).
#define SYMTILE_CHECK(condition, ...)                                                       \
  do {                                                                                      \
    if (!(condition)) [[unlikely]]                                                          \
      ::symtile::check_failed(__FILE__, __LINE__, #condition, fmt::format("" __VA_ARGS__)); \
  } while (false)

/// Marks a place that control flow cannot reach.
#define SYMTILE_UNREACHABLE(...) \
  ::symtile::check_failed(__FILE__, __LINE__, "unreachable", fmt::format("" __VA_ARGS__))
