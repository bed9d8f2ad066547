// Tensors in every encoding, and external data that stays in the model's folder.
#include "symtile/frontend/onnx/tensor_proto.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "symtile/frontend/onnx/onnx_builder.h"

namespace symtile::onnx_import {
namespace {

pb::TensorProto tensor(int type, const std::vector<int64_t>& dims) {
  pb::TensorProto t;
  t.set_name("w");
  t.set_data_type(type);
  for (const int64_t d : dims) t.add_dims(d);
  return t;
}

Constant parse(const pb::TensorProto& t) {
  return parse_onnx_tensor(t.SerializeAsString(), "t.pb");
}

TEST(tensor_proto, typed_fields) {
  pb::TensorProto t = tensor(10, {2});  // float16 as bit patterns in int32_data
  t.add_int32_data(0x3c00);
  t.add_int32_data(0xc000);
  Constant c = parse(t);
  EXPECT_EQ(c->dtype, DType::f16);
  EXPECT_EQ(c->as_double(0), 1.0);
  EXPECT_EQ(c->as_double(1), -2.0);

  t = tensor(3, {2});
  t.add_int32_data(-128);
  t.add_int32_data(127);
  c = parse(t);
  EXPECT_EQ(c->dtype, DType::i8);
  EXPECT_EQ(c->as_int(0), -128);

  t = tensor(12, {1});
  t.add_uint64_data(4294967295u);
  EXPECT_EQ(parse(t)->as_int(0), 4294967295);
  t = tensor(13, {1});
  t.add_uint64_data(~uint64_t{0});
  EXPECT_EQ(parse(t)->as_int(0), -1);
  t = tensor(11, {});
  t.add_double_data(0.1);
  EXPECT_EQ(parse(t)->as_double(0), 0.1);
  EXPECT_TRUE(parse(t)->dims.empty());
  t = tensor(kBool, {2});
  t.add_int32_data(0);
  t.add_int32_data(1);
  EXPECT_EQ(parse(t)->dtype, DType::boolean);
  EXPECT_EQ(parse(t)->as_int(1), 1);
}

TEST(tensor_proto, raw_data) {
  pb::TensorProto t = tensor(kFloat, {1, 2});
  const float values[] = {1.5F, -0.0F};
  t.set_raw_data(values, sizeof values);
  const Constant c = parse(t);
  EXPECT_EQ(c->dims, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(c->as_double(0), 1.5);
  EXPECT_TRUE(std::signbit(c->as_double(1)));

  t = tensor(kBool, {3});
  t.set_raw_data(std::string("\0\1\7", 3));
  EXPECT_EQ(parse(t)->as_int(2), 1) << "any other byte is true, stored as 1";
}

TEST(tensor_proto, empty_tensors) {
  EXPECT_EQ(parse(tensor(kFloat, {0, 3}))->element_count(), 0);
  EXPECT_EQ(parse(tensor(kInt64, {2, 0}))->dims, (std::vector<int64_t>{2, 0}));
}

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("external_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "model" / "sub");
    write(folder_ / "model" / "weights.bin", 64);
    write(folder_ / "model" / "sub" / "weights.bin", 64);
    write(folder_ / "secret.bin", 64);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void write(const std::filesystem::path& file, int size) {
    std::ofstream out(file, std::ios::binary);
    for (int i = 0; i < size; ++i) out.put(static_cast<char>(i));
  }

  /// 4 uint8 elements with the given external data entries.
  pb::TensorProto external(const std::vector<std::pair<std::string, std::string>>& entries) {
    pb::TensorProto t = tensor(2, {4});
    t.set_data_location(pb::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto& e = *t.add_external_data();
      e.set_key(key);
      e.set_value(value);
    }
    return t;
  }

  Constant read(const std::vector<std::pair<std::string, std::string>>& entries) {
    return TensorReader("m.onnx", folder_ / "model").read(external(entries), nullptr);
  }

  void refuse(const std::vector<std::pair<std::string, std::string>>& entries, const char* words) {
    try {
      (void)read(entries);
      FAIL() << "accepted " << entries[0].second;
    } catch (const DiagnosticError& e) {
      EXPECT_EQ(e.id(), DiagId::external_data) << e.what();
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  }

  std::filesystem::path folder_;
};

TEST_F(ExternalData, inside_the_folder) {
  EXPECT_EQ(read({{"location", "weights.bin"}, {"offset", "8"}, {"length", "4"}})->as_int(3), 11);
  EXPECT_EQ(read({{"location", "./sub//weights.bin"}})->as_int(3), 3);
}

TEST_F(ExternalData, paths_that_leave_the_folder) {
  refuse({{"location", "../secret.bin"}}, "'..'");
  refuse({{"location", "sub/../../secret.bin"}}, "'..'");
  refuse({{"location", (folder_ / "secret.bin").string()}}, "absolute");
  refuse({{"location", "..\\secret.bin"}}, "backslash");
  refuse({{"location", "C:secret.bin"}}, "absolute");
  refuse({{"location", std::string("weights.bin\0x", 13)}}, "zero byte");
  refuse({{"location", ""}}, "empty");
  refuse({{"location", "./"}}, "names no file");
  refuse({{"location", "*/_ORT_MEM_ADDR_/*"}}, "memory");
}

TEST_F(ExternalData, links_and_special_files) {
  const auto model = folder_ / "model";
  std::filesystem::create_symlink(folder_ / "secret.bin", model / "link.bin");
  refuse({{"location", "link.bin"}}, "symbolic link");
  std::filesystem::create_directory_symlink(folder_, model / "up");
  refuse({{"location", "up/secret.bin"}}, "symbolic link");
  std::filesystem::create_hard_link(folder_ / "secret.bin", model / "hard.bin");
  refuse({{"location", "hard.bin"}}, "hard links");
  refuse({{"location", "sub"}}, "not a regular file");
  ASSERT_EQ(mkfifo((model / "pipe").c_str(), 0600), 0);
  refuse({{"location", "pipe"}}, "not a regular file");
}

TEST_F(ExternalData, ranges) {
  refuse({{"location", "gone.bin"}}, "cannot be opened");
  refuse({{"offset", "0"}}, "without a location");
  refuse({{"location", "weights.bin"}, {"length", "5"}}, "length 5");
  refuse({{"location", "weights.bin"}, {"offset", "61"}}, "truncated");
  refuse({{"location", "weights.bin"}, {"offset", "-1"}}, "not a valid number");
  refuse({{"location", "weights.bin"}, {"offset", "9223372036854775807"}}, "truncated");
  refuse({{"location", "weights.bin"}, {"offset", "18446744073709551615"}}, "not a valid number");
  refuse({{"location", "weights.bin"}, {"offset", "4x"}}, "not a valid number");
  refuse({{"location", "weights.bin"}, {"location", "sub/weights.bin"}}, "twice");
}

TEST_F(ExternalData, a_small_file_cannot_be_read_over_and_over) {
  TensorReader reader("m.onnx", folder_ / "model");
  const pb::TensorProto t = external({{"location", "weights.bin"}});
  for (int i = 0; i < 64; ++i) (void)reader.read(t, nullptr);
  try {
    (void)reader.read(t, nullptr);
    FAIL();
  } catch (const DiagnosticError& e) {
    EXPECT_EQ(name_of(e.id()), "too_large");
  }
}

TEST_F(ExternalData, tensors_that_stand_alone_have_none) {
  EXPECT_THROW((void)parse(external({{"location", "weights.bin"}})), DiagnosticError);
}

TEST_F(ExternalData, of_a_model) {
  ModelBuilder m;
  m.input("x", 2, {4});
  *m.graph.add_initializer() = external({{"location", "weights.bin"}, {"offset", "4"}});
  m.node("Concat", {"x", "w"}, {"y"});
  set(*m.graph.mutable_node(0), "axis", 0);
  m.output("y");
  const std::string bytes = m.bytes();
  std::ofstream(folder_ / "model" / "m.onnx", std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_NO_THROW((void)import_onnx(folder_ / "model" / "m.onnx"));
}

}  // namespace
}  // namespace symtile::onnx_import
