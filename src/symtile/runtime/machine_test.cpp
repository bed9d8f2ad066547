// Semantics of single instructions, through a session.
#include "symtile/runtime/machine.h"

#include <gtest/gtest.h>

#include "symtile/base/check.h"
#include "symtile/runtime/test_model.h"

namespace symtile::testing {
namespace {

using namespace format;

std::string run_error(Session& session, std::span<const InputTensor> inputs) {
  try {
    session.run(inputs);
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

/// A program of one function and no kernels: main(x) -> what `build` returns.
template <typename Build>
std::shared_ptr<const Model> one_function(std::vector<std::string> slots, uint32_t registers,
                                          uint32_t results, Build&& build,
                                          std::vector<std::vector<float>> constants = {}) {
  ProgramBuilder b;
  for (const auto& c : constants) {
    b.program.constants.push_back({DType::f32, {static_cast<int64_t>(c.size())}, 0, 0});
  }
  b.function("main", std::move(slots), 1, results, registers);
  build(b);
  b.program.inputs = {b.value("x", {"?"})};
  for (uint32_t i = 0; i < results; ++i) b.program.outputs.push_back(b.value("y", {"?"}));
  return test_model(b.program, std::move(constants));
}

TEST(BindDims, NamesInputDimensionFormulaAndValues) {
  const auto model = one_function({"w"}, 1, 1, [](ProgramBuilder& b) {
    b.add(BindDims{
        "input 'x'", {0}, DType::f32, true, {b.bind(0), {}, b.check("w 8 *"), b.check("3")}});
    b.add(Return{{{0}}});
  });
  Session session(model, {1});
  const std::vector<float> x(1000);
  const auto error = [&](std::vector<int64_t> dims) {
    const InputTensor input = f32(x, dims);
    return run_error(session, {&input, 1});
  };
  EXPECT_EQ(error({2, 5, 16, 3}), "");
  EXPECT_EQ(error({2, 5, 7, 3}),
            "error[bad_input]: input 'x': dimension 2 is 7, but formula 'w 8 *' is 16 (w = 2)");
  EXPECT_EQ(error({2, 5, 16, 4}),
            "error[bad_input]: input 'x': dimension 3 is 4, but the model expects 3");
  EXPECT_EQ(error({2, 5}),
            "error[bad_input]: input 'x': shape is (2, 5), which has rank 2, but the model expects "
            "rank 4");
  EXPECT_EQ(error({2, 5, -1, 3}),
            "error[bad_input]: input 'x': dimension 2 is -1, which is negative");
  EXPECT_EQ(error({0, 5, 0, 3}), "");
  EXPECT_NE(error({int64_t{1} << 41, 0, 0, 3}).find("too large"), std::string::npos);
  EXPECT_NE(error({int64_t{1} << 40, int64_t{1} << 40, 1, 3}).find("error[too_large]"),
            std::string::npos);
  EXPECT_EQ(error({2, 5, 16, 3}), "");  // still usable
  const std::vector<int64_t> dims = {2, 5, 16, 3};
  const InputTensor wrong{DType::f64, dims, x.data()};
  EXPECT_EQ(run_error(session, {&wrong, 1}),
            "error[bad_input]: input 'x': element type is f64, but the model expects f32");
  const InputTensor missing{DType::f32, dims, nullptr};
  EXPECT_NE(run_error(session, {&missing, 1}).find("no data"), std::string::npos);
  const InputTensor skewed{DType::f32, dims, reinterpret_cast<const char*>(x.data()) + 1};
  EXPECT_NE(run_error(session, {&skewed, 1}).find("not aligned"), std::string::npos);
  EXPECT_NE(run_error(session, {}).find("takes 1 inputs, not 0"), std::string::npos);
}

TEST(CheckDims, QuotesMessageFormulasAndValues) {
  const auto model = one_function({"n", "m"}, 1, 1, [](ProgramBuilder& b) {
    b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0), b.bind(1)}});
    b.add(CheckDims{Relation::equal, b.f("n 2 *"), b.f("m"), "halves must agree"});
    b.add(CheckDims{Relation::less_equal, b.f("n"), b.f("10"), ""});
    std::string long_text = "n 5 - n 6 - *";
    for (int i = 0; i < 20; ++i) long_text += " 0 +";
    b.add(CheckDims{Relation::equal, b.f(long_text), b.f("2"), "n is 4 or 7"});
    b.add(Return{{{0}}});
  });
  Session session(model, {1});
  const std::vector<float> x(1000);
  const auto error = [&](std::vector<int64_t> dims) {
    const InputTensor input = f32(x, dims);
    return run_error(session, {&input, 1});
  };
  EXPECT_EQ(error({4, 8}), "");
  EXPECT_EQ(error({3, 6}), "error[bad_input]: n is 4 or 7: not so at n = 3");
  EXPECT_EQ(
      error({3, 7}),
      "error[bad_input]: halves must agree: 'n 2 *' == 'm' does not hold: 6 against 7 (n = 3, "
      "m = 7)");
  EXPECT_EQ(error({11, 22}), "error[bad_input]: 'n' <= '10' does not hold: 11 against 10 (n = 11)");
}

TEST(Tensors, ViewsConstantsAndCopies) {
  const auto model =
      one_function({"n"}, 6, 4,
                   [](ProgramBuilder& b) {
                     b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
                     b.add(Arena{b.f("n 4 *")});
                     b.add(ArenaTensor{{1}, b.shape({"n"}), b.f("0")});
                     b.add(Copy{{1}, {0}});
                     b.add(ViewTensor{{2}, {1}, b.shape({"n 2 //", "2"})});
                     b.add(ConstantTensor{{3}, {0}});
                     // A parameter, a constant, arena memory and the same again: all are copied.
                     b.add(Return{{{0}, {3}, {2}, {2}}});
                   },
                   {{5, 6, 7}});
  Session session(model, {1});
  const std::vector<float> x = {1, 2, 3, 4};
  const std::vector<int64_t> n = {4};
  const InputTensor input = f32(x, n);
  session.run({&input, 1});
  EXPECT_EQ(values<float>(session, 0), x);
  EXPECT_NE(session.output(0).data, x.data());
  EXPECT_EQ(values<float>(session, 1), (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(values<float>(session, 2), x);
  EXPECT_EQ(dims(session, 2), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(values<float>(session, 3), x);
  EXPECT_NE(session.output(2).data, session.output(3).data);
}

TEST(Tensors, HeapResultsAreReturnedWithoutACopyButNeverShared) {
  const auto model = one_function({"n"}, 3, 2, [](ProgramBuilder& b) {
    b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
    b.add(HeapTensor{{1}, b.shape({"n"})});
    b.add(Copy{{1}, {0}});
    b.add(ViewTensor{{2}, {1}, b.shape({"1", "n"})});
    b.add(Return{{{1}, {2}}});
  });
  Session session(model, {1});
  const std::vector<float> x = {1, 2};
  const std::vector<int64_t> n = {2};
  const InputTensor input = f32(x, n);
  session.run({&input, 1});
  EXPECT_EQ(values<float>(session, 0), x);
  EXPECT_EQ(values<float>(session, 1), x);
  EXPECT_NE(session.output(0).data, session.output(1).data);
}

TEST(Tensors, ArenaBoundsAreChecked) {
  const auto run = [](const std::string& offset, const std::string& rows) {
    const auto model = one_function({"n"}, 2, 1, [&](ProgramBuilder& b) {
      b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
      b.add(Arena{b.f("256")});
      b.add(ArenaTensor{{1}, b.shape({rows}), b.f(offset)});
      b.add(Return{{{0}}});
    });
    Session session(model, {1});
    const std::vector<float> x = {1, 2};
    const std::vector<int64_t> n = {2};
    const InputTensor input = f32(x, n);
    return run_error(session, {&input, 1});
  };
  EXPECT_EQ(run("0", "64"), "");
  EXPECT_EQ(run("256", "0"), "");
  EXPECT_NE(run("0", "65"), "");
  EXPECT_NE(run("-4", "1"), "");
  EXPECT_NE(run("2", "1"), "");
  EXPECT_NE(run("260", "0"), "");
  EXPECT_NE(run("0", "n 3 -").find("dimension 'n 3 -' is -1, which is negative (n = 2)"),
            std::string::npos);
}

TEST(Tensors, ReadAndStoreDims) {
  ProgramBuilder b;
  b.function("main", {"a", "b", "n"}, 1, 3, 4);
  b.add(BindDims{"input 'x'", {0}, DType::i32, true, {b.bind(2)}});
  b.add(ReadDims{"value 'x'", {0}, {{0}, {1}}});
  b.add(HeapTensor{{1}, b.shape({"2"}, DType::i64)});
  b.add(StoreDims{{1}, b.fs({"a b *", "a b -"})});
  b.add(HeapTensor{{2}, b.shape({}, DType::u8)});
  b.add(StoreDims{{2}, b.fs({"a"})});
  b.add(HeapTensor{{3}, b.shape({"1"}, DType::f16)});
  b.add(StoreDims{{3}, b.fs({"b"})});
  b.add(Return{{{1}, {2}, {3}}});
  b.program.inputs = {b.value("x", {"n"}, DType::i32)};
  b.program.outputs = {b.value("p", {"2"}, DType::i64), b.value("q", {}, DType::u8),
                       b.value("r", {"1"}, DType::f16)};
  Session session(test_model(b.program), {1});
  const std::vector<int32_t> x = {-3, 2};
  const std::vector<int64_t> n = {2};
  const InputTensor input{DType::i32, n, x.data()};
  session.run({&input, 1});
  EXPECT_EQ(values<int64_t>(session, 0), (std::vector<int64_t>{-6, -5}));
  EXPECT_EQ(values<uint8_t>(session, 1), (std::vector<uint8_t>{253}));
  EXPECT_TRUE(dims(session, 1).empty());
  EXPECT_EQ(values<uint16_t>(session, 2), (std::vector<uint16_t>{0x4000}));
  const std::vector<int64_t> one = {1};
  const InputTensor wrong{DType::i32, one, x.data()};
  EXPECT_EQ(run_error(session, {&wrong, 1}),
            "error[bad_input]: value 'x': has 1 elements, but the model expects 2");
}

TEST(Kernels, ParallelWithScratchAtManyShapes) {
  ProgramBuilder b;
  const KernelId sum = b.kernel("row_sum", 2, 2);
  b.function("main", {"r", "c"}, 1, 1, 2);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0), b.bind(1)}});
  b.add(HeapTensor{{1}, b.shape({"r"}), 0});
  b.add(LaunchKernel{sum, {{0}, {1}}, b.fs({"c", "r"})});
  b.add(Return{{{1}}});
  b.program.inputs = {b.value("x", {"r", "c"})};
  b.program.outputs = {b.value("y", {"r"})};
  const auto model = test_model(b.program);
  for (int threads : {1, 4}) {
    Session session(model, {threads});
    for (int64_t rows : {0, 1, 3, 257, 5000}) {
      for (int64_t columns : {0, 1, 33, 300}) {
        const std::vector<float> x(static_cast<size_t>(rows * columns), 1.0f);
        const std::vector<int64_t> shape = {rows, columns};
        const InputTensor input = f32(x, shape);
        session.run({&input, 1});
        ASSERT_EQ(values<float>(session),
                  std::vector<float>(static_cast<size_t>(rows), static_cast<float>(columns)))
            << rows << " " << columns;
      }
    }
  }
}

TEST(Builtins, AreCalledWithAttributesAndAllocate) {
  if (!find_builtin("nonzero")) GTEST_SKIP() << "SKIP: this runtime has no builtin 'nonzero'";
  ProgramBuilder b;
  b.program.builtins = {"nonzero"};
  b.function("main", {"n", "k"}, 1, 1, 2);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
  b.add(CallBuiltin{{0}, {{0}}, {}, {{1}}, {DType::i64}, "node 'nz'"});
  b.add(BindDims{"result of 'nz'", {1}, DType::i64, true, {b.check("1"), b.bind(1)}});
  b.add(Return{{{1}}});
  b.program.inputs = {b.value("x", {"n"})};
  b.program.outputs = {b.value("y", {"1", "k"}, DType::i64)};
  Session session(test_model(b.program), {1, true});
  const std::vector<float> x = {0, 3, 0, 4};
  const std::vector<int64_t> n = {4};
  const InputTensor input = f32(x, n);
  session.run({&input, 1});
  EXPECT_EQ(values<int64_t>(session), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(session.profile().back().name, "nonzero");
  EXPECT_EQ(session.profile().back().calls, 1u);
}

TEST(Builtins, UnknownOnesAreRefusedAtLoad) {
  ProgramBuilder b;
  b.program.builtins = {"no_such_call"};
  b.function("main", {}, 0, 0, 0);
  b.add(Return{});
  try {
    test_model(b.program);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("'no_such_call'"), std::string::npos);
  }
}

}  // namespace
}  // namespace symtile::testing
