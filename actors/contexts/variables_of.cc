#include "actors/contexts/variables_of.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "actors/references/references.h"

namespace troupe::detail {
namespace {

/// Collects values that may arrive on several threads.
class Collector {
 public:
  using Done = std::function<void(Result<std::vector<Variable>>)>;

  Collector(std::vector<RRefId> rrefs, Done done)
      : rrefs_(std::move(rrefs)), found_(rrefs_.size()), awaited_(rrefs_.size()), done_(std::move(done)) {}

  void found(std::size_t index, const Result<ValueBox>& value) {
    {
      std::lock_guard lock(mutex_);
      if (!value) {
        if (!error_) error_ = value.error();
      } else if (const auto variable = value.value().as<Variable>()) {
        found_[index] = *variable;
      } else if (!error_) {
        error_ = not_a_variable(rrefs_[index]);
      }
      if (--awaited_ > 0) return;
    }
    if (error_) {
      done_(*error_);
    } else {
      done_(std::move(found_));
    }
  }

 private:
  static Error not_a_variable(const RRefId& rref) {
    Error error;
    error.code = ErrorCode::bad_argument;
    error.message = fmt::format("RRef {} does not hold a Variable", rref.text());
    return error;
  }

  const std::vector<RRefId> rrefs_;
  std::mutex mutex_;
  std::vector<Variable> found_;  // guarded by mutex_ until all are in
  std::size_t awaited_;          // guarded by mutex_
  std::optional<Error> error_;   // guarded by mutex_ until all are in
  const Done done_;
};

}  // namespace

void variables_of(NodeCore& node, const std::vector<RRefId>& rrefs, const NodeLife& asker,
                  std::function<void(Result<std::vector<Variable>>)> done) {
  if (rrefs.empty()) return done(std::vector<Variable>());
  auto collector = std::make_shared<Collector>(rrefs, std::move(done));
  for (std::size_t i = 0; i < rrefs.size(); ++i) {
    node.references().value_of(rrefs[i], asker,
                               [collector, i](const Result<ValueBox>& value) { collector->found(i, value); });
  }
}

}  // namespace troupe::detail
