#include "tensor/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/gemm.h"
#include "tensor/cpu/lanes.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vector_math.h"

namespace troupe::cpu {

using kernels::AttentionForward;
using kernels::AttentionGradients;
using kernels::AttentionScores;
using kernels::WeightDropout;

namespace {

/// Scores of one block: they fit a core's second-level cache and make products large enough.
constexpr std::int64_t kScoreElements = 1 << 16;

std::int64_t rows_of_block(std::int64_t keys) { return std::clamp<std::int64_t>(kScoreElements / keys, 16, 256); }

/// The matrices of a tensor (..., rows, cols), by number.
template <class T>
class Matrices {
 public:
  Matrices() = default;
  Matrices(const Tensor& x, T* data) : data_(data), shape_(x.shape()), strides_(x.strides()) {}

  /// Returns how many there are. REQUIRES: the matrices have elements.
  [[nodiscard]] std::int64_t count() const {
    return shape_.numel() / (shape_[shape_.size() - 2] * shape_[shape_.size() - 1]);
  }

  MatrixRef<T> operator[](std::int64_t number) const {
    if (data_ == nullptr) return {};
    const int rows = shape_.size() - 2;
    T* first = data_;
    for (int d = rows - 1; d >= 0; --d) {
      first += number % shape_[d] * strides_[d];
      number /= shape_[d];
    }
    return {first, shape_[rows], shape_[rows + 1], strides_[rows], strides_[rows + 1]};
  }

 private:
  T* data_ = nullptr;
  Shape shape_;
  Strides strides_;
};

template <class T>
Matrices<const T> matrices(const Tensor& x) {
  return {x, elements<T>(x)};
}

/// Returns the matrices of `x` for writing; without data if `x` is undefined.
template <class T>
Matrices<T> written(Tensor& x) {
  return x.defined() ? Matrices<T>(x, mutable_elements<T>(x)) : Matrices<T>();
}

template <class T>
MatrixRef<T> rows_from(const MatrixRef<T>& m, std::int64_t first, std::int64_t count) {
  return {m.data + first * m.row_stride, count, m.cols, m.row_stride, m.col_stride};
}

template <class T>
MatrixRef<const T> to_read(const MatrixRef<T>& m) {
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride};
}

/// A block of queries of one matrix, and the keys that any of them uses.
struct Block {
  std::int64_t matrix;
  std::int64_t first;  ///< the first query
  std::int64_t rows;
  std::int64_t keys;
};

/// Computes the scores of a block. Their rows are contiguous.
template <class T>
class ScoreBlock {
 public:
  ScoreBlock(const AttentionScores& scores, const Tensor& query, const Tensor& key)
      : scores_(scores), queries_(query.size(-2)), keys_(key.size(-2)) {
    if (!scores.mask.defined()) return;
    if (scores.mask.dtype() == DType::boolean) shown_.emplace(matrices<bool>(scores.mask));
    else added_.emplace(matrices<T>(scores.mask));
  }

  [[nodiscard]] Block block(std::int64_t matrix, std::int64_t first, std::int64_t rows) const {
    const std::int64_t count = std::min(rows, queries_ - first);
    return {matrix, first, count, scores_.causal ? std::min(keys_, first + count) : keys_};
  }

  /// Returns how many keys query `row` of the block uses: the first ones.
  [[nodiscard]] std::int64_t seen(const Block& b, std::int64_t row) const {
    return scores_.causal ? std::min(b.keys, b.first + row + 1) : b.keys;
  }

  /// Turns the products of the used keys into scores.
  void finish(T* x, const Block& b, std::int64_t row) const {
    const std::int64_t count = seen(b, row);
    const T scale = static_cast<T>(scores_.scale);
    if (shown_) {
      const bool* const shown = rows_from((*shown_)[b.matrix], b.first + row, 1).data;
      vectorized_for(count,
                     [=](std::int64_t i) { x[i] = shown[i] ? x[i] * scale : -std::numeric_limits<T>::infinity(); });
    } else if (added_) {
      const T* const added = rows_from((*added_)[b.matrix], b.first + row, 1).data;
      vectorized_for(count, [=](std::int64_t i) { x[i] = x[i] * scale + added[i]; });
    } else {
      vectorized_for(count, [=](std::int64_t i) { x[i] *= scale; });
    }
  }

  /// Applies dropout to the weights.
  void drop(T* x, const Block& b, std::int64_t row) const {
    if (!scores_.dropout) return;
    const WeightDropout& dropout = *scores_.dropout;
    const auto first = static_cast<std::uint64_t>((b.matrix * queries_ + b.first + row) * keys_);
    const std::uint64_t end = first + static_cast<std::uint64_t>(seen(b, row));
    const T kept = static_cast<T>(dropout.kept);
    Generator generator = dropout.start;
    generator.skip(first / 4);
    for (std::uint64_t word = first; word < end;) {
      const auto words = generator.next_block();
      do {
        T& weight = x[word - first];
        weight = words[word % 4] < dropout.limit ? T{0} : weight * kept;
      } while (++word % 4 != 0 && word < end);
    }
  }

 private:
  const AttentionScores& scores_;
  std::int64_t queries_;
  std::int64_t keys_;
  std::optional<Matrices<const bool>> shown_;
  std::optional<Matrices<const T>> added_;
};

/// Replaces each score by exp(score - top); `top` becomes the largest score. Returns the sum of the results.
template <class T>
double exponentials(T* x, std::int64_t count, T& top) {
  top = largest(x, count);
  vectorized_for(count, [x, largest = top](std::int64_t i) { x[i] -= largest; });
  real_functions<T>().exp(x, x, count);
  return sum_of(count, [x](std::int64_t i) { return x[i]; });
}

/// Computes the output and the sums of a block of queries. `x` is scratch memory for its scores.
template <class T>
void attend(const ScoreBlock<T>& scores, const Block& b, T* x, const MatrixRef<T>& out, const MatrixRef<T>& sums,
            const MatrixRef<const T>& query, const MatrixRef<const T>& key, const MatrixRef<const T>& value) {
  const MatrixRef<T> weights{x, b.rows, b.keys, b.keys, 1};
  gemm(weights, query, transposed(rows_from(key, 0, b.keys)));
  std::vector<T> scales;
  for (std::int64_t row = 0; row < b.rows; ++row) {
    T* const weight = x + row * b.keys;
    const std::int64_t seen = scores.seen(b, row);
    scores.finish(weight, b, row);
    T* const sum = sums.data + row * sums.row_stride;
    const double total = exponentials(weight, seen, sum[0]);
    sum[1] = static_cast<T>(std::log(total));
    scales.push_back(static_cast<T>(1.0 / total));
    scores.drop(weight, b, row);
    std::fill(weight + seen, weight + b.keys, T{0});
  }
  gemm(out, to_read(weights), rows_from(value, 0, b.keys));
  for (std::int64_t row = 0; row < b.rows; ++row) {
    T* const to = out.data + row * out.row_stride;
    vectorized_for(out.cols, [to, scale = scales[static_cast<std::size_t>(row)]](std::int64_t i) { to[i] *= scale; });
  }
}

/// The matrices with one number that the gradients are computed from.
template <class T>
struct BackwardMatrices {
  MatrixRef<const T> grad, output, sums, query, key, value;
};

/// The operands of the backward pass.
template <class T>
class BackwardOperands {
 public:
  BackwardOperands(const Tensor& grad, const AttentionForward& forward)
      : grad_(matrices<T>(grad)),
        output_(matrices<T>(forward.output)),
        sums_(matrices<T>(forward.sums)),
        query_(matrices<T>(forward.query)),
        key_(matrices<T>(forward.key)),
        value_(matrices<T>(forward.value)) {}

  [[nodiscard]] std::int64_t count() const { return grad_.count(); }

  BackwardMatrices<T> operator[](std::int64_t n) const {
    return {grad_[n], output_[n], sums_[n], query_[n], key_[n], value_[n]};
  }

 private:
  Matrices<const T> grad_, output_, sums_, query_, key_, value_;
};

/// The gradients by query, key and value that a matrix adds to; without data if not wanted.
template <class T>
struct WrittenMatrices {
  MatrixRef<T> query, key, value;
};

/// Writes a block's weights after dropout to `x`, and, unless null, `factor` times the gradients by its scores to
/// `slopes`. REQUIRES: both have room for its scores.
template <class T>
void weights_and_slopes(const ScoreBlock<T>& scores, const Block& b, T* x, T* slopes, T factor,
                        const BackwardMatrices<T>& m) {
  const MatrixRef<const T> grad = rows_from(m.grad, b.first, b.rows);
  gemm(MatrixRef<T>{x, b.rows, b.keys, b.keys, 1}, rows_from(m.query, b.first, b.rows),
       transposed(rows_from(m.key, 0, b.keys)));
  if (slopes != nullptr) {
    gemm(MatrixRef<T>{slopes, b.rows, b.keys, b.keys, 1}, grad, transposed(rows_from(m.value, 0, b.keys)));
  }
  for (std::int64_t row = 0; row < b.rows; ++row) {
    T* const weight = x + row * b.keys;
    const std::int64_t seen = scores.seen(b, row);
    scores.finish(weight, b, row);
    const T* const sum = m.sums.data + (b.first + row) * m.sums.row_stride;
    vectorized_for(
        seen, [weight, top = sum[0], log_total = sum[1]](std::int64_t i) { weight[i] = weight[i] - top - log_total; });
    real_functions<T>().exp(weight, weight, seen);
    if (slopes != nullptr) {
      T* const slope = slopes + row * b.keys;
      scores.drop(slope, b, row);
      const T* const g = grad.data + row * grad.row_stride;
      const T* const y = m.output.data + (b.first + row) * m.output.row_stride;
      const auto along = static_cast<T>(
          sum_of(grad.cols, [g, y, step = grad.col_stride](std::int64_t i) { return g[i * step] * y[i]; }));
      vectorized_for(seen, [=](std::int64_t i) { slope[i] = weight[i] * (slope[i] - along) * factor; });
      std::fill(slope + seen, slope + b.keys, T{0});
    }
    scores.drop(weight, b, row);
    std::fill(weight + seen, weight + b.keys, T{0});
  }
}

/// Adds a block's contributions to the gradients. `x` and `slopes` are scratch memory for its scores.
template <class T>
void attend_backward(const ScoreBlock<T>& scores, const Block& b, T* x, T* slopes, T scale,
                     const BackwardMatrices<T>& m, const WrittenMatrices<T>& to) {
  const bool sloped = to.query.data != nullptr || to.key.data != nullptr;
  weights_and_slopes(scores, b, x, sloped ? slopes : nullptr, scale, m);
  const MatrixRef<const T> weights{x, b.rows, b.keys, b.keys, 1};
  const MatrixRef<const T> by_score{slopes, b.rows, b.keys, b.keys, 1};
  if (to.query.data != nullptr) gemm(rows_from(to.query, b.first, b.rows), by_score, rows_from(m.key, 0, b.keys));
  if (to.key.data != nullptr) {
    gemm_add(rows_from(to.key, 0, b.keys), transposed(by_score), rows_from(m.query, b.first, b.rows));
  }
  if (to.value.data != nullptr) {
    gemm_add(rows_from(to.value, 0, b.keys), transposed(weights), rows_from(m.grad, b.first, b.rows));
  }
}

/// Adds the gradients by the scores of a block to the gradient by the mask, whose strides may be 0.
template <class T>
void add_slopes(const MatrixRef<T>& mask, const Block& b, const T* slopes) {
  for (std::int64_t row = 0; row < b.rows; ++row) {
    T* const to = mask.data + (b.first + row) * mask.row_stride;
    const T* const slope = slopes + row * b.keys;
    if (mask.col_stride == 0) {
      *to += static_cast<T>(sum_of(b.keys, [slope](std::int64_t i) { return slope[i]; }));
    } else {
      vectorized_for(b.keys, [=](std::int64_t i) { to[i] += slope[i]; });
    }
  }
}

/// Groups the numbers of the matrices: one list for the matrices that share memory.
template <class T>
std::vector<std::vector<std::int64_t>> numbers_by_memory(const Matrices<T>& all, std::int64_t count) {
  std::vector<std::vector<std::int64_t>> lists;
  std::unordered_map<const T*, std::size_t> places;
  for (std::int64_t n = 0; n < count; ++n) {
    const auto [place, is_new] = places.try_emplace(all[n].data, lists.size());
    if (is_new) lists.emplace_back();
    lists[place->second].push_back(n);
  }
  return lists;
}

/// Adds to the gradient by the mask, which has the shape of the scores and strides of 0 where it broadcasts. One thread
/// sums each element, in the order of the matrices.
template <class T>
void mask_backward(Tensor& mask, const ScoreBlock<T>& of, const BackwardOperands<T>& operands) {
  const std::int64_t queries = mask.size(-2);
  const std::int64_t keys = mask.size(-1);
  const std::int64_t rows = rows_of_block(keys);
  const std::int64_t blocks = (queries + rows - 1) / rows;
  const std::int64_t room = std::min(rows, queries) * keys;
  const Matrices<T> to = written<T>(mask);
  const auto lists = numbers_by_memory(to, mask.numel() / (queries * keys));
  const std::int64_t parts = mask.strides()[mask.dim() - 2] == 0 ? 1 : blocks;  // parts of the queries
  parallel_for(std::ssize(lists) * parts, room * 16, [&](std::int64_t begin, std::int64_t end) {
    const auto x = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(2 * room));
    for (std::int64_t i = begin; i < end; ++i) {
      for (const std::int64_t n : lists[static_cast<std::size_t>(i / parts)]) {
        const BackwardMatrices<T> m = operands[n];
        for (std::int64_t block = i % parts; block < blocks; block += parts) {
          const Block b = of.block(n, block * rows, rows);
          weights_and_slopes(of, b, x.get(), x.get() + room, T{1}, m);
          add_slopes(to[n], b, x.get() + room);
        }
      }
    }
  });
}

void attention(Tensor& out, Tensor& sums, const Tensor& query, const Tensor& key, const Tensor& value,
               const AttentionScores& scores) {
  const std::int64_t queries = query.size(-2);
  const std::int64_t rows = rows_of_block(key.size(-2));
  const std::int64_t blocks = (queries + rows - 1) / rows;
  const std::int64_t room = std::min(rows, queries) * key.size(-2);
  dispatch_floating("attention", out.dtype(), [&]<class T>(std::type_identity<T>) {
    const Matrices<T> to(out, mutable_elements<T>(out));
    const Matrices<T> to_sums(sums, mutable_elements<T>(sums));
    const auto q = matrices<T>(query);
    const auto k = matrices<T>(key);
    const auto v = matrices<T>(value);
    const ScoreBlock<T> of(scores, query, key);
    parallel_for(to.count() * blocks, room * 8, [&](std::int64_t begin, std::int64_t end) {
      const auto x = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(room));
      for (std::int64_t i = begin; i < end; ++i) {
        const Block b = of.block(i / blocks, i % blocks * rows, rows);
        attend(of, b, x.get(), rows_from(to[b.matrix], b.first, b.rows), rows_from(to_sums[b.matrix], b.first, b.rows),
               rows_from(q[b.matrix], b.first, b.rows), k[b.matrix], v[b.matrix]);
      }
    });
  });
}

void attention_backward(AttentionGradients& to, const Tensor& grad, const AttentionForward& forward,
                        const AttentionScores& scores) {
  const std::int64_t queries = forward.query.size(-2);
  const std::int64_t keys = forward.key.size(-2);
  const std::int64_t rows = rows_of_block(keys);
  const std::int64_t room = std::min(rows, queries) * keys;
  dispatch_floating("attention_backward", grad.dtype(), [&]<class T>(std::type_identity<T>) {
    const BackwardOperands<T> operands(grad, forward);
    const ScoreBlock<T> of(scores, forward.query, forward.key);
    if (to.mask.defined()) {
      Shape shape = grad.shape();
      shape[shape.size() - 1] = keys;
      Tensor mask = to.mask.expand(shape);
      mask_backward(mask, of, operands);
    }
    if (!to.query.defined() && !to.key.defined() && !to.value.defined()) return;
    const auto to_query = written<T>(to.query);
    const auto to_key = written<T>(to.key);
    const auto to_value = written<T>(to.value);
    // A thread computes whole matrices: gradients by keys and values are sums over the queries, in their order.
    parallel_for(operands.count(), queries * keys * 16, [&](std::int64_t begin, std::int64_t end) {
      const auto x = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(2 * room));
      for (std::int64_t n = begin; n < end; ++n) {
        const BackwardMatrices<T> m = operands[n];
        const WrittenMatrices<T> by{to_query[n], to_key[n], to_value[n]};
        for (std::int64_t first = 0; first < queries; first += rows) {
          attend_backward(of, of.block(n, first, rows), x.get(), x.get() + room, static_cast<T>(scores.scale), m, by);
        }
      }
    });
  });
}

}  // namespace

const kernels::AttentionKernels attention_kernels{.attention = attention, .attention_backward = attention_backward};

}  // namespace troupe::cpu
