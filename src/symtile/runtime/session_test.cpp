#include "symtile/runtime/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "symtile/base/check.h"
#include "symtile/runtime/test_model.h"

namespace symtile::testing {
namespace {

using namespace format;

struct Case {
  std::vector<int64_t> shape;
  std::vector<float> x, y, expected;

  explicit Case(int64_t n) : shape{n, 4} {
    for (int64_t i = 0; i < 4 * n; ++i) {
      x.push_back(static_cast<float>(i));
      y.push_back(static_cast<float>(n));
      expected.push_back(2 * x.back() + y.back());
    }
  }
  std::array<InputTensor, 2> inputs() const { return {f32(x, shape), f32(y, shape)}; }
};

TEST(Session, OneModelAtManyShapes) {
  const auto model = test_model(add_program());
  for (int threads : {1, 3}) {
    Session session(model, {threads});
    EXPECT_EQ(session.threads(), threads);
    for (int64_t n : {3, 0, 1, 50000, 17, 50000, 2}) {
      const Case c(n);
      session.run(c.inputs());
      EXPECT_EQ(values<float>(session), c.expected) << n;
      EXPECT_EQ(dims(session), c.shape);
    }
    const Case too_large(100001);
    EXPECT_THROW(session.run(too_large.inputs()), UserError);
    EXPECT_EQ(session.num_outputs(), 0u);
  }
}

TEST(Session, MemoryFollowsTheShapes) {
  Session session(test_model(add_program()), {1});
  session.run(Case(50000).inputs());
  session.run(Case(10).inputs());
  session.run(Case(10).inputs());
  const size_t held = session.held_bytes();
  EXPECT_LT(held, size_t{50000} * 16 * 2);  // the large output is gone, the arena is kept
  for (int64_t n = 1; n < 200; ++n) session.run(Case(n).inputs());
  EXPECT_LE(session.held_bytes(), held + 16 * 1024);
  session.trim();
  EXPECT_EQ(session.held_bytes(), 0u);
  session.run(Case(10).inputs());
  EXPECT_EQ(values<float>(session), Case(10).expected);
}

TEST(Session, OutputsInMemoryOfTheCaller) {
  Session session(test_model(add_program()), {1});
  const Case c(5);
  std::vector<float> mine(20, -1.0f);
  OutputMemory memory{mine.data(), mine.size() * sizeof(float)};
  session.run(c.inputs(), {&memory, 1});
  EXPECT_EQ(mine, c.expected);
  EXPECT_EQ(session.output(0).data, mine.data());
  memory.bytes -= 1;
  try {
    session.run(c.inputs(), {&memory, 1});
    FAIL();
  } catch (const UserError& e) {
    EXPECT_STREQ(
        e.what(),
        "error[bad_input]: output 'z' is f32[5, 4], which takes 80 bytes, but the caller's "
        "memory has 79");
  }
  const OutputMemory two[2] = {};
  EXPECT_THROW(session.run(c.inputs(), two), UserError);
  session.run(c.inputs());
  EXPECT_NE(session.output(0).data, mine.data());
}

TEST(Session, FourThreadsShareOneModel) {
  const auto model = test_model(add_program());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Session session(model, {1 + t % 2});
      for (int64_t i = 0; i < 60; ++i) {
        const Case c((i * 977 + t) % 3000);
        session.run(c.inputs());
        wrong += values<float>(session) != c.expected;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Session, ProfilesKernels) {
  Session session(test_model(add_program()), {1, true});
  session.run(Case(10).inputs());
  session.run(Case(0).inputs());
  ASSERT_EQ(session.profile().size(), 1u);
  EXPECT_EQ(session.profile()[0].name, "add");
  EXPECT_EQ(session.profile()[0].calls, 4u);
  session.set_profiling(false);
  session.run(Case(10).inputs());
  EXPECT_EQ(session.profile()[0].calls, 0u);
}

TEST(Session, ThreadCountIsChecked) {
  const auto model = test_model(add_program());
  EXPECT_THROW(Session(model, {-1}), UserError);
  EXPECT_THROW(Session(model, {5000}), UserError);
  EXPECT_GE(Session(model, {0}).threads(), 1);
}

TEST(Model, LoadsFromFilesAndSaysWhatIsWrong) {
  const auto folder = std::filesystem::temp_directory_path() / "symtile_model_test";
  std::filesystem::create_directories(folder);
  const std::string path = folder / "m.symtile";
  const auto bytes = test_artifact(add_program());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const auto model = Model::load_file(path);
  EXPECT_EQ(model->level(), best_cpu_level());
  EXPECT_EQ(model->manifest().get("producer"), "test");
  EXPECT_EQ(model->arena_bytes({{"n", 4}}), 128);
  EXPECT_THROW(model->arena_bytes({{"m", 4}}), UserError);
  Session session(model, {1});
  session.run(Case(3).inputs());
  EXPECT_EQ(values<float>(session), Case(3).expected);
  EXPECT_THROW(Model::load_file(folder), EnvironmentError);
  EXPECT_THROW(Model::load_file(path + ".none"), EnvironmentError);
  LoadOptions other;
  other.level = "armv99";
  try {
    Model::load_file(path, other);
    FAIL();
  } catch (const EnvironmentError& e) {
    EXPECT_NE(std::string(e.what()).find("'armv99' was asked for"), std::string::npos) << e.what();
  }
  std::ofstream(path, std::ios::trunc).close();
  try {
    Model::load_file(path);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("is empty"), std::string::npos);
  }
  std::filesystem::remove_all(folder);
}

TEST(Model, LacksCodeForThisMachine) {
  ArtifactParts parts;
  parts.program = add_program();
  const auto number = Formula::of_constant(1);
  parts.code.push_back({{"wgsl", {{"add", number, number, number}}}, {}});
  try {
    Model::load_memory(artifact_bytes(parts));
    FAIL();
  } catch (const EnvironmentError& e) {
    EXPECT_NE(std::string(e.what()).find("has code for [wgsl]"), std::string::npos) << e.what();
  }
}

TEST(Model, ManyLoadedAtOnceKeepTheirOwnCode) {
  std::vector<std::shared_ptr<const Model>> models;
  for (int i = 0; i < 4; ++i) models.push_back(test_model(add_program()));
  models.erase(models.begin() + 1);
  models.push_back(test_model(add_program()));
  for (const auto& m : models) {
    Session session(m, {1});
    session.run(Case(3).inputs());
    EXPECT_EQ(values<float>(session), Case(3).expected);
  }
}

/// Whatever a corrupt program with good checksums does, it stays within the machine's tables.
/// Kernels are native code and trusted, so there are none here.
TEST(Model, RandomProgramsNeverLeaveTheMachine) {
  ProgramBuilder b;
  b.program.constants = {{DType::i64, {2}, 0, 0}};
  b.function("body", {"k"}, 4, 3, 5, 1);
  b.add(HeapTensor{{4}, b.shape({"k"})});
  b.add(Copy{{4}, {2}});
  b.add(Return{{{1}, {4}, {3}}});
  const FunctionId body = b.last();
  b.function("main", {"n", "m"}, 1, 2, 9);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
  b.add(Arena{b.f("n 8 *")});
  b.add(ArenaTensor{{1}, b.shape({"n"}), b.f("0")});
  b.add(Copy{{1}, {0}});
  b.add(HeapTensor{{2}, b.shape({}, DType::i64)});
  b.add(StoreDims{{2}, b.fs({"n 2 -"})});
  b.add(ConstantTensor{{3}, {0}});
  b.add(ReadDims{"c", {3}, {{0}, {1}}});
  Loop loop;
  loop.body = body;
  loop.trip_count = {2};
  loop.carried = {{1}};
  loop.captured = {{3}};
  loop.dims = b.fs({"m"});
  loop.scans = {{DType::i64, {{}}}};
  loop.results = {{4}, {5}};
  b.add(loop);
  b.add(ViewTensor{{6}, {4}, b.shape({"1", "m"})});
  b.add(Release{{4}});
  b.add(Return{{{6}, {5}}});
  b.program.inputs = {b.value("x", {"n"})};
  b.program.outputs = {b.value("y", {"?"}), b.value("z", {"?"})};

  const std::vector<float> x = {1, 2, 3, 4, 5};
  const std::vector<int64_t> n = {5};
  const InputTensor input = f32(x, n);
  const std::vector<int64_t> shape_constant = {5, 5};
  std::mt19937 random(3);
  int ran = 0;
  for (int i = 0; i < 3000; ++i) {
    Program p = b.program;
    // One operand of one instruction, formula or shape becomes another small number.
    const auto small = [&] { return static_cast<uint32_t>(random() % 12); };
    Function& f = p.functions[random() % p.functions.size()];
    if (i > 0 && random() % 3 == 0) {
      Formula& formula = p.formulas[random() % p.formulas.size()];
      formula.steps[random() % formula.steps.size()].operand = static_cast<int64_t>(small()) - 4;
    } else if (i > 0) {
      Instruction& instruction = f.code[random() % f.code.size()];
      std::visit(
          [&](auto& op) {
            std::decay_t<decltype(op)>::fields(op, [&](const char*, auto& field) {
              if constexpr (requires { field.value; }) {
                if (random() % 2) field.value = small();
              } else if constexpr (requires { field.begin()->value; }) {
                if (!field.empty()) field.begin()->value = small();
              }
            });
          },
          instruction);
    }
    try {
      ArtifactParts parts;
      parts.program = p;
      parts.constants = {std::as_bytes(std::span(shape_constant))};
      Session session(Model::load_memory(artifact_bytes(parts)), {1});
      session.run({&input, 1});
      ++ran;
    } catch (const UserError&) {
    } catch (const InternalError&) {
    }
  }
  EXPECT_GT(ran, 100);
}

}  // namespace
}  // namespace symtile::testing
