// From the recogniser's probabilities of characters, step by step, to text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ocr {

/// The characters by class: 0 is the blank, then the lines of the file, then a space.
std::vector<std::string> load_keys(const std::string& file);

struct Text {
  std::string text;      ///< UTF-8
  float confidence = 0;  ///< mean probability of the characters
};

/// Greedy CTC decoding of steps x classes probabilities: repeated characters are one, blanks none.
Text decode(const float* probabilities, int64_t steps, int64_t classes,
            const std::vector<std::string>& keys);

}  // namespace ocr
