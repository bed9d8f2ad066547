// Walks test/ir: every *.sym parses, verifies and prints as it stands; every fail_*.sym is
// refused with the diagnostic that its first line expects.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "symtile/diag/diagnostic.h"
#include "symtile/ir/module.h"

namespace symtile {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

std::string without_comments(const std::string& text) {
  std::istringstream in(text);
  std::string out, line;
  while (std::getline(in, line)) {
    if (line.rfind("//", 0) != 0) out += line + "\n";
  }
  return out;
}

std::vector<std::filesystem::path> sym_files() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator("test/ir")) {
    if (entry.path().extension() == ".sym") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(SymFiles, AreAsTheyShouldBe) {
  const std::string mark = "// EXPECT: ";
  int good = 0, bad = 0;
  for (const auto& path : sym_files()) {
    const std::string text = read(path), name = path.filename().string();
    std::string error;
    try {
      const Module m = parse_module(text, name);
      verify(m);
      EXPECT_EQ(print(m), without_comments(text)) << name;
    } catch (const DiagnosticError& e) {
      error = e.what();
    }
    if (name.rfind("fail_", 0) != 0) {
      EXPECT_EQ(error, "") << name;
      ++good;
      continue;
    }
    ASSERT_EQ(text.rfind(mark, 0), 0u) << name << " does not begin with " << mark;
    const std::string expected = text.substr(mark.size(), text.find('\n') - mark.size());
    EXPECT_EQ(error.substr(0, expected.size()), expected) << name << ": " << error;
    ++bad;
  }
  EXPECT_GE(good, 5);
  EXPECT_GE(bad, 15);
}

}  // namespace
}  // namespace symtile
