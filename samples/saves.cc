#include "samples/saves.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>

#include "optim/saved_state.h"
#include "samples/command_line.h"
#include "tensor/create.h"
#include "tensor/io/checkpoint_files.h"
#include "tensor/tensor.h"

namespace samples {

using troupe::DType;
using troupe::from_values;
using troupe::NamedTensors;
using troupe::scalar;
using troupe::Tensor;

void SaveOptions::add_to(CommandLine& line, const std::string& when) {
  line.add("--checkpoint", directory, "the directory to save to " + when);
  line.add_flag("--resume", resume, "go on from the checkpoint of that directory");
  line.needs("--resume", "--checkpoint");
}

void SaveOptions::check() const {
  if (directory.empty()) return;
  const bool exists = troupe::has_checkpoint(directory);
  if (resume && !exists) {
    throw std::invalid_argument(
        fmt::format("[--resume] {}: no checkpoint; without --resume the training begins, and saves there", directory));
  }
  if (!resume && exists) {
    throw std::invalid_argument(
        fmt::format("[--checkpoint] {}: a checkpoint is there; add --resume to go on from it", directory));
  }
}

bool SaveOptions::restore(const troupe::Scope& scope, const troupe::Checkpoint& parts) const {
  check();
  if (resume) parts.restore(scope, directory);
  return resume;
}

void SaveOptions::save(const troupe::Scope& scope, const troupe::Checkpoint& parts) const {
  if (!directory.empty()) parts.save(scope, directory);
}

SavedNumbers& SavedNumbers::add(std::string name, double& number) {
  single_.emplace_back(std::move(name), &number);
  return *this;
}

SavedNumbers& SavedNumbers::add(std::string name, std::vector<double>& numbers) {
  lists_.emplace_back(std::move(name), &numbers);
  return *this;
}

SavedNumbers& SavedNumbers::add_setting(std::string name, std::int64_t value) {
  settings_.emplace_back(std::move(name), value);
  return *this;
}

NamedTensors SavedNumbers::state_dict() const {
  NamedTensors state;
  for (const auto& [name, value] : settings_) state.emplace_back(name, scalar(value));
  for (const auto& [name, number] : single_) state.emplace_back(name, scalar(*number));
  for (const auto& [name, numbers] : lists_) {
    state.emplace_back(name, from_values<double>(*numbers, {std::ssize(*numbers)}));
  }
  return state;
}

void SavedNumbers::load_state_dict(const NamedTensors& state) {
  troupe::optim::SavedState saved(state, "");
  std::vector<std::optional<std::int64_t>> settings;
  std::vector<std::optional<double>> single;
  std::vector<Tensor> lists;
  for (const auto& [name, value] : settings_) settings.push_back(saved.take_integer(name));
  for (const auto& [name, number] : single_) single.push_back(saved.take_number(name));
  for (const auto& [name, numbers] : lists_) {
    lists.push_back(saved.take(name));
    if (lists.back().defined() && lists.back().dtype() != DType::f64) saved.complain(name, "is not f64");
  }
  saved.finish();

  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto& [name, value] = settings_[i];
    if (settings[i] != value) {
      throw std::invalid_argument(
          fmt::format("[--resume] {} is {}, the checkpoint is of {}", name, value, settings[i].value()));
    }
  }
  for (std::size_t i = 0; i < single.size(); ++i) *single_[i].second = single[i].value();
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::span<const double> values = lists[i].data<double>();
    lists_[i].second->assign(values.begin(), values.end());
  }
}

}  // namespace samples
