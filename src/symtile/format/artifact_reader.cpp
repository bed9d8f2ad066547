#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>

#include "symtile/base/check.h"
#include "symtile/format/archive.h"
#include "symtile/format/artifact.h"
#include "symtile/format/artifact_layout.h"
#include "symtile/format/hash.h"
#include "symtile/format/validate.h"

namespace symtile::format {
namespace {

using Span = std::span<const std::byte>;

class ArtifactReader {
 public:
  ArtifactReader(Span file, const std::string& name) : file_(file), name_(name) {}

  ArtifactView read(bool verify_constants) {
    read_table();
    ArtifactView view;
    size_t next = 0;
    const auto take = [&](SectionKind kind) -> const SectionRecord& {
      if (next >= table_.size() || table_[next].kind != kind) fail("has its sections in disorder");
      return table_[next++];
    };
    decode(take(SectionKind::manifest), view.manifest);
    decode(take(SectionKind::program), view.program);
    const SectionRecord& constants = take(SectionKind::constants);
    view.constants = bytes_of(constants);
    checked([&] { validate(view.program, view.constants.size()); });
    if (verify_constants) check_constants(view, constants.checksum);
    while (next < table_.size() && table_[next].kind != SectionKind::device_info) {
      ArtifactView::Code code;
      decode(take(SectionKind::code_info), code.info);
      checked([&] { validate(code.info, view.program); });
      const SectionRecord& object = take(SectionKind::code);
      code.object = verified(object);
      view.code.push_back(std::move(code));
    }
    while (next < table_.size()) {
      ArtifactView::Device device;
      decode(take(SectionKind::device_info), device.info);
      checked([&] { validate(device.info, view.program); });
      const Span text = verified(take(SectionKind::device_code));
      device.text = {reinterpret_cast<const char*>(text.data()), text.size()};
      view.devices.push_back(std::move(device));
    }
    return view;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("error[bad_model_file]: '{}' {}", name_, what));
  }
  template <typename F>
  void checked(F&& f) const {
    try {
      f();
    } catch (const UserError& e) {
      fail(fmt::format("is corrupt: {}", e.what()));
    }
  }

  template <typename T>
  T record_at(uint64_t offset) const {
    T out;
    std::memcpy(&out, file_.data() + offset, sizeof out);
    return out;
  }

  /// What a file without our magic most likely is.
  std::string foreign() const {
    const std::string_view text(reinterpret_cast<const char*>(file_.data()),
                                std::min<size_t>(file_.size(), 256));
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (text.empty()) return "is empty";
    if (lower.starts_with("version https://git-lfs")) {
      return "is a Git LFS pointer, not the artifact itself; fetch it with 'git lfs pull'";
    }
    if (lower.find("<!doctype html") != std::string::npos ||
        lower.find("<html") != std::string::npos) {
      return "is an HTML page, not an artifact; the download went wrong";
    }
    return "is not a symtile artifact; compile a model with 'symtile compile' first";
  }

  void read_table() {
    if (file_.size() < sizeof kMagic || std::memcmp(file_.data(), kMagic.data(), sizeof kMagic)) {
      fail(foreign());
    }
    if (file_.size() < sizeof(FileHeader)) fail("is truncated: its header is incomplete");
    const auto header = record_at<FileHeader>(0);
    if (header.version != kFormatVersion) {
      fail(fmt::format(
          "has format version {}, but this runtime reads version {}; {}", header.version,
          kFormatVersion,
          header.version > kFormatVersion ? "update the runtime" : "compile the model again"));
    }
    if (file_.size() != header.file_bytes) {
      fail(fmt::format("is {}: it has {} bytes, but {} belong to it",
                       file_.size() < header.file_bytes ? "truncated" : "too long", file_.size(),
                       header.file_bytes));
    }
    if (header.sections > kMaxSections ||
        header.sections * sizeof(SectionRecord) > file_.size() - sizeof header) {
      fail("is corrupt: too many sections");
    }
    const Span table = file_.subspan(sizeof header, header.sections * sizeof(SectionRecord));
    if (xxh64(table, header.file_bytes) != header.table_checksum) {
      fail("is corrupt: the checksum of its section table does not agree");
    }
    for (uint32_t i = 0; i < header.sections; ++i) {
      table_.push_back(record_at<SectionRecord>(sizeof header + i * sizeof(SectionRecord)));
      const SectionRecord& s = table_.back();
      if (s.offset % kAlignment != 0 || s.offset > file_.size() ||
          s.bytes > file_.size() - s.offset) {
        fail(fmt::format("is corrupt: section {} lies outside the file", i));
      }
    }
  }

  Span bytes_of(const SectionRecord& s) const { return file_.subspan(s.offset, s.bytes); }

  Span verified(const SectionRecord& s) const {
    const Span bytes = bytes_of(s);
    if (xxh64(bytes) != s.checksum) {
      fail(fmt::format("is corrupt: the checksum of section {} does not agree",
                       static_cast<uint32_t>(s.kind)));
    }
    return bytes;
  }

  template <typename T>
  void decode(const SectionRecord& section, T& record) const {
    const Span bytes = verified(section);
    checked([&] {
      RecordReader reader(bytes);
      reader.read(record);
      if (!reader.at_end()) throw UserError("a section has bytes left over");
    });
  }

  void check_constants(const ArtifactView& view, uint64_t expected) const {
    std::vector<uint64_t> hashes;
    for (const ConstantInfo& c : view.program.constants) {
      hashes.push_back(xxh64(view.constants.subspan(c.offset, c.bytes)));
    }
    if (xxh64(std::as_bytes(std::span(hashes))) != expected) {
      fail("is corrupt: the checksum of its constants does not agree");
    }
  }

  const Span file_;
  const std::string& name_;
  std::vector<SectionRecord> table_;
};

}  // namespace

ArtifactView read_artifact(Span file, const std::string& name, bool verify_constants) {
  return ArtifactReader(file, name).read(verify_constants);
}

void Manifest::set(std::string key, std::string value) {
  for (auto& [k, v] : entries) {
    if (k == key) {
      v = std::move(value);
      return;
    }
  }
  entries.emplace_back(std::move(key), std::move(value));
}

std::string Manifest::get(std::string_view key) const {
  for (const auto& [k, v] : entries) {
    if (k == key) return v;
  }
  return {};
}

}  // namespace symtile::format
