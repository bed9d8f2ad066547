// Images, and their way into tensors of the layout [1, 3, height, width].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ocr {

/// 8-bit red, green, blue; rows from the top.
struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

/// Left and top inside, right and bottom outside.
struct Box {
  int left, top, right, bottom;
  int width() const { return right - left; }
  int height() const { return bottom - top; }
};

/// PNG, JPEG and what else stb_image reads. Throws std::runtime_error.
Image load_image(const std::string& file);

/// What a model expects of a channel: (value / 255 - mean) / deviation; channels blue, green, red.
struct Normalisation {
  float mean[3], deviation[3];
};

struct Tensor {
  std::vector<int64_t> dims;
  std::vector<float> values;
};

/// The part of the image in `box`, scaled bilinearly to width x height.
Tensor to_tensor(const Image& image, const Box& box, int width, int height, const Normalisation& n);

}  // namespace ocr
