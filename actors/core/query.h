// One question to many actors, for reports, with a bounded wait.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "actors/core/promise_guard.h"
#include "actors/future.h"

namespace troupe::detail {

/// Each question carries a copy of the reply slot. The query is complete when all copies are destroyed, with a reply or
/// without: an ended actor drops its messages. Thread rule: the query belongs to one thread; any thread may reply.
template <class T>
class Query {
  struct Answers {
    std::mutex mutex;
    std::vector<T> all;  // guarded by mutex
  };
  struct Pending {
    Pending(std::shared_ptr<Answers> a, Promise<void> e) : answers(std::move(a)), ended(std::move(e), Unit{}) {}
    const std::shared_ptr<Answers> answers;
    const PromiseGuard<void> ended;
  };

 public:
  class ReplySlot {
   public:
    void add(T answer) const {
      const std::lock_guard lock(pending_->answers->mutex);
      pending_->answers->all.push_back(std::move(answer));
    }

   private:
    friend class Query;
    explicit ReplySlot(std::shared_ptr<Pending> pending) : pending_(std::move(pending)) {}
    std::shared_ptr<Pending> pending_;
  };

  struct Outcome {
    std::vector<T> answers;
    bool complete = false;
  };

  explicit Query(const FutureHome& home) : Query(Promise<void>(home)) {}

  /// Returns a slot to send with a question. REQUIRES: `wait` was not called.
  [[nodiscard]] ReplySlot slot() const { return ReplySlot(pending_); }

  /// Waits until all slots are destroyed, at most `patience`. Returns the replies received by then.
  [[nodiscard]] Outcome wait(Duration patience) {
    pending_.reset();
    const bool complete = ended_.get_for(patience).has_value();
    const std::lock_guard lock(answers_->mutex);
    return {std::move(answers_->all), complete};
  }

 private:
  explicit Query(Promise<void> ended)
      : ended_(ended.future()), pending_(std::make_shared<Pending>(answers_, std::move(ended))) {}

  const std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
  const Future<void> ended_;
  std::shared_ptr<Pending> pending_;
};

}  // namespace troupe::detail
