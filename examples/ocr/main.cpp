// ocr DETECTOR.symtile RECOGNISER.symtile KEYS.txt [--plain] IMAGE...
//
// Reads the text out of images with the two models of PP-OCRv4. Each was compiled once; here the
// detector runs at the size of every image, and the recogniser at the width of every word or line.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "ctc.h"
#include "image.h"
#include "symtile/symtile.hpp"
#include "text_boxes.h"

namespace ocr {
namespace {

constexpr int kMaxSide = 1280;  // of the image that the detector sees
constexpr int kLineHeight = 48;
constexpr int kMinWidth = 16;
constexpr Normalisation kDetector = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
constexpr Normalisation kRecogniser = {{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}};

/// A compiled model, its session, and the time its runs took.
class Network {
 public:
  explicit Network(const std::string& file) : model_(file), session_(model_) {}

  symtile::api::Output run(const Tensor& x) {
    const auto start = std::chrono::steady_clock::now();
    const auto outputs = session_.run({symtile::api::input(x.values.data(), x.dims)});
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    milliseconds_ += ms.count();
    return outputs.at(0);
  }

  /// Since the last call.
  double take_milliseconds() { return std::exchange(milliseconds_, 0.0); }

 private:
  symtile::api::Model model_;
  symtile::api::Session session_;
  double milliseconds_ = 0;
};

/// The nearest multiple of 32, which the detector's down- and upsampling needs.
int detector_side(int pixels, float scale) {
  return std::max(32, static_cast<int>(std::lround(static_cast<float>(pixels) * scale / 32)) * 32);
}

class Reader {
 public:
  Reader(const std::string& detector, const std::string& recogniser, const std::string& keys)
      : detector_(detector), recogniser_(recogniser), keys_(load_keys(keys)) {}

  void read(const std::string& file, bool plain) {
    const Image image = load_image(file);
    const float scale = std::min(1.0f, static_cast<float>(kMaxSide) /
                                           static_cast<float>(std::max(image.width, image.height)));
    const int width = detector_side(image.width, scale),
              height = detector_side(image.height, scale);
    const Box whole{0, 0, image.width, image.height};
    const auto map = detector_.run(to_tensor(image, whole, width, height, kDetector));
    const auto rows = find_text_rows(map.data<float>(), width, height, image.width, image.height);
    if (!plain) {
      const size_t slash = file.rfind('/');
      std::printf("%s, %d x %d pixels\n",
                  file.c_str() + (slash == std::string::npos ? 0 : slash + 1), image.width,
                  image.height);
      std::printf("  detector   [1, 3, %d, %d]: %.1f ms\n", height, width,
                  detector_.take_milliseconds());
    }
    std::string texts, widths;
    int count = 0;
    for (const std::vector<Box>& row : rows) {
      texts += read_row(image, row, plain, widths);
      count += static_cast<int>(row.size());
    }
    if (!plain) {
      std::printf("  recogniser [1, 3, 48, W], W = %s: %.1f ms for %d texts\n", widths.c_str(),
                  recogniser_.take_milliseconds(), count);
    }
    std::printf("%s", texts.c_str());
    if (!plain) std::printf("\n");
  }

 private:
  std::string read_row(const Image& image, const std::vector<Box>& row, bool plain,
                       std::string& widths) {
    std::string text;
    float confidence = 1;
    for (const Box& box : row) {
      const float ratio = static_cast<float>(box.width()) / static_cast<float>(box.height());
      const int width = std::max(kMinWidth, static_cast<int>(std::lround(kLineHeight * ratio)));
      const auto steps = recogniser_.run(to_tensor(image, box, width, kLineHeight, kRecogniser));
      const Text read = decode(steps.data<float>(), steps.dims().at(1), steps.dims().at(2), keys_);
      text += (text.empty() ? "" : " ") + read.text;
      confidence = std::min(confidence, read.confidence);
      widths += (widths.empty() ? "" : " ") + std::to_string(width);
    }
    if (plain) return text + "\n";
    char shown[32];
    std::snprintf(shown, sizeof shown, "    %.3f  ", confidence);
    return shown + text + "\n";
  }

  Network detector_, recogniser_;
  std::vector<std::string> keys_;
};

int run(int argc, char** argv) {
  std::vector<std::string> files;
  bool plain = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--plain") == 0) {
      plain = true;
    } else {
      files.push_back(argv[i]);
    }
  }
  if (files.size() < 4) {
    std::fprintf(stderr,
                 "usage: ocr DETECTOR.symtile RECOGNISER.symtile KEYS.txt [--plain] IMAGE...\n");
    return 2;
  }
  Reader reader(files[0], files[1], files[2]);
  for (size_t i = 3; i < files.size(); ++i) reader.read(files[i], plain);
  return 0;
}

}  // namespace
}  // namespace ocr

int main(int argc, char** argv) {
  try {
    return ocr::run(argc, argv);
  } catch (const symtile::api::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.status();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
