// From the detector's map of text probabilities to boxes around words and lines of text.
#pragma once

#include <vector>

#include "image.h"

namespace ocr {

/// `map` has map_width x map_height probabilities of the image scaled to that size. Boxes are in
/// pixels of the image, in reading order: rows from the top, each from left to right.
std::vector<std::vector<Box>> find_text_rows(const float* map, int map_width, int map_height,
                                             int image_width, int image_height);

}  // namespace ocr
