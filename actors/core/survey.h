// One question to many actors, for reports: nobody is waited for longer than the asker wants.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "actors/future.h"

namespace troupe::detail {

/// Each question carries a copy of the form; the survey is complete when all copies are gone, filled in or not, since an
/// actor that has ended drops its messages. The survey belongs to one thread; any thread may fill in a form.
template <class T>
class Survey {
  struct Answers {
    std::mutex mutex;
    std::vector<T> all;  // guarded by mutex
  };
  struct Sheet {
    Sheet(std::shared_ptr<Answers> a, Promise<void> e) : answers(std::move(a)), ended(std::move(e)) {}
    ~Sheet() { ended.complete(Unit{}); }
    Sheet(const Sheet&) = delete;
    Sheet& operator=(const Sheet&) = delete;
    const std::shared_ptr<Answers> answers;
    const Promise<void> ended;
  };

 public:
  class Form {
   public:
    void add(T answer) const {
      const std::lock_guard lock(sheet_->answers->mutex);
      sheet_->answers->all.push_back(std::move(answer));
    }

   private:
    friend class Survey;
    explicit Form(std::shared_ptr<Sheet> sheet) : sheet_(std::move(sheet)) {}
    std::shared_ptr<Sheet> sheet_;
  };

  struct Outcome {
    std::vector<T> answers;
    bool complete = false;
  };

  explicit Survey(const FutureHome& home) : Survey(Promise<void>(home)) {}

  /// For a question. Not after `wait`.
  [[nodiscard]] Form form() const { return Form(sheet_); }

  /// Waits until all forms are gone, at most `patience`; returns what was said by then.
  [[nodiscard]] Outcome wait(Duration patience) {
    sheet_.reset();
    const bool complete = ended_.get_for(patience).has_value();
    const std::lock_guard lock(answers_->mutex);
    return {std::move(answers_->all), complete};
  }

 private:
  explicit Survey(Promise<void> ended)
      : ended_(ended.future()), sheet_(std::make_shared<Sheet>(answers_, std::move(ended))) {}

  const std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
  const Future<void> ended_;
  std::shared_ptr<Sheet> sheet_;
};

}  // namespace troupe::detail
