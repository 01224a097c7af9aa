// The values that a checkpointed function reads besides its inputs: recorded in the first run, returned again in a
// replay.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "autograd/grad_fn.h"
#include "autograd/record.h"
#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// The recorded reads. Immutable once the function has returned.
struct Reads {
  /// A variable that requires a gradient; it may be frozen or its value replaced before the replay.
  struct OfVariable {
    std::weak_ptr<const void> identity;  ///< keeps the address reserved for this variable
    Edge edge;
    Saved value;
  };
  /// A generator, and its state before the function drew from it.
  struct OfGenerator {
    const Generator* which;
    Generator before;
  };

  std::vector<OfVariable> variables;
  std::unordered_map<const void*, std::size_t> by_identity;  ///< indices of `variables`
  /// Variables that required no gradient: a replay must not find one, also if they require one by then.
  std::unordered_map<const void*, std::weak_ptr<const void>> constants;
  std::vector<OfGenerator> generators;

  /// Returns the edges of `variables`, each once: empty for a variable with the edge of an earlier one, which shares
  /// its gradient (detail::as_it_is).
  [[nodiscard]] std::vector<Edge> edges() const;

  /// Removes the constants that no longer exist.
  void drop_gone();
};

/// Intercepts the reads of a thread while a ReaderGuard with it lives.
class Reader {
 public:
  virtual ~Reader() = default;

  /// Returns the value of the variable with this identity for the checkpointed function. `now` is its present value,
  /// `edge` its present edge.
  [[nodiscard]] virtual Tensor value_of(const std::shared_ptr<const void>& identity, const Edge& edge, Tensor now) = 0;

  /// Returns the edge of the variable for the checkpointed function, empty for a constant. `now` is its present edge.
  [[nodiscard]] virtual Edge edge_of(const void* /*identity*/, Edge now) { return now; }

  /// Returns the generator to draw from instead of `generator`.
  [[nodiscard]] virtual Generator& generator_for(Generator& generator) = 0;

  /// Returns whether the variable with this identity is an input of the function whose gradient a replay computes.
  [[nodiscard]] virtual bool is_input(const void* /*identity*/) const { return false; }

  /// Returns whether a replay needs the elements of `value` as they are now.
  [[nodiscard]] virtual bool keeps(const Tensor& /*value*/) const { return false; }
};

/// Routes the reads of this thread through `reader`. Guards nest: a reader asks the reader outside it.
class ReaderGuard {
 public:
  explicit ReaderGuard(Reader& reader) noexcept;
  ~ReaderGuard();
  ReaderGuard(const ReaderGuard&) = delete;
  ReaderGuard& operator=(const ReaderGuard&) = delete;

 private:
  Reader* outside_;
};

/// Returns the reader of this thread; null outside checkpointed functions.
[[nodiscard]] Reader* reader_here() noexcept;

/// Returns the generator from which an operation of this thread draws when it is given `generator`.
[[nodiscard]] inline Generator& generator_here(Generator& generator) {
  Reader* reader = reader_here();
  return reader == nullptr ? generator : reader->generator_for(generator);
}

/// Records every variable and generator at its first read. Later reads return what was recorded.
class NotingReader final : public Reader {
 public:
  /// `inputs`: those of the function that require a gradient outside.
  NotingReader(Reads& reads, std::vector<Variable> inputs);

  [[nodiscard]] Tensor value_of(const std::shared_ptr<const void>& identity, const Edge& edge, Tensor now) override;
  [[nodiscard]] Edge edge_of(const void* identity, Edge now) override;
  [[nodiscard]] Generator& generator_for(Generator& generator) override;
  [[nodiscard]] bool is_input(const void* identity) const override;
  [[nodiscard]] bool keeps(const Tensor& value) const override;

  /// Completes the record. REQUIRES: called when the function has returned.
  void finish();

 private:
  void note_constant(const std::shared_ptr<const void>& identity);

  Reader* outside_;
  Reads& reads_;
  std::vector<Variable> inputs_;
  std::vector<Storage> kept_;                        ///< of the inputs and the noted variables
  std::vector<std::weak_ptr<const void>> unsorted_;  ///< constants that `reads_` has not yet
  std::size_t constants_max_ = 64;                   ///< with more in `reads_`, those that are gone are removed
};

/// Routes the reads of a function's first run through `reader`. Records nothing, but in-place operations are refused
/// where the replay would refuse them.
class FirstRunGuard {
 public:
  explicit FirstRunGuard(NotingReader& reader) noexcept;
  ~FirstRunGuard();
  FirstRunGuard(const FirstRunGuard&) = delete;
  FirstRunGuard& operator=(const FirstRunGuard&) = delete;

 private:
  ReaderGuard reader_;
  Recording before_;
};

/// Whether this thread records. `exchange` sets it and returns what was set before: for FrameGuards.
[[nodiscard]] Recording recording_here() noexcept;
Recording exchange_recording_here(Recording recording) noexcept;

/// Returns whether an operation on `x` would be recorded, now or in the replay of this thread's checkpointed function.
[[nodiscard]] bool wants_gradient(const Variable& x);

/// Returns whether an operation that writes into `x` must be refused: wants_gradient(), or a replay needs its elements.
[[nodiscard]] bool wants_values(const Variable& x);

/// Returns what was recorded. Draws from copies of the generators, so the generators themselves do not advance.
class ReplayingReader final : public Reader {
 public:
  explicit ReplayingReader(const Reads& reads);

  [[nodiscard]] Tensor value_of(const std::shared_ptr<const void>& identity, const Edge& edge, Tensor now) override;
  [[nodiscard]] Edge edge_of(const void* identity, Edge now) override;
  [[nodiscard]] Generator& generator_for(Generator& generator) override;

 private:
  Reader* outside_;
  const Reads& reads_;
  std::vector<Generator> generators_;  ///< one per generator of `reads_`
};

}  // namespace troupe::detail
