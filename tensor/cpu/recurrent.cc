#include "tensor/kernels/recurrent.h"

#include <algorithm>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/recurrent_cells.h"

namespace troupe::cpu {

using kernels::gate_count;
using kernels::RecurrentGradients;

namespace {

// The cost of a function of reals, in elements.
constexpr std::int64_t kRealCost = 8;

struct Sizes {
  explicit Sizes(const RnnTape& tape)
      : steps(tape.output.size(0)),
        examples(tape.output.size(1)),
        hidden(tape.output.size(2)),
        wide(hidden * gate_count(tape.cell)) {}
  std::int64_t steps;
  std::int64_t examples;
  std::int64_t hidden;
  std::int64_t wide;
};

// The elements of a (t, n, width) tensor by step; null if it is undefined.
template <class T>
struct Steps {
  T* data;
  std::int64_t size;
  T* at(std::int64_t step) const { return data == nullptr ? nullptr : data + step * size; }
};

template <class T>
Steps<const T> read(const Tensor& x) {
  if (!x.defined()) return {nullptr, 0};
  return {elements<T>(x), x.size(1) * x.size(2)};
}
template <class T>
Steps<T> write(Tensor& x) {
  if (!x.defined()) return {nullptr, 0};
  return {mutable_elements<T>(x), x.size(1) * x.size(2)};
}

// The state before the first step: the caller's, or zeros.
template <class T>
class FirstState {
 public:
  FirstState(const Tensor& given, std::int64_t size) {
    if (!given.defined()) zeros_.resize(static_cast<std::size_t>(size), T{0});
    data_ = given.defined() ? elements<T>(given) : zeros_.data();
  }
  const T* data() const { return data_; }
  bool is_zero() const { return !zeros_.empty(); }

 private:
  std::vector<T> zeros_;
  const T* data_;
};

template <class T>
MatrixRef<T> rows(T* data, std::int64_t count, std::int64_t width) {
  return {data, count, width, width, 1};
}

// Returns the columns of `x` as rows of a copy: products that read it many times are faster.
template <class T>
std::vector<T> transposed(const T* x, std::int64_t row_count, std::int64_t column_count) {
  constexpr std::int64_t kBlock = 16;
  std::vector<T> result(static_cast<std::size_t>(row_count * column_count));
  for (std::int64_t i0 = 0; i0 < row_count; i0 += kBlock) {
    for (std::int64_t j0 = 0; j0 < column_count; j0 += kBlock) {
      for (std::int64_t j = j0; j < std::min(j0 + kBlock, column_count); ++j) {
        T* const to = result.data() + j * row_count;
        for (std::int64_t i = i0; i < std::min(i0 + kBlock, row_count); ++i) to[i] = x[i * column_count + j];
      }
    }
  }
  return result;
}

template <class T>
class Forward {
 public:
  Forward(RnnTape& tape, const Tensor& bias, const Tensor& candidate_bias)
      : cell_(tape.cell),
        sizes_(tape),
        reverse_(tape.direction == TimeDirection::reverse),
        gates_(write<T>(tape.gates)),
        output_(write<T>(tape.output)),
        cells_(write<T>(tape.cells)),
        tanh_cells_(write<T>(tape.tanh_cells)),
        candidates_(write<T>(tape.candidates)),
        first_hidden_(tape.first_hidden, sizes_.examples * sizes_.hidden),
        first_cell_(tape.first_cell, cell_ == RnnCell::lstm ? sizes_.examples * sizes_.hidden : 0),
        bias_(optional(bias)),
        candidate_bias_(optional(candidate_bias)),
        weight_(transposed(elements<T>(tape.hidden_weight), sizes_.wide, sizes_.hidden)),
        from_hidden_(cell_ == RnnCell::gru ? static_cast<std::size_t>(sizes_.examples * sizes_.wide) : 0) {}

  void run() {
    for (std::int64_t i = 0; i < sizes_.steps; ++i) {
      const std::int64_t now = reverse_ ? sizes_.steps - 1 - i : i;
      const std::int64_t before = reverse_ ? now + 1 : now - 1;
      multiply(now, i == 0 ? nullptr : output_.at(before));
      const T* const hidden = i == 0 ? first_hidden_.data() : output_.at(before);
      const T* const cell = i == 0 ? first_cell_.data() : cells_.at(before);
      parallel_for(sizes_.examples, sizes_.wide * kRealCost, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t example = begin; example < end; ++example) step(now, example, hidden, cell);
      });
    }
  }

 private:
  static const T* optional(const Tensor& x) { return x.defined() ? elements<T>(x) : nullptr; }

  // Adds the hidden state's part to the sums of step `now`.
  void multiply(std::int64_t now, const T* hidden) {
    const auto weight = rows<const T>(weight_.data(), sizes_.hidden, sizes_.wide);
    const bool nothing = hidden == nullptr && first_hidden_.is_zero();
    if (nothing) return;  // 0: the buffer of GRU's product starts as zeros
    const auto from = rows<const T>(hidden == nullptr ? first_hidden_.data() : hidden, sizes_.examples, sizes_.hidden);
    if (cell_ == RnnCell::gru) {
      gemm(rows(from_hidden_.data(), sizes_.examples, sizes_.wide), from, weight);
    } else {
      gemm_add(rows(gates_.at(now), sizes_.examples, sizes_.wide), from, weight);
    }
  }

  void step(std::int64_t now, std::int64_t example, const T* hidden, const T* cell) {
    const std::int64_t size = sizes_.hidden;
    const std::int64_t at = example * size;
    T* const gates = gates_.at(now) + example * sizes_.wide;
    T* const out = output_.at(now) + at;
    if (bias_ != nullptr) add_each(gates, bias_, sizes_.wide);
    switch (cell_) {
      case RnnCell::lstm:
        return lstm_step<T>({size, gates, cell + at, cells_.at(now) + at, tanh_cells_.at(now) + at, out});
      case RnnCell::gru:
        return gru_step<T>({size, gates, from_hidden_.data() + example * sizes_.wide, candidate_bias_,
                            candidates_.at(now) + at, hidden + at, out});
      case RnnCell::tanh: return tanh_each(out, gates, size);
      case RnnCell::relu: return relu_each(out, gates, size);
    }
  }

  RnnCell cell_;
  Sizes sizes_;
  bool reverse_;
  Steps<T> gates_, output_, cells_, tanh_cells_, candidates_;
  FirstState<T> first_hidden_, first_cell_;
  const T* bias_;
  const T* candidate_bias_;
  std::vector<T> weight_;
  std::vector<T> from_hidden_;
};

template <class T>
class Backward {
 public:
  Backward(const RnnTape& tape, RecurrentGradients& gradients)
      : cell_(tape.cell),
        sizes_(tape),
        reverse_(tape.direction == TimeDirection::reverse),
        by_hidden_(mutable_elements<T>(gradients.by_hidden)),
        by_cell_(gradients.by_cell.defined() ? mutable_elements<T>(gradients.by_cell) : nullptr),
        by_gates_(write<T>(gradients.by_gates)),
        by_from_hidden_(write<T>(gradients.by_from_hidden)),
        by_output_(read<T>(gradients.by_output)),
        gates_(read<T>(tape.gates)),
        output_(read<T>(tape.output)),
        cells_(read<T>(tape.cells)),
        tanh_cells_(read<T>(tape.tanh_cells)),
        candidates_(read<T>(tape.candidates)),
        first_hidden_(tape.first_hidden, sizes_.examples * sizes_.hidden),
        first_cell_(tape.first_cell, cell_ == RnnCell::lstm ? sizes_.examples * sizes_.hidden : 0),
        weight_(elements<T>(tape.hidden_weight)) {}

  void run() {
    for (std::int64_t i = sizes_.steps - 1; i >= 0; --i) {
      const std::int64_t now = reverse_ ? sizes_.steps - 1 - i : i;
      const std::int64_t before = reverse_ ? now + 1 : now - 1;
      const T* const hidden = i == 0 ? first_hidden_.data() : output_.at(before);
      const T* const cell = i == 0 ? first_cell_.data() : cells_.at(before);
      parallel_for(sizes_.examples, sizes_.wide, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t example = begin; example < end; ++example) step(now, example, hidden, cell);
      });
      multiply(now);
    }
  }

 private:
  void step(std::int64_t now, std::int64_t example, const T* hidden, const T* cell) {
    const std::int64_t size = sizes_.hidden;
    const std::int64_t at = example * size;
    const T* const gates = gates_.at(now) + example * sizes_.wide;
    T* const by_gates = by_gates_.at(now) + example * sizes_.wide;
    T* const by_hidden = by_hidden_ + at;
    if (by_output_.data != nullptr) add_each(by_hidden, by_output_.at(now) + at, size);
    switch (cell_) {
      case RnnCell::lstm:
        return lstm_step_backward<T>(
            {size, gates, cell + at, tanh_cells_.at(now) + at, by_hidden, by_cell_ + at, by_gates});
      case RnnCell::gru:
        return gru_step_backward<T>({size, gates, candidates_.at(now) + at, hidden + at, by_hidden, by_gates,
                                     by_from_hidden_.at(now) + example * sizes_.wide});
      case RnnCell::tanh: return tanh_backward_each(by_gates, by_hidden, output_.at(now) + at, size);
      case RnnCell::relu: return relu_backward_each(by_gates, by_hidden, output_.at(now) + at, size);
    }
  }

  // Adds the part through the gates of step `now` to the gradient by the hidden state before it.
  void multiply(std::int64_t now) {
    const auto to = rows(by_hidden_, sizes_.examples, sizes_.hidden);
    const auto weight = rows(weight_, sizes_.wide, sizes_.hidden);
    if (cell_ == RnnCell::gru) {
      gemm_add(to, rows<const T>(by_from_hidden_.at(now), sizes_.examples, sizes_.wide), weight);
    } else {
      gemm(to, rows<const T>(by_gates_.at(now), sizes_.examples, sizes_.wide), weight);
    }
  }

  RnnCell cell_;
  Sizes sizes_;
  bool reverse_;
  T* by_hidden_;
  T* by_cell_;
  Steps<T> by_gates_, by_from_hidden_;
  Steps<const T> by_output_, gates_, output_, cells_, tanh_cells_, candidates_;
  FirstState<T> first_hidden_, first_cell_;
  const T* weight_;
};

void recurrent(RnnTape& tape, const Tensor& bias, const Tensor& candidate_bias) {
  dispatch_floating("recurrent", tape.output.dtype(),
                    [&]<class T>(std::type_identity<T>) { Forward<T>(tape, bias, candidate_bias).run(); });
}

void recurrent_backward(const RnnTape& tape, RecurrentGradients& gradients) {
  dispatch_floating("recurrent_backward", tape.output.dtype(),
                    [&]<class T>(std::type_identity<T>) { Backward<T>(tape, gradients).run(); });
}

}  // namespace

const kernels::RecurrentKernels recurrent_kernels{.recurrent = recurrent, .recurrent_backward = recurrent_backward};

}  // namespace troupe::cpu
