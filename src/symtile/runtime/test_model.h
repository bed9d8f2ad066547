// For tests: artifacts from hand-written programs and the kernels of test_kernels.c.
#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "symtile/format/test_builder.h"
#include "symtile/runtime/cpu_level.h"
#include "symtile/runtime/session.h"

namespace symtile::testing {

using format::testing::ProgramBuilder;

inline std::vector<std::byte> test_kernels() {
  std::ifstream file(SYMTILE_TEST_KERNELS, std::ios::binary);
  std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

/// The artifact of `program`; what its kernels are is known by their names.
inline std::vector<std::byte> test_artifact(const format::Program& program,
                                            std::vector<std::vector<float>> constants = {}) {
  format::ArtifactParts parts;
  parts.manifest.set("producer", "test");
  parts.program = program;
  for (const auto& c : constants) parts.constants.push_back(std::as_bytes(std::span(c)));
  if (!program.kernels.empty()) {
    format::CodeSection code;
    code.info.level = std::string(best_cpu_level());
    const auto number = [](int64_t v) { return format::Formula::of_constant(v); };
    const auto f = [](const std::string& text) { return ProgramBuilder::parse(text, {"a", "b"}); };
    const std::map<std::string, std::array<format::Formula, 3>> known = {
        {"add", {f("a"), number(0), number(0)}},       // symbols: elements
        {"row_sum", {f("b"), f("a 4 *"), number(0)}},  // symbols: columns, rows
        {"increment", {number(1), number(0), number(0)}},
        {"less", {number(1), number(0), number(0)}},  // symbols: bound
    };
    for (const auto& k : program.kernels) {
      const auto& [extent, scratch, work] = known.at(k.name);
      code.info.kernels.push_back({k.name, extent, scratch, work});
    }
    code.object = test_kernels();
    parts.code.push_back(std::move(code));
  }
  return format::artifact_bytes(parts);
}

inline std::shared_ptr<const Model> test_model(const format::Program& program,
                                               std::vector<std::vector<float>> constants = {}) {
  return Model::load_memory(test_artifact(program, std::move(constants)));
}

/// main(x: f32[n, 4], y: f32[n, 4]) -> x + y + x, the first sum in the arena; n <= 100000.
inline format::Program add_program() {
  using namespace format;
  ProgramBuilder b;
  const KernelId add = b.kernel("add", 3, 1);
  b.function("main", {"n"}, 2, 1, 4);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0), b.check("4")}});
  b.add(BindDims{"input 'y'", {1}, DType::f32, true, {b.check("n"), b.check("4")}});
  b.add(CheckDims{Relation::less_equal, b.f("n"), b.f("100000"), "fact"});
  b.add(Arena{b.f("n 16 * 64 +")});
  b.add(ArenaTensor{{2}, b.shape({"n", "4"}), b.f("64")});
  b.add(LaunchKernel{add, {{0}, {1}, {2}}, b.fs({"n 4 *"})});
  b.add(HeapTensor{{3}, b.shape({"n", "4"}), 0});
  b.add(LaunchKernel{add, {{2}, {0}, {3}}, b.fs({"n 4 *"})});
  b.add(Return{{{3}}});
  b.program.inputs = {b.value("x", {"n", "4"}), b.value("y", {"n", "4"})};
  b.program.outputs = {b.value("z", {"n", "4"})};
  b.program.facts = {"n <= 100000"};
  b.program.symbols = {"n"};
  b.program.arena_bytes = {b.f("n 16 * 64 +").value};
  return b.program;
}

inline InputTensor f32(const std::vector<float>& data, const std::vector<int64_t>& dims) {
  static const float nothing = 0;
  return {DType::f32, dims, data.empty() ? &nothing : data.data()};
}

/// main(x: f32[n], trips: i64[], condition: bool[]) -> (x * 2^i, iterations seen, stacked x)
inline format::Program loop_program(bool with_trips, bool with_condition, int64_t limit) {
  using namespace format;
  ProgramBuilder b;
  const KernelId add = b.kernel("add", 3, 1);
  const KernelId increment = b.kernel("increment", 2, 0);
  const KernelId less = b.kernel("less", 2, 1);
  // body(i, condition, x, seen) -> (seen + 1 < limit, x + x, seen + 1, x, i)
  b.function("body", {"n"}, 4, 5, 7, 1);
  b.add(HeapTensor{{4}, b.shape({"n"})});
  b.add(LaunchKernel{add, {{2}, {2}, {4}}, b.fs({"n"})});
  b.add(HeapTensor{{5}, b.shape({}, DType::i64)});
  b.add(LaunchKernel{increment, {{3}, {5}}, {}});
  b.add(HeapTensor{{6}, b.shape({}, DType::boolean)});
  b.add(LaunchKernel{less, {{5}, {6}}, b.fs({std::to_string(limit)})});
  b.add(Return{{{6}, {4}, {5}, {2}, {0}}});
  const FunctionId body = b.last();
  b.function("main", {"n"}, 3, 4, 8);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
  b.add(HeapTensor{{3}, b.shape({}, DType::i64)});
  b.add(StoreDims{{3}, b.fs({"0"})});
  Loop loop;
  loop.body = body;
  if (with_trips) loop.trip_count = {1};
  if (with_condition) loop.condition = {2};
  loop.carried = {{0}, {3}};
  loop.dims = b.fs({"n"});
  loop.scans = {{DType::f32, {{b.f("n").value}}}, {DType::i64, {}}};
  loop.results = {{4}, {5}, {6}, {7}};
  b.add(loop);
  b.add(Return{{{4}, {5}, {6}, {7}}});
  b.program.inputs = {b.value("x", {"n"}), b.value("trips", {}, DType::i64),
                      b.value("condition", {}, DType::boolean)};
  b.program.outputs = {b.value("y", {"n"}), b.value("seen", {}, DType::i64),
                       b.value("xs", {"?", "n"}), b.value("is", {"?"}, DType::i64)};
  return b.program;
}

inline void run_loop(Session& session, int64_t trips, bool condition) {
  const std::vector<float> x = {1, 2};
  const std::vector<int64_t> n = {2};
  const InputTensor inputs[] = {
      f32(x, n), {DType::i64, {}, &trips}, {DType::boolean, {}, &condition}};
  session.run(inputs);
}

template <typename T>
std::vector<T> values(const Session& session, size_t output = 0) {
  const OutputTensor t = session.output(output);
  const T* data = static_cast<const T*>(t.data);
  return {data, data + t.bytes / sizeof(T)};
}

inline std::vector<int64_t> dims(const Session& session, size_t output = 0) {
  const auto d = session.output(output).dims;
  return {d.begin(), d.end()};
}

}  // namespace symtile::testing
