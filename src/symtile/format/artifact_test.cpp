#include "symtile/format/artifact.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "symtile/base/check.h"
#include "symtile/format/archive.h"
#include "symtile/format/artifact_layout.h"
#include "symtile/format/hash.h"
#include "symtile/format/print_program.h"
#include "symtile/format/test_builder.h"
#include "symtile/format/validate.h"

namespace symtile::format {
namespace {

using testing::ProgramBuilder;

/// One of (nearly) everything.
Program sample_program() {
  ProgramBuilder b;
  b.program.builtins = {"nonzero"};
  b.program.constants = {{DType::f32, {2, 3}, 0, 24}, {DType::i64, {}, 64, 8}};
  const KernelId add = b.kernel("add", 3, 1);
  b.function("body", {"k"}, 3, 2, 4, 1);
  b.add(HeapTensor{{3}, b.shape({"k"})});
  b.add(LaunchKernel{add, {{2}, {2}, {3}}, b.fs({"k"})});
  b.add(Return{{{1}, {3}}});
  const FunctionId body = b.last();
  b.function("main", {"n", "m"}, 2, 2, 9);
  b.add(BindDims{"input 'x'", {0}, DType::f32, true, {b.bind(0), b.check("n 2 *"), {}}});
  b.add(EvalDim{{1}, b.f("n 8 +")});
  b.add(CheckDims{Relation::less_equal, b.f("n"), b.f("4096"), "n is too large"});
  b.add(Arena{b.f("n 64 *")});
  b.add(ArenaTensor{{2}, b.shape({"n"}), b.f("0")});
  b.add(ConstantTensor{{3}, {1}});
  b.add(ViewTensor{{4}, {2}, b.shape({"1", "n"})});
  b.add(Copy{{2}, {2}});
  b.add(CallBuiltin{{0},
                    {{2}, {}},
                    {{"axis", int64_t{-1}},
                     {"scale", 0.5},
                     {"mode", std::string("up")},
                     {"to", DType::f16},
                     {"pads", std::vector<int64_t>{1, 2}},
                     {"dims", b.fs({"n"})}},
                    {{5}},
                    {DType::i64},
                    "node 'nz'"});
  b.add(ReadDims{"shape", {5}, {{1}}});
  b.add(StoreDims{{5}, b.fs({"n"})});
  b.add(Loop{body, {3}, {}, {{2}}, {}, b.fs({"n"}), {}, {{6}}});
  b.add(HeapTensor{{7}, b.shape({"n"}), 1});
  b.add(Release{{5}});
  b.add(Return{{{6}, {7}}});
  b.program.inputs = {b.value("x", {"n", "n 2 *", "?"}), b.value("t", {}, DType::i64)};
  b.program.outputs = {b.value("y", {"n"}), b.value("z", {"n"})};
  b.program.facts = {"n <= 4096"};
  b.program.symbols = {"n"};
  b.program.arena_bytes = {b.f("n 64 *").value};
  return b.program;
}

struct Sample {
  std::vector<std::byte> weights = std::vector<std::byte>(24, std::byte{7});
  std::vector<std::byte> scalar = std::vector<std::byte>(8, std::byte{1});
  ArtifactParts parts;

  Sample() {
    parts.manifest.set("producer", "test 1");
    parts.program = sample_program();
    parts.constants = {weights, scalar};
    const auto n = Formula::of_slot(0, "n");
    const auto none = Formula::of_constant(0);
    parts.code.push_back({{"x86-64-v3", {{"add", n, none, n}}}, std::vector<std::byte>(100)});
    parts.code.push_back({{"armv8", {{"add", n, none, none}}}, {}});
    parts.devices.push_back({{"opencl", {{{{"add_0", n, 64}, {"add_1", none, 1}}, true, n}}},
                             "__kernel void add_0() {}"});
  }
};

std::string error_of(std::span<const std::byte> bytes) {
  try {
    read_artifact(bytes, "m.symtile");
  } catch (const UserError& e) {
    return e.what();
  }
  return {};
}

std::string error_of(std::string_view text) { return error_of(std::as_bytes(std::span(text))); }

TEST(Hash, MatchesThePublishedVectors) {
  const auto hash = [](std::string_view s) { return xxh64(std::as_bytes(std::span(s))); };
  EXPECT_EQ(hash(""), 0xef46db3751d8e999u);
  EXPECT_EQ(hash("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(hash("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(hash("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

TEST(Artifact, RoundTrip) {
  const Sample sample;
  const auto bytes = artifact_bytes(sample.parts);
  const ArtifactView view = read_artifact(bytes, "m.symtile");
  EXPECT_EQ(view.program, sample.parts.program);
  EXPECT_EQ(view.manifest, sample.parts.manifest);
  ASSERT_EQ(view.code.size(), 2u);
  EXPECT_EQ(view.code[0].info, sample.parts.code[0].info);
  EXPECT_EQ(view.code[0].object.size(), 100u);
  ASSERT_EQ(view.devices.size(), 1u);
  EXPECT_EQ(view.devices[0].info, sample.parts.devices[0].info);
  EXPECT_EQ(view.devices[0].text, "__kernel void add_0() {}");
  EXPECT_EQ(view.constants[0], std::byte{7});
  EXPECT_EQ(view.constants[64], std::byte{1});
  EXPECT_EQ(static_cast<size_t>(view.constants.data() - bytes.data()) % kAlignment, 0u);
  EXPECT_EQ(view.manifest.get("producer"), "test 1");
}

TEST(Artifact, DeviceKernelsAreChecked) {
  const Program program = Sample().parts.program;
  const auto refused = [&](DeviceInfo info) { EXPECT_THROW(validate(info, program), UserError); };
  const DeviceInfo good = Sample().parts.devices[0].info;
  validate(good, program);
  DeviceInfo bad = good;
  bad.kernels.clear();
  refused(bad);
  bad = good;
  bad.kernels[0].launches[0].threads = 0;
  refused(bad);
  bad.kernels[0].launches[0].threads = kMaxBlockThreads + 1;
  refused(bad);
  bad = good;
  bad.kernels[0].launches[0].blocks = Formula::of_slot(9, "q");
  refused(bad);
  bad = good;
  bad.kernels[0].workspace_bytes.steps.clear();
  refused(bad);
}

TEST(Artifact, SavesAtomically) {
  const auto path = std::filesystem::temp_directory_path() / "symtile_artifact_test.symtile";
  const Sample sample;
  save_artifact(sample.parts, path);
  EXPECT_EQ(std::filesystem::file_size(path), artifact_bytes(sample.parts).size());
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".part"));
  std::filesystem::remove(path);
  EXPECT_THROW(save_artifact(sample.parts, "/no/such/folder/m.symtile"), EnvironmentError);
}

TEST(Artifact, EveryTruncationIsAnError) {
  const auto bytes = artifact_bytes(Sample().parts);
  for (size_t n = 0; n < bytes.size(); ++n) {
    // An exact copy, so that a sanitizer sees any read past the end.
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
    ASSERT_NE(error_of(cut), "") << n;
  }
  EXPECT_NE(error_of(std::span(bytes).first(bytes.size() - 1)).find("is truncated"),
            std::string::npos);
}

TEST(Artifact, RandomByteFlipsLoadOrFail) {
  const auto bytes = artifact_bytes(Sample().parts);
  std::mt19937 random(1);
  int failures = 0;
  for (int i = 0; i < 5000; ++i) {
    auto flipped = bytes;
    flipped[random() % flipped.size()] ^= static_cast<std::byte>(1 + random() % 255);
    failures += error_of(flipped) != "";
  }
  EXPECT_GT(failures, 3000);  // the rest hit padding
}

/// As above, but with checksums that agree: the validator alone stands in the way.
TEST(Artifact, RandomProgramsWithGoodChecksumsLoadOrFail) {
  const Program program = sample_program();
  RecordWriter writer;
  writer.write(program);
  const auto bytes = writer.take();
  std::mt19937 random(2);
  int valid = 0;
  for (int i = 0; i < 20000; ++i) {
    auto flipped = bytes;
    for (uint32_t k = 0; k <= random() % 3; ++k) {
      flipped[random() % flipped.size()] = static_cast<std::byte>(random() % 256);
    }
    try {
      Program p;
      RecordReader reader(flipped);
      reader.read(p);
      validate(p, 128);
      to_text(p);
      ++valid;
    } catch (const UserError&) {
    }
  }
  EXPECT_GT(valid, 0);
  EXPECT_LT(valid, 15000);
}

TEST(Artifact, ForeignFilesAreRecognised) {
  EXPECT_NE(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:1").find("Git LFS"),
            std::string::npos);
  EXPECT_NE(error_of("<!DOCTYPE html><html>").find("HTML"), std::string::npos);
  EXPECT_NE(error_of("").find("is empty"), std::string::npos);
  EXPECT_NE(error_of("PK\x03\x04 whatever else").find("not a symtile artifact"), std::string::npos);
}

TEST(Artifact, OtherVersionsAreRefused) {
  auto bytes = artifact_bytes(Sample().parts);
  const uint32_t newer = kFormatVersion + 1;
  std::memcpy(bytes.data() + offsetof(FileHeader, version), &newer, sizeof newer);
  EXPECT_NE(error_of(bytes).find("update the runtime"), std::string::npos) << error_of(bytes);
}

TEST(Artifact, ConstantsAreCheckedUnlessToldNotTo) {
  const Sample sample;
  auto bytes = artifact_bytes(sample.parts);
  const auto view = read_artifact(bytes, "m");
  const auto offset = static_cast<size_t>(view.constants.data() - bytes.data());
  bytes[offset] ^= std::byte{1};
  EXPECT_NE(error_of(bytes).find("checksum of its constants"), std::string::npos);
  EXPECT_NO_THROW(read_artifact(bytes, "m", false));
}

// ---- validation ----------------------------------------------------------------------------

std::string violation(const std::function<void(Program&)>& change) {
  Program p = sample_program();
  change(p);
  try {
    validate(p, 128);
  } catch (const UserError& e) {
    return e.what();
  }
  return "valid";
}

template <typename Op>
Op& first(Program& p) {
  for (Function& f : p.functions) {
    for (Instruction& i : f.code) {
      if (auto* op = std::get_if<Op>(&i)) return *op;
    }
  }
  throw std::logic_error("no such instruction");
}

TEST(Validate, NamesTheFaultyInstruction) {
  EXPECT_EQ(violation([](Program&) {}), "valid");
  EXPECT_EQ(violation([](Program& p) { first<Arena>(p).bytes.value = 999; }),
            "function 'main': instruction 3 (arena): formula 999 is out of range");
}

TEST(Validate, Indices) {
  const auto bad = [](auto change) { return violation(change) != "valid"; };
  EXPECT_TRUE(bad([](Program& p) { first<ConstantTensor>(p).constant.value = 2; }));
  EXPECT_TRUE(bad([](Program& p) { first<ArenaTensor>(p).shape.value = 99; }));
  EXPECT_TRUE(bad([](Program& p) { first<LaunchKernel>(p).kernel.value = 1; }));
  EXPECT_TRUE(bad([](Program& p) { first<CallBuiltin>(p).builtin.value = 1; }));
  EXPECT_TRUE(bad([](Program& p) { first<EvalDim>(p).slot.value = 2; }));
  EXPECT_TRUE(bad([](Program& p) { first<HeapTensor>(p).result.value = 4; }));
  EXPECT_TRUE(bad([](Program& p) { first<HeapTensor>(p).output = 0; }));  // not in the entry
  EXPECT_TRUE(bad([](Program& p) { p.entry.value = 2; }));
  EXPECT_TRUE(bad([](Program& p) { p.entry.value = 0; }));
  EXPECT_TRUE(bad([](Program& p) { p.functions[0].slot_names.clear(); }));
}

TEST(Validate, CallsAndRecursion) {
  const auto bad = [](auto change) { return violation(change) != "valid"; };
  EXPECT_TRUE(bad([](Program& p) { first<Loop>(p).body.value = 1; }));
  EXPECT_TRUE(bad([](Program& p) { first<Loop>(p).carried.clear(); }));
  EXPECT_TRUE(bad([](Program& p) { first<Loop>(p).dims.clear(); }));
  EXPECT_TRUE(bad([](Program& p) { first<LaunchKernel>(p).buffers.pop_back(); }));
  EXPECT_TRUE(bad([](Program& p) { first<LaunchKernel>(p).symbols.clear(); }));
}

TEST(Validate, RegistersAreDefinedBeforeUse) {
  EXPECT_NE(violation([](Program& p) {
              first<ViewTensor>(p).source.value = 8;
            }).find("register 8 is empty"),
            std::string::npos);
  EXPECT_NE(
      violation([](Program& p) { first<Release>(p).value.value = 7; }).find("register 7 is empty"),
      std::string::npos);
  EXPECT_NE(violation([](Program& p) { first<ViewTensor>(p).source.value = 4; }), "valid");
}

TEST(Validate, ConstantsAndParametersAreReadOnly) {
  EXPECT_NE(violation([](Program& p) { first<Copy>(p).target.value = 3; }).find("is read-only"),
            std::string::npos);
  EXPECT_NE(violation([](Program& p) { first<StoreDims>(p).target.value = 0; }), "valid");
}

TEST(Validate, Constants) {
  EXPECT_NE(violation([](Program& p) { p.constants[0].dims = {-2, -3}; }), "valid");
  EXPECT_NE(violation([](Program& p) { p.constants[0].dims = {1 << 30, 1 << 30, 1 << 30}; }),
            "valid");
  EXPECT_NE(violation([](Program& p) { p.constants[1].offset = 128; }), "valid");
  EXPECT_NE(violation([](Program& p) { p.constants[1].offset = 8; }), "valid");
}

TEST(Print, ShowsInstructionsAndFormulas) {
  const std::string text = to_text(sample_program());
  EXPECT_NE(text.find("launch_kernel kernel=@add buffers=[%2, %2, %3] symbols=[k]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("bind_dims what=\"input 'x'\" value=%0 dtype=f32 known_rank=true "
                      "dims=[n :=, n 2 *, ?]"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace symtile::format
