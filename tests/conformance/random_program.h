// A random program over several nodes, drawn from a seed: calls, remote values, references that are passed on,
// returned, dropped and held in cycles, exceptions, too short deadlines, cancellation. The program computes the
// expected result of each step itself, and reports every difference.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/function_registry.h"
#include "actors/rref.h"
#include "actors/scope.h"

namespace troupe::testing {

/// A number on a node, with references to other Cells. It may hold itself.
class Cell {
 public:
  Cell() = default;
  explicit Cell(std::int64_t value) : value_(value) {}

  [[nodiscard]] std::int64_t value() const { return value_; }
  [[nodiscard]] Cell twice() const;

  /// Adds 1: reads, lets other calls run, writes.
  void touch();
  [[nodiscard]] std::int64_t touched() const { return touched_; }

  /// Stores `other`. Does nothing after `close`.
  void hold(const RRef<Cell>& other);

  /// Releases all references for good.
  void close();

  /// A copy has the same number and references.
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value_, held_);
  }

 private:
  std::int64_t value_ = 0;
  std::int64_t touched_ = 0;
  std::vector<RRef<Cell>> held_;
  bool closed_ = false;
};

/// A reference, and the expected value.
struct KnownCell {
  RRef<Cell> cell;
  std::int64_t value = 0;
  bool doubtful = false;  ///< created with a short deadline, so the value may not exist
  template <class Archive>
  void serialize(Archive& ar) {
    ar(cell, value, doubtful);
  }
};

struct ProgramScript {
  std::uint64_t seed = 0;
  std::int32_t steps = 0;
  std::int32_t depth = 0;  ///< levels of programs below this one
  std::vector<NodeName> nodes;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(seed, steps, depth, nodes);
  }
};

struct ProgramReport {
  std::map<std::string, std::uint64_t> ends;  ///< number of ends by kind of step and outcome: "fetch: timeout"
  std::vector<std::string> wrong;             ///< one line for each outcome that is not allowed
  template <class Archive>
  void serialize(Archive& ar) {
    ar(ends, wrong);
  }
  void add(const ProgramReport& other);
};

/// Runs the program of `script` on this node, with `given` among its references. Returns when all its futures have
/// completed and it holds no reference.
ProgramReport run_program(Scope& scope, const ProgramScript& script, const std::vector<KnownCell>& given);

[[nodiscard]] FunctionRegistry with_program_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
