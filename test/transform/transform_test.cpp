// transform_test [--update] FOLDER: passes on module text. A file is named after the pass it tests
// and holds cases:
//
//   // ==== what the case shows
//   // RUN: pass, pass
//   ...module...
//   // ---- expected
//   ...module after the passes, printed...
//   // note: a decision that the passes explain
//
// The result must be the expectation to the letter; --update makes it so. And the interpreter must
// get the same from it as from the module before, at several shapes with random inputs, unless it
// cannot run that.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "same_meaning.h"
#include "symtile/op/op.h"
#include "symtile/transform/passes.h"

namespace symtile::test {
namespace {

constexpr std::string_view kCase = "// ====";
constexpr std::string_view kRun = "// RUN:";
constexpr std::string_view kExpected = "// ---- expected\n";

struct TextCase {
  std::string title, passes, input, expected;
};

struct TextFile {
  std::string head;
  std::vector<TextCase> cases;
};

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

std::string trim(std::string text) {
  const auto blank = [](char c) { return c == ' ' || c == '\n'; };
  while (!text.empty() && blank(text.back())) text.pop_back();
  text.erase(0,
             static_cast<size_t>(std::find_if_not(text.begin(), text.end(), blank) - text.begin()));
  return text;
}

TextCase parse_case(const std::string& text, const std::string& file) {
  TextCase out;
  const size_t title_end = text.find('\n'), run_end = text.find('\n', title_end + 1);
  out.title = text.substr(0, title_end);
  const std::string run = text.substr(title_end + 1, run_end - title_end - 1);
  if (!run.starts_with(kRun))
    throw UserError(fmt::format("{}: '{}' is not followed by '{}'", file, out.title, kRun));
  out.passes = run.substr(kRun.size());
  const size_t expected = text.find(kExpected);
  out.input = trim(text.substr(run_end + 1,
                               expected == std::string::npos ? expected : expected - run_end - 1)) +
              "\n";
  if (expected != std::string::npos)
    out.expected = trim(text.substr(expected + kExpected.size())) + "\n";
  return out;
}

TextFile parse_file(const std::string& text, const std::string& file) {
  TextFile out;
  size_t at = text.find(kCase);
  out.head = text.substr(0, at);
  while (at != std::string::npos) {
    const size_t next = text.find(kCase, at + 1);
    out.cases.push_back(
        parse_case(text.substr(at, next == std::string::npos ? next : next - at), file));
    at = next;
  }
  return out;
}

std::string print_file(const TextFile& file) {
  std::string out = file.head;
  for (const TextCase& c : file.cases) {
    if (&c != &file.cases.front()) out += "\n";
    out += fmt::format("{}\n{}{}\n{}{}{}", c.title, kRun, c.passes, c.input, kExpected, c.expected);
  }
  return out;
}

std::vector<const PassRecord*> passes_of(const std::string& list) {
  std::vector<const PassRecord*> out;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    const PassRecord* pass = find_pass(trim(name));
    if (!pass) throw UserError(fmt::format("there is no pass '{}'", trim(name)));
    out.push_back(pass);
  }
  return out;
}

std::string run_case(const TextCase& c, const std::string& file, int& runs) {
  Module module = parse_module(c.input, file);
  PassContext context;
  context.check_ops = [](const GraphFunction& f, const Binding& b) { check_op_call(f, b); };
  std::vector<std::string> notes;
  context.explain = &notes;
  verify(module, context.check_ops);
  PassManager manager(passes_of(c.passes), context);
  manager.verify_each = true;
  const Module original = module;
  manager.run(module);
  runs += check_same_meaning(original, module);
  std::string out = print(module);
  for (const std::string& note : notes) out += fmt::format("// note: {}\n", note);
  return out;
}

/// The first line that differs, from both.
std::string first_difference(const std::string& expected, const std::string& actual) {
  std::istringstream a(expected), b(actual);
  std::string x, y;
  while (true) {
    const bool more_a = static_cast<bool>(std::getline(a, x)),
               more_b = static_cast<bool>(std::getline(b, y));
    if (!more_a && !more_b) return "";
    if (!more_a) x = "(end)";
    if (!more_b) y = "(end)";
    if (x != y) return fmt::format("  expected: {}\n  actual:   {}", x, y);
  }
}

/// Number of cases that fail.
int check_file(const std::filesystem::path& path, bool update) {
  const std::string name = path.filename().string(), pass = path.stem().string();
  TextFile file = parse_file(read_file(path), name);
  int failed = 0, compared = 0;
  for (TextCase& c : file.cases) {
    try {
      const std::vector<const PassRecord*> passes = passes_of(c.passes);
      const bool runs = std::any_of(passes.begin(), passes.end(),
                                    [&](const PassRecord* p) { return p->name == pass; });
      if (!runs) throw UserError("the case does not run the pass of its file");
      const std::string actual = run_case(c, name, compared);
      if (!update && actual != c.expected) throw UserError(first_difference(c.expected, actual));
      c.expected = actual;
    } catch (const std::exception& e) {
      fmt::print("FAILED {} {}\n{}\n", name, c.title, e.what());
      ++failed;
    }
  }
  if (update && failed == 0) std::ofstream(path) << print_file(file);
  fmt::print("{}: {} cases, run at {} shapes, {} failed\n", name, file.cases.size(), compared,
             failed);
  return failed + (file.cases.empty() ? 1 : 0);
}

int run(const std::filesystem::path& folder, bool update) {
  int failed = 0;
  for (const PassRecord& pass : all_passes()) {
    const std::filesystem::path path = folder / (std::string(pass.name) + ".sym");
    if (std::filesystem::exists(path)) {
      failed += check_file(path, update);
    } else {
      fmt::print("FAILED: pass '{}' has no test {}\n", pass.name, path.string());
      ++failed;
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".sym" || find_pass(entry.path().stem().string())) continue;
    fmt::print("FAILED: {} tests no pass\n", entry.path().string());
    ++failed;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace symtile::test

int main(int argc, char** argv) {
  const bool update = argc > 1 && std::string_view(argv[1]) == "--update";
  if (argc != (update ? 3 : 2)) {
    std::fprintf(stderr, "usage: transform_test [--update] FOLDER\n");
    return 2;
  }
  try {
    return symtile::test::run(argv[argc - 1], update);
  } catch (const std::exception& e) {
    fmt::print("FAILED {}\n", e.what());
    return 1;
  }
}
