// The typed parts of Group. Included by group.h.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/group.h"
#include "actors/group_tree.h"
#include "messages/schema.h"
#include "messages/values.h"

namespace troupe {
namespace detail {

/// Waits for several futures until the result of the group operation is known. Shared with their callbacks.
class Race {
 public:
  enum class Until : std::uint8_t { first_failure, first_success };

  Race(std::size_t count, Until until) : left_(count), until_(until) {}

  /// Records that call `index` has ended, with success if `ok`.
  void ended(std::size_t index, bool ok);

  /// Returns the index that ended the race; nullopt if all ended otherwise.
  [[nodiscard]] std::optional<std::size_t> wait();

 private:
  std::mutex mutex_;
  std::size_t left_;  // guarded by mutex_
  const Until until_;
  std::optional<std::size_t> winner_;  // guarded by mutex_
  WaitPoint over_;
};

/// The calls of one group operation, one per member.
template <class R>
struct GroupCalls {
  std::vector<NodeName> names;
  std::vector<Future<R>> futures;

  /// Waits for the first call that ends as `until` says and cancels the others. Returns nullopt if all ended otherwise.
  [[nodiscard]] std::optional<std::size_t> race(Race::Until until) const {
    const auto race = std::make_shared<Race>(futures.size(), until);
    for (std::size_t i = 0; i < futures.size(); ++i) {
      futures[i].state().on_done(
          [race, i, future = futures[i]](const Error*) { race->ended(i, future.state().result().ok()); });
    }
    const auto winner = race->wait();
    if (winner) {
      for (std::size_t i = 0; i < futures.size(); ++i) {
        if (i != *winner) futures[i].cancel();
      }
    }
    return winner;
  }

  /// Returns all results and failures. Waits for calls that have not ended.
  [[nodiscard]] Gathered<R> gathered() const {
    Gathered<R> all;
    for (std::size_t i = 0; i < futures.size(); ++i) {
      futures[i].state().wait();
      const auto& result = futures[i].state().result();
      if (result) {
        all.values.emplace(names[i], result.value());
      } else {
        all.failures.emplace(names[i], result.error());
      }
    }
    return all;
  }
};

/// Returns `failures` as one Error: the first by name, with the others as its cause. REQUIRES: there is one.
[[nodiscard]] Error merged(const std::map<NodeName, Error>& failures);

/// Encodes `value` for a barrier. Throws RemoteError{not_serializable} if it holds references or gradients.
template <class T>
[[nodiscard]] msg::Payload contribution(const Scope& scope, const T& value) {
  try {
    return to_payload(nullptr, value);
  } catch (const EncodeError& error) {
    throw RemoteError(error_of_encoding(*scope.state().node, error));
  }
}

template <class R, class F, class... Args>
GroupCalls<R> call_each(const Scope& scope, const std::vector<NodeName>& names, const F& callable,
                        const Args&... args) {
  GroupCalls<R> calls{names, {}};
  for (const NodeName& name : names) calls.futures.push_back(scope.rpc_async(name, callable, args...));
  return calls;
}

}  // namespace detail

template <class F, class... Args>
Gathered<detail::ResultOf<F>> Group::call_all(const Scope& scope, const F& callable, const Args&... args) const {
  const auto calls = detail::call_each<detail::ResultOf<F>>(scope, names_, callable, args...);
  if (failures_ == Failures::fail_fast) {
    if (const auto failed = calls.race(detail::Race::Until::first_failure)) {
      static_cast<void>(calls.futures[*failed].get());  // throws
    }
  }
  return calls.gathered();
}

template <class F, class... Args>
Answer<detail::ResultOf<F>> Group::call_any(const Scope& scope, const F& callable, const Args&... args) const {
  const auto calls = detail::call_each<detail::ResultOf<F>>(scope, names_, callable, args...);
  if (const auto won = calls.race(detail::Race::Until::first_success)) {
    return {names_[*won], calls.futures[*won].state().result().value()};
  }
  throw RemoteError(detail::merged(calls.gathered().failures));
}

template <class F, class... Args>
Answer<detail::ResultOf<F>> Group::call_one(const Scope& scope, const F& callable, const Args&... args) const {
  std::map<NodeName, Error> refused;
  for (const NodeName& name : in_turn()) {
    const auto call = scope.rpc_async(name, callable, args...);
    call.state().wait();
    const auto& result = call.state().result();
    if (result) return {name, result.value()};
    if (result.error().execution != Execution::never) static_cast<void>(call.get());  // throws
    refused.emplace(name, result.error());
  }
  throw RemoteError(detail::merged(refused));
}

template <auto F, class... Args>
Gathered<detail::ResultOf<decltype(F)>> Group::call_tree(const Scope& scope, const Args&... args) const {
  auto found = detail::TreeCall<F>::run_on(scope, names_, args...);
  if (failures_ == Failures::fail_fast && !found.failures.empty()) throw RemoteError(detail::merged(found.failures));
  return {std::move(found.sum), std::move(found.failures)};
}

template <auto F, auto Combine, class... Args>
Reduced<detail::ResultOf<decltype(F)>> Group::call_tree_reduced(const Scope& scope, const Args&... args) const {
  auto found = detail::TreeCallReduced<F, Combine>::run_on(scope, names_, args...);
  const bool failed = failures_ == Failures::fail_fast ? !found.failures.empty() : !found.sum;
  if (failed) throw RemoteError(detail::merged(found.failures));
  return {std::move(*found.sum), std::move(found.failures)};
}

template <class T>
Gathered<T> Group::exchange(const Scope& scope, const std::string& operation, const NodeName& receiver,
                            const T& value) const {
  Gathered<T> all;
  const auto take = [&all](const NodeName& from, const msg::Payload& brought) {
    all.values.emplace(from, std::get<0>(from_payload<T>(brought)));
  };
  all.failures = meet(scope, operation, receiver, fingerprint_of<T>(), detail::contribution(scope, value), take);
  return all;
}

template <class T>
Gathered<T> Group::all_gather(const Scope& scope, const T& value) const {
  return exchange(scope, "all_gather", {}, value);
}

template <class T>
Gathered<T> Group::gather(const Scope& scope, const NodeName& to, const T& value) const {
  return exchange(scope, "gather", to, value);
}

}  // namespace troupe
