// Print and parse: identity on structure, a fixpoint on text, and no way for hostile text to do
// anything but parse or be refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "symtile/diag/diagnostic.h"
#include "symtile/ir/module.h"
#include "symtile/ir/random_module.h"

namespace symtile {
namespace {

TEST(RoundTrip, RandomModules) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Module m = testing::RandomModule(seed).module();
    const std::string text = print(m);
    Module back;
    ASSERT_NO_THROW(back = parse_module(text, "seed.sym")) << "seed " << seed << "\n" << text;
    ASSERT_TRUE(structurally_equal(m, back)) << "seed " << seed << "\n" << text << print(back);
    ASSERT_EQ(print(back), text) << "seed " << seed;
  }
}

TEST(RoundTrip, RandomModulesVerify) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Module m = testing::RandomModule(seed).module();
    ASSERT_NO_THROW(verify(m)) << "seed " << seed << "\n" << print(m);
  }
}

TEST(RoundTrip, LocationsLeadToForeignNodes) {
  GraphFunction f;
  f.name = "main";
  const ValueId x = f.add_param("x", Type::tensor({2}, DType::f32));
  f.results = {
      f.bind(OpCall{"relu", {x}, {}}, f.type(x), make_location("m.onnx", "relu_1", "Relu"))};
  Module m;
  m.add(f);
  PrintOptions options;
  options.locations = true;
  const std::string text = print(m, options);
  EXPECT_NE(text.find("loc(\"m.onnx\", \"relu_1\", \"Relu\", 0)"), std::string::npos) << text;
  const Module back = parse_module(text);
  EXPECT_EQ(describe(back.graph("main").bindings[0].location), "node 'relu_1' (Relu) in m.onnx");
  EXPECT_EQ(print(back, options), text);
  // Without locations a binding remembers its line.
  const Module plain = parse_module(print(m), "a.sym");
  EXPECT_EQ(describe(plain.graph("main").bindings[0].location), "line 2 of a.sym");
}

TEST(RoundTrip, ElidedConstantsDoNotParse) {
  Module m = parse_module(
      "graph @main() -> Tensor[(2), f32] {\n"
      "  %c = constant f32(2) [1.0, nan] : Tensor[(2), f32]\n  return %c\n}");
  PrintOptions options;
  options.constants = false;
  const std::string text = print(m, options);
  EXPECT_NE(text.find("f32(2) elided"), std::string::npos);
  EXPECT_THROW(parse_module(text), DiagnosticError);
}

std::string mutate(std::string text, std::mt19937& engine) {
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(engine);
  };
  static constexpr std::string_view pieces[] = {"(",
                                                ")",
                                                "[",
                                                "]",
                                                "{",
                                                "}",
                                                "%",
                                                "@",
                                                "\"",
                                                "<",
                                                "//",
                                                "#",
                                                "\\x",
                                                "sum(k<",
                                                "cast<",
                                                "f32",
                                                "nan(",
                                                "999999999999999999999",
                                                "-",
                                                "?",
                                                "graph",
                                                "for",
                                                "return",
                                                "facts {",
                                                "repeat(",
                                                "\n",
                                                "\xff",
                                                "1e999",
                                                "bool",
                                                "select(",
                                                "-9223372036854775808",
                                                "_",
                                                "loc(",
                                                ";",
                                                "0.0f32",
                                                "true"};
  for (size_t n = 1 + below(4); n > 0; --n) {
    const size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text.erase(at, 1 + below(8));
        break;
      case 1:
        text.insert(at, pieces[below(std::size(pieces))]);
        break;
      case 2:
        text[at] = static_cast<char>(below(256));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      default:
        text.resize(at + 1);
        break;
    }
    if (text.empty()) text = " ";
  }
  return text;
}

TEST(HostileText, MutantsParseOrAreRefused) {
  std::mt19937 engine(7);
  int parsed = 0;
  for (unsigned i = 0; i < 2000; ++i) {
    const std::string text = mutate(print(testing::RandomModule(i % 50).module()), engine);
    try {
      const Module m = parse_module(text, "mutant.sym");
      ++parsed;
      // What parses also prints, parses again, and verifies or is refused.
      const std::string printed = print(m);
      ASSERT_EQ(print(parse_module(printed)), printed) << text;
      verify(m);
    } catch (const UserError&) {
    } catch (const std::exception& e) {
      FAIL() << "mutant " << i << ": " << e.what() << "\n" << text;
    }
  }
  EXPECT_GT(parsed, 20) << "the mutants are too wild to test anything";
}

std::string tile_text(const std::string& expression) {
  return "tile @f<n>(%x: Buffer[(n), f32]) -> (%y: Buffer[(n), f32]) {\n  compute %y[i < n] = " +
         expression + "\n}\n";
}

std::string repeated(std::string_view piece, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += piece;
  return out;
}

TEST(HostileText, DepthIsLimited) {
  const size_t many = 100000;
  EXPECT_THROW(parse_module(tile_text(repeated("(", many))), DiagnosticError);
  EXPECT_THROW(parse_module(tile_text(repeated("-", many))), DiagnosticError);
  EXPECT_THROW(parse_module(tile_text(repeated("exp(", many))), DiagnosticError);
  EXPECT_THROW(parse_module(tile_text(repeated("sum(k < n) ", many))), DiagnosticError);
  EXPECT_THROW(parse_module(tile_text("%x[i]" + repeated(" + %x[i]", many))), DiagnosticError);
  EXPECT_THROW(parse_module("tile @f() -> () {" + repeated("if true {", many)), DiagnosticError);
  EXPECT_THROW(parse_module("tile @f() -> () {" + repeated("block {", many)), DiagnosticError);
  EXPECT_THROW(parse_module("graph @f(%x: " + repeated("Tuple[", many)), DiagnosticError);
  EXPECT_THROW(parse_module("graph @f(%x: Tensor[(" + repeated("(", many)), DiagnosticError);
  EXPECT_NO_THROW(parse_module(tile_text("%x[i]" + repeated(" + %x[i]", 900))));
}

TEST(HostileText, ErrorsNameThePlace) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_module(text, "a.sym");
    } catch (const DiagnosticError& e) {
      return e.what();
    }
    return "parsed";
  };
  EXPECT_EQ(message("graph @f() -> () {\n  %0 = relu(%x) : Object\n  return\n}"),
            "error[bad_text]: a.sym:2:13: %x is not defined here");
  EXPECT_EQ(message("grph @f"),
            "error[bad_text]: a.sym:1:1: expected 'graph', 'tile' or 'extern', "
            "found 'grph'");
  EXPECT_EQ(message(tile_text("1.5")),
            "error[bad_text]: a.sym:2:23: a float needs its element type, such as 1.5f32");
  EXPECT_EQ(message(tile_text("300i8")), "error[bad_text]: a.sym:2:23: 300 does not fit in i8");
  EXPECT_EQ(message(tile_text("%x[i] < %x[i] < %x[i]")),
            "error[bad_text]: a.sym:2:37: comparisons do not chain: use && between them");
  EXPECT_EQ(message("graph @f(%x: Tensor[(n // 0), f32]) -> () {}").substr(0, 39),
            "error[dimension_overflow]: a.sym:1:22: ");
}

TEST(Text, ExpressionsReadWell) {
  const auto shown = [](const std::string& expression) {
    const Module m = parse_module(tile_text(expression));
    return as<ComputeStmt>(m.tile("f").body)->value.str();
  };
  for (const std::string text : {
           "%x[i] + 1.0f32 * %x[i // 2 * 2 % n]",
           "select(i < n && i != 3, %x[i], f32(-inf))",
           "sum(k < n, l < 4) %x[k] * %x[l] + 0.5f32",
           "(sum(k < n) %x[k]) + 0.5f32",
           "cast<f32>(cast<u8>(%x[i]) + 255u8)",
           "max(%x[i], max(k < n) %x[k])",
           "exp(-%x[i]) / -1.0f32",
           "%x[i] - (%x[i] - %x[i])",
           "%x[i] - %x[i] - %x[i]",
           "cast<f32>(!(i < n || i == 2))",
           "neg(1.0f32)",
           "f32(nan)",
           "f32(nan(0x7ff8000020000000))",
           "-0.0f32",
           "cast<f32>(18446744073709551615u64)",
           "cast<f32>(-9223372036854775808)",
           "cast<f32>(cast < f32)",
       }) {
    EXPECT_EQ(shown(text), text);
  }
}

TEST(Text, CommentsAndQuotedNames) {
  const Module m = parse_module(R"(
// RUN: a comment on a line of its own
tile @"odd name"(%"a b": Buffer[(4), i64]) -> (%0: Buffer[(4), i64]) {  # behind code
  // also inside
  for i in 0 to 4 step 2 vectorized { %0[i] = %"a b"[i]
    // 2 }
    // 3
  }
}
)");
  EXPECT_EQ(m.tile_names(), std::vector<std::string>{"odd name"});
  EXPECT_EQ(print(m),
            "tile @\"odd name\"(%\"a b\": Buffer[(4), i64]) -> (%0: Buffer[(4), i64]) {\n"
            "  for i in 0 to 4 step 2 vectorized {\n"
            "    %0[i] = %\"a b\"[i]\n"
            "  }\n"
            "}\n");
}

}  // namespace
}  // namespace symtile
