#include <stdexcept>
#include <utility>

#include "actors/data_parallel.h"
#include "actors/parallel/reducer.h"
#include "actors/rref.h"

namespace troupe::detail {
Replica::Replica(const Scope& scope, std::shared_ptr<Collective> members, const nn::Module& module,
                 const DataParallelOptions& options) {
  if (members == nullptr) throw std::invalid_argument("[DataParallel] the collective is null");
  nn::NamedVariables parameters;
  for (auto& named : module.named_parameters()) {
    if (named.second.requires_grad()) parameters.push_back(std::move(named));
  }
  if (parameters.empty()) throw std::invalid_argument("[DataParallel] no parameter of the module requires a gradient");
  auto rounds = std::make_unique<Rounds>(lasting_scope(scope), std::move(members), std::move(parameters),
                                         module.named_buffers(), options);
  rounds->begin(without_context(scope));
  reducer_ = std::make_shared<Reducer>(scope, std::move(rounds));
}

void Replica::attach(const Scope& scope) const { reducer_->attach(scope); }
void Replica::hold() const { reducer_->hold(); }
void Replica::stop_holding() const { reducer_->stop_holding(); }
void Replica::join() const { reducer_->join(); }

}  // namespace troupe::detail
