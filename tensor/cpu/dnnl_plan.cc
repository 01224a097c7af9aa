#include "tensor/cpu/dnnl_plan.h"

#include <algorithm>

#include "tensor/cpu/vectorized.h"

namespace troupe::cpu {
namespace {

// primitive::execute() takes a map of arguments; this takes the array that oneDNN uses.
void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             const std::vector<dnnl_exec_arg_t>& arguments) {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data()),
      "could not execute a primitive");
}

// Allocates memory for `desc`. The allocator's cache keeps the bytes between runs.
std::pair<dnnl::memory, Storage> new_memory(const dnnl::memory::desc& desc) {
  Storage bytes = Storage::allocate(desc.get_size());
  dnnl::memory memory(desc, dnnl_engine(), bytes.mutable_data());
  return {std::move(memory), std::move(bytes)};
}

void reorder(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad, const dnnl::stream& stream,
             const dnnl::memory& from, const dnnl::memory& to) {
  const auto [scratch, bytes] = new_memory(scratchpad);
  execute(primitive, stream,
          {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}, {DNNL_ARG_SCRATCHPAD, scratch.get()}});
}

// sum += part. REQUIRES: both have one layout.
void add_memory(const dnnl::memory& sum, const dnnl::memory& part) {
  const auto count = static_cast<std::int64_t>(sum.get_desc().get_size() / sizeof(float));
  vectorized_for(count,
                 [to = static_cast<float*>(sum.get_data_handle()),
                  from = static_cast<const float*>(part.get_data_handle())](std::int64_t i) { to[i] += from[i]; });
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

const dnnl::memory* DnnlRuns::find(const void* address, const dnnl::memory::desc& wanted) const {
  const auto found = std::ranges::find_if(
      inputs_, [&](const Input& input) { return input.address == address && input.memory.get_desc() == wanted; });
  return found == inputs_.end() ? nullptr : &found->memory;
}

void DnnlRuns::add(const void* address, dnnl::memory memory, Storage bytes) {
  inputs_.push_back({address, std::move(memory), std::move(bytes)});
}

void DnnlRuns::forget(const void* address) {
  std::erase_if(inputs_, [address](const Input& input) { return input.address == address; });
}

DnnlPlan::DnnlPlan(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad)
    : main_{std::move(primitive), scratchpad} {}

void DnnlPlan::add_input(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
  add(id, Role::input, plain, wanted);
}

void DnnlPlan::add_output(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
  add(id, Role::output, plain, wanted);
}

void DnnlPlan::add_summed_output(int id, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
  add(id, Role::summed_output, plain, wanted);
}

void DnnlPlan::add(int id, Role role, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted) {
  std::optional<Step> step;
  if (plain != wanted || role == Role::summed_output) {
    const bool inward = role == Role::input;
    const dnnl::reorder::primitive_desc desc(dnnl_engine(), inward ? plain : wanted, dnnl_engine(),
                                             inward ? wanted : plain, dnnl_attributes());
    step = Step{dnnl::reorder(desc), desc.scratchpad_desc()};
  }
  arguments_.push_back({id, role, plain, wanted, std::move(step)});
}

dnnl::memory DnnlPlan::input_of(const Argument& argument, const dnnl::stream& stream, void* address, DnnlRuns& runs) {
  const dnnl::memory plain(argument.plain, dnnl_engine(), address);
  if (!argument.reorder) return plain;
  if (const dnnl::memory* const known = runs.find(address, argument.wanted)) return *known;
  auto [memory, bytes] = new_memory(argument.wanted);
  reorder(argument.reorder->primitive, argument.reorder->scratchpad, stream, plain, memory);
  runs.add(address, memory, std::move(bytes));
  return memory;
}

void DnnlPlan::run(const Addresses& arguments, DnnlRuns& runs) const {
  dnnl::stream stream(dnnl_engine());
  std::vector<dnnl::memory> memories;
  std::vector<Storage> keep;
  std::vector<dnnl_exec_arg_t> handed;
  const auto hand = [&](int id, const dnnl::memory& memory) {
    memories.push_back(memory);
    handed.push_back({id, memory.get()});
  };
  const auto hand_new = [&](int id, const dnnl::memory::desc& desc) {
    auto [memory, bytes] = new_memory(desc);
    hand(id, memory);
    keep.push_back(std::move(bytes));
  };
  const auto address_of = [&](int id) {
    return std::ranges::find(arguments, id, &Addresses::value_type::first)->second;
  };
  for (const Argument& argument : arguments_) {
    if (argument.role == Role::input) hand(argument.id, input_of(argument, stream, address_of(argument.id), runs));
    else if (argument.reorder) hand_new(argument.id, argument.wanted);
    else hand(argument.id, dnnl::memory(argument.plain, dnnl_engine(), address_of(argument.id)));
  }
  hand_new(DNNL_ARG_SCRATCHPAD, main_.scratchpad);
  execute(main_.primitive, stream, handed);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (argument.role == Role::input || !argument.reorder) continue;
    Storage& bytes = keep[kept++];
    if (argument.role == Role::output) {
      const dnnl::memory plain(argument.plain, dnnl_engine(), address_of(argument.id));
      reorder(argument.reorder->primitive, argument.reorder->scratchpad, stream, memories[i], plain);
    } else if (const auto sum = std::ranges::find(runs.sums_, argument.id, &DnnlRuns::Sum::id);
               sum != runs.sums_.end()) {
      add_memory(sum->memory, memories[i]);
    } else {
      runs.sums_.push_back({argument.id, memories[i], std::move(bytes)});
    }
  }
  stream.wait();
}

void DnnlPlan::finish(const Addresses& arguments, DnnlRuns& runs) const {
  dnnl::stream stream(dnnl_engine());
  for (const Argument& argument : arguments_) {
    if (argument.role != Role::summed_output) continue;
    const auto sum = std::ranges::find(runs.sums_, argument.id, &DnnlRuns::Sum::id);
    const auto address = std::ranges::find(arguments, argument.id, &Addresses::value_type::first);
    const dnnl::memory plain(argument.plain, dnnl_engine(), address->second);
    reorder(argument.reorder->primitive, argument.reorder->scratchpad, stream, sum->memory, plain);
  }
  stream.wait();
}

std::shared_ptr<const DnnlPlan> DnnlPlanCache::get(const Key& key, const std::function<DnnlPlan()>& build) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  }
  // The lock is not held here: building takes milliseconds. If two threads build the same plan, the first one is kept.
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
