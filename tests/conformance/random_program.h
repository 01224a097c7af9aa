// A random program over several nodes, drawn from a seed: calls, remote values, references handed on, given back,
// dropped and held in cycles, exceptions, deadlines that are too short, cancellation. It knows what each step must
// give, by its own reckoning, and reports what came instead.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/function_registry.h"
#include "actors/rref.h"
#include "actors/scope.h"

namespace troupe::testing {

/// A number on some node, and references to others of its kind: it may hold itself.
class Cell {
 public:
  Cell() = default;
  explicit Cell(std::int64_t value) : value_(value) {}

  [[nodiscard]] std::int64_t value() const { return value_; }
  [[nodiscard]] Cell twice() const;

  /// Counts one: reads, lets others run, writes.
  void touch();
  [[nodiscard]] std::int64_t touched() const { return touched_; }

  /// Keeps `other`; does nothing after `close`.
  void hold(const RRef<Cell>& other);

  /// Lets go of all that it holds, for good.
  void close();

  /// A copy has the number and holds the same.
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

/// A reference, and what its value must be.
struct KnownCell {
  RRef<Cell> cell;
  std::int64_t value = 0;
  bool doubtful = false;  ///< made in a hurry: there may be no value
  template <class Archive>
  void serialize(Archive& ar) {
    ar(cell, value, doubtful);
  }
};

struct ProgramScript {
  std::uint64_t seed = 0;
  std::int32_t steps = 0;
  std::int32_t depth = 0;  ///< programs below this one
  std::vector<NodeName> nodes;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(seed, steps, depth, nodes);
  }
};

struct ProgramReport {
  std::map<std::string, std::uint64_t> ends;  ///< how often steps of each kind ended how: "fetch: timeout"
  std::vector<std::string> wrong;             ///< a line for each end that must not be
  template <class Archive>
  void serialize(Archive& ar) {
    ar(ends, wrong);
  }
  void add(const ProgramReport& other);
};

/// Runs the program of `script` on this node, with `given` among its references. Returns when every future it made has
/// ended and it holds no reference any more.
ProgramReport run_program(Scope& scope, const ProgramScript& script, const std::vector<KnownCell>& given);

[[nodiscard]] FunctionRegistry with_program_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
