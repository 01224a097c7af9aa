// The functions that a node runs, or will run, for other nodes, and their cancellation.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "actors/core/reports.h"
#include "actors/executor.h"
#include "messages/ids.h"

namespace troupe::detail {

/// A cancel may arrive before its call, which may be larger or held at a closed gate; it is kept until the call
/// arrives. Thread rule: any thread may call any member. Stop callbacks are user code: they run on the pool, as
/// `at_once` jobs.
class ServedCalls {
 public:
  /// The most early cancels kept per life of a caller; beyond it the oldest is forgotten.
  static constexpr std::size_t kEarlyCancelsMax = 256;

  ServedCalls(std::shared_ptr<Clock> clock, std::shared_ptr<Executor> pool);
  ~ServedCalls();
  ServedCalls(const ServedCalls&) = delete;
  ServedCalls& operator=(const ServedCalls&) = delete;

  /// One call being served; destroying it ends the call.
  class Serving {
   public:
    ~Serving();
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;

    [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }

    /// As ServedCalls::caller_gone, of a call that began after that. REQUIRES: the token has no callbacks yet.
    void caller_gone();

    /// The function runs from here on: the call is awaited until it ends, or answers later. Before that it may wait for
    /// a value that is never made, and is awaited only until it is asked to stop or its caller is gone.
    void runs();

    /// The function has returned a Future, or is a Task that waits: from here on the call is awaited only until it is
    /// asked to stop, its caller is gone or `due`.
    void answers_later(std::optional<TimePoint> due);

   private:
    friend class ServedCalls;
    struct Table;
    Serving() = default;

    std::shared_ptr<Table> table_;
    std::pair<NodeLife, RequestId> key_;
    std::stop_source stop_;
    std::optional<TimerId> timer_;
  };

  /// Starts a call whose caller waits for the answer: its function is asked to stop when the caller cancels or is down.
  /// `operation` is for reports.
  [[nodiscard]] std::shared_ptr<Serving> begin(const NodeLife& caller, RequestId request, std::string operation = {});

  /// Starts a call whose result stays on this node: its function is asked to stop at `due` only.
  [[nodiscard]] std::shared_ptr<Serving> begin_lasting(const NodeLife& caller, RequestId request,
                                                       std::optional<TimePoint> due, std::string operation = {});

  void cancelled(const NodeLife& caller, RequestId request);
  void caller_gone(const NodeLife& caller);

  /// Asks all functions to stop: the node ends.
  void stop();

  [[nodiscard]] std::size_t size() const;

  /// Returns how many calls keep the node from leaving: all but those that only wait, for nobody (MB-1). What they wait
  /// for, a value or what completes a Future, may never come.
  [[nodiscard]] std::size_t awaited() const;

  /// Returns the `count` oldest calls, the oldest first.
  [[nodiscard]] std::vector<ServedFunction> oldest(std::size_t count) const;

 private:
  [[nodiscard]] std::shared_ptr<Serving> add(const NodeLife& caller, RequestId request, bool lasting,
                                             std::string operation);

  std::shared_ptr<Serving::Table> table_;
};

}  // namespace troupe::detail
