#include "actors/references/tell_owners.h"

#include <memory>
#include <tuple>
#include <utility>

#include "actors/core/guarded.h"
#include "actors/executor.h"

namespace troupe::detail {

void tell_owners(NodeCore& node, std::vector<RRefId> owners, const std::function<void(const RRefId&)>& tell) {
  const bool are_few = owners.size() <= kOwnersToldHere;
  const auto tell_all = [&node, tell, owners = std::make_shared<const std::vector<RRefId>>(std::move(owners))] {
    try {
      for (const RRefId& rref : *owners) tell(rref);
    } catch (...) {  // an owner would miss it
      node.fail(failure_of_current_exception("the owners of values"));
    }
  };
  if (are_few) return tell_all();
  const auto run = [weak = node.weak_from_this(), tell_all] {
    if (const auto core = weak.lock()) tell_all();
  };
  // Ahead of functions: some may wait for what owners do when they are told.
  std::ignore = node.executor().submit({.label = "tell owners",
                                        .run = run,
                                        .refused = [tell_all](const Error&) { tell_all(); },
                                        .urgency = Urgency::at_once});
}

}  // namespace troupe::detail
