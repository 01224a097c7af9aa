// The calls made through one WaitAllScope that have not ended.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "actors/core/wait_point.h"
#include "messages/error.h"

namespace troupe::detail {

/// Thread rule: any thread may call any member.
class OpenCalls {
 public:
  void began();
  /// `error` is null if it ended well.
  void ended(const Error* error);

  /// Waits until none is open; returns, and forgets, the first failure.
  [[nodiscard]] std::optional<Error> wait();

  /// Stops when nobody wants their results.
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  void cancel() { stop_.request_stop(); }

 private:
  std::stop_source stop_;
  std::mutex mutex_;
  std::size_t open_ = 0;                 // guarded by mutex_
  std::optional<Error> first_;           // guarded by mutex_
  std::shared_ptr<WaitPoint> all_ended_; // guarded by mutex_; set while calls are open
};

/// One of them; also ends when it is destroyed, for a call that was never made. Belongs to one thread at a time.
class OpenCall {
 public:
  explicit OpenCall(std::shared_ptr<OpenCalls> calls);
  ~OpenCall();
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  /// Call once. `error` is null if it ended well.
  void ended(const Error* error);

 private:
  std::shared_ptr<OpenCalls> calls_;
};

}  // namespace troupe::detail
