// What a checkpointed function reads besides its inputs: noted when it runs first, given again when it is replayed.
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

/// What was read. Immutable once the function has returned.
struct Reads {
  /// A variable that requires a gradient; its value may be replaced before the replay.
  struct OfVariable {
    std::weak_ptr<const void> identity;  ///< so that no other variable gets this address
    Edge edge;
    Saved value;
  };
  /// A generator, and what it was like before the function drew from it.
  struct OfGenerator {
    const Generator* which;
    Generator before;
  };

  std::vector<OfVariable> variables;
  std::unordered_map<const void*, std::size_t> by_identity;  ///< places in `variables`
  std::vector<OfGenerator> generators;
};

/// Stands between this thread and what it reads while its guard lives.
class Reader {
 public:
  virtual ~Reader() = default;

  /// The value that the variable of this identity has for the function; `now` is what it has for everybody else.
  [[nodiscard]] virtual Tensor value_of(const std::shared_ptr<const void>& identity, const Edge& edge, Tensor now) = 0;

  /// The generator to draw from instead of `generator`.
  [[nodiscard]] virtual Generator& generator_for(Generator& generator) = 0;
};

/// Sets what reads of this thread go through. Guards nest: a reader asks the one outside it.
class ReaderGuard {
 public:
  explicit ReaderGuard(Reader& reader) noexcept;
  ~ReaderGuard();
  ReaderGuard(const ReaderGuard&) = delete;
  ReaderGuard& operator=(const ReaderGuard&) = delete;

 private:
  Reader* outside_;
};

/// Of this thread; null outside checkpointed functions.
[[nodiscard]] Reader* reader_here() noexcept;

/// The generator that an operation of this thread draws from when it is given `generator`.
[[nodiscard]] inline Generator& generator_here(Generator& generator) {
  Reader* reader = reader_here();
  return reader == nullptr ? generator : reader->generator_for(generator);
}

/// Notes what is read, each at its first time; later reads get the same value.
class NotingReader final : public Reader {
 public:
  explicit NotingReader(Reads& reads) : outside_(reader_here()), reads_(reads) {}

  [[nodiscard]] Tensor value_of(const std::shared_ptr<const void>& identity, const Edge& edge, Tensor now) override;
  [[nodiscard]] Generator& generator_for(Generator& generator) override;

 private:
  Reader* outside_;
  Reads& reads_;
};

/// Gives what was noted. Draws are from copies: the generators themselves stay as they are.
class ReplayingReader final : public Reader {
 public:
  explicit ReplayingReader(const Reads& reads);

  [[nodiscard]] Tensor value_of(const std::shared_ptr<const void>& identity, const Edge& edge, Tensor now) override;
  [[nodiscard]] Generator& generator_for(Generator& generator) override;

 private:
  Reader* outside_;
  const Reads& reads_;
  std::vector<Generator> generators_;  ///< one per generator of `reads_`
};

}  // namespace troupe::detail
