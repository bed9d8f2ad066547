// Answers already given about one closure. The passes and schedules of a kernel ask the same
// questions many times over, and a proof over nested max and min costs milliseconds.
//
// Private to shape/. A copy of a closure knows other facts, so it starts with no answers.
#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>

#include "symtile/shape/dim_expr.h"

namespace symtile {

template <typename Answer>
class AnswerCache {
 public:
  AnswerCache() = default;
  AnswerCache(const AnswerCache&) {}
  AnswerCache& operator=(const AnswerCache&) {
    answers_.clear();
    return *this;
  }
  void clear() { answers_.clear(); }

  std::optional<Answer> find(const DimExpr& question) const {
    const std::lock_guard lock(mutex_);
    const auto found = answers_.find(question);
    return found == answers_.end() ? std::nullopt : std::optional(found->second);
  }
  Answer keep(const DimExpr& question, Answer answer) const {
    const std::lock_guard lock(mutex_);
    answers_.try_emplace(question, answer);
    return answer;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::unordered_map<DimExpr, Answer> answers_;
};

}  // namespace symtile
