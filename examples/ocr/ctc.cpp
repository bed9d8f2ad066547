#include "ctc.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace ocr {

std::vector<std::string> load_keys(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot open '" + file + "'");
  std::vector<std::string> keys = {""};
  for (std::string line; std::getline(in, line);) keys.push_back(line);
  keys.push_back(" ");
  return keys;
}

Text decode(const float* probabilities, int64_t steps, int64_t classes,
            const std::vector<std::string>& keys) {
  if (static_cast<size_t>(classes) != keys.size()) {
    throw std::runtime_error("the recogniser knows " + std::to_string(classes) +
                             " characters, the keys are " + std::to_string(keys.size()));
  }
  Text out;
  int64_t characters = 0, previous = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const float* row = probabilities + step * classes;
    const int64_t best = std::max_element(row, row + classes) - row;
    if (best != 0 && best != previous) {
      out.text += keys[best];
      out.confidence += row[best];
      ++characters;
    }
    previous = best;
  }
  if (characters > 0) out.confidence /= static_cast<float>(characters);
  return out;
}

}  // namespace ocr
