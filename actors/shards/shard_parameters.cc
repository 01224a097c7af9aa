#include "actors/shards/shard_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "actors/shards/state_names.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

std::string text_of(const Tensor& tensor) {
  return fmt::format("{} {}", name_of(tensor.dtype()), to_string(tensor.shape()));
}

/// Returns whether both show the same elements of one memory, in the same order.
bool is_same_view(const Tensor& x, const Tensor& y) {
  return x.storage().same_as(y.storage()) && x.offset() == y.offset() && x.shape() == y.shape() &&
         x.strides() == y.strides();
}

/// Keeps `memory`, which differs from the present value where `update` changes it, as a buffer.
void keep(optim::SecondBuffers& buffers, std::size_t member, Tensor memory, const Tensor& present,
          const optim::ParameterUpdate& update) noexcept {
  if (update.rows.defined()) {
    buffers.give(member, std::move(memory), present, update.rows);
  } else {
    buffers.give(member, std::move(memory));
  }
}

}  // namespace

ShardParameters::ShardParameters(std::vector<Group> groups) {
  for (Group& group : groups) {
    auto rule = group.make_rule();
    if (group.places.size() != group.parameters.size()) {
      throw ValueError(fmt::format("[optimizer] group {} has {} places for {} parameters", groups_.size(),
                                   group.places.size(), group.parameters.size()));
    }
    if (std::ranges::adjacent_find(group.places, std::greater_equal<>()) != group.places.end())
      throw ValueError(fmt::format("[optimizer] places of group {} do not ascend", groups_.size()));
    if (!group.places.empty() && group.places.back() >= kPlacesMax) {
      throw ValueError(fmt::format("[optimizer] group {} has more than {} parameters", groups_.size(), kPlacesMax));
    }
    const double lr = rule->lr();
    const double momentum = rule->momentum();
    optim::SecondBuffers buffers(group.parameters.size());
    groups_.push_back({std::move(group.make_rule), std::move(rule), lr, momentum, std::move(group.parameters),
                       std::move(group.places), std::move(buffers)});
  }
  note_places();
}

void ShardParameters::note_places() {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t i = 0; i < groups_[g].parameters.size(); ++i) {
      const Variable& parameter = groups_[g].parameters[i];
      const auto complain = [&](const char* what) {
        const std::string of_group = groups_.size() > 1 ? fmt::format(" of group {}", g) : "";
        throw TensorError(fmt::format("[optimizer] parameter {}{} {}", groups_[g].places[i], of_group, what));
      };
      if (!parameter.defined() || !parameter.is_leaf() || !parameter.requires_grad())
        complain("is not a leaf that requires a gradient");
      if (!places_.emplace(parameter.id(), Place{g, i}).second) complain("is given twice");
    }
  }
}

std::uint64_t ShardParameters::prepare(const StepId& step, const Change& change) {
  drop_ready();
  Ready ready{step, std::visit([this](const auto& any) { return compute(any); }, change)};
  std::uint64_t updated = 0;
  for (const GroupChange& group : ready.groups) updated += group.updates.size();
  ready_ = std::move(ready);
  return updated;
}

void ShardParameters::apply(const StepId& step, const Change& change) {
  if (!ready_ || ready_->step != step || !is_current(*ready_)) std::ignore = prepare(step, change);
  make_visible();
  ++version_;
}

void ShardParameters::drop(const StepId& step) {
  if (ready_ && ready_->step == step) drop_ready();
}

void ShardParameters::set_rates(const msg::StepSettings& settings) {
  if (!settings.rates.empty() && settings.rates.size() != groups_.size()) {
    throw ValueError(fmt::format("[optimizer] {} rates for {} groups", settings.rates.size(), groups_.size()));
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Ruled& group = groups_[g];
    const msg::StepRate rate = settings.rates.empty() ? msg::StepRate{group.lr, {}} : settings.rates[g];
    group.rule->set_lr(rate.lr);
    const double momentum = rate.momentum.value_or(group.momentum);
    if (momentum != group.rule->momentum()) group.rule->set_momentum(momentum);
  }
}

std::vector<ShardParameters::GroupChange> ShardParameters::compute(const GradientStep& step) {
  std::vector<GroupChange> changes = take_early(step);
  const bool is_begun = !changes.empty();
  std::uint64_t early_updates = 0;
  std::size_t prepared = is_begun ? groups_.size() : 0;
  try {
    if (!is_begun) {
      set_rates(step.settings);
      changes.resize(groups_.size());
    }
    const optim::StepOptions options{.gradient_scale = step.settings.gradient_scale,
                                     .gradient_limit = step.settings.gradient_limit};
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::size_t early = find_updates(groups_[g], step.gradients, changes[g]);
      const auto more = std::span(changes[g].updates).subspan(early);
      if (is_begun) {
        groups_[g].rule->prepare_more(more, options);
      } else {
        groups_[g].rule->prepare(more, options);
        ++prepared;
      }
      early_updates += early;
    }
  } catch (...) {
    while (prepared-- > 0) groups_[prepared].rule->rollback();
    throw;
  }
  early_updates_ += early_updates;
  return changes;
}

std::size_t ShardParameters::find_updates(Ruled& group, const Gradients& gradients, GroupChange& change) {
  const std::size_t early = change.members.size();
  std::vector<bool> is_early(group.parameters.size());
  for (const std::size_t member : change.members) is_early[member] = true;
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    if (is_early[i]) continue;
    const Variable& parameter = group.parameters[i];
    Tensor current = parameter.value();
    const std::uint64_t value_version = current.version();
    const SparseTensor rows = group.rule->zero_changes_nothing() ? gradients.sparse_of(parameter) : SparseTensor();
    if (rows.defined() && rows.sparse_dim() == 1 && rows.shape() == current.shape()) {
      const Tensor numbers = rows.indices().select(0, 0);
      Tensor next = group.buffers.take_equal(i, current, numbers);
      change.updates.push_back({group.places[i], std::move(current), rows.values(), std::move(next), numbers});
    } else if (Tensor gradient = gradients.of(parameter); gradient.defined()) {
      Tensor next = group.buffers.take(i, current);
      change.updates.push_back({group.places[i], std::move(current), std::move(gradient), std::move(next)});
    } else {
      continue;
    }
    change.members.push_back(i);
    change.sources.push_back({value_version, change.updates.back().gradient.version()});
  }
  return early;
}

std::vector<ShardParameters::GroupChange> ShardParameters::take_early(const GradientStep& step) {
  if (!early_) return {};
  bool fits = early_->settings == step.settings;
  for (std::size_t g = 0; fits && g < groups_.size(); ++g) {
    const GroupChange& change = early_->groups[g];
    for (std::size_t u = 0; fits && u < change.updates.size(); ++u) {
      const optim::ParameterUpdate& update = change.updates[u];
      const Tensor gradient = step.gradients.of(groups_[g].parameters[change.members[u]]);
      fits = gradient.defined() && is_same_view(gradient, update.gradient) &&
             gradient.version() == change.sources[u].gradient_version && is_current(groups_[g], change, u);
    }
  }
  if (!fits) {
    drop_early();
    return {};
  }
  std::vector<GroupChange> taken = std::move(early_->groups);
  early_.reset();
  return taken;
}

void ShardParameters::prepare_early(const ContextId& context, const msg::StepSettings& settings, const Variable& leaf,
                                    const Tensor& gradient) noexcept {
  const auto place = places_.find(leaf.id());
  if (place == places_.end() || ready_ || !gradient.defined()) return;
  try {
    if (early_ && (early_->context != context || early_->settings != settings)) drop_early();
    const optim::StepOptions options{.gradient_scale = settings.gradient_scale,
                                     .gradient_limit = settings.gradient_limit};
    if (!early_) {
      set_rates(settings);
      Early early{context, settings, std::vector<GroupChange>(groups_.size())};
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        early.groups[g].updates.reserve(groups_[g].parameters.size());
        early.groups[g].members.reserve(groups_[g].parameters.size());
        early.groups[g].sources.reserve(groups_[g].parameters.size());
      }
      std::size_t begun = 0;
      try {
        for (; begun < groups_.size(); ++begun) groups_[begun].rule->prepare({}, options);
      } catch (...) {
        while (begun-- > 0) groups_[begun].rule->rollback();
        throw;
      }
      early_ = std::move(early);
    }
    const auto [g, i] = place->second;
    Ruled& group = groups_[g];
    GroupChange& change = early_->groups[g];
    Tensor current = group.parameters[i].value();
    const Source source{current.version(), gradient.version()};
    Tensor next = group.buffers.take(i, current);
    const optim::ParameterUpdate update{group.places[i], std::move(current), gradient, std::move(next)};
    group.rule->prepare_more({&update, 1}, options);
    change.updates.push_back(update);  // throws nothing: there is room for each parameter once
    change.members.push_back(i);
    change.sources.push_back(source);
  } catch (...) {
    drop_early();  // the step computes it anew, and fails with its reason if it must
  }
}

void ShardParameters::drop_early(const ContextId& context) {
  if (early_ && early_->context == context) drop_early();
}

void ShardParameters::drop_early() {
  if (!early_) return;
  for (std::size_t g = 0; g < groups_.size(); ++g) give_back(g, early_->groups[g]);
  early_.reset();
}

std::vector<ShardParameters::GroupChange> ShardParameters::compute(const Load& load) {
  drop_early();
  std::vector<GroupChange> changes(groups_.size());
  std::unordered_map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < load.state.size(); ++i) numbers.emplace(load.state[i].first, i);
  std::vector<bool> is_value(load.state.size());
  std::vector<std::vector<Tensor>> values(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Ruled& group = groups_[g];
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      Tensor current = group.parameters[i].value();
      values[g].resize(group.places[i] + 1);
      values[g].back() = current;
      const std::string name = value_name(g, group.places[i]);
      const auto given = numbers.find(name);
      if (given == numbers.end()) continue;
      is_value[given->second] = true;
      const Tensor& value = load.state[given->second].second;
      if (!value.defined() || value.shape() != current.shape() || value.dtype() != current.dtype()) {
        throw ValueError(fmt::format("[load_state_dict] {} is {}, not {}", name,
                                     value.defined() ? text_of(value) : "undefined", text_of(current)));
      }
      Tensor next = value.to(current.device()).clone();
      changes[g].sources.push_back({current.version(), 0});
      changes[g].updates.push_back({group.places[i], std::move(current), Tensor(), std::move(next)});
      changes[g].members.push_back(i);
    }
  }
  NamedTensors of_rules;
  for (std::size_t i = 0; i < load.state.size(); ++i) {
    if (!is_value[i]) of_rules.push_back(load.state[i]);
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    changes[g].replacement = groups_[g].make_rule();
    changes[g].replacement->load_state_dict(of_rules, values[g], group_prefix(g));
  }
  return changes;
}

/// All or nothing: if one value does not fit any more, because it was just converted, no value changes.
void ShardParameters::make_visible() {
  std::vector<std::pair<const Variable*, const Tensor*>> set;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const GroupChange& change = ready_->groups[g];
    for (std::size_t u = 0; u < change.updates.size(); ++u)
      set.emplace_back(&groups_[g].parameters[change.members[u]], &change.updates[u].current);
  }
  std::size_t done = 0;
  try {
    for (const GroupChange& change : ready_->groups) {
      for (const optim::ParameterUpdate& update : change.updates) {
        set[done].first->set_value(update.next);
        ++done;
      }
    }
  } catch (...) {
    while (done-- > 0) set[done].first->set_value(*set[done].second);
    throw;
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    GroupChange& change = ready_->groups[g];
    if (change.replacement) {
      groups_[g].rule = std::move(change.replacement);
    } else {
      groups_[g].rule->commit();
    }
    for (std::size_t u = 0; u < change.updates.size(); ++u) {
      optim::ParameterUpdate& update = change.updates[u];
      keep(groups_[g].buffers, change.members[u], std::move(update.current), update.next, update);
    }
  }
  ready_.reset();
}

void ShardParameters::drop_ready() {
  if (!ready_) return;
  for (std::size_t g = 0; g < groups_.size(); ++g) give_back(g, ready_->groups[g]);
  ready_.reset();
}

void ShardParameters::give_back(std::size_t group, GroupChange& change) {
  for (std::size_t u = 0; u < change.updates.size(); ++u) {
    optim::ParameterUpdate& update = change.updates[u];
    if (update.current.version() != change.sources[u].value_version) update.rows = {};  // other rows differ too
    keep(groups_[group].buffers, change.members[u], std::move(update.next), update.current, update);
  }
  if (!change.replacement) groups_[group].rule->rollback();
}

bool ShardParameters::is_current(const Ruled& group, const GroupChange& change, std::size_t number) {
  const Tensor present = group.parameters[change.members[number]].value();
  return is_same_view(present, change.updates[number].current) &&
         present.version() == change.sources[number].value_version;
}

bool ShardParameters::is_current(const Ready& ready) const {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const GroupChange& change = ready.groups[g];
    for (std::size_t u = 0; u < change.updates.size(); ++u) {
      if (!is_current(groups_[g], change, u)) return false;
    }
  }
  return true;
}

NamedTensors ShardParameters::state_dict(std::size_t first, std::size_t count) const {
  NamedTensors part;
  for (std::size_t g = 0; g < groups_.size() && part.size() < count; ++g) {
    const optim::Optimizer& rule = *groups_[g].rule;
    for (auto& [name, tensor] : rule.state_dict_part(first, count - part.size()))
      part.emplace_back(group_prefix(g) + name, tensor.to(Device::cpu()));
    first -= std::min(first, rule.state_dict_size());
  }
  return part;
}

std::size_t ShardParameters::state_dict_size() const {
  std::size_t size = 0;
  for (const Ruled& group : groups_) size += group.rule->state_dict_size();
  return size;
}

NamedTensors ShardParameters::values(std::size_t first, std::size_t count) const {
  NamedTensors part;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::vector<Variable>& parameters = groups_[g].parameters;
    for (std::size_t i = first; i < parameters.size() && part.size() < count; ++i) {
      // A step writes no memory that anybody reads (SH-3).
      part.emplace_back(value_name(g, groups_[g].places[i]), parameters[i].value().to(Device::cpu()));
    }
    first -= std::min(first, parameters.size());
  }
  return part;
}

}  // namespace troupe::detail
