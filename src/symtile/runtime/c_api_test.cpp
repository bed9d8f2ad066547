#include "symtile/runtime/c_api_test.h"

#include <gtest/gtest.h>

#include "symtile/runtime/test_model.h"
#include "symtile/symtile.hpp"

namespace symtile::testing {
namespace {

TEST(CApi, AsC99) {
  const auto artifact = test_artifact(add_program());
  const char* wrong = symtile_c_api_test(artifact.data(), artifact.size());
  EXPECT_EQ(wrong, nullptr) << wrong;
}

TEST(CppApi, RunsAndThrows) {
  const auto artifact = test_artifact(add_program());
  const api::Model model(artifact.data(), artifact.size());
  EXPECT_EQ(model.arena_bytes({{"n", 1}}), 80);
  EXPECT_STREQ(model.input(0).name, "x");
  EXPECT_THROW(model.output(1), api::Error);
  api::Session session(model, 1);
  const std::vector<float> x = {1, 2, 3, 4};
  const auto outputs = session.run({api::input(x.data(), {1, 4}), api::input(x.data(), {1, 4})});
  EXPECT_EQ(outputs[0].data<float>()[3], 12);
  EXPECT_EQ(outputs[0].dims(), (std::vector<int64_t>{1, 4}));
  EXPECT_THROW(outputs[0].data<double>(), api::Error);
  try {
    session.run({api::input(x.data(), {4, 1}), api::input(x.data(), {4, 1})});
    FAIL();
  } catch (const api::Error& e) {
    EXPECT_EQ(e.status(), SYMTILE_USER_ERROR);
    EXPECT_STREQ(e.what(),
                 "error[bad_input]: input 'x': dimension 1 is 1, but the model expects 4");
  }
}

}  // namespace
}  // namespace symtile::testing
