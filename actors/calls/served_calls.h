// The functions that a node runs for others, or will, and how each learns that nobody waits for it any more.
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
#include "actors/core/node_life.h"
#include "actors/executor.h"
#include "actors/core/reports.h"
#include "messages/ids.h"

namespace troupe::detail {

/// A cancel may come before its call, which a larger message or a closed gate can hold up: it is kept for it.
/// Thread rule: any thread may call any member. Stop callbacks are user code: they run on the pool, at once.
class ServedCalls {
 public:
  /// Cancels without a call that are kept per life of a caller; beyond it the oldest is forgotten.
  static constexpr std::size_t kEarlyCancelsMax = 256;

  ServedCalls(std::shared_ptr<Clock> clock, std::shared_ptr<Executor> pool);
  ~ServedCalls();
  ServedCalls(const ServedCalls&) = delete;
  ServedCalls& operator=(const ServedCalls&) = delete;

  /// One call that is being served; it has ended when this object goes.
  class Serving {
   public:
    ~Serving();
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;

    [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }

   private:
    friend class ServedCalls;
    struct Table;
    Serving() = default;

    std::shared_ptr<Table> table_;
    std::pair<NodeLife, RequestId> key_;
    std::stop_source stop_;
    std::optional<TimerId> timer_;
  };

  /// The caller waits for the answer: the function is to stop when it cancels the request, or is gone. `operation` is
  /// for reports.
  [[nodiscard]] std::shared_ptr<Serving> begin(const NodeLife& caller, RequestId request, std::string operation = {});

  /// The value stays here, whoever asked for it: the function is to stop at `due` only.
  [[nodiscard]] std::shared_ptr<Serving> begin_lasting(const NodeLife& caller, RequestId request, std::optional<TimePoint> due,
                                                       std::string operation = {});

  void cancelled(const NodeLife& caller, RequestId request);
  void caller_gone(const NodeLife& caller);

  /// The node ends: everything is to stop.
  void stop();

  [[nodiscard]] std::size_t size() const;

  /// The `count` that began first, the oldest first.
  [[nodiscard]] std::vector<ServedFunction> oldest(std::size_t count) const;

 private:
  [[nodiscard]] std::shared_ptr<Serving> add(const NodeLife& caller, RequestId request, bool lasting, std::string operation);

  std::shared_ptr<Serving::Table> table_;
};

}  // namespace troupe::detail
