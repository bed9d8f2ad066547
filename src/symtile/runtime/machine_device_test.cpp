// The virtual machine with a device, without any: a queue whose memory this processor cannot use by
// accident, because its bytes are stored inverted, and whose kernels are those of test_kernels.c.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "symtile/base/check.h"
#include "symtile/runtime/test_model.h"

namespace symtile::testing {
namespace {

using namespace format;
using Bytes = std::vector<std::byte>;

class FakeMemory final : public DeviceMemory {
 public:
  explicit FakeMemory(size_t size) : stored(size) {}
  size_t bytes() const override { return stored.size(); }

  Bytes read(int64_t offset, size_t count) const {
    SYMTILE_CHECK(offset >= 0 && static_cast<size_t>(offset) + count <= stored.size());
    Bytes out(stored.begin() + offset, stored.begin() + offset + static_cast<int64_t>(count));
    for (std::byte& b : out) b = ~b;
    return out;
  }
  void write(int64_t offset, const std::byte* host, size_t count) {
    SYMTILE_CHECK(offset >= 0 && static_cast<size_t>(offset) + count <= stored.size());
    for (size_t i = 0; i < count; ++i) stored[static_cast<size_t>(offset) + i] = ~host[i];
  }

  Bytes stored;
};

FakeMemory& memory_of(const DevicePlace& place) { return *static_cast<FakeMemory*>(place.memory); }

class FakeQueue final : public DeviceQueue {
 public:
  explicit FakeQueue(std::shared_ptr<const Model> model)
      : model_(std::move(model)), constants_(model_->constant_bytes()) {
    if (constants_.bytes() > 0) constants_.write(0, model_->constant(0), constants_.bytes());
  }
  ~FakeQueue() override { EXPECT_TRUE(mapped_.empty()); }

  std::unique_ptr<DeviceMemory> allocate(size_t bytes) override {
    return std::make_unique<FakeMemory>(bytes);
  }
  DeviceMemory& constants() override { return constants_; }
  void write(DevicePlace to, const void* host, size_t bytes) override {
    memory_of(to).write(to.offset, static_cast<const std::byte*>(host), bytes);
  }
  void read(DevicePlace from, void* host, size_t bytes) override {
    const Bytes out = memory_of(from).read(from.offset, bytes);
    std::copy(out.begin(), out.end(), static_cast<std::byte*>(host));
  }
  void copy(DevicePlace to, DevicePlace from, size_t bytes) override {
    memory_of(to).write(to.offset, memory_of(from).read(from.offset, bytes).data(), bytes);
  }
  std::byte* map(DevicePlace place, size_t bytes, bool for_writing) override {
    auto host = std::make_unique<Bytes>(memory_of(place).read(place.offset, bytes));
    std::byte* out = host->data();
    if (bytes > 0) mapped_[out] = {std::move(host), for_writing};
    return out;
  }
  void unmap(DevicePlace place, std::byte* host) override {
    const auto it = mapped_.find(host);
    if (it == mapped_.end()) return;
    if (it->second.second) write(place, host, it->second.first->size());
    mapped_.erase(it);
  }
  void launch(uint32_t kernel, std::span<const DevicePlace> buffers,
              std::span<const int64_t> symbols) override {
    EXPECT_TRUE(mapped_.empty()) << "a kernel runs while its memory is shown";
    const Model::Kernel& k = model_->kernel(kernel);
    // Kernels address whole buffers: everything from the place to the end of its memory.
    std::vector<Bytes> hosts;
    std::vector<void*> pointers;
    for (const DevicePlace& place : buffers) {
      const size_t left = memory_of(place).bytes() - static_cast<size_t>(place.offset);
      hosts.push_back(memory_of(place).read(place.offset, left));
    }
    for (Bytes& host : hosts) pointers.push_back(host.data());
    k.run(pointers.data(), symbols.data(), nullptr, 0, evaluate(k.entry->parallel_extent, symbols));
    // Inputs come first and outputs last; all test kernels have one output.
    write(buffers.back(), hosts.back().data(), hosts.back().size());
    ++launches;
  }
  void finish() override {}
  size_t held_bytes() const override { return 0; }
  void trim() override {}

  int launches = 0;

 private:
  std::shared_ptr<const Model> model_;
  FakeMemory constants_;
  std::map<std::byte*, std::pair<std::unique_ptr<Bytes>, bool>> mapped_;
};

/// A session on a fake device.
Session on_device(const Program& program, std::vector<std::vector<float>> constants = {}) {
  const auto model = test_model(program, std::move(constants));
  return Session(model, {1}, std::make_unique<FakeQueue>(model));
}

TEST(Device, RunsKernelsInAnArenaAndOnTheHeap) {
  const auto model = test_model(add_program());
  Session session(model, {1}, std::make_unique<FakeQueue>(model));
  for (const int64_t n : {3, 0, 500, 1}) {
    const auto count = static_cast<size_t>(4 * n);
    const std::vector<float> x(count, 1.5f), y(count, 2);
    const std::vector<int64_t> shape = {n, 4};
    const std::array<InputTensor, 2> inputs = {f32(x, shape), f32(y, shape)};
    session.run(inputs);
    EXPECT_EQ(values<float>(session), std::vector<float>(count, 5));
    EXPECT_EQ(dims(session), shape);
    // Into memory of the caller, which is not the device's.
    std::vector<float> out(count + 1, -1);
    const OutputMemory memory{out.data(), count * sizeof(float)};
    session.run(inputs, {&memory, 1});
    EXPECT_EQ(session.output(0).data, n == 0 ? session.output(0).data : out.data());
    EXPECT_EQ(std::vector<float>(out.begin(), out.end() - 1), std::vector<float>(count, 5));
    EXPECT_EQ(out.back(), -1);
    // Too little of it is still an error.
    if (n == 0) continue;
    const OutputMemory small{out.data(), 4};
    EXPECT_THROW(session.run(inputs, {&small, 1}), UserError);
  }
  session.trim();
  EXPECT_EQ(session.held_bytes(), 0u);
}

TEST(Device, LoopsStackWhatTheyScan) {
  Session session = on_device(loop_program(true, true, 100));
  for (const int64_t trips : {5, 1, 0}) {
    run_loop(session, trips, true);
    EXPECT_EQ(values<int64_t>(session, 1), (std::vector<int64_t>{trips}));
    EXPECT_EQ(dims(session, 2), (std::vector<int64_t>{trips, 2}));
    std::vector<int64_t> seen;
    std::vector<float> stacked;
    for (int64_t i = 0; i < trips; ++i) {
      seen.push_back(i);
      stacked.push_back(static_cast<float>(1 << i));
      stacked.push_back(static_cast<float>(2 << i));
    }
    EXPECT_EQ(values<int64_t>(session, 3), seen);
    EXPECT_EQ(values<float>(session, 2), stacked);
  }
  Session endless = on_device(loop_program(false, true, 300));
  run_loop(endless, 0, true);
  EXPECT_EQ(values<int64_t>(endless, 3).back(), 299);
}

TEST(Device, DimensionsAreReadAndStored) {
  // main(x: f32[n], d: i64[2]) -> the constant + x at d's extents, d plus n as i64
  ProgramBuilder b;
  const KernelId add = b.kernel("add", 3, 1);
  b.program.constants.push_back({DType::f32, {6}, 0, 24});
  b.function("main", {"n", "p", "q"}, 2, 2, 7);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
  b.add(ReadDims{"shape", {1}, {{1}, {2}}});
  b.add(ConstantTensor{{2}, {0}});
  b.add(HeapTensor{{3}, b.shape({"p q *"})});
  b.add(LaunchKernel{add, {{2}, {0}, {3}}, b.fs({"p q *"})});
  b.add(ViewTensor{{4}, {3}, b.shape({"p", "q"})});
  b.add(HeapTensor{{5}, b.shape({"3"}, DType::i64)});
  b.add(StoreDims{{5}, b.fs({"p", "q", "n"})});
  b.add(HeapTensor{{6}, b.shape({"3"}, DType::i64)});
  b.add(Copy{{6}, {5}});
  b.add(Release{{5}});
  b.add(Return{{{4}, {6}}});
  b.program.inputs = {b.value("x", {"n"}), b.value("d", {"2"}, DType::i64)};
  b.program.outputs = {b.value("y", {"?", "?"}), b.value("z", {"3"}, DType::i64)};
  Session session = on_device(b.program, {{1, 2, 3, 4, 5, 6}});
  const std::vector<float> x = {10, 20, 30, 40, 50, 60};
  const std::vector<int64_t> n = {6}, two = {2};
  const int64_t d[] = {2, 3};
  const InputTensor inputs[] = {f32(x, n), {DType::i64, two, d}};
  session.run(inputs);
  EXPECT_EQ(dims(session), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values<float>(session), (std::vector<float>{11, 22, 33, 44, 55, 66}));
  EXPECT_EQ(values<int64_t>(session, 1), (std::vector<int64_t>{2, 3, 6}));
}

TEST(Device, LibraryCallsRunHere) {
  ProgramBuilder b;
  b.program.builtins = {"nonzero"};
  b.function("main", {"n"}, 1, 1, 2);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0)}});
  b.add(CallBuiltin{{0}, {{0}}, {}, {{1}}, {DType::i64}, "node 'nz'"});
  b.add(Return{{{1}}});
  b.program.inputs = {b.value("x", {"n"})};
  b.program.outputs = {b.value("y", {"1", "?"}, DType::i64)};
  Session session = on_device(b.program);
  const std::vector<float> x = {0, 3, 0, 0, 1};
  const std::vector<int64_t> n = {5};
  const InputTensor input = f32(x, n);
  for (int i = 0; i < 2; ++i) {
    session.run({&input, 1});
    EXPECT_EQ(values<int64_t>(session), (std::vector<int64_t>{1, 4}));
  }
}

TEST(Device, KindsAreNamed) {
  EXPECT_THROW(why_no_device("abacus"), UserError);
  const auto model = test_model(add_program());
  SessionOptions options;
  options.device = "opencl";
  EXPECT_THROW(Session(model, options), UserError);  // it was not compiled for it
  options.device = "cpu";
  const Session session(model, options);
  EXPECT_EQ(session.num_outputs(), 0u);
}

}  // namespace
}  // namespace symtile::testing
