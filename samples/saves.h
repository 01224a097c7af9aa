// Checkpoints of samples that train: the options --checkpoint and --resume, and the parts that most of them have.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "actors/checkpoint/checkpoint.h"
#include "actors/scope.h"
#include "tensor/io/named_tensors.h"

namespace samples {

class CommandLine;

/// The options --checkpoint and --resume. The directory is on the machine of the node that saves.
struct SaveOptions {
  std::string directory;  ///< empty: nothing is saved
  bool resume = false;    ///< go on from the checkpoint of the directory

  /// Adds both options. `when` the program saves is part of the help: "after each epoch". `line` reads them into this
  /// object, which must live as long.
  void add_to(CommandLine& line, const std::string& when);

  /// Throws std::invalid_argument, with a hint, if there is no checkpoint to go on from, or if one would be
  /// overwritten:
  /// `[--resume] run: no checkpoint; without --resume the training begins, and saves there`.
  void check() const;

  /// Sets the parts to what the checkpoint has and returns true, or returns false if the training begins. To be called
  /// before the first save. Throws as check() and Checkpoint::restore.
  [[nodiscard]] bool restore(const troupe::Scope& scope, const troupe::Checkpoint& parts) const;

  /// Saves the parts, if there is a directory. Throws as Checkpoint::save.
  void save(const troupe::Scope& scope, const troupe::Checkpoint& parts) const;
};

/// A part of a checkpoint: numbers of the program, which must live as long. Not thread-safe.
class SavedNumbers {
 public:
  SavedNumbers& add(std::string name, double& number);
  SavedNumbers& add(std::string name, std::vector<double>& numbers);
  /// A setting with which the training must go on: loading another value throws std::invalid_argument
  /// `[--resume] --seed is 2, the checkpoint is of 1`, before a number is set.
  SavedNumbers& add_setting(std::string name, std::int64_t value);

  [[nodiscard]] troupe::NamedTensors state_dict() const;
  /// Throws also ValueError that lists everything that does not fit, `[load_state_dict] missing: loss; unexpected:
  /// seconds`.
  void load_state_dict(const troupe::NamedTensors& state);

 private:
  std::vector<std::pair<std::string, double*>> single_;
  std::vector<std::pair<std::string, std::vector<double>*>> lists_;
  std::vector<std::pair<std::string, std::int64_t>> settings_;
};

}  // namespace samples
