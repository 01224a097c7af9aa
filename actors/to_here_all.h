// Fetching many values with one message to each of their owners.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "actors/collect.h"
#include "actors/rref.h"

namespace troupe {

namespace detail {

/// Decodes the values of an ArrivedValues. Throws as decode_value.
template <class T>
[[nodiscard]] std::vector<T> decode_values(void* arrived) {
  const auto& [reader, count] = *static_cast<ArrivedValues*>(arrived);
  try {
    std::vector<T> values;
    for (std::size_t i = 0; i < count; ++i) {
      T value{};
      reader->archive()(value);
      values.push_back(std::move(value));
    }
    reader->archive().finish();
    return values;
  } catch (...) {
    reader->fail_decoding();
  }
}

/// Fetches the values of `handles`, all of one owner.
template <class T>
[[nodiscard]] Future<std::vector<T>> fetch_several(const std::shared_ptr<ScopeState>& scope,
                                                   const std::vector<std::shared_ptr<RRefHandle>>& handles,
                                                   const SourceLocation& site) {
  auto state = std::make_shared<FutureState<std::vector<T>>>(future_home_of(*scope), &decode_values<T>);
  Future<std::vector<T>> future = future_of_call<std::vector<T>>(state);
  const auto call = call_for_values(scope, std::move(state), handles.size());
  fetch(*scope, handles, msg::Wanted::value, *call, site);
  return future;
}

}  // namespace detail

/// Returns copies of the values, in the order of `rrefs`. Fails with the first failure. Throws std::logic_error on a
/// null reference.
template <class T>
[[nodiscard]] Future<std::vector<T>> to_here_all_async(Through through, const std::vector<RRef<T>>& rrefs) {
  const Scope& scope = through.scope;
  static_assert(Travels<T>, "the values cannot travel: call their member functions where they are");
  std::vector<std::shared_ptr<detail::RRefHandle>> handles;
  for (const RRef<T>& rref : rrefs) {
    if (!rref.defined()) detail::throw_null_rref("to_here_all");
    handles.push_back(rref.shared_handle());
  }
  const std::vector<std::vector<std::size_t>> groups = detail::by_owner(handles);
  if (groups.empty()) {
    const Promise<std::vector<T>> nothing(scope);
    nothing.complete(std::vector<T>());
    return nothing.future();
  }
  std::vector<Future<std::vector<T>>> answers;
  for (const std::vector<std::size_t>& places : groups) {
    std::vector<std::shared_ptr<detail::RRefHandle>> of_owner;
    for (const std::size_t place : places) of_owner.push_back(handles[place]);
    answers.push_back(detail::fetch_several<T>(scope.shared_state(), of_owner, through.site));
  }
  return collect_all(answers).then([groups, count = rrefs.size()](const std::vector<std::vector<T>>& lists) {
    std::vector<T> values(count);
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (std::size_t i = 0; i < groups[group].size(); ++i) values[groups[group][i]] = lists[group][i];
    }
    return values;
  });
}

/// Waits for the result of to_here_all_async. Throws as that and as Future::get.
template <class T>
[[nodiscard]] std::vector<T> to_here_all(Through through, const std::vector<RRef<T>>& rrefs) {
  return to_here_all_async(through, rrefs).get();
}

}  // namespace troupe
