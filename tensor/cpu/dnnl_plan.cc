#include "tensor/cpu/dnnl_plan.h"

#include <algorithm>
#include <unordered_map>

#include "tensor/storage.h"

namespace troupe::cpu {
namespace {

dnnl::memory scratch_memory(const dnnl::memory::desc& desc, std::vector<Storage>& keep) {
  keep.push_back(Storage::allocate(desc.get_size()));
  return {desc, dnnl_engine(), keep.back().mutable_data()};
}

}  // namespace

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine& engine = *std::make_unique<dnnl::engine>(dnnl::engine::kind::cpu, 0).release();
  return engine;
}

dnnl::primitive_attr dnnl_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

DnnlPlan::DnnlPlan(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad)
    : main_{std::move(primitive), scratchpad} {}

void DnnlPlan::add_input(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
  add(id, true, plain, wanted);
}

void DnnlPlan::add_output(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
  add(id, false, plain, wanted);
}

void DnnlPlan::add(int id, bool is_input, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
  std::optional<Step> reorder;
  if (plain != wanted) {
    const dnnl::reorder::primitive_desc desc(dnnl_engine(), is_input ? plain : wanted, dnnl_engine(),
                                             is_input ? wanted : plain, dnnl_attributes());
    reorder = Step{dnnl::reorder(desc), desc.scratchpad_desc()};
  }
  arguments_.push_back({id, is_input, plain, wanted, std::move(reorder)});
}

std::size_t DnnlPlan::size_of(int id) const {
  const auto found = std::ranges::find(arguments_, id, &Argument::id);
  return found == arguments_.end() ? 0 : found->plain.get_size();
}

const dnnl::memory* DnnlPlan::Reordered::find(const void* address, const dnnl::memory::desc& wanted) const {
  const auto found = std::ranges::find_if(inputs_, [&](const Input& input) { return input.address == address && input.memory.get_desc() == wanted; });
  return found == inputs_.end() ? nullptr : &found->memory;
}

void DnnlPlan::Reordered::add(const void* address, dnnl::memory memory, Storage bytes) {
  inputs_.push_back({address, std::move(memory), std::move(bytes)});
}

void DnnlPlan::run(const Addresses& arguments) const {
  Reordered reordered;
  run(arguments, reordered);
}

void DnnlPlan::run(const Addresses& arguments, Reordered& reordered) const {
  dnnl::stream stream(dnnl_engine());
  std::vector<Storage> keep;
  std::unordered_map<int, dnnl::memory> caller;
  std::unordered_map<int, dnnl::memory> wanted;
  const auto reorder = [&](const Argument& argument, const dnnl::memory& from, const dnnl::memory& to) {
    argument.reorder->primitive.execute(stream,
                                        {{DNNL_ARG_FROM, from},
                                         {DNNL_ARG_TO, to},
                                         {DNNL_ARG_SCRATCHPAD, scratch_memory(argument.reorder->scratchpad, keep)}});
  };
  for (const Argument& argument : arguments_) {
    const auto address = std::ranges::find(arguments, argument.id, &Addresses::value_type::first);
    const dnnl::memory plain(argument.plain, dnnl_engine(), address->second);
    caller.emplace(argument.id, plain);
    if (!argument.reorder) {
      wanted.emplace(argument.id, plain);
    } else if (!argument.is_input) {
      wanted.emplace(argument.id, scratch_memory(argument.wanted, keep));
    } else if (const dnnl::memory* const known = reordered.find(address->second, argument.wanted)) {
      wanted.emplace(argument.id, *known);
    } else {
      Storage bytes = Storage::allocate(argument.wanted.get_size());
      const dnnl::memory memory(argument.wanted, dnnl_engine(), bytes.mutable_data());
      reorder(argument, plain, memory);
      wanted.emplace(argument.id, memory);
      reordered.add(address->second, memory, std::move(bytes));
    }
  }
  wanted.emplace(DNNL_ARG_SCRATCHPAD, scratch_memory(main_.scratchpad, keep));
  main_.primitive.execute(stream, wanted);
  for (const Argument& argument : arguments_) {
    if (argument.reorder && !argument.is_input) reorder(argument, wanted.at(argument.id), caller.at(argument.id));
  }
  stream.wait();
}

std::shared_ptr<const DnnlPlan> DnnlPlanCache::get(const Key& key, const std::function<DnnlPlan()>& build) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  }
  // Built without the lock, as it takes milliseconds; of two threads that build the same one wins.
  auto plan = std::make_shared<const DnnlPlan>(build());
  const std::lock_guard lock(mutex_);
  if (plans_.size() >= kPlansMax) plans_.clear();
  return plans_.emplace(key, std::move(plan)).first->second;
}

DnnlPlanCache& dnnl_plans() {
  static DnnlPlanCache& cache = *std::make_unique<DnnlPlanCache>().release();
  return cache;
}

}  // namespace troupe::cpu
