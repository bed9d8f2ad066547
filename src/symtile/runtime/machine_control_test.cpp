// Calls, branches and loops.
#include <gtest/gtest.h>

#include "symtile/base/check.h"
#include "symtile/runtime/test_model.h"

namespace symtile::testing {
namespace {

using namespace format;

TEST(Calls, NestedArenasDoNotOverlap) {
  ProgramBuilder b;
  const KernelId add = b.kernel("add", 3, 1);
  // twice(x) -> x + x, computed in its arena
  b.function("twice", {"n"}, 1, 1, 2, 1);
  b.add(Arena{b.f("n 4 *")});
  b.add(ArenaTensor{{1}, b.shape({"n"}), b.f("0")});
  b.add(LaunchKernel{add, {{0}, {0}, {1}}, b.fs({"n"})});
  b.add(Return{{{1}}});
  const FunctionId twice = b.last();
  // main(x) = (x + x in the arena) + twice(it)
  b.function("main", {"n"}, 1, 1, 4);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
  b.add(Arena{b.f("n 4 *")});
  b.add(ArenaTensor{{1}, b.shape({"n"}), b.f("0")});
  b.add(LaunchKernel{add, {{0}, {0}, {1}}, b.fs({"n"})});
  b.add(CallFunction{twice, {{1}}, b.fs({"n"}), {{2}}});
  b.add(HeapTensor{{3}, b.shape({"n"}), 0});
  b.add(LaunchKernel{add, {{1}, {2}, {3}}, b.fs({"n"})});
  b.add(Return{{{3}}});
  b.program.inputs = {b.value("x", {"n"})};
  b.program.outputs = {b.value("y", {"n"})};
  Session session(test_model(b.program), {1});
  const std::vector<float> x = {1, 2, 3};
  const std::vector<int64_t> n = {3};
  const InputTensor input = f32(x, n);
  for (int i = 0; i < 3; ++i) {
    session.run({&input, 1});
    EXPECT_EQ(values<float>(session), (std::vector<float>{6, 12, 18}));
  }
}

TEST(Calls, BranchesTakeEitherFunction) {
  ProgramBuilder b;
  b.function("same", {}, 1, 1, 1);
  b.add(Return{{{0}}});
  const FunctionId same = b.last();
  b.function("shape", {"n"}, 1, 1, 2, 1);
  b.add(HeapTensor{{1}, b.shape({"1"}, DType::f32)});
  b.add(StoreDims{{1}, b.fs({"n"})});
  b.add(Return{{{1}}});
  const FunctionId shape = b.last();
  b.function("main", {"n"}, 2, 1, 3);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
  // Both branches must take the same arguments; "same" takes no dimension.
  b.program.functions[same.value].dim_params = 1;
  b.program.functions[same.value].slot_names = {"n"};
  b.add(Branch{{1}, same, shape, {{0}}, b.fs({"n"}), {{2}}});
  b.add(Return{{{2}}});
  b.program.inputs = {b.value("x", {"n"}), b.value("c", {}, DType::boolean)};
  b.program.outputs = {b.value("y", {"?"})};
  Session session(test_model(b.program), {1});
  const std::vector<float> x = {7, 8};
  const std::vector<int64_t> n = {2};
  for (bool condition : {true, false}) {
    const InputTensor inputs[] = {f32(x, n), {DType::boolean, {}, &condition}};
    session.run(inputs);
    EXPECT_EQ(values<float>(session), condition ? x : (std::vector<float>{2}));
  }
  const std::vector<int64_t> none = {0};
  const bool condition = true;
  const InputTensor inputs[] = {f32(x, n), {DType::boolean, none, &condition}};
  EXPECT_THROW(session.run(inputs), UserError);
}

TEST(Loops, RunTheirTripCount) {
  Session session(test_model(loop_program(true, false, 100)), {1});
  run_loop(session, 3, true);
  EXPECT_EQ(values<float>(session, 0), (std::vector<float>{8, 16}));
  EXPECT_EQ(values<int64_t>(session, 1), (std::vector<int64_t>{3}));
  EXPECT_EQ(values<float>(session, 2), (std::vector<float>{1, 2, 2, 4, 4, 8}));
  EXPECT_EQ(dims(session, 2), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(values<int64_t>(session, 3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(dims(session, 3), (std::vector<int64_t>{3}));
}

TEST(Loops, ZeroTripsLeaveCarriedValuesAndEmptyScans) {
  Session session(test_model(loop_program(true, true, 100)), {1});
  for (const auto& [trips, condition] :
       {std::pair<int64_t, bool>{0, true}, {-5, true}, {3, false}}) {
    run_loop(session, trips, condition);
    EXPECT_EQ(values<float>(session, 0), (std::vector<float>{1, 2}));
    EXPECT_EQ(values<int64_t>(session, 1), (std::vector<int64_t>{0}));
    EXPECT_EQ(dims(session, 2), (std::vector<int64_t>{0, 2}));
    EXPECT_EQ(dims(session, 3), (std::vector<int64_t>{0}));
  }
}

TEST(Loops, StopOnTheirCondition) {
  for (bool with_trips : {false, true}) {
    Session session(test_model(loop_program(with_trips, true, 5)), {1});
    run_loop(session, 1000, true);
    EXPECT_EQ(values<int64_t>(session, 1), (std::vector<int64_t>{5}));
    EXPECT_EQ(dims(session, 2), (std::vector<int64_t>{5, 2}));
    run_loop(session, 4, true);
    EXPECT_EQ(values<int64_t>(session, 1), (std::vector<int64_t>{with_trips ? 4 : 5}));
  }
}

TEST(Loops, ManyIterationsGrowTheScan) {
  Session session(test_model(loop_program(false, true, 1000)), {1});
  run_loop(session, 0, true);
  EXPECT_EQ(dims(session, 3), (std::vector<int64_t>{1000}));
  EXPECT_EQ(values<int64_t>(session, 3).back(), 999);
}

}  // namespace
}  // namespace symtile::testing
