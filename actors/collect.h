// Waiting for several futures at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/future.h"

namespace troupe {

namespace detail {

/// Counts futures that are not done. Thread rule: any thread may call it.
class Countdown {
 public:
  explicit Countdown(std::size_t count) : left_(count) {}
  /// Counts one future as done. Returns true for the last one.
  [[nodiscard]] bool one_less() { return left_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::atomic<std::size_t> left_;
};

/// Completes `all` with the result of `gather` when every future has its value, or with the first error as soon as a
/// future fails.
template <class All, class Gather, class... T>
void gather_when_done(const Promise<All>& all, std::size_t count, Gather gather, const std::vector<T>&... futures) {
  const auto left = std::make_shared<Countdown>(count);
  const auto shared = std::make_shared<Gather>(std::move(gather));  // it holds all futures
  const auto watch = [&](const auto& several) {
    for (const auto& future : several) {
      future.state().on_done([all, left, shared, future](const Error* refused) {
        if (refused != nullptr) return static_cast<void>(all.complete(copy_of(*refused)));  // decodes nothing here
        const auto& result = future.state().result();
        if (!result) all.complete(result.error());
        else if (left->one_less()) all.complete((*shared)());
      });
    }
  };
  (watch(futures), ...);
}

/// The state of a collect_any until its result exists. From then on no input refers to it. Thread rule: any thread may
/// call any member.
template <class T>
class FirstSuccess : public std::enable_shared_from_this<FirstSuccess<T>> {
 public:
  using Found = std::pair<std::size_t, Stored<T>>;

  /// `any` is that of `count` futures. REQUIRES: watch() is called for each.
  FirstSuccess(const Promise<Found>& any, std::size_t count) : left_(count), any_(any) { waits_.reserve(count); }

  /// Watches `future`, the input number `index`.
  void watch(std::size_t index, const Future<T>& future) {
    const auto registration =
        future.state().on_done([self = this->shared_from_this(), index, future](const Error* refused) {
          self->ended(index, future, refused);
        });
    {
      const std::lock_guard lock(mutex_);
      if (any_) return static_cast<void>(waits_.push_back({future.shared_state(), registration}));
    }
    future.state().forget(registration);
  }

 private:
  struct Wait {
    std::weak_ptr<typename Future<T>::State> future;
    FutureCore::Registration registration;
  };

  void ended(std::size_t index, const Future<T>& future, const Error* refused) {
    if (!is_open()) return;
    if (refused != nullptr) return failed(copy_of(*refused));  // decodes nothing here
    const auto& result = future.state().result();
    if (!result) return failed(result.error());
    for (const Wait& wait : complete(Found(index, result.value()))) {
      if (const auto other = wait.future.lock()) other->forget(wait.registration);
    }
  }

  void failed(Error why) {
    if (left_.one_less()) complete(std::move(why));  // no other input waits
  }

  [[nodiscard]] bool is_open() {
    const std::lock_guard lock(mutex_);
    return any_.has_value();
  }

  /// Returns the inputs that were watched, at the first call.
  std::vector<Wait> complete(Result<Found> outcome) {  // NOLINT(modernize-use-nodiscard)
    std::optional<Promise<Found>> any;
    std::vector<Wait> waits;
    {
      const std::lock_guard lock(mutex_);
      any.swap(any_);
      waits.swap(waits_);
    }
    if (any) any->complete(std::move(outcome));
    return waits;
  }

  Countdown left_;
  std::mutex mutex_;
  std::optional<Promise<Found>> any_;  // guarded by mutex_; empty once its result exists
  std::vector<Wait> waits_;            // guarded by mutex_
};

}  // namespace detail

/// Returns a future of the values of all `futures`, in the same order. It fails with the first error as soon as one of
/// them fails; the others continue. Throws std::invalid_argument if `futures` is empty.
template <class T>
[[nodiscard]] Future<std::vector<detail::Stored<T>>> collect_all(const std::vector<Future<T>>& futures) {
  using Values = std::vector<detail::Stored<T>>;
  if (futures.empty()) throw std::invalid_argument("[collect_all] no futures");
  const Promise<Values> all(futures.front().state().home());
  detail::gather_when_done(
      all, futures.size(),
      [futures] {
        Values values;
        values.reserve(futures.size());
        for (const Future<T>& future : futures) values.push_back(future.state().result().value());
        return values;
      },
      futures);
  return all.future();
}

/// The same for futures of different types.
template <class... T>
  requires(sizeof...(T) > 0)
[[nodiscard]] Future<std::tuple<detail::Stored<T>...>> collect_all(const Future<T>&... futures) {
  using Values = std::tuple<detail::Stored<T>...>;
  const Promise<Values> all(std::get<0>(std::tie(futures...)).state().home());
  detail::gather_when_done(
      all, sizeof...(T), [futures...] { return Values(futures.state().result().value()...); }, std::vector{futures}...);
  return all.future();
}

/// Waits for all futures and returns their values. As soon as one fails, throws what its Future::get throws. Throws
/// std::invalid_argument if `futures` is empty.
template <class T>
std::vector<detail::Stored<T>> wait_all(const std::vector<Future<T>>& futures) {
  return collect_all(futures).get();
}

/// Returns a future of the index and the value of the first future that succeeds. It fails when all have failed, with
/// the last error. Throws std::invalid_argument if `futures` is empty.
template <class T>
[[nodiscard]] Future<std::pair<std::size_t, detail::Stored<T>>> collect_any(const std::vector<Future<T>>& futures) {
  using Found = std::pair<std::size_t, detail::Stored<T>>;
  if (futures.empty()) throw std::invalid_argument("[collect_any] no futures");
  const Promise<Found> any(futures.front().state().home());
  const auto first = std::make_shared<detail::FirstSuccess<T>>(any, futures.size());
  for (std::size_t i = 0; i < futures.size(); ++i) first->watch(i, futures[i]);
  return any.future();
}

}  // namespace troupe
