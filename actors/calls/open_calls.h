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
  /// Records the end of a call; `error` is null on success.
  void ended(const Error* error);

  /// Waits until no call is open. Returns the first failure and forgets it.
  [[nodiscard]] std::optional<Error> wait();

  /// Stops when the results are no longer needed.
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  void cancel() { stop_.request_stop(); }

 private:
  std::stop_source stop_;
  std::mutex mutex_;
  std::size_t open_ = 0;                  // guarded by mutex_
  std::optional<Error> first_;            // guarded by mutex_
  std::shared_ptr<WaitPoint> all_ended_;  // guarded by mutex_; set while calls are open
};

/// One of the calls. Destroying it also ends it, for a call that was never made. Belongs to one thread at a time.
class OpenCall {
 public:
  explicit OpenCall(std::shared_ptr<OpenCalls> calls);
  ~OpenCall();
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  /// Ends the call; `error` is null on success. REQUIRES: called once.
  void ended(const Error* error);

 private:
  std::shared_ptr<OpenCalls> calls_;
};

}  // namespace troupe::detail
