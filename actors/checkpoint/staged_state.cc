#include "actors/checkpoint/staged_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "tensor/error.h"

namespace troupe::detail {

StagedState::StagedState(const std::vector<TensorPlan>& plans, Load load) : load_(std::move(load)) {
  for (const TensorPlan& plan : plans) {
    state_.emplace_back(plan.name, Tensor::empty(plan.shape, plan.dtype));
    missing_ += state_.back().second.nbytes();
  }
}

void StagedState::write(std::uint64_t tensor, std::uint64_t first, const Tensor& bytes) {
  const Tensor source = bytes.to(Device::cpu()).contiguous();
  const std::uint64_t count = source.nbytes();
  if (tensor >= state_.size()) throw IndexError(fmt::format("[checkpoint] tensor {} of {}", tensor, state_.size()));
  Tensor& target = state_[tensor].second;
  if (first > target.nbytes() || count > target.nbytes() - first) {
    throw IndexError(fmt::format("[checkpoint] bytes {} to {} of tensor {}, which has {}", first, first + count, tensor,
                                 target.nbytes()));
  }
  if (count > missing_) throw std::logic_error("[checkpoint] bytes were written twice");
  std::memcpy(target.mutable_bytes() + first, source.bytes(), count);
  missing_ -= count;
}

void StagedState::load(Scope& scope) {
  if (missing_ != 0) throw std::logic_error(fmt::format("[checkpoint] {} bytes have not come", missing_));
  load_(scope, state_);
}

std::vector<TensorPlan> plans_of(const NamedTensors& state) {
  std::vector<TensorPlan> plans;
  for (const auto& [name, tensor] : state) plans.push_back({name, tensor.dtype(), tensor.shape()});
  return plans;
}

void check_plans(const char* op, const std::vector<TensorPlan>& wanted, const std::vector<TensorPlan>& plans) {
  std::map<std::string, const TensorPlan*> given;
  std::vector<std::string> twice;
  for (const TensorPlan& plan : plans) {
    if (!given.emplace(plan.name, &plan).second) twice.push_back(plan.name);
  }
  const auto text_of = [](const TensorPlan& plan) {
    return fmt::format("{} {}", name_of(plan.dtype), to_string(plan.shape));
  };
  std::vector<std::string> missing;
  std::vector<std::string> different;
  for (const TensorPlan& plan : wanted) {
    const auto found = given.find(plan.name);
    if (found == given.end()) {
      missing.push_back(plan.name);
      continue;
    }
    if (*found->second != plan)
      different.push_back(fmt::format("{} is {}, not {}", plan.name, text_of(*found->second), text_of(plan)));
    given.erase(found);
  }
  std::vector<std::string> unexpected;
  for (const auto& [name, plan] : given) unexpected.push_back(name);
  std::vector<std::string> complaints;
  const auto list = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) complaints.push_back(fmt::format("{}: {}", what, fmt::join(names, ", ")));
  };
  list("missing", missing);
  list("unexpected", unexpected);
  list("given twice", twice);
  complaints.insert(complaints.end(), different.begin(), different.end());
  if (!complaints.empty()) throw ValueError(fmt::format("[{}] {}", op, fmt::join(complaints, "; ")));
}

}  // namespace troupe::detail
