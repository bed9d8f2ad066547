// model_test [--device opencl] GOLDEN/<model> [MODELS]: compiles the model once and runs it at
// every shape of its golden cases, in one session; each output must agree with ONNX Runtime's. Exit
// code 77: skipped.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "golden_cases.h"
#include "symtile/base/check.h"
#include "symtile/driver/driver.h"
#include "symtile/runtime/device.h"

namespace symtile::test {
namespace {

constexpr int kSkipped = 77;
constexpr int kThreads = 2;

using Outputs = std::map<std::string, Constant>;

/// A model with the one session in which all its cases run.
class CompiledOnce {
 public:
  CompiledOnce(const std::filesystem::path& file, const std::string& device)
      : model_(open(file, device)), session_(model_, kThreads, false, device.c_str()) {}

  Outputs run(const Outputs& inputs) {
    std::vector<Constant> in_order;
    for (size_t i = 0; i < model_.input_count(); ++i)
      in_order.push_back(inputs.at(model_.input(i).name));
    const std::vector<Constant> results = run_session(session_, in_order);
    Outputs out;
    for (size_t i = 0; i < results.size(); ++i) out[model_.output(i).name] = results[i];
    return out;
  }

 private:
  static api::Model open(const std::filesystem::path& file, const std::string& device) {
    const auto start = std::chrono::steady_clock::now();
    CompileOptions options;
    options.targets = {device};
    api::Model model = open_model(file, {}, options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fmt::print("compiled {} in {:.2f} s\n", file.filename().string(), seconds.count());
    return model;
  }

  api::Model model_;
  api::Session session_;
};

/// The values one after another below a new first axis.
Constant stack(const std::vector<Constant>& frames) {
  std::vector<int64_t> dims = frames.at(0)->dims;
  dims.insert(dims.begin(), static_cast<int64_t>(frames.size()));
  std::vector<std::byte> bytes;
  for (const Constant& frame : frames)
    bytes.insert(bytes.end(), frame->bytes.begin(), frame->bytes.end());
  return make_constant(frames[0]->dtype, dims, std::move(bytes));
}

Outputs run_case(CompiledOnce& model, const GoldenCase& c) {
  std::map<std::string, std::vector<Constant>> collected;
  Outputs state;
  for (int frame = 0; frame < c.frames; ++frame) {
    Outputs inputs = state;
    for (const auto& spec : c.inputs) inputs.try_emplace(spec.at("name"), make_input(spec, frame));
    for (const auto& [name, output] : model.run(inputs)) {
      collected[name].push_back(output);
      const auto taken = c.carry.find(name);
      if (taken != c.carry.end()) state[taken->second] = output;
    }
  }
  Outputs out;
  for (const auto& [name, frames] : collected) {
    out[name] = c.frames == 1 || c.carry.count(name) ? frames.back() : stack(frames);
  }
  return out;
}

/// Prints a line for each output; whether all agree.
bool check(const std::string& name, const std::vector<GoldenOutput>& expected,
           const Outputs& actual) {
  bool passed = true;
  for (const GoldenOutput& output : expected) {
    const auto it = actual.find(output.name);
    if (it == actual.end()) throw UserError("the model has no output " + output.name);
    const Comparison result = compare(output, it->second);
    passed &= result.passed();
    fmt::print("{} {:14} {:20} max error {:.2e}, {:.4f} of the tolerance{}{}\n",
               result.passed() ? "ok    " : "FAILED", name, output.name, result.max_error,
               result.of_tolerance, result.mismatch.empty() ? "" : ": ", result.mismatch);
  }
  std::fflush(stdout);
  return passed;
}

/// The model must refuse the shape with an error about the input.
bool check_fails(CompiledOnce& model, const GoldenCase& c) {
  std::string message;
  try {
    run_case(model, c);
    fmt::print("FAILED {:14} ran, but must not\n", c.name);
    return false;
  } catch (const UserError& error) {
    message = error.what();
  } catch (const api::Error& error) {
    if (error.status() != SYMTILE_USER_ERROR) throw;
    message = error.what();
  }
  fmt::print("ok     {:14} is refused: {}\n", c.name, message);
  return true;
}

bool run_model(const std::filesystem::path& golden, const std::filesystem::path& file,
               const std::string& device) {
  CompiledOnce model(file, device);
  const std::vector<GoldenCase> cases = read_golden_cases(golden);
  bool passed = !cases.empty();
  for (const GoldenCase& c : cases) {
    try {
      passed &= c.fails ? check_fails(model, c) : check(c.name, c.outputs, run_case(model, c));
    } catch (const std::exception& error) {
      fmt::print("FAILED {:14} {}\n", c.name, error.what());
      passed = false;
    }
  }
  return passed;
}

/// Frames of 32 numbers -> windows, 8 frames apart, as one batch.
Constant windows_of(const Constant& mel, int64_t window, int64_t hop) {
  const int64_t frames = mel->element_count() / 32, count = (frames - window) / hop + 1;
  auto out = make_zeros(DType::f32, {count, window, 32, 1});
  for (int64_t i = 0; i < out->element_count(); ++i) {
    const int64_t in_window = i % (window * 32), start = i / (window * 32) * hop * 32;
    out->set(i, static_cast<float>(mel->as_double(start + in_window)) / 10.0f + 2.0f);
  }
  return out;
}

/// Audio -> melspectrogram -> embedding -> classifier.
bool run_chain(const std::filesystem::path& golden, const std::filesystem::path& models,
               const std::string& device) {
  const nlohmann::json manifest = read_json(golden / "cases.json");
  const nlohmann::json& chain = manifest.at("chain");
  std::vector<CompiledOnce> stages;
  for (const std::string name : chain.at("models"))
    stages.emplace_back(models / (name + ".onnx"), device);
  const auto only = [](const Outputs& outputs) { return outputs.begin()->second; };
  const Constant mel = only(stages[0].run({{"input", make_input(chain.at("inputs")[0], 0)}}));
  const Constant windows = windows_of(mel, chain.at("window"), chain.at("hop"));
  const Constant batch = only(stages[1].run({{"input_1", windows}}));
  const Constant vectors = make_constant(DType::f32, {batch->dims.at(0), 96}, batch->bytes);
  const size_t tail = 16 * 96 * sizeof(float);
  const Constant last =
      make_constant(DType::f32, {1, 16, 96}, {vectors->bytes.end() - tail, vectors->bytes.end()});
  const Constant score = only(stages[2].run({{"x.1", last}}));
  return check("chain", read_golden_outputs(golden, manifest.at("outputs")),
               {{"embedding", vectors}, {"score", score}});
}

int run(const std::filesystem::path& golden, const std::filesystem::path& models,
        const std::string& device) {
  const std::string name = golden.filename().string();
  const bool is_chain = name == "wake_chain";
  const nlohmann::json manifest = read_json(golden / "cases.json");
  std::vector<std::string> needed = {name};
  if (is_chain) needed = manifest.at("chain").at("models").get<std::vector<std::string>>();
  for (const std::string& model : needed) {
    if (!std::filesystem::exists(models / (model + ".onnx"))) {
      fmt::print("SKIP: model {} is not in {}; run scripts/fetch_models.py or export_models.py\n",
                 model, models.string());
      return kSkipped;
    }
  }
  fmt::print("{} against {}\n", name, manifest.at("producer").get<std::string>());
  return (is_chain ? run_chain(golden, models, device)
                   : run_model(golden, models / (name + ".onnx"), device))
             ? 0
             : 1;
}

}  // namespace
}  // namespace symtile::test

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string device = "cpu";
  if (arguments.size() >= 2 && arguments[0] == "--device") {
    device = arguments[1];
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  if (arguments.empty() || arguments.size() > 2) {
    std::fprintf(stderr, "usage: model_test [--device opencl] GOLDEN/<model> [MODELS]\n");
    return 2;
  }
  try {
    const std::string reason = device == "cpu" ? "" : symtile::why_no_device(device);
    if (!reason.empty()) {
      fmt::print("SKIP: {}\n", reason);
      return symtile::test::kSkipped;
    }
    std::filesystem::path models;
    if (arguments.size() == 2) {
      models = arguments[1];
    } else if (const char* cache = std::getenv("SYMTILE_CACHE"); cache && *cache) {
      models = std::filesystem::path(cache) / "models";
    } else if (const char* home = std::getenv("HOME")) {
      models = std::filesystem::path(home) / ".cache/symtile/models";
    }
    return symtile::test::run(arguments[0], models, device);
  } catch (const std::exception& error) {
    fmt::print("FAILED {}\n", error.what());
    return 1;
  }
}
