#include "symtile/backend/llvm/link_shared.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "symtile/base/check.h"

LLD_HAS_DRIVER(elf)

namespace symtile::codegen {
namespace {

/// A fresh folder that vanishes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "symtile-link-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw EnvironmentError(
          fmt::format("cannot create a temporary folder {}: {}", pattern, std::strerror(errno)));
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw EnvironmentError(fmt::format("cannot write {}", path));
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw EnvironmentError(fmt::format("cannot read {}", path));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

/// LLD keeps its state in globals, so one link at a time per process.
std::mutex& link_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

std::vector<std::byte> link_shared(const std::vector<std::string>& objects,
                                   const std::vector<std::string>& exports) {
  const TemporaryFolder folder;
  std::vector<std::string> args = {"ld.lld",
                                   "-shared",
                                   "--gc-sections",
                                   "--hash-style=gnu",
                                   "--build-id=none",
                                   "--threads=1",
                                   "--strip-all",
                                   "-z",
                                   "now",
                                   "-o",
                                   folder.file("out.so")};
  // One version script instead of a flag for each symbol: LLD matches exact names by hash.
  std::string script = "{ global:";
  for (const std::string& name : exports) script += " " + name + ";";
  script += " local: *; };\n";
  write_file(folder.file("exports"), exports.empty() ? "{ local: *; };\n" : script);
  args.push_back("--version-script=" + folder.file("exports"));
  for (size_t i = 0; i < objects.size(); ++i) {
    args.push_back(folder.file(std::to_string(i) + ".o"));
    write_file(args.back(), objects[i]);
  }
  std::vector<const char*> argv;
  for (const std::string& arg : args) argv.push_back(arg.c_str());

  std::string messages;
  {
    const std::lock_guard<std::mutex> lock(link_mutex());
    llvm::raw_string_ostream stream(messages);
    const lld::Result result = lld::lldMain(argv, stream, stream, {{lld::Gnu, &lld::elf::link}});
    SYMTILE_CHECK(result.retCode == 0 && result.canRunAgain, "linking failed: {}", messages);
  }
  return read_file(folder.file("out.so"));
}

}  // namespace symtile::codegen
