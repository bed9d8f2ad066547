// symtile run MODEL|ARTIFACT --input NAME=FILE.npy ... --output-dir DIR
#include "commands.h"
#include "symtile/driver/npy.h"

namespace symtile::cli {
namespace {

std::string file_name(const std::string& output) {
  std::string out;
  for (const char c : output) {
    const bool fine =
        std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    out += fine ? c : '_';
  }
  return out.empty() || out[0] == '.' ? "_" + out : out;
}

std::vector<Constant> read_inputs(const api::Model& model, const std::vector<std::string>& specs) {
  std::map<std::string, std::string> files;
  for (const std::string& spec : specs) {
    const size_t eq = spec.rfind('=');
    if (eq == std::string::npos)
      throw UserError("error: --input takes NAME=FILE.npy, not '" + spec + "'");
    files[spec.substr(0, eq)] = spec.substr(eq + 1);
  }
  std::vector<Constant> out;
  for (size_t i = 0; i < symtile_model_input_count(model.get()); ++i) {
    const symtile_value_info* info = symtile_model_input(model.get(), i);
    const auto it = files.find(info->name);
    if (it == files.end()) throw UserError(fmt::format("error: no --input for '{}'", info->name));
    out.push_back(read_npy(it->second));
    files.erase(it);
  }
  if (!files.empty())
    throw UserError(fmt::format("error: the model has no input '{}'", files.begin()->first));
  return out;
}

}  // namespace

void add_run(CLI::App& app) {
  struct Flags {
    std::string model, directory;
    std::vector<std::string> inputs;
    CompileFlags compile;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("run", "run a model on .npy files");
  command->add_option("model", flags->model, "artifact, ONNX model or module text")->required();
  command->add_option("--input", flags->inputs, "NAME=FILE.npy (repeatable)")
      ->allow_extra_args(false);
  command->add_option("--output-dir", flags->directory, "folder for <output>.npy");
  flags->compile.add_to(*command, "--dim");
  flags->compile.add_device_to(*command);
  command->callback([flags] {
    api::Model model = open_model(flags->model, flags->compile.facts, flags->compile.options());
    const std::vector<Constant> inputs = read_inputs(model, flags->inputs);
    api::Session session(model, flags->compile.threads, false, flags->compile.device().c_str());
    const std::vector<Constant> outputs = run_session(session, inputs);
    if (!flags->directory.empty()) std::filesystem::create_directories(flags->directory);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const symtile_value_info* info = symtile_model_output(model.get(), i);
      fmt::print("{} {} ({})\n", info->name, name_of(outputs[i]->dtype),
                 fmt::join(outputs[i]->dims, ", "));
      if (!flags->directory.empty()) {
        write_npy(std::filesystem::path(flags->directory) / (file_name(info->name) + ".npy"),
                  *outputs[i]);
      }
    }
  });
}

}  // namespace symtile::cli
