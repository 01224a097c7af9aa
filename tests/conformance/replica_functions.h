// Members of data-parallel groups, as functions that nodes serve.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/data_parallel.h"
#include "autograd/nn/embedding.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "tests/conformance/gradient_functions.h"

namespace troupe::testing {

/// What of a network a replica stands for.
enum class Wrapped : std::uint8_t {
  nothing,     ///< every member differentiates alone
  local_part,  ///< what is on the member itself
  whole,       ///< all, also the call to another node
};

/// A network on a member: a table and three layers of which one is never used, and a factor that may be on another
/// node.
class ReplicaNet final : public nn::Module {
 public:
  static constexpr std::int64_t kWords = 8;
  static constexpr std::int64_t kWidth = 6;

  ReplicaNet(std::uint64_t seed, bool sparse, bool with_norm);
  /// (n) words -> (n, kWidth)
  [[nodiscard]] Variable local_part(const Tensor& words) const;
  /// (n) words -> one number: the mean of local_part(words) * far * constant. `far` has kWidth elements.
  [[nodiscard]] Variable forward(Scope& scope, const Tensor& words, const Leaf& far) const;
  [[nodiscard]] const nn::Linear& last_layer() const { return *second_; }
  /// Zeros that are added to the rows of the table. Their gradient is the last one of a backward pass.
  [[nodiscard]] const Variable& input() const { return input_; }

 private:
  const Variable input_;  // made before the parameters: a pass comes to the newest leaf first
  std::shared_ptr<nn::Embedding> table_;
  std::shared_ptr<nn::Linear> first_;
  std::shared_ptr<nn::BatchNorm1d> norm_;  // or null
  std::shared_ptr<nn::Linear> unused_;
  std::shared_ptr<nn::Linear> second_;
};

/// The program of one member.
struct ReplicaPlan {
  std::vector<NodeName> members;
  std::vector<Tensor> batches;  ///< of this member; each (n) words
  Wrapped wrapped = Wrapped::local_part;
  bool sparse = false;     ///< gradients of the table are rows
  bool with_norm = false;  ///< the network has running statistics
  bool joins = false;      ///< takes part until the others have no batch left
  bool holds = false;      ///< only the last batch is a round; the others' gradients are held for it
  bool divides_by_active = false;
  double rate = 0.0;             ///< of plain gradient descent after each round
  std::int64_t only_input = -1;  ///< the parameter that is the only input of each pass; -1: passes have none
  std::int64_t fails_at = -1;    ///< the batch in which the backward of this member throws "boom"
  std::int64_t fails_in = 0;     ///< ... at the gradient of this parameter; -1: at that of input()
  std::int32_t signal = 0;       ///< ... or raises this signal in the place of throwing, if not 0
};

/// What the member saw.
struct ReplicaOutcome {
  std::vector<std::vector<Tensor>> gradients;  ///< per batch without an error: of each parameter, empty without one
  std::vector<Tensor> far_gradients;           ///< per batch without an error
  std::vector<std::string> errors;             ///< of the other batches: code, peer and message
  std::vector<Tensor> values;                  ///< of all parameters and buffers at the end
  std::vector<Tensor> steps;                   ///< all parameters as one row, after each batch without an error
  bool rows_stayed = true;                     ///< the context had the table's gradient as rows, in every batch
};

/// Makes a replica of a ReplicaNet, of which seed and values differ from those of the other members, and trains it.
ReplicaOutcome run_replica(Scope& scope, const ReplicaPlan& plan, const Leaf& far);

/// Trains until it fails. Returns code and peer of the error: "peer_down p2".
std::string train_replica_until_failure(Scope& scope, const std::vector<NodeName>& members);

[[nodiscard]] FunctionRegistry with_replica_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
