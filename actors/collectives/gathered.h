// The answers of several members, by name.
#pragma once

#include <map>
#include <utility>

#include "actors/callable.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe {

/// The answers or contributions of members, by name. Travels if T does.
template <class T>
struct Gathered {
  std::map<NodeName, detail::Stored<T>> values;
  std::map<NodeName, Error> failures;  ///< members without a value, and why; always empty for a group that fails fast

  [[nodiscard]] bool complete() const { return failures.empty(); }

  template <class Archive>
  void serialize(Archive& ar) {
    ar(values, failures);
  }
};

/// The combined results of all members.
template <class T>
struct Reduced {
  T value;
  std::map<NodeName, Error> failures;  ///< members without a part in `value`, and why; always empty if failing fast
};

/// One member's answer.
template <class T>
struct Answer {
  NodeName from;
  detail::Stored<T> value;
};

}  // namespace troupe
