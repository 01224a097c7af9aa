// What several members answered, by name.
#pragma once

#include <map>
#include <utility>

#include "actors/callable.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe {

/// What members answered or brought, by name. Travels if T does.
template <class T>
struct Gathered {
  std::map<NodeName, detail::Stored<T>> values;
  std::map<NodeName, Error> failures;  ///< why a member is not in `values`; always empty for a group that fails fast

  [[nodiscard]] bool complete() const { return failures.empty(); }

  template <class Archive>
  void serialize(Archive& ar) {
    ar(values, failures);
  }
};

/// What all members' results combine to.
template <class T>
struct Reduced {
  T value;
  std::map<NodeName, Error> failures;  ///< members that are not in `value`; always empty for a group that fails fast
};

/// One member's answer.
template <class T>
struct Answer {
  NodeName from;
  detail::Stored<T> value;
};

}  // namespace troupe
