// Malformed and hostile model files: each is a named diagnostic, never a crash or an allocation.
#include <gtest/gtest.h>

#include <functional>

#include "symtile/diag/diagnostic.h"
#include "symtile/frontend/onnx/onnx_builder.h"

namespace symtile::onnx_import {
namespace {

/// x[N, 4] -> Identity -> y
ModelBuilder good() {
  ModelBuilder m;
  m.input("x", kFloat, {"N", 4});
  m.node("Identity", {"x"}, {"y"});
  m.output("y");
  return m;
}

void expect(DiagId id, const std::string& bytes, const char* words = "") {
  try {
    (void)import_onnx_bytes(bytes, "bad.onnx", {});
    FAIL() << "accepted";
  } catch (const DiagnosticError& e) {
    EXPECT_EQ(name_of(e.id()), name_of(id)) << e.what();
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("bad.onnx"), std::string::npos) << e.what();
  }
}

void expect_changed(DiagId id, const std::function<void(ModelBuilder&)>& change,
                    const char* words = "") {
  ModelBuilder m = good();
  change(m);
  expect(id, m.bytes(), words);
}

TEST(hostile_model, the_untouched_model_is_good) { EXPECT_NO_THROW((void)good().import()); }

TEST(hostile_model, files_that_are_something_else) {
  const auto bad = DiagId::bad_model_file;
  expect(bad, "", "empty");
  expect(bad, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "Git-LFS");
  expect(bad, "<!DOCTYPE html><html><body>404</body></html>", "HTML");
  expect(bad, "\n  <html lang=\"en\">", "HTML");
  expect(bad, "ir_version: 8\ngraph {\n}\n", "text form");
  expect(bad, "{\"error\": \"not found\"}", "JSON");
  expect(bad, std::string("PK\x03\x04") + std::string(20, 'x'), "zip");
  expect(bad, "\x1f\x8b\x08", "gzip");
  expect(bad, "GGUF\x03", "GGUF");
  expect(bad, "\x80\x02}q", "pickle");
  expect(bad, std::string("\x10\0\0\0\0\0\0\0{\"a\":1}", 16), "safetensors");
  expect(bad, std::string(64, '\0'), "zeros");
  expect(bad, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "corrupt");
  expect(bad, "\x08\x08", "no graph");
}

TEST(hostile_model, every_truncation_is_an_error_or_another_valid_message) {
  ModelBuilder m = good();
  m.floats("w", {1, 2, 3, 4});
  const std::string bytes = m.bytes();
  for (size_t n = 0; n < bytes.size(); ++n) {
    try {
      (void)import_onnx_bytes(bytes.substr(0, n), "bad.onnx", {});
    } catch (const UserError&) {
    }
  }
}

TEST(hostile_model, flipped_bytes_never_crash) {
  ModelBuilder m = good();
  m.ints("shape", {4, -1});
  m.node("Reshape", {"x", "shape"}, {"z"});
  const std::string bytes = m.bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      try {
        (void)import_onnx_bytes(changed, "bad.onnx", {});
      } catch (const UserError&) {
      }
    }
  }
}

TEST(hostile_model, versions) {
  expect_changed(DiagId::bad_model_file, [](auto& m) { m.model.clear_ir_version(); }, "IR version");
  expect_changed(DiagId::unsupported, [](auto& m) { m.model.set_ir_version(99); }, "IR version 99");
  expect_changed(
      DiagId::bad_model_file, [](auto& m) { m.model.clear_opset_import(); }, "no operator set");
  expect_changed(
      DiagId::bad_model_file, [](auto& m) { m.model.add_opset_import()->set_version(3); }, "twice");
  expect_changed(DiagId::bad_model_file,
                 [](auto& m) { m.model.mutable_opset_import(0)->set_version(-1); });
  expect_changed(
      DiagId::unsupported, [](auto& m) { m.model.mutable_opset_import(0)->set_version(999); },
      "999");
  expect_changed(
      DiagId::bad_model_file,
      [](auto& m) {
        m.model.mutable_opset_import(0)->set_domain("com.example");
        m.node("Reshape", {"x", "x"}, {"r"});
      },
      "does not import");
}

TEST(hostile_model, graph_structure) {
  const auto bad = DiagId::bad_model_file;
  expect_changed(
      bad,
      [](auto& m) {
        m.node("Identity", {"b"}, {"a"});
        m.node("Identity", {"a"}, {"b"});
      },
      "cycle");
  expect_changed(bad, [](auto& m) { m.node("Identity", {"y2"}, {"y2"}); }, "cycle");
  expect_changed(bad, [](auto& m) { m.node("Identity", {"nowhere"}, {"z"}); }, "'nowhere'");
  expect_changed(bad, [](auto& m) { m.node("Identity", {"x"}, {"y"}); }, "'y' is defined twice");
  expect_changed(bad, [](auto& m) { m.node("Identity", {"x"}, {"x"}); }, "'x' is defined twice");
  expect_changed(bad, [](auto& m) { m.input("x", kFloat, {1}); }, "defined twice");
  expect_changed(
      bad,
      [](auto& m) {
        m.ints("w", {1});
        m.ints("w", {2});
      },
      "initialiser 'w'");
  expect_changed(bad, [](auto& m) { m.output("gone"); }, "'gone'");
  expect_changed(bad, [](auto& m) { m.graph.clear_output(); }, "no outputs");
  expect_changed(bad, [](auto& m) { m.node("", {"x"}, {"z"}); }, "no operator type");
  expect_changed(bad, [](auto& m) { m.ints("", {1}); }, "no name");
  expect_changed(
      bad,
      [](auto& m) {
        auto& n = m.node("Shape", {"x"}, {"z"});
        set(n, "start", 0);
        set(n, "start", 1);
      },
      "given twice");
  expect_changed(
      DiagId::bad_attribute,
      [](auto& m) { set(m.node("Shape", {"x"}, {"z"}), "start", std::vector<int64_t>{0}); },
      "must be an integer");
  expect_changed(bad, [](auto& m) { m.node("Exp", {}, {"z"}); }, "needs 1");
  expect_changed(bad, [](auto& m) { m.node("Reshape", {"x"}, {"z"}); }, "no input 1");
  expect_changed(DiagId::unsupported, [](auto& m) { m.graph.add_sparse_initializer(); }, "sparse");
  expect_changed(
      DiagId::too_large, [](auto& m) { m.input(std::string(10000, 'n'), kFloat, {1}); }, "10000");
  expect_changed(
      bad,
      [](auto& m) {
        // Control characters of names must not reach a terminal.
        m.node("Identity", {"\x1b[2J"}, {"z"});
      },
      "\\x1b[2J");
}

TEST(hostile_model, inputs) {
  expect_changed(DiagId::unsupported, [](auto& m) { m.input("s", 8, {1}); }, "string");
  expect_changed(
      DiagId::unsupported,
      [](auto& m) {
        m.input("s", kFloat, {});
        m.graph.mutable_input(1)->mutable_type()->mutable_tensor_type()->clear_shape();
      },
      "rank");
  expect_changed(
      DiagId::unsupported,
      [](auto& m) {
        auto& v = *m.graph.add_input();
        v.set_name("s");
        v.mutable_type()->mutable_sequence_type();
      },
      "not a tensor");
  expect_changed(DiagId::too_large, [](auto& m) {
    m.input("s", kFloat, {1});
    m.graph.mutable_input(1)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_value(INT64_MAX);
  });
}

TEST(hostile_model, tensors) {
  const auto tensor = [](DiagId id, const std::function<void(pb::TensorProto&)>& change,
                         const char* words) {
    expect_changed(id, [&](auto& m) { change(m.ints("w", {1, 2})); }, words);
  };
  const auto bad = DiagId::bad_model_file;
  tensor(bad, [](auto& t) { t.add_int64_data(3); }, "needs 2 elements, but 3");
  tensor(bad, [](auto& t) { t.clear_int64_data(); }, "needs 2 elements, but 0");
  tensor(bad, [](auto& t) { t.set_dims(0, -2); }, "negative");
  tensor(bad, [](auto& t) { t.clear_data_type(); }, "no element type");
  tensor(
      bad,
      [](auto& t) {
        t.clear_int64_data();
        t.set_raw_data("1234567");
      },
      "needs 16 bytes, but 7");
  tensor(bad, [](auto& t) { t.set_raw_data(std::string(16, 'x')); }, "twice");
  tensor(
      bad,
      [](auto& t) {
        t.set_data_type(3);
        t.add_int32_data(300);
        t.add_int32_data(0);
      },
      "300");
  tensor(DiagId::unsupported, [](auto& t) { t.set_data_type(8); }, "string");
  tensor(DiagId::unsupported, [](auto& t) { t.set_data_type(14); }, "complex64");
  tensor(DiagId::unsupported, [](auto& t) { t.set_data_type(17); }, "float8e4m3fn");
  tensor(DiagId::unsupported, [](auto& t) { t.set_data_type(1234); }, "1234");
  tensor(DiagId::unsupported, [](auto& t) { t.mutable_segment(); }, "segments");
  tensor(
      DiagId::too_large,
      [](auto& t) {
        t.set_dims(0, INT64_MAX);
        t.add_dims(INT64_MAX);
      },
      "too large");
  tensor(
      DiagId::too_large,
      [](auto& t) {
        // Empty because of the zero, but the other extents overflow.
        t.clear_int64_data();
        t.set_dims(0, 0);
        t.add_dims(INT64_MAX);
        t.add_dims(INT64_MAX);
      },
      "too large");
  tensor(
      DiagId::too_large,
      [](auto& t) {
        for (int i = 0; i < 100; ++i) t.add_dims(1);
      },
      "rank");
}

TEST(hostile_model, nesting) {
  GraphBuilder inner;
  inner.node("Identity", {"x"}, {"v0"});
  inner.output("v0");
  for (int depth = 1; depth < 40; ++depth) {
    GraphBuilder outer;
    auto& n = outer.node("If", {"c"}, {"v" + std::to_string(depth)});
    set(n, "then_branch", inner.graph);
    outer.output("v" + std::to_string(depth));
    inner = outer;
  }
  ModelBuilder m = good();
  m.input("c", kBool, {});
  auto& n = m.node("If", {"c"}, {"z"});
  set(n, "then_branch", inner.graph);
  expect(DiagId::too_large, m.bytes(), "nested");
}

TEST(hostile_model, shadowing) {
  GraphBuilder branch;
  branch.node("Identity", {"x"}, {"y"});
  branch.output("y");
  ModelBuilder m = good();
  m.input("c", kBool, {});
  auto& n = m.node("If", {"c"}, {"z"});
  n.add_input("y");  // so that y comes first
  set(n, "then_branch", branch.graph);
  expect(DiagId::bad_model_file, m.bytes(), "hides");
}

TEST(hostile_model, functions) {
  const auto function = [](ModelBuilder& m, const char* name, const char* callee) {
    pb::FunctionProto& f = *m.model.add_functions();
    f.set_name(name);
    f.set_domain("local");
    f.add_input("a");
    f.add_output("b");
    pb::NodeProto& n = *f.add_node();
    n.set_op_type(callee);
    n.set_domain("local");
    n.add_input("a");
    n.add_output("b");
  };
  expect_changed(DiagId::bad_model_file, [&](auto& m) { function(m, "f", "f"); }, "calls itself");
  expect_changed(
      DiagId::bad_model_file,
      [&](auto& m) {
        function(m, "f", "g");
        function(m, "g", "f");
      },
      "calls itself");
  expect_changed(
      DiagId::bad_model_file,
      [&](auto& m) {
        function(m, "f", "h");
        function(m, "f", "h");
      },
      "defined twice");
  // Each function calls the next one twice: 2^40 nodes once expanded.
  expect_changed(
      DiagId::too_large,
      [&](auto& m) {
        for (int i = 0; i < 40; ++i) {
          function(m, ("f" + std::to_string(i)).c_str(), ("f" + std::to_string(i + 1)).c_str());
          auto& f = *m.model.mutable_functions(i);
          *f.add_node() = f.node(0);
          f.mutable_node(1)->set_output(0, "unused");
        }
        pb::FunctionProto& last = *m.model.add_functions();
        last.set_name("f40");
        last.set_domain("local");
        last.add_input("a");
        last.add_output("b");
        last.add_opset_import()->set_version(17);
        pb::NodeProto& n = *last.add_node();
        n.set_op_type("Identity");
        n.add_input("a");
        n.add_output("b");
        m.node("f0", {"x"}, {"z"}).set_domain("local");
      },
      "expanded");
  expect_changed(
      DiagId::too_large,
      [&](auto& m) {
        for (int i = 0; i < 100; ++i) {
          function(m, ("f" + std::to_string(i)).c_str(), ("f" + std::to_string(i + 1)).c_str());
        }
        pb::FunctionProto& last = *m.model.add_functions();
        last.set_name("f100");
        last.set_domain("local");
        last.add_input("a");
        last.add_output("a");
        m.node("f0", {"x"}, {"z"}).set_domain("local");
      },
      "deep");
}

TEST(hostile_model, unsupported_operators_are_listed_at_once) {
  GraphBuilder branch;
  branch.node("StringNormalizer", {"x"}, {"s"});
  branch.output("s");
  ModelBuilder m = good();
  m.input("c", kBool, {});
  m.node("FancyGelu", {"x"}, {"a"}).set_domain("com.example");
  m.node("SequenceConstruct", {"x"}, {"b"});
  auto& n = m.node("If", {"c"}, {"z"});
  set(n, "then_branch", branch.graph);
  set(n, "else_branch", branch.graph);
  expect(DiagId::unsupported, m.bytes(), "FancyGelu (domain 'com.example'");
  expect(DiagId::unsupported, m.bytes(),
         "SequenceConstruct (domain 'ai.onnx', version 17), node 'SequenceConstruct_3'");
  expect(DiagId::unsupported, m.bytes(), "StringNormalizer (domain 'ai.onnx'");
  expect(DiagId::unsupported, m.bytes(), "4 of its nodes");
}

TEST(hostile_model, unreadable_files_are_no_user_errors) {
  EXPECT_THROW((void)import_onnx("/nonexistent/model.onnx"), EnvironmentError);
  EXPECT_THROW((void)import_onnx("/"), EnvironmentError);
}

}  // namespace
}  // namespace symtile::onnx_import
