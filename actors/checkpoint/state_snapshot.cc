#include "actors/checkpoint/state_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "actors/checkpoint/staged_state.h"
#include "autograd/nn/state_dict.h"
#include "tensor/error.h"
#include "tensor/io/generator_state.h"

namespace troupe::detail {
namespace {

/// Whether `now` is the tensor of the snapshot, unchanged. A generator's state is a new tensor each time: its numbers
/// are compared. A value of that form, in any layout and on any device, is compared in the same way.
bool is_same(const Tensor& then, std::uint64_t version, const Tensor& now) {
  if (then.storage().same_as(now.storage())) {
    const bool same_view =
        then.offset() == now.offset() && then.shape() == now.shape() && then.strides() == now.strides();
    return same_view && now.version() == version;
  }
  const bool may_be_generator = then.shape() == Shape{3} && then.dtype() == DType::i64;
  return may_be_generator && then.version() == version && same_bytes(then, now);
}

}  // namespace

StateSnapshot::StateSnapshot(const Scope& scope, Read read, std::map<std::string, std::string> notes)
    : read_(std::move(read)), notes_(std::move(notes)) {
  add(read_(scope));
}

StateSnapshot::StateSnapshot(const NamedTensors& state, IsCurrent is_current) : is_current_(std::move(is_current)) {
  add(state);
}

void StateSnapshot::add(const NamedTensors& state) {
  for (const auto& [name, tensor] : state) {
    const std::uint64_t version = tensor.version();
    parts_.push_back(
        {{name, tensor.dtype(), tensor.shape()}, tensor, version, tensor.to(Device::cpu()).contiguous().freeze()});
  }
}

std::vector<TensorPlan> StateSnapshot::plans() const {
  std::vector<TensorPlan> plans;
  for (const Part& part : parts_) plans.push_back(part.plan);
  return plans;
}

Tensor StateSnapshot::read(std::uint64_t tensor, std::uint64_t first, std::uint64_t count) const {
  if (tensor >= parts_.size()) throw IndexError(fmt::format("[checkpoint] tensor {} of {}", tensor, parts_.size()));
  const FrozenBytes& bytes = parts_[tensor].bytes;
  const std::uint64_t size = bytes.bytes().size();
  if (first > size || count > size - first) {
    throw IndexError(
        fmt::format("[checkpoint] bytes {} to {} of tensor {}, which has {}", first, first + count, tensor, size));
  }
  if (count == 0) return Tensor::empty({0}, DType::u8);
  return Tensor::from_storage(Storage::adopt(bytes.part(first, count)), {static_cast<std::int64_t>(count)}, {1}, 0,
                              DType::u8);
}

bool StateSnapshot::is_current(Scope& scope) const {
  if (is_current_) return is_current_(scope);
  const NamedTensors now = read_(scope);
  return std::ranges::equal(now, parts_, [](const auto& named, const Part& part) {
    return named.first == part.plan.name && is_same(part.tensor, part.version, named.second);
  });
}

NamedTensors full_state(nn::Module& module) {
  NamedTensors state = nn::state_dict(module);
  for (const auto& [name, generator] : module.named_generators()) state.emplace_back(name, state_of(*generator));
  return state;
}

void check_full_state(nn::Module& module, const std::vector<TensorPlan>& plans) {
  check_plans("checkpoint", plans_of(full_state(module)), plans);
}

void load_full_state(nn::Module& module, const NamedTensors& state) {
  const auto named = module.named_generators();
  std::map<std::string_view, Generator*> missing(named.begin(), named.end());
  NamedTensors values;
  std::vector<std::pair<Generator*, Generator>> generators;
  for (const auto& [name, tensor] : state) {
    if (const auto found = missing.find(name); found != missing.end()) {
      generators.emplace_back(found->second, generator_of(tensor));
      missing.erase(found);
    } else {
      values.emplace_back(name, tensor);
    }
  }
  if (!missing.empty()) throw ValueError(fmt::format("[load_state_dict] missing: {}", missing.begin()->first));
  nn::load_state_dict(module, values);
  for (const auto& [generator, restored] : generators) *generator = restored;
}

}  // namespace troupe::detail
