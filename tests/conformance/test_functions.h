// Functions of calls and references that the nodes of conformance tests serve.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/function_registry.h"
#include "actors/rref.h"
#include "actors/scope.h"
#include "autograd/variable.h"
#include "messages/values.h"
#include "tensor/tensor.h"

namespace troupe::testing {

/// A user struct with tensors in several places.
struct Sample {
  std::string name;
  Tensor image;
  std::vector<std::int64_t> labels;
  std::map<std::string, Tensor> extra;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, image, labels, extra);
  }
};

using Nested = std::map<std::string, std::vector<std::optional<std::pair<std::int32_t, std::string>>>>;

/// Can be sent, but throws a user exception when it is read.
struct Unreadable {
  int value = 0;
  template <class Archive>
  void save(Archive& ar) const {
    ar(value);
  }
  template <class Archive>
  void load(Archive& ar) {
    ar(value);
    throw std::runtime_error("not today");
  }
};

Tensor add(const Tensor& x, double y);
std::int64_t scale(std::int64_t x, std::int32_t times);
std::int64_t square(std::int64_t x) noexcept;
std::string join_words(const std::vector<std::string>& words);
void nothing();
Sample echo_sample(const Sample& sample);
Nested echo_nested(const Nested& nested);
std::vector<Tensor> echo_tensors(std::vector<Tensor> tensors);
std::string device_of(const Tensor& tensor);
Variable echo_variable(Variable variable);
Variable times(Scope& scope, const Variable& x, const RRef<Variable>& w);
Unreadable unreadable(std::int32_t value);

/// Fills the first tensor with `value` and returns all.
std::vector<Tensor> write_first(std::vector<Tensor> tensors, double value);

NodeName where(Scope& scope);
void throw_text(const std::string& text);
std::int32_t throw_number();
std::int32_t throw_out_of_range();

/// Calls throw_text on `other` and does not catch.
void fail_on(Scope& scope, const NodeName& other, const std::string& text);

/// Calls itself on `other` and back until `depth` is used up; returns the number of nested calls made.
std::int32_t ping_pong(Scope& scope, const NodeName& other, std::int32_t depth);

std::optional<std::int64_t> time_left_ms(Scope& scope);
std::optional<std::int64_t> time_left_on(Scope& scope, const NodeName& other);

/// Returns `square` on `other` plus 1, by `then`.
std::int64_t square_on_and_one(Scope& scope, const NodeName& other, std::int64_t x);

/// Waits until the caller cancels or is gone, at most 20 s.
bool wait_until_stopped(Scope& scope);

/// Calls wait_until_stopped on `other`.
bool wait_on(Scope& scope, const NodeName& other);

/// Answers after `ms`, also if no caller waits any more.
std::int32_t answer_after(std::int32_t ms);

/// Holds its thread for `ms`, as a computation would.
std::int32_t compute_for(std::int32_t ms);

/// The counts of `scope`'s node. They include the call that fetches them.
struct Counts {
  std::uint64_t pending_requests = 0;
  std::uint64_t served_calls = 0;
  std::uint64_t owned_values = 0;
  std::uint64_t handles = 0;
  std::uint64_t forks = 0;
  std::uint64_t contexts = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(pending_requests, served_calls, owned_values, handles, forks, contexts);
  }
};
Counts counts_here(Scope& scope);

/// Returns when `scope`'s node is connected to a world of `nodes` nodes, itself included.
void await_world(Scope& scope, std::uint64_t nodes);

/// The members that `scope`'s node sees.
std::vector<NodeName> members_here(Scope& scope);

/// Not thread-safe.
class Counter {
 public:
  Counter() = default;
  explicit Counter(std::int64_t start) : value_(start) {}

  /// Reads, lets other calls run, writes.
  void increment();
  std::int64_t add(std::int64_t amount);
  [[nodiscard]] std::int64_t value() const { return value_; }
  [[nodiscard]] std::int64_t plus(std::int64_t amount) const noexcept { return value_ + amount; }
  /// Holds its thread, and so its turn, for `ms`. Then adds 1.
  void compute_for(std::int32_t ms);

  void fail() const { throw std::domain_error("the counter is not amused"); }

  /// Makes `other` increment this counter. Returns the value after that.
  std::int64_t incremented_by(Scope& scope, const NodeName& other, const RRef<Counter>& self);

  /// Waits until its caller cancels.
  bool wait_until_stopped(Scope& scope) const;
  /// The same, but holds its thread, and so its turn.
  bool hold_until_stopped(Scope& scope) const;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(value_);
  }

 private:
  std::int64_t value_ = 0;
};

/// A user struct with references in several places.
struct Bundle {
  std::string label;
  RRef<Tensor> value;
  std::optional<RRef<Tensor>> other;
  std::map<std::string, RRef<Tensor>> more;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(label, value, other, more);
  }
};

Tensor slow_add(const Tensor& x, double y, std::int32_t ms);
Tensor rref_add(Scope& scope, const RRef<Tensor>& a, const RRef<Tensor>& b);
Tensor rref_value(Scope& scope, const RRef<Tensor>& rref);
Tensor rref_local(Scope& scope, const RRef<Tensor>& rref);
/// Inherits from two classes: a Counter does not stand at the beginning of it.
struct Labelled {
  std::string label = "none";
};
class LabelledCounter : public Labelled, public Counter {
 public:
  LabelledCounter() = default;
  LabelledCounter(std::string text, std::int64_t start) : Labelled{std::move(text)}, Counter(start) {}
  [[nodiscard]] std::string text() const { return label + " " + std::to_string(value()); }
};

/// Cannot travel, nor be copied or moved: nobody outside sees its field, and it holds a lock.
class Sealed {
 public:
  explicit Sealed(std::int64_t value) : value_(value) {}
  [[nodiscard]] std::int64_t value() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::int64_t value_;
};
std::int64_t multiplied(const Sealed& sealed, std::int64_t factor);

void increment_of(Scope& scope, const RRef<Counter>& counter);
void increment_often(Scope& scope, const RRef<Counter>& counter, std::int32_t times);

/// Fills the tensor behind `rref` after `ms`.
void fill_later(Scope& scope, const RRef<Tensor>& rref, double value, std::int32_t ms);

RRef<Tensor> keep_here(Scope& scope, const Tensor& value);
/// Waits until its caller cancels or is gone. Then keeps `value` all the same.
RRef<Tensor> keep_here_when_stopped(Scope& scope, const Tensor& value);
std::vector<RRef<Tensor>> keep_many(Scope& scope, std::int32_t count);
RRef<Tensor> give_back(RRef<Tensor> rref);

/// Returns references to values of this node: `first`, `first` + 1, ...
std::vector<RRef<std::int64_t>> keep_range(Scope& scope, std::int64_t first, std::int64_t count);

/// Returns the values behind them, each with the name of its owner.
std::vector<std::pair<NodeName, std::int64_t>> read_all(Scope& scope, const std::vector<RRef<std::int64_t>>& rrefs);

/// Returns the values that `other` reads from a range that this node keeps.
std::vector<std::pair<NodeName, std::int64_t>> read_mine_on(Scope& scope, const NodeName& other, std::int64_t first,
                                                            std::int64_t count);
Bundle give_bundle_back(Bundle bundle);
Tensor bundle_sum(Scope& scope, const Bundle& bundle);

/// Creates add(x, y) on `other` and returns its value.
Tensor add_on(Scope& scope, const NodeName& other, const Tensor& x, double y);

/// Passes `rref` along `path`. Returns the value that the last node fetches.
Tensor forward_along(Scope& scope, const RRef<Tensor>& rref, std::vector<NodeName> path);

/// Drops the reference. Returns whether the owner has confirmed it.
bool is_confirmed_here(const RRef<Tensor>& rref);

/// Stores `rref` on this node, inside a value of its own.
Bundle keep_bundle(RRef<Tensor> rref);

/// Waits, at most 20 s, until its caller has restarted as another life. Then returns the references all the same.
std::vector<RRef<Tensor>> give_back_too_late(Scope& scope, std::vector<RRef<Tensor>> rrefs);
/// Returns the references that `other` returns.
std::vector<RRef<Tensor>> ask_to_give_back_too_late(Scope& scope, const NodeName& other,
                                                    const std::vector<RRef<Tensor>>& rrefs);

/// Makes 10 values on `server`, calls it in a context, and then waits until its caller cancels.
bool hold_on(Scope& scope, const NodeName& server);

// "disagree" has other parameters on the trainer than on other nodes; "only_on_trainer" exists only there.
std::int64_t disagree_on_trainer(std::int64_t x);
std::int64_t disagree_elsewhere(const std::string& x);
std::int64_t only_on_trainer(std::int64_t x);

/// Returns the functions above that every node serves.
FunctionRegistry test_functions();

}  // namespace troupe::testing
