// Jobs of a pool that wait or compute until the test lets them go on.
#pragma once

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "actors/core/wait_point.h"
#include "actors/executor.h"

namespace troupe::testing::jobs {

inline TimePoint in(Duration time) { return std::chrono::steady_clock::now() + time; }

/// Waits until `holds()`, at most 5 s.
template <class Predicate>
bool soon(Predicate holds) {
  const TimePoint due = in(std::chrono::seconds(5));
  while (!holds() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  return holds();
}

/// A job that signals its start and waits, as functions do, until the test lets it continue.
struct Waiter {
  Job job(std::string label = "waiter") {
    return {std::move(label), [state = state] {
              state->begun.signal();
              state->go_on.wait(in(std::chrono::seconds(10)));
              state->ended.signal();
            }};
  }
  struct State {
    detail::WaitPoint begun;
    detail::WaitPoint go_on;
    detail::WaitPoint ended;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

/// As Waiter, but it holds its thread like a computation.
struct Worker : Waiter {
  Job job(std::string label = "worker") {
    return {std::move(label), [state = state] {
              state->begun.signal();
              state->go_on.wait_here(in(std::chrono::seconds(10)));
              state->ended.signal();
            }};
  }
};

inline void submit(Executor& pool, Job job) { BOOST_REQUIRE(!pool.submit(std::move(job))); }

}  // namespace troupe::testing::jobs
