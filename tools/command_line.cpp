#include "command_line.h"

#include <cstdio>
#include <new>
#include <string>

#include "symtile/base/check.h"
#include "symtile/symtile.hpp"

namespace symtile::cli {
namespace {

int report(const std::string& what, int code) {
  std::fprintf(stderr, "%s\n", what.c_str());
  return code;
}

}  // namespace

int run_command_line(CLI::App& app, int argc, char** argv, const int& exit_code) {
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& e) {
    const bool asked_for_help = e.get_exit_code() == 0;
    const int code = app.exit(e);
    return asked_for_help ? code : 2;
  } catch (const UserError& e) {
    return report(e.what(), 1);
  } catch (const EnvironmentError& e) {
    return report(std::string("error: ") + e.what(), 3);
  } catch (const api::Error& e) {
    return report(e.what(), e.status());
  } catch (const std::bad_alloc&) {
    return report("error: out of memory", 3);
  } catch (const std::exception& e) {
    return report(e.what(), 4);
  }
}

}  // namespace symtile::cli
