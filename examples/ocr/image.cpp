#include "image.h"

#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

namespace ocr {
namespace {

/// Where one output column or row lies between two input ones.
struct Tap {
  int first, second;
  float weight;  ///< of the second
};

std::vector<Tap> bilinear_taps(int begin, int end, int count) {
  std::vector<Tap> taps;
  const float scale = static_cast<float>(end - begin) / static_cast<float>(count);
  for (int i = 0; i < count; ++i) {
    const float last = static_cast<float>(end - begin - 1);
    const float at = std::clamp((static_cast<float>(i) + 0.5f) * scale - 0.5f, 0.0f, last);
    const int floor = static_cast<int>(at);
    taps.push_back(
        {begin + floor, std::min(begin + floor + 1, end - 1), at - static_cast<float>(floor)});
  }
  return taps;
}

}  // namespace

Image load_image(const std::string& file) {
  Image image;
  int channels = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load(file.c_str(), &image.width, &image.height, &channels, 3), stbi_image_free);
  if (!pixels)
    throw std::runtime_error("cannot read image '" + file + "': " + stbi_failure_reason());
  image.pixels.assign(pixels.get(), pixels.get() + size_t{3} * image.width * image.height);
  return image;
}

Tensor to_tensor(const Image& image, const Box& box, int width, int height,
                 const Normalisation& n) {
  Tensor out{{1, 3, height, width}, {}};
  out.values.reserve(size_t{3} * width * height);
  const std::vector<Tap> columns = bilinear_taps(box.left, box.right, width);
  const std::vector<Tap> rows = bilinear_taps(box.top, box.bottom, height);
  for (int channel = 0; channel < 3; ++channel) {
    const auto pixel = [&](int x, int y) -> float {
      return image.pixels[(size_t{3} * y * image.width) + (size_t{3} * x) + (2 - channel)];
    };
    for (const Tap& y : rows) {
      for (const Tap& x : columns) {
        const float above = std::lerp(pixel(x.first, y.first), pixel(x.second, y.first), x.weight);
        const float below =
            std::lerp(pixel(x.first, y.second), pixel(x.second, y.second), x.weight);
        const float value = std::lerp(above, below, y.weight) / 255.0f;
        out.values.push_back((value - n.mean[channel]) / n.deviation[channel]);
      }
    }
  }
  return out;
}

}  // namespace ocr
