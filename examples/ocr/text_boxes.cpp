#include "text_boxes.h"

#include <algorithm>
#include <cmath>

namespace ocr {
namespace {

constexpr float kInk = 0.3f;        // a pixel is text from this probability on
constexpr float kConfident = 0.6f;  // a region is kept from this mean probability on
constexpr int kMinSide = 3;         // in pixels of the map
// The detector marks the shrunken core of a text; its box grows by area * kUnclip / perimeter.
constexpr float kUnclip = 2.0f;

struct Region {
  Box box;
  float mean;
};

/// The connected region of text that contains `start`; its pixels are marked in `seen`.
Region grow_region(const float* map, int width, int height, int start, std::vector<bool>& seen) {
  Region region{{width, height, 0, 0}, 0};
  std::vector<int> open = {start};
  seen[start] = true;
  size_t count = 0;
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    const int x = at % width, y = at / width;
    region.box = {std::min(region.box.left, x), std::min(region.box.top, y),
                  std::max(region.box.right, x + 1), std::max(region.box.bottom, y + 1)};
    region.mean += map[at];
    ++count;
    for (int ny = std::max(y - 1, 0); ny <= std::min(y + 1, height - 1); ++ny) {
      for (int nx = std::max(x - 1, 0); nx <= std::min(x + 1, width - 1); ++nx) {
        const int next = ny * width + nx;
        if (map[next] <= kInk || seen[next]) continue;
        seen[next] = true;
        open.push_back(next);
      }
    }
  }
  region.mean /= static_cast<float>(count);
  return region;
}

/// Grows the box of a core to that of its text, and scales it from the map to the image.
Box unclip(const Box& core, float scale_x, float scale_y, int image_width, int image_height) {
  const float w = static_cast<float>(core.width()), h = static_cast<float>(core.height());
  const float margin = w * h * kUnclip / (2 * (w + h));
  const auto at = [](float v, float scale, int limit) {
    return std::clamp(static_cast<int>(std::lround(v * scale)), 0, limit);
  };
  return {at(static_cast<float>(core.left) - margin, scale_x, image_width),
          at(static_cast<float>(core.top) - margin, scale_y, image_height),
          at(static_cast<float>(core.right) + margin, scale_x, image_width),
          at(static_cast<float>(core.bottom) + margin, scale_y, image_height)};
}

/// A box belongs to the row whose first box its middle lies in.
std::vector<std::vector<Box>> into_rows(std::vector<Box> boxes) {
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.top < b.top; });
  std::vector<std::vector<Box>> rows;
  for (const Box& box : boxes) {
    const int middle = (box.top + box.bottom) / 2;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const std::vector<Box>& r) {
      return middle > r[0].top && middle < r[0].bottom;
    });
    if (row == rows.end()) {
      rows.push_back({box});
    } else {
      row->push_back(box);
    }
  }
  for (std::vector<Box>& row : rows) {
    std::sort(row.begin(), row.end(), [](const Box& a, const Box& b) { return a.left < b.left; });
  }
  return rows;
}

}  // namespace

std::vector<std::vector<Box>> find_text_rows(const float* map, int map_width, int map_height,
                                             int image_width, int image_height) {
  const float scale_x = static_cast<float>(image_width) / static_cast<float>(map_width);
  const float scale_y = static_cast<float>(image_height) / static_cast<float>(map_height);
  std::vector<bool> seen(size_t(map_width) * map_height);
  std::vector<Box> boxes;
  for (int start = 0; start < map_width * map_height; ++start) {
    if (map[start] <= kInk || seen[start]) continue;
    const Region region = grow_region(map, map_width, map_height, start, seen);
    if (region.mean < kConfident) continue;
    if (std::min(region.box.width(), region.box.height()) < kMinSide) continue;
    const Box box = unclip(region.box, scale_x, scale_y, image_width, image_height);
    if (box.width() > 0 && box.height() > 0) boxes.push_back(box);
  }
  return into_rows(std::move(boxes));
}

}  // namespace ocr
