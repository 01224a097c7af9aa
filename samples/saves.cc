#include "samples/saves.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <map>
#include <span>
#include <stdexcept>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/checkpoint_files.h"
#include "tensor/tensor.h"

namespace samples {

using troupe::from_values;
using troupe::NamedTensors;
using troupe::Tensor;

void SaveOptions::add_to(CLI::App& app, const std::string& when) {
  CLI::Option* const to = app.add_option("--checkpoint", directory, "the directory to save to " + when);
  app.add_flag("--resume", resume, "go on from the checkpoint of that directory")->needs(to);
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

NamedTensors SavedNumbers::state() const {
  NamedTensors state;
  for (const auto& [name, value] : settings_) state.emplace_back(name, from_values<std::int64_t>({value}));
  for (const auto& [name, number] : single_) state.emplace_back(name, from_values<double>({*number}));
  for (const auto& [name, numbers] : lists_) {
    state.emplace_back(name, from_values<double>(*numbers, {std::ssize(*numbers)}));
  }
  return state;
}

void SavedNumbers::load_state(const NamedTensors& state) {
  std::map<std::string, Tensor> saved(state.begin(), state.end());
  std::map<std::string, Tensor> taken;
  std::string complaint;
  for (const auto& [name, tensor] : this->state()) {
    if (auto found = saved.extract(name); !found.empty()) taken.insert(std::move(found));
    else complaint += "; missing: " + name;
  }
  for (const auto& [name, tensor] : saved) complaint += "; unexpected: " + name;
  if (!complaint.empty()) throw troupe::ValueError("[--resume]" + complaint.substr(1));

  for (const auto& [name, value] : settings_) {
    const auto before = taken.at(name).item<std::int64_t>();
    if (before != value)
      throw std::invalid_argument(fmt::format("[--resume] {} is {}, the checkpoint is of {}", name, value, before));
  }
  for (const auto& [name, number] : single_) *number = taken.at(name).item<double>();
  for (const auto& [name, numbers] : lists_) {
    const std::span<const double> values = taken.at(name).data<double>();
    numbers->assign(values.begin(), values.end());
  }
}

}  // namespace samples
