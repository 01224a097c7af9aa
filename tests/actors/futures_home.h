// The home of futures whose callbacks run when the test wants it.
#pragma once

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/future.h"

namespace troupe::testing::futures {

/// Holds jobs until the test runs them.
class ManualExecutor final : public Executor {
 public:
  std::optional<Error> take(Job& job) override {
    if (refusal) return refusal;
    jobs.push_back(std::move(job));
    return std::nullopt;
  }
  std::vector<RunningJob> running() const override { return {}; }
  std::size_t unfinished() const override { return jobs.size(); }
  std::vector<RunningJob> stop(TimePoint) override { return {}; }

  void run_all() {
    for (; !jobs.empty(); jobs.pop_front()) jobs.front().run();
  }

  std::deque<Job> jobs;
  std::optional<Error> refusal;
};

class RealTime final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  TimerId at(TimePoint, std::function<void()>) override { throw std::logic_error("no timers here"); }
  void cancel(TimerId) override {}
};

struct Home {
  std::shared_ptr<ManualExecutor> executor = std::make_shared<ManualExecutor>();
  detail::FutureHome home{executor, std::make_shared<RealTime>()};
};

inline Error failure(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  return error;
}

template <class T>
Error error_of(const Future<T>& future) {
  const auto result = future.get_for(Duration{});
  BOOST_REQUIRE(result.has_value());
  BOOST_REQUIRE(!result->ok());
  return result->error();
}

/// Runs each job on a thread of its own, which has ended before `submit` returns.
class EndsFirst final : public Executor {
 public:
  std::optional<Error> take(Job& job) override {
    std::thread([own = std::move(job)]() mutable { std::exchange(own, {}).run(); }).join();
    return std::nullopt;
  }
  std::vector<RunningJob> running() const override { return {}; }
  std::size_t unfinished() const override { return 0; }
  std::vector<RunningJob> stop(TimePoint) override { return {}; }
};

}  // namespace troupe::testing::futures
